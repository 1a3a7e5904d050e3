"""The full depth: the real Kubernetes provider against a real API server, scheduler and LeaderWorkerSet controller."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import yaml

from components.config import SECRET_KEYS
from components.faults import Faulty
from components.plan.planner import Plan
from components.stack_file import Settings, load
from rehearsal.control_plane import compute_domain, nodes
from rehearsal.control_plane.api import Api, Json
from rehearsal.control_plane.control_plane import ControlPlane
from rehearsal.depths import Existing, Stage, existing_cluster_overrides
from rehearsal.stack_file import Contents, as_contents
from rehearsal.workspace import Plugin, Workspace
from toolchain import kubernetes_provider, tool

_PREFIX: Final = "kimi-k3:"
_BUILT_IN: Final = frozenset({"default", "kube-node-lease", "kube-public", "kube-system"})
_KUBELETS_SHARE: Final = 0.97
"""What a kubelet leaves of a machine's memory for pods."""
_COLLECTIONS: Final[Mapping[str, str]] = {
    "LeaderWorkerSet": "/apis/leaderworkerset.x-k8s.io/v1/leaderworkersets",
    "ComputeDomain": "/apis/resource.nvidia.com/v1beta1/computedomains",
    "ResourceClaimTemplate": "/apis/resource.k8s.io/v1/resourceclaimtemplates",
    "Deployment": "/apis/apps/v1/deployments",
    "Job": "/apis/batch/v1/jobs",
    "Pod": "/api/v1/pods",
    "PersistentVolumeClaim": "/api/v1/persistentvolumeclaims",
    "Service": "/api/v1/services",
    "Secret": "/api/v1/secrets",
    "NetworkPolicy": "/apis/networking.k8s.io/v1/networkpolicies",
}


class Full:
    """The engine, the real provider and the real control plane; nodes and their pods are simulated."""

    name = "full"
    touches = "no cloud was touched, the cluster is processes on this machine"

    @contextmanager
    def stage(self, config: Contents, workspace: Workspace) -> Iterator[Stage]:
        """Start a control plane with nodes shaped like those that the stack file plans with."""
        provider = kubernetes_provider.ensure(tool.silent)
        with ControlPlane(workspace.root / "plane") as plane:
            try:
                settings, plan = load(plain_values(config))
            except Faulty:
                # The preview is about to say what is wrong with the file.
                machines: list[Json] = []
            else:
                machines = gpu_nodes(settings, plan, settings.cluster.nodes)
            plane.add_nodes([nodes.cpu_node("system"), *machines])
            yield stage_on(plane, provider, config, workspace.root / "kubeconfig")


def stage_on(plane: ControlPlane, provider: Path, config: Contents, kubeconfig: Path) -> Stage:
    """Return the stage on a control plane that runs; its kubeconfig gets the context that the stack file names."""
    cluster = as_contents(config.get("kimi-k3:cluster"))
    kubeconfig.write_text(with_context(plane.kubeconfig, str(cluster.get("context") or "rehearsal")))
    return Stage(
        plugins={"kubernetes": Plugin([provider])},
        overrides=existing_cluster_overrides(kubeconfig, config),
        existing=lambda: listed(plane.api),
        notes=["container images, probes and mounts: KWOK plays the kubelets"],
    )


def plain_values(config: Contents) -> Contents:
    """Return the keys of the stack file below the project's namespace, without the secret ones."""
    keys = {key.removeprefix(_PREFIX): value for key, value in config.items() if key.startswith(_PREFIX)}
    return {key: value for key, value in keys.items() if key not in SECRET_KEYS}


def gpu_nodes(settings: Settings, plan: Plan, count: int) -> list[Json]:
    """Return so many nodes of the plan's machine type, labelled and tainted as the stack file expects them."""
    machine = plan.machine
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


def with_context(kubeconfig: Path, context: str) -> str:
    """Return a kubeconfig whose only context has another name."""
    contents = yaml.safe_load(kubeconfig.read_text())
    contents["contexts"][0]["name"] = context
    contents["current-context"] = context
    return yaml.safe_dump(contents)


def listed(api: Api) -> list[Existing]:
    """Return what exists outside the namespaces that every cluster has."""
    names = [item["metadata"]["name"] for item in api.items("/api/v1/namespaces")]
    found = [Existing("Namespace", "", name) for name in names if name not in _BUILT_IN]
    for kind, path in _COLLECTIONS.items():
        for item in api.items(path):
            metadata = item["metadata"]
            if metadata["namespace"] not in _BUILT_IN:
                found.append(Existing(kind, metadata["namespace"], metadata["name"]))
    return sorted(found)
