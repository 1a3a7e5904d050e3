"""What turns the nodes' hardware into something that pods can ask for: driver, GPUs, NVLink domains, InfiniBand, disks.

AKS starts GB200 and GB300 without any driver, so all of it comes from NVIDIA's operators.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pulumi
import pulumi_kubernetes as kubernetes

from components import dra_driver
from components.azure.cluster import Cluster
from components.azure.gpu_node_pool import TAINT
from components.chart import Chart, release
from components.settings import Mirror

GPU_OPERATOR: Final = Chart(name="gpu-operator", version="v26.7.0", repository="https://helm.ngc.nvidia.com/nvidia")
NETWORK_OPERATOR: Final = Chart(
    name="network-operator", version="26.1.1", repository="https://helm.ngc.nvidia.com/nvidia"
)
NAMESPACE: Final = "gpu-operator"
INFINIBAND: Final = {"rdma/shared_ib": "1"}
"""All InfiniBand adapters of a node at once: one pod of the engine has them to itself."""
_TOLERATIONS: Final = [{"key": TAINT, "operator": "Exists", "effect": "NoSchedule"}]
_DRIVER_ROOT: Final = "/run/nvidia/driver"
"""Where the operator's driver is; the chart looks for one of the host."""
_DOCA: Final = "doca3.3.0-26.01-1.0.0.0-0"
"""Older ones don't build for the arm64 kernel (Azure/ai-infrastructure-on-azure, nic.yaml, 2026-04)."""
_NFD_IMAGE: Final = "registry.k8s.io/nfd/node-feature-discovery"
_NGC: Final = "nvcr.io/nvidia"
_MELLANOX: Final = "nvcr.io/nvidia/mellanox"


@dataclass(frozen=True, kw_only=True)
class GpuDriversArgs:
    """What the operators take."""

    cluster: Cluster
    mirror: Mirror
    """Where charts and images come from on a closed network."""
    labels: Mapping[str, str]
    """Of the namespace."""
    nvlink: bool
    """Whether NVLink joins nodes."""
    infiniband: bool
    """Whether InfiniBand does."""


