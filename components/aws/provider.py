"""The explicit provider, and the tags of everything: whose it is, and which stack takes it away again."""

from collections.abc import Mapping

import pulumi
import pulumi_aws as aws

from components import labels
from components.aws.settings import AwsSettings


def tags(settings: AwsSettings) -> dict[str, str]:
    """Return the tags: the person's, then ours, which win. No time among them, or each `up` would change all."""
    return {
        **settings.tags,
        "project": pulumi.get_project(),
        "stack": pulumi.get_stack(),
        "owner": settings.owner,
        "part-of": labels.PART_OF,
        "managed-by": "pulumi",
    }


def provider(settings: AwsSettings) -> aws.Provider:
    """Return the explicit provider, which tags whatever it makes."""
    return aws.Provider(
        "aws",
        region=settings.region,
        profile=settings.profile,
        default_tags=aws.ProviderDefaultTagsArgs(tags=tags(settings)),
    )


def launched(common: Mapping[str, str]) -> list[aws.ec2.LaunchTemplateTagSpecificationArgs]:
    """Return the tags of what a launch template launches, which the provider's own don't reach."""
    return [
        aws.ec2.LaunchTemplateTagSpecificationArgs(resource_type=kind, tags=common)
        for kind in ("instance", "volume", "network-interface")
    ]


def partition(region: str) -> str:
    """Return the first part of a region's ARNs after `arn:`."""
    if region.startswith("cn-"):
        return "aws-cn"
    return "aws-us-gov" if region.startswith("us-gov-") else "aws"
