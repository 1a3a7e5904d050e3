"""The full depth: the real Kubernetes provider against a real API server, scheduler and LeaderWorkerSet controller."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from rehearsal.clouds import cloud_of
from rehearsal.clouds.cloud import ApiServer
from rehearsal.control_plane.api import Api
from rehearsal.control_plane.control_plane import ControlPlane
from rehearsal.depths import Stage, opened, overrides, stand_in
from rehearsal.remains import Remains
from rehearsal.stack_file import Contents
from rehearsal.workspace import Plugin, Workspace
from toolchain import kubernetes_provider, tool

_BUILT_IN: Final = frozenset({"default", "kube-node-lease", "kube-public", "kube-system"})
_COLLECTIONS: Final[Mapping[str, str]] = {
    "LeaderWorkerSet": "/apis/leaderworkerset.x-k8s.io/v1/leaderworkersets",
    "ComputeDomain": "/apis/resource.nvidia.com/v1beta1/computedomains",
    "ResourceClaimTemplate": "/apis/resource.k8s.io/v1/resourceclaimtemplates",
    "Deployment": "/apis/apps/v1/deployments",
    "DaemonSet": "/apis/apps/v1/daemonsets",
    "Job": "/apis/batch/v1/jobs",
    "Pod": "/api/v1/pods",
    "PersistentVolumeClaim": "/api/v1/persistentvolumeclaims",
    "Service": "/api/v1/services",
    "Ingress": "/apis/networking.k8s.io/v1/ingresses",
    "Secret": "/api/v1/secrets",
    "NetworkPolicy": "/apis/networking.k8s.io/v1/networkpolicies",
}


class Full:
    """The engine, the real provider and the real control plane; nodes and their pods are simulated."""

    name = "full"
    touches = "no cloud was touched, the cluster is processes on this machine"

    @contextmanager
    def stage(self, config: Contents, workspace: Workspace) -> Iterator[Stage]:
        """Start a control plane with the nodes that the stack file's cloud has from the start."""
        provider = kubernetes_provider.ensure(tool.silent)
        with ControlPlane(workspace.root / "plane") as plane:
            plane.add_nodes(cloud_of(config).nodes(config))
            yield stage_on(plane, provider, config, workspace.root / "kubeconfig")


def stage_on(plane: ControlPlane, provider: Path, config: Contents, kubeconfig: Path) -> Stage:
    """Return the stage on a control plane that runs.

    Args:
        plane: The control plane.
        provider: The real Kubernetes provider.
        config: The `config` part of the person's stack file.
        kubeconfig: Where one is written if the cloud needs it; its folder is the workspace's.
    """
    cloud, workspace = cloud_of(config), Workspace(kubeconfig.parent)
    server = ApiServer(url=plane.server, authority=plane.authority, token=plane.token)
    scene = opened(config, workspace, server)
    cloud.furnish(scene)
    clouds = {package: stand_in(package, scene.account, plane.kubeconfig) for package in cloud.packages}

    def existing() -> list[Remains]:
        in_cluster = listed(plane.api) if cloud.has_cluster(scene.account) else []
        return sorted([*in_cluster, *cloud.remains(scene.account)])

    return Stage(
        plugins={"kubernetes": Plugin([provider]), **clouds},
        overrides=overrides(scene),
        existing=existing,
        ledger=scene.account.ledger,
        commands=cloud.commands(scene),
        notes=["container images, probes and mounts: KWOK plays the kubelets"],
    )


def listed(api: Api) -> list[Remains]:
    """Return what exists outside the namespaces that every cluster has."""
    names = [item["metadata"]["name"] for item in api.items("/api/v1/namespaces")]
    found = [Remains("Namespace", "", name) for name in names if name not in _BUILT_IN]
    for kind, path in _COLLECTIONS.items():
        for item in api.items(path):
            metadata = item["metadata"]
            if metadata["namespace"] not in _BUILT_IN:
                found.append(Remains(kind, metadata["namespace"], metadata["name"]))
    return sorted(found)