class GpuDrivers(pulumi.ComponentResource):
    """NVIDIA's operators."""

    ready: Sequence[pulumi.Resource]

    def __init__(self, name: str, args: GpuDriversArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        props = {"nvlink": args.nvlink, "infiniband": args.infiniband}
        super().__init__("kimi:azure:GpuDrivers", name, props, opts)
        child = pulumi.ResourceOptions(
            parent=self, provider=args.cluster.access.provider, depends_on=list(args.cluster.ready)
        )
        # Ours, not Helm's createNamespace, which is never deleted.
        namespace = kubernetes.core.v1.Namespace(
            f"{name}-namespace",
            metadata=kubernetes.meta.v1.ObjectMetaArgs(
                name=NAMESPACE, labels={**args.labels, "pod-security.kubernetes.io/enforce": "privileged"}
            ),
            opts=child,
        )
        made = namespace.metadata.name
        operator = release(
            f"{name}-{GPU_OPERATOR.name}",
            GPU_OPERATOR,
            args.mirror,
            namespace=made,
            values=gpu_operator_values(args.mirror),
            opts=child,
        )
        # The others need the labels that the first one's feature discovery puts on nodes.
        then = pulumi.ResourceOptions.merge(child, pulumi.ResourceOptions(depends_on=[operator]))
        found: list[pulumi.Resource] = [operator]
        if args.nvlink:
            values = dra_driver_values(args.mirror)
            found.append(
                release(
                    f"{name}-{dra_driver.CHART.name}",
                    dra_driver.CHART,
                    args.mirror,
                    namespace=made,
                    values=values,
                    opts=then,
                )
            )
        if args.infiniband:
            found += _infiniband(name, args.mirror, made, then)
        self.ready = found
        self.register_outputs({})


def gpu_operator_values(mirror: Mirror) -> dict[str, object]:
    """Return the chart's values; it tolerates our taint by itself, and its feature discovery names NVLink domains."""
    return {
        # Blackwell has no other module; RDMA goes through dma-buf, since nvidia-peermem doesn't load here.
        "driver": {
            "kernelModuleType": "open",
            "rdma": {"enabled": False},
            # A new driver would take the GPUs from under a running model (NVIDIA/gpu-operator #2166).
            "upgradePolicy": {"autoUpgrade": False},
            **_repository(mirror, _NGC),
            **({"manager": _repository(mirror, f"{_NGC}/cloud-native")} if mirror.images else {}),
        },
        # Else it writes a file for a newer containerd than AKS configures: containerd stops and no GPU node is ready
        # any more (NVIDIA/gpu-operator #2646, NVIDIA/aicr #1688).
        "toolkit": {
            "env": [{"name": "RUNTIME_CONFIG_SOURCE", "value": "file"}],
            **_repository(mirror, f"{_NGC}/k8s"),
        },
        **_mirrored_parts(mirror),
    }


def dra_driver_values(mirror: Mirror) -> dict[str, object]:
    """Return the chart's values."""
    return {
        **dra_driver.compute_domain_values(_DRIVER_ROOT, mirror),
        # Charts before 0.5 tolerate nothing, and then no GPU node has the plugin.
        "kubeletPlugin": {"tolerations": _TOLERATIONS},
    }


def network_operator_values(mirror: Mirror) -> dict[str, object]:
    """Return the chart's values: feature discovery is the GPU operator's."""
    return {
        "nfd": {"enabled": False, "deployNodeFeatureRules": False},
        **({"operator": {"repository": mirror.mirrored(_MELLANOX)}} if mirror.images else {}),
    }


def nic_cluster_policy_spec(mirror: Mirror) -> dict[str, object]:
    """Return what runs on nodes with InfiniBand: its driver, and the plugin that hands the adapters out.

    Source: Azure/aks-rdma-infiniband, configs/nicclusterpolicy. Without its telemetry, which is for x86 alone.
    """
    repository = mirror.mirrored(_MELLANOX)
    config = (
        '{"configList": [{"resourceName": "shared_ib", "rdmaHcaMax": 63, '
        '"selectors": {"vendors": ["15b3"], "linkTypes": ["infiniband"]}}]}'
    )
    present = {"key": "feature.node.kubernetes.io/pci-15b3.present", "operator": "In", "values": ["true"]}
    return {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [present]}]}
        },
        "tolerations": _TOLERATIONS,
        "ofedDriver": {
            "repository": repository,
            "image": "doca-driver",
            "version": _DOCA,
            "forcePrecompiled": False,
            # A race with the host's own module (Mellanox/doca-driver-build #52).
            "env": [
                {
                    "name": "OFED_BLACKLIST_MODULES_FILE",
                    "value": "/host/etc/modprobe.d/blacklist-ofed-modules.conf",
                }
            ],
            "upgradePolicy": {"autoUpgrade": False},
        },
        "rdmaSharedDevicePlugin": {
            "repository": repository,
            "image": "k8s-rdma-shared-dev-plugin",
            "version": f"network-operator-v{NETWORK_OPERATOR.version}",
            "config": config,
        },
    }


def _infiniband(
    name: str, mirror: Mirror, namespace: pulumi.Input[str], opts: pulumi.ResourceOptions
) -> list[pulumi.Resource]:
    operator = release(
        f"{name}-{NETWORK_OPERATOR.name}",
        NETWORK_OPERATOR,
        mirror,
        namespace=namespace,
        values=network_operator_values(mirror),
        opts=opts,
    )
    policy = kubernetes.apiextensions.CustomResource(
        f"{name}-nic-cluster-policy",
        api_version="mellanox.com/v1alpha1",
        kind="NicClusterPolicy",
        # The one name that the operator looks at.
        metadata=kubernetes.meta.v1.ObjectMetaArgs(name="nic-cluster-policy"),
        spec=nic_cluster_policy_spec(mirror),
        opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=[operator])),
    )
    return [operator, policy]


def _mirrored_parts(mirror: Mirror) -> dict[str, object]:
    """Return where the other parts' images are: each has a key of its own."""
    if not mirror.images:
        return {}
    parts = {"operator": _NGC, "validator": _NGC, "devicePlugin": _NGC, "gfd": _NGC, "dcgmExporter": f"{_NGC}/k8s"}
    found: dict[str, object] = {part: _repository(mirror, place) for part, place in parts.items()}
    return {**found, "node-feature-discovery": {"image": {"repository": mirror.mirrored(_NFD_IMAGE)}}}


def _repository(mirror: Mirror, place: str) -> dict[str, object]:
    return {"repository": mirror.mirrored(place)} if mirror.images else {}
