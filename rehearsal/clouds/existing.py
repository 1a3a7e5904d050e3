"""A cluster that somebody has already: a kubeconfig, and nodes that are there before the program comes."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from components.existing.settings import ExistingSettings
from components.plan.planner import Plan
from components.stack_file import Settings
from rehearsal.clouds.cloud import Scene, loaded
from rehearsal.control_plane import compute_domain, nodes
from rehearsal.control_plane.api import Json
from rehearsal.fakes.account import Account
from rehearsal.fakes.kubernetes.helm_release import CHART_DEFINITIONS
from rehearsal.remains import Remains, listed
from rehearsal.stack_file import Contents, as_contents

_CONTENTS_KEY: Final = "kimi-k3:kubeconfig"
_CLUSTER_KEY: Final = "kimi-k3:cluster"
_COMPUTE_DOMAINS: Final = "computedomains.resource.nvidia.com"
"""A cluster with NVLink between its nodes has NVIDIA's DRA driver."""
_KUBELETS_SHARE: Final = 0.97
"""What a kubelet leaves of a machine's memory for pods."""


class Existing:
    """The person's own cluster; nothing in it is made by a cloud."""

    packages: Sequence[str] = ()
    cluster_module = "kubernetes"

    def furnish(self, scene: Scene) -> None:
        """Write the kubeconfig, with the context that the stack file names."""
        context = str(as_contents(scene.config.get(_CLUSTER_KEY)).get("context") or "rehearsal")
        _kubeconfig(scene).write_text(scene.server.kubeconfig(context))

    def overrides(self, scene: Scene) -> Contents:
        """Our kubeconfig by its path; contents in the stack file would win over it, and what is empty isn't set."""
        cluster: Contents = {_CLUSTER_KEY: {"kubeconfig": str(_kubeconfig(scene))}}
        return cluster | ({_CONTENTS_KEY: ""} if _CONTENTS_KEY in scene.config else {})

    def commands(self, scene: Scene) -> Mapping[str, str]:
        """None: the kubeconfig holds a token."""
        del scene
        return {}

    def served(self, config: Contents) -> Sequence[str]:
        """NVIDIA's DRA driver, and the LeaderWorkerSet controller if the stack file says that it is there."""
        present = as_contents(config.get(_CLUSTER_KEY)).get("leaderWorkerSet") == "present"
        return [_COMPUTE_DOMAINS, *(CHART_DEFINITIONS["lws"] if present else ())]

    def nodes(self, config: Contents) -> Sequence[Json]:
        """One for CPU pods, and those that the stack file plans with."""
        gpus: list[Json] = []
        match loaded(config):
            case (ExistingSettings() as settings, plan):
                gpus = gpu_nodes(settings, plan, settings.cluster.nodes)
            case _:
                pass
        return [nodes.cpu_node("system"), *gpus]

    def has_cluster(self, account: Account) -> bool:
        """Always."""
        del account
        return True

    def remains(self, account: Account) -> list[Remains]:
        """The objects of the light rehearsal."""
        return listed(account)


def gpu_nodes(settings: Settings, plan: Plan, count: int) -> list[Json]:
    """Return so many nodes of the plan's machine type, labelled and tainted as the stack file expects them."""
    machine = plan.machine
    if not isinstance(settings, ExistingSettings):
        raise TypeError("the nodes of a cloud's own cluster come from its node groups")
    labels = dict(settings.cluster.node_selector)
    if machine.multi_node_nvlink:
        labels[compute_domain.CLIQUE_LABEL] = "domain.0"
    taints = [
        nodes.Taint(key=taint.key, value=taint.value or "present", effect=taint.effect or "NoSchedule")
        for taint in settings.cluster.tolerations
        if taint.key
    ]
    shape = nodes.Machine(
        architecture=machine.architecture,
        cpu=machine.vcpus,
        memory_gb=int(machine.ram_gb * _KUBELETS_SHARE),
        ephemeral_storage_gb=machine.nvme_gb or 500,
        labels=labels,
        taints=taints,
    )
    return [
        nodes.gpu_node(f"gpu-{index}", shape, gpus=machine.gpus, gpu_resource=machine.gpu_resource)
        for index in range(count)
    ]


def _kubeconfig(scene: Scene) -> Path:
    return scene.workspace.root / "kubeconfig"
