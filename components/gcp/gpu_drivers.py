"""What GKE doesn't bring for the GPUs' networks: NVLink between nodes, bare-metal adapters, NCCL's plugin, and claims.

The GPU driver and the device plugin are GKE's own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pulumi
import pulumi_kubernetes as kubernetes

from components import dra_driver
from components.chart import release
from components.gcp import host_daemons
from components.gcp.cluster import Cluster
from components.gcp.gpu_node_pool import tolerations
from components.gcp.machine_type import TYPES, uses_rdma
from components.inference_cluster import Manifest
from components.plan.planner import Plan
from components.settings import Mirror

NVIDIA_FOLDER: Final = "/home/kubernetes/bin/nvidia"
"""Where GKE keeps the driver on a node; the chart and the engine look elsewhere by themselves."""
RDMA_CLAIM: Final = "gpu-network"
"""Template of a pod's claim to all RDMA adapters of its node."""
_RDMA_CLASS: Final = "mrdma.google.com"
_GIB_PATH: Final = "/usr/local/gib"


@dataclass(frozen=True, kw_only=True)
class GpuDriversArgs:
    """What they take."""

    cluster: Cluster
    plan: Plan
    mirror: Mirror
    """Where charts and images come from on a closed network."""
    labels: Mapping[str, str]
    """Labels of what is in the cluster."""
    after: Sequence[pulumi.Resource]
    """The namespace, beside what the cluster says is ready."""


class GpuDrivers(pulumi.ComponentResource):
    """Whatever the plan's layout needs of it; nothing for nodes that talk over TCP."""

    ready: Sequence[pulumi.Resource]

    def __init__(self, name: str, args: GpuDriversArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        layout, machine = args.plan.layout, TYPES[args.plan.machine.name]
        nvlink, rdma = layout.interconnect == "mnnvl", uses_rdma(layout)
        super().__init__("kimi:gcp:GpuDrivers", name, {"nvlink": nvlink, "rdma": rdma}, opts)
        child = pulumi.ResourceOptions(
            parent=self, provider=args.cluster.access.provider, depends_on=[*args.cluster.ready, *args.after]
        )
        found: list[pulumi.Resource] = _dra_driver(name, args, child) if nvlink else []
        daemons: list[Manifest] = []
        daemons += [host_daemons.asapd_lite(args.plan.machine.name, args.mirror)] if machine.bare_metal else []
        daemons += [host_daemons.nccl_plugin(machine.accelerator, args.mirror)] if rdma and machine.nccl_tuner else []
        found += [_daemon(name, daemon, args.labels, child) for daemon in daemons]
        found += [_claim(name, machine.rdma_devices, args, child)] if rdma else []
        self.ready = found
        self.register_outputs({})


def dra_driver_values(plan: Plan, mirror: Mirror) -> dict[str, object]:
    """Return the chart's values: compute domains alone, on the GPU nodes, with the driver where GKE has it."""
    machine = plan.machine
    return {
        **dra_driver.compute_domain_values(NVIDIA_FOLDER, mirror),
        "controller": {"affinity": _nodes({"key": "nvidia.com/gpu", "operator": "DoesNotExist"})},
        "kubeletPlugin": {
            "affinity": _nodes(
                _one_of("cloud.google.com/gke-accelerator", TYPES[machine.name].accelerator),
                _one_of("kubernetes.io/arch", machine.architecture),
            ),
            "tolerations": tolerations(machine.architecture),
        },
    }


def quota_spec(nodes: int) -> kubernetes.core.v1.ResourceQuotaSpecArgs:
    """Return the quota without which GKE admits no pod of a critical class outside kube-system (modelplane #229).

    Args:
        nodes: The plan's GPU nodes: each has the driver's pod and a compute domain's, and there is one controller.
    """
    critical = kubernetes.core.v1.ScopedResourceSelectorRequirementArgs(
        scope_name="PriorityClass", operator="In", values=["system-node-critical", "system-cluster-critical"]
    )
    return kubernetes.core.v1.ResourceQuotaSpecArgs(
        hard={"pods": str(2 * nodes + 1)},
        scope_selector=kubernetes.core.v1.ScopeSelectorArgs(match_expressions=[critical]),
    )


def claim_spec(devices: int) -> kubernetes.resource.v1.ResourceClaimTemplateSpecArgs:
    """Return the claim to a node's RDMA adapters: all of them, since pods can't share them."""
    resource = kubernetes.resource.v1
    wanted = resource.ExactDeviceRequestArgs(device_class_name=_RDMA_CLASS, allocation_mode="ExactCount", count=devices)
    devices_ = resource.DeviceClaimArgs(requests=[resource.DeviceRequestArgs(name="adapters", exactly=wanted)])
    return resource.ResourceClaimTemplateSpecArgs(spec=resource.ResourceClaimSpecArgs(devices=devices_))


def host_folders(plan: Plan) -> dict[str, str]:
    """Return the node's folders that the engine needs, by where it looks for them."""
    found = {"/usr/local/nvidia": NVIDIA_FOLDER}
    return {**found, _GIB_PATH: host_daemons.GIB_FOLDER} if _gib(plan) else found


def environment(plan: Plan) -> list[Manifest]:
    """Return what the engine's pods are told: where libraries are, and how NCCL uses Google's plugin.

    The values of gIB are those of the machines' NCCL configuration in Google's guide (GPUDirect RDMA on GKE, 2026-04).
    """
    libraries = ["/usr/local/nvidia/lib64", "/usr/local/cuda/lib64"]
    found: dict[str, str] = {}
    if _gib(plan):
        libraries = [f"{_GIB_PATH}/lib64", *libraries]
        found = {
            "NCCL_NET": "gIB",
            "NCCL_TUNER_CONFIG_PATH": f"{_GIB_PATH}/configs/{TYPES[plan.machine.name].nccl_tuner}",
            "NCCL_CROSS_NIC": "0",
            "NCCL_NET_GDR_LEVEL": "PIX",
            "NCCL_P2P_NET_CHUNKSIZE": "131072",
            "NCCL_NVLS_CHUNKSIZE": "524288",
            "NCCL_IB_ADAPTIVE_ROUTING": "1",
            "NCCL_IB_QPS_PER_CONNECTION": "4",
            "NCCL_IB_TC": "52",
            "NCCL_IB_FIFO_TC": "84",
        }
    if uses_rdma(plan.layout):
        # Its log names the transport: "gIB" or "IB" is RDMA, "NET/Socket" the TCP that it falls back to.
        found |= {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,NET"}
    found["LD_LIBRARY_PATH"] = ":".join(libraries)
    return [{"name": name, "value": value} for name, value in found.items()]


def _gib(plan: Plan) -> bool:
    return uses_rdma(plan.layout) and TYPES[plan.machine.name].nccl_tuner is not None


def _dra_driver(name: str, args: GpuDriversArgs, opts: pulumi.ResourceOptions) -> list[pulumi.Resource]:
    namespace = kubernetes.core.v1.Namespace(
        f"{name}-namespace",
        metadata=kubernetes.meta.v1.ObjectMetaArgs(
            name=dra_driver.CHART.name, labels={**args.labels, "pod-security.kubernetes.io/enforce": "privileged"}
        ),
        opts=opts,
    )
    made = namespace.metadata.name
    quota = kubernetes.core.v1.ResourceQuota(
        f"{name}-quota",
        metadata=kubernetes.meta.v1.ObjectMetaArgs(name="critical-pods", namespace=made, labels=args.labels),
        spec=quota_spec(args.plan.gpu_nodes),
        opts=opts,
    )
    driver = release(
        f"{name}-{dra_driver.CHART.name}",
        dra_driver.CHART,
        args.mirror,
        namespace=made,
        values=dra_driver_values(args.plan, args.mirror),
        opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=[quota])),
    )
    return [driver]


