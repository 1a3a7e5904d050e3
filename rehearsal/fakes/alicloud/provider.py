"""The rules of the `alicloud` provider: its table of kinds, and what the account does by itself."""

from collections.abc import Mapping
from typing import Final

from rehearsal.fakes.account import Ledger
from rehearsal.fakes.alicloud import bucket, cluster, identity, lookups, network, node_pool, reservation
from rehearsal.fakes.alicloud.references import BUCKET
from rehearsal.fakes.cloud import CloudRules
from rehearsal.fakes.resource_kind import ResourceKind
from rehearsal.fakes.weights import fill_from_control_plane

BUCKET_SCHEME: Final = "oss://"
KINDS: Final[Mapping[str, ResourceKind]] = {
    kind.type: kind
    for kind in (
        bucket.CLOSED,
        bucket.KIND,
        cluster.ADDON,
        cluster.KIND,
        identity.ATTACHMENT,
        identity.POLICY,
        identity.ROLE,
        network.ADDRESS,
        network.BINDING,
        network.GROUP,
        network.GROUP_RULE,
        network.NAT,
        network.SNAT,
        network.SWITCH,
        network.VPC,
        node_pool.KIND,
        reservation.KIND,
    )
}


class AlicloudRules(CloudRules):
    """What the provider and the account know."""

    package = "alicloud"
    sdk = "pulumi_alicloud"

    def __init__(self) -> None:
        super().__init__(KINDS, lookups.LOOKUPS)

    def catch_up(self, ledger: Ledger) -> None:
        """See what was copied into buckets, and forget uploads that a bucket's rule aborts."""
        fill_from_control_plane(BUCKET_SCHEME, BUCKET, ledger)
        bucket.abort_old_uploads(ledger)
