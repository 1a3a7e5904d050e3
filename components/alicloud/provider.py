"""The explicit provider, and the tags of everything: whose it is, and which stack takes it away again."""

import pulumi
import pulumi_alicloud as alicloud

from components import labels, naming
from components.alicloud.settings import AlicloudSettings

_NAME_MAX = 63
"""ACK's limit, the shortest of those that our names meet but for a bucket's and a role's."""


def tags(settings: AlicloudSettings) -> dict[str, str]:
    """Return the tags, which each resource is given: this provider has none of its own. Ours win."""
    ours = {"project": pulumi.get_project(), "stack": pulumi.get_stack(), "owner": settings.owner}
    return {**settings.tags, **ours, "part-of": labels.PART_OF, "managed-by": "pulumi"}


def physical_name(suffix: str = "", limit: int = _NAME_MAX) -> str:
    """Return a name in Alibaba Cloud: the stack's, and what tells one thing from another.

    Args:
        suffix: With a hyphen before it; empty for what a stack has one of.
        limit: The longest name, in characters.
    """
    return naming.fit(f"{pulumi.get_project()}-{pulumi.get_stack()}{suffix}", limit)


def provider(settings: AlicloudSettings) -> alicloud.Provider:
    """Return the explicit provider of the region."""
    return alicloud.Provider("alicloud", region=settings.region, profile=settings.profile)
