"""The rules of the `azure-native` provider: its table of kinds, and what the account does by itself."""

from collections.abc import Mapping
from typing import Final

from rehearsal.fakes.account import Ledger
from rehearsal.fakes.azure_native import (
    access,
    agent_pool,
    cluster,
    lookups,
    network,
    reservation,
    resource_group,
    storage,
)
from rehearsal.fakes.azure_native import references as ref
from rehearsal.fakes.cloud import CloudRules, short_name
from rehearsal.fakes.resource_kind import ResourceKind
from rehearsal.fakes.rules import Resource
from rehearsal.fakes.values import Properties
from rehearsal.fakes.weights import fill_from_control_plane

CONTAINER_SCHEME: Final = "az://"
_COMPLETED: Final = ("identity", "oidcIssuerProfile")
"""Of a cluster: identities are a list on the way in and a mapping on the way out, and the issuer's URL is Azure's."""
KINDS: Final[Mapping[str, ResourceKind]] = {
    kind.type: kind
    for kind in (
        access.IDENTITY,
        access.ROLE,
        access.TRUST,
        agent_pool.KIND,
        cluster.KIND,
        network.KIND,
        reservation.GROUP,
        reservation.MEMBER,
        resource_group.KIND,
        storage.ACCOUNT,
        storage.CONTAINER,
    )
}


class AzureRules(CloudRules):
    """What the provider and the subscription know."""

    package = "azure-native"
    sdk = "pulumi_azure_native"

    def __init__(self) -> None:
        super().__init__(KINDS, lookups.LOOKUPS)

    def other_kind(self, token: str) -> ResourceKind:
        """Of any other type, that its id is a path in its resource group, which ends in its logical name."""
        below = ref.path_of(f"{token.split(':')[1]}/{short_name(token)}")
        return ResourceKind(
            type=token, identity=lambda resource, ledger: f"{below(resource, ledger)}/{resource.name}", fills=True
        )

    def planned(self, resource: Resource) -> Properties:
        """The inputs, but for blocks that Azure completes: their ids and URLs are unknown (PreviewOutputs)."""
        return {key: value for key, value in super().planned(resource).items() if key not in _COMPLETED}

    def catch_up(self, ledger: Ledger) -> None:
        """See what was copied into containers."""
        fill_from_control_plane(CONTAINER_SCHEME, ref.CONTAINER, ledger)
