"""The rules of the `gcp` provider: its table of kinds, and what the project does by itself."""

import json
from collections.abc import Mapping
from typing import Final

from rehearsal.fakes.account import Ledger
from rehearsal.fakes.cloud import CloudRules
from rehearsal.fakes.gcp import (
    bucket,
    cluster,
    lookups,
    network,
    node_pool,
    reservation,
    resource_policy,
    service_account,
)
from rehearsal.fakes.gcp.references import BUCKET
from rehearsal.fakes.resource_kind import ResourceKind
from rehearsal.fakes.rules import Failure
from rehearsal.fakes.values import Properties
from rehearsal.fakes.weights import fill_from_control_plane

BUCKET_SCHEME: Final = "gs://"
_POLICIES: Final = ("DELETE", "PREVENT", "ABANDON")
KINDS: Final[Mapping[str, ResourceKind]] = {
    kind.type: kind
    for kind in (
        bucket.KIND,
        bucket.MEMBER,
        cluster.KIND,
        network.ADDRESS,
        network.NAT,
        network.NETWORK,
        network.ROUTER,
        network.SUBNETWORK,
        node_pool.KIND,
        reservation.FUTURE,
        resource_policy.KIND,
        service_account.KIND,
        service_account.PROJECT_MEMBER,
    )
}


class GcpRules(CloudRules):
    """What the provider and the project know."""

    package = "gcp"
    sdk = "pulumi_gcp"

    def __init__(self) -> None:
        super().__init__(KINDS, lookups.LOOKUPS)

    def check_config(self, config: Properties) -> list[Failure]:
        """Compare the arguments with the SDK's types; maps among them travel as JSON."""
        labels = config.get("defaultLabels")
        opened = {"defaultLabels": json.loads(labels)} if isinstance(labels, str) else {}
        failures = super().check_config({**config, **opened})
        policy = config.get("deletionPolicy")
        if isinstance(policy, str) and policy not in _POLICIES:
            failures.append(Failure("deletionPolicy", f"'{policy}': {', '.join(_POLICIES)}"))
        return failures

    def catch_up(self, ledger: Ledger) -> None:
        """See what was copied into buckets."""
        fill_from_control_plane(BUCKET_SCHEME, BUCKET, ledger)