def _daemon(name: str, daemon: Manifest, labels: Mapping[str, str], opts: pulumi.ResourceOptions) -> pulumi.Resource:
    return kubernetes.apiextensions.CustomResource(
        f"{name}-{daemon['name']}",
        api_version="apps/v1",
        kind="DaemonSet",
        metadata=kubernetes.meta.v1.ObjectMetaArgs(
            name=f"{daemon['name']}",
            # The one namespace in which GKE admits critical pods without a quota.
            namespace="kube-system",
            labels=labels,
            # Made before the nodes are: there is no pod to wait for.
            annotations={"pulumi.com/skipAwait": "true"},
        ),
        spec=daemon["spec"],
        opts=opts,
    )


def _claim(name: str, devices: int, args: GpuDriversArgs, opts: pulumi.ResourceOptions) -> pulumi.Resource:
    return kubernetes.resource.v1.ResourceClaimTemplate(
        f"{name}-{RDMA_CLAIM}",
        metadata=kubernetes.meta.v1.ObjectMetaArgs(
            name=RDMA_CLAIM, namespace=args.cluster.access.namespace, labels=args.labels
        ),
        spec=claim_spec(devices),
        opts=opts,
    )


def _nodes(*expressions: Manifest) -> dict[str, object]:
    terms = {"nodeSelectorTerms": [{"matchExpressions": list(expressions)}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def _one_of(key: str, value: str) -> Manifest:
    return {"key": key, "operator": "In", "values": [value]}
