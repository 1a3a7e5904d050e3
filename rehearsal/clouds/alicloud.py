"""An account on Alibaba Cloud: what a person has before the program comes."""

from collections.abc import Sequence
from typing import Final

from components.alicloud.settings import AlicloudSettings
from components.plan.planner import Plan
from rehearsal.clouds.cloud import Scene, loaded
from rehearsal.clouds.own_cluster import OwnCluster
from rehearsal.fakes.account import Ledger
from rehearsal.fakes.alicloud import belongings
from rehearsal.fakes.alicloud.lookups import zones
from rehearsal.fakes.alicloud.references import CLUSTER

_PARTS: Final = (
    "alicloud:ecs/instance:*",
    "alicloud:ecs/networkInterface:*",
    "alicloud:oss/bucket?*:*",
    "rehearsal:weights:Objects",
)
"""Types that are mere parts: of a node pool, of a bucket."""


class Alicloud(OwnCluster):
    """One account with one region; its GPUs are reserved as the stack file says."""

    packages: Sequence[str] = ("alicloud",)
    cluster_module = "alicloud.kubernetes"
    cluster = CLUSTER
    parts: Sequence[str] = _PARTS

    def furnish(self, scene: Scene) -> None:
        """Put the private pools, the network and the bucket that the stack file names into the account."""
        match loaded(scene.config):
            case (AlicloudSettings() as settings, plan):
                with scene.account.open() as ledger:
                    _furnish(ledger, settings, plan)
            case _:
                pass


def _furnish(ledger: Ledger, settings: AlicloudSettings, plan: Plan) -> None:
    capacity, network = settings.capacity, settings.network
    ledger.settings["region"] = settings.region
    zone = capacity.zone or zones(ledger)[0]
    count = plan.layout.nodes * settings.replicas
    for index, identity in enumerate(capacity.ids):
        share = count // len(capacity.ids) + (index < count % len(capacity.ids))
        reserved = belongings.Reserved(id=identity, machine=plan.machine.name, zone=zone, instances=share)
        belongings.private_pool(ledger, reserved)
    if capacity.mode == "lingjun":
        ledger.settings["lingjun"] = {"machine": plan.machine.name, "nodes": count}
    if network.vpc_id is not None:
        second = network.second_zone or next(each for each in zones(ledger) if each != zone)
        belongings.network(ledger, network.vpc_id, network.vswitch_ids, network.pod_vswitch_ids, [zone, second])
    if settings.weights.bucket is not None:
        belongings.bucket(ledger, settings.weights.bucket)
