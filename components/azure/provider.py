"""The explicit provider, the tags of everything, and the names that Azure gives to places and roles."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_azure_native as azure

from components import labels
from components.azure.settings import AzureSettings


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where something is made, and whose it is."""

    subscription: str
    region: str
    group: pulumi.Input[str]
    """The resource group's name."""
    tags: Mapping[str, str]
    """The provider can't tag what it makes, so each resource is told."""

    def role(self, guid: str) -> str:
        """Return the id of a built-in role in this subscription."""
        return f"/subscriptions/{self.subscription}/providers/Microsoft.Authorization/roleDefinitions/{guid}"


def tags(settings: AzureSettings) -> dict[str, str]:
    """Return the tags: the person's, then ours, which win. A tag's name can't hold a slash."""
    return {
        **{key.replace("/", "-"): value for key, value in settings.tags.items()},
        "project": pulumi.get_project(),
        "stack": pulumi.get_stack(),
        "owner": settings.owner,
        "part-of": labels.PART_OF,
        "managed-by": "pulumi",
    }


def provider(settings: AzureSettings) -> azure.Provider:
    """Return the explicit provider."""
    return azure.Provider("azure", subscription_id=settings.subscription, location=settings.region)


def resource_group(
    name: str, physical: str, place: Place, opts: pulumi.ResourceOptions
) -> azure.resources.ResourceGroup:
    """Make a resource group; deleting it deletes whatever is in it.

    Args:
        name: Of the Pulumi resource.
        physical: In the subscription.
        place: Region and tags.
        opts: Its parent.
    """
    return azure.resources.ResourceGroup(
        name, resource_group_name=physical, location=place.region, tags=place.tags, opts=opts
    )


def allow(
    name: str, principal: pulumi.Input[str], role: str, scope: pulumi.Input[str], opts: pulumi.ResourceOptions
) -> azure.authorization.RoleAssignment:
    """Let an identity do what a role says.

    Args:
        name: Of the Pulumi resource.
        principal: The identity's principal id.
        role: The role's id.
        scope: A resource or resource group.
        opts: Its parent.
    """
    return azure.authorization.RoleAssignment(
        name,
        principal_id=principal,
        # The SDK's default is User; with it Entra doesn't find an identity that was made a moment ago.
        principal_type="ServicePrincipal",
        role_definition_id=role,
        scope=scope,
        opts=opts,
    )
