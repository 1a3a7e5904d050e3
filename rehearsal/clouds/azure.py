"""A subscription on Azure: what a person has before the program comes."""

import dataclasses
from collections.abc import Sequence
from typing import Final

from components.azure.settings import AzureSettings
from components.plan.planner import Plan
from rehearsal.clouds.cloud import Scene, loaded
from rehearsal.clouds.own_cluster import OwnCluster
from rehearsal.fakes.account import Account, Ledger
from rehearsal.fakes.azure_native import belongings
from rehearsal.fakes.azure_native.references import CLUSTER
from rehearsal.remains import Remains
from rehearsal.stack_file import Contents

_COMPUTE_DOMAINS: Final = "computedomains.resource.nvidia.com"
"""In no `crds` folder of NVIDIA's chart, which brings it."""
_PARTS: Final = (
    "azure-native:compute:VirtualMachine",
    "azure-native:storage:BlobContainer",
    "rehearsal:weights:Objects",
)
"""Types that are mere parts: of an agent pool, of an account."""


class Azure(OwnCluster):
    """One subscription with one region; what the stack file names is there."""

    packages: Sequence[str] = ("azure-native",)
    cluster_module = "azure_native.kubernetes"
    cluster = CLUSTER
    parts: Sequence[str] = _PARTS

    def furnish(self, scene: Scene) -> None:
        """Put the reservation, the subnet and the account that the stack file names into the subscription."""
        match loaded(scene.config):
            case (AzureSettings() as settings, plan):
                with scene.account.open() as ledger:
                    _furnish(ledger, settings, plan)
            case _:
                pass

    def served(self, config: Contents) -> Sequence[str]:
        """What NVIDIA's driver brings."""
        del config
        return [_COMPUTE_DOMAINS]

    def remains(self, account: Account) -> list[Remains]:
        """What is in the subscription, by the last part of its id."""
        return sorted(dataclasses.replace(each, name=each.name.rpartition("/")[2]) for each in super().remains(account))


def _furnish(ledger: Ledger, settings: AzureSettings, plan: Plan) -> None:
    capacity, weights = settings.capacity, settings.weights
    ledger.settings["region"] = settings.region
    if settings.subscription is not None:
        ledger.settings["subscription"] = settings.subscription
    ledger.settings["infiniband"] = plan.machine.fabric == "infiniband" and not plan.machine.multi_node_nvlink
    ledger.settings["nd_reservations"] = capacity.allow_unsupported_size
    if capacity.id is not None:
        count = plan.layout.nodes * settings.replicas
        belongings.reservation(ledger, capacity.id, machine=plan.machine.name, count=count, zone=capacity.zone)
    if settings.network.subnet_id is not None:
        belongings.subnet(ledger, settings.network.subnet_id)
    if weights.account_id is not None:
        belongings.container(ledger, weights.account_id, weights.container)
