"""A project on GCP: what a person has before the program comes, and the command that a kubeconfig of GKE runs."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Final

from components.gcp.settings import GcpSettings
from components.plan.planner import Plan
from rehearsal.clouds.cloud import Scene, loaded
from rehearsal.clouds.own_cluster import OwnCluster, exec_credential
from rehearsal.fakes.account import Account, Ledger
from rehearsal.fakes.gcp import belongings
from rehearsal.fakes.gcp.references import CLUSTER
from rehearsal.remains import Remains
from rehearsal.stack_file import Contents, as_contents, merged

_CAPACITY: Final = "kimi-k3:capacity"
_SERVED: Final = (
    "computedomains.resource.nvidia.com",
    "gateways.gateway.networking.k8s.io",
    "gcpbackendpolicies.networking.gke.io",
    "healthcheckpolicies.networking.gke.io",
    "httproutes.gateway.networking.k8s.io",
    "inferencepools.inference.networking.k8s.io",
)
"""NVIDIA's chart brings the first, in no `crds` folder; GKE brings the others."""
_PARTS: Final = ("gcp:compute/instance:*", "rehearsal:weights:Objects")
"""Types that are mere parts: of a node pool, of a bucket."""
_SCRIPT: Final = """\
#!/bin/sh
# A stand-in of GKE's sign-in plugin for rehearsals: it knows no account.
cat <<'END'
{credential}
END
"""


class Gcp(OwnCluster):
    """One project with one region; its GPUs are reserved as the stack file says."""

    packages: Sequence[str] = ("gcp",)
    cluster_module = "gcp.kubernetes"
    cluster = CLUSTER
    parts: Sequence[str] = _PARTS

    def furnish(self, scene: Scene) -> None:
        """Put the reservation, the network, the bucket and the account that the stack file names into the project."""
        match loaded(merged(scene.config, self.overrides(scene))):
            case (GcpSettings() as settings, plan):
                with scene.account.open() as ledger:
                    _furnish(ledger, settings, plan)
            case _:
                pass

    def overrides(self, scene: Scene) -> Contents:
        """The word for a request, which asks for nothing here."""
        capacity = as_contents(scene.config.get(_CAPACITY))
        return {_CAPACITY: {"acceptNonRefundable": True}} if capacity.get("mode") == "future" else {}

    def commands(self, scene: Scene) -> Mapping[str, str]:
        """`gke-gcloud-auth-plugin`, which the preview looks for and the kubeconfig runs."""
        return {"gke-gcloud-auth-plugin": _SCRIPT.format(credential=exec_credential(scene.server))}

    def served(self, config: Contents) -> Sequence[str]:
        """What GKE and NVIDIA's driver bring."""
        del config
        return _SERVED

    def remains(self, account: Account) -> list[Remains]:
        """What is in the project, by the last part of its path."""
        found = super().remains(account)
        return sorted(dataclasses.replace(each, name=each.name.rpartition("/")[2]) for each in found)


def _furnish(ledger: Ledger, settings: GcpSettings, plan: Plan) -> None:
    capacity, network = settings.capacity, settings.network
    ledger.settings |= {"project": settings.project, "region": settings.region, "gpu_zones": [capacity.zone]}
    if capacity.mode == "existing":
        reserved = belongings.Reserved(
            name=capacity.reservation or "",
            owner=capacity.reservation_project or settings.project,
            zone=capacity.zone,
            machine=plan.machine.name,
            hosts=plan.layout.nodes * settings.replicas,
            block=capacity.block or "",
            sub_block=capacity.sub_block or "",
        )
        belongings.reservation(ledger, reserved)
    if network.name is not None:
        ranges = [network.pods_range or "", network.services_range or ""]
        belongings.network(ledger, network.name, network.subnet or "", ranges)
    if settings.weights.bucket is not None:
        belongings.bucket(ledger, settings.weights.bucket)
    if settings.cluster.node_service_account is not None:
        belongings.service_account(ledger, settings.cluster.node_service_account)
