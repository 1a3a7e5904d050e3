"""The GPU nodes: exactly the plan's machines, launched into the reservation, and the dearest thing of the stack."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pulumi
import pulumi_gcp as gcp

from components import naming
from components.gcp.capacity_reservation import Reservation
from components.gcp.cluster import EVERYTHING, GPU_POOL, Cluster
from components.gcp.machine_type import TYPES, MachineType, fast_network
from components.gcp.provider import Place, identity
from components.gcp.settings import GcpSettings
from components.inference_cluster import Manifest, Placement
from components.plan.planner import Plan

NVME_FOLDER: Final = "/mnt/stateful_partition/kube-ephemeral-ssd"
"""Where GKE mounts the RAID 0 of the local disks of a node; kubelet's and containerd's folders lie there too."""
GPU_TAINT: Final = "nvidia.com/gpu"
ARCH_TAINT: Final = "kubernetes.io/arch"
_SUB_BLOCK: Final = "cloud.google.com/gce-topology-subblock"
"""GKE's label of a node's sub-block, which is one rack and one NVLink domain."""
_BOOT_GIB: Final = 200
_RESERVATION: Final = "compute.googleapis.com/reservation-name"
_LONGEST_RUN_HOURS: Final = 168
"""DWS ends a flex-start node after seven days at the latest."""
_NAME_MAX: Final = 63
_NETWORK_LABELS: Final[Mapping[str, str]] = {
    # The one switch of the GPU network's claims; the API has no field for it.
    "cloud.google.com/gke-networking-dra-driver": "true",
    "cloud.google.com/gke-dpv2-unified-cni": "cni-migration",
}
_NETWORK_PROFILE: Final[Mapping[str, str]] = {"gke.networks.io/accelerator-network-profile": "auto"}
"""GKE's own label of the nodes whose GPU network it made."""


@dataclass(frozen=True, kw_only=True)
class GpuNodePoolArgs:
    """What the nodes take."""

    settings: GcpSettings
    plan: Plan
    cluster: Cluster
    place: Place
    reservation: Reservation
    after: Sequence[pulumi.Resource]
    """What must be there first, the complete weights among it."""

    @property
    def machine(self) -> MachineType:
        """The nodes' type."""
        return TYPES[self.plan.machine.name]

    @property
    def one_rack(self) -> bool:
        """Whether all nodes must be in one rack."""
        return self.plan.layout.interconnect == "mnnvl"


class GpuNodePool(pulumi.ComponentResource):
    """A node pool, and for racks the policy that puts its nodes into one; none of its nodes outlives it."""

    ready: Sequence[pulumi.Resource]

    def __init__(self, name: str, args: GpuNodePoolArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        props = {"machine": args.plan.machine.name, "nodes": args.plan.gpu_nodes, "reservation": args.reservation.path}
        super().__init__("kimi:gcp:GpuNodePool", name, props, opts)
        child = pulumi.ResourceOptions(parent=self, depends_on=list(args.after))
        pool = gcp.container.NodePool(
            f"{name}-nodes",
            node_pool_args(args, self._rack(name, args)),
            opts=pulumi.ResourceOptions.merge(
                child,
                pulumi.ResourceOptions(
                    # The reservation has no room for old and new nodes at the same time.
                    delete_before_replace=True,
                    # GKE adds labels of its own, and the provider would take them away in each `up`. A replaced pool
                    # keeps the old ones too, so that all pools have the same.
                    ignore_changes=["nodeConfig.labels"],
                ),
            ),
        )
        self.ready = [pool]
        self.register_outputs({"nodePool": pool.name})

    def _rack(self, name: str, args: GpuNodePoolArgs) -> pulumi.Output[str] | None:
        if not args.one_rack:
            return None
        policy = gcp.compute.ResourcePolicy(
            f"{name}-rack",
            name=naming.fit(f"{identity()}-rack", _NAME_MAX),
            region=args.place.region,
            workload_policy=gcp.compute.ResourcePolicyWorkloadPolicyArgs(
                type="HIGH_THROUGHPUT", accelerator_topology=args.machine.rack_topology
            ),
            opts=pulumi.ResourceOptions(parent=self, depends_on=list(args.after), delete_before_replace=True),
        )
        return policy.name


def placement(plan: Plan) -> Placement:
    """Return which nodes the engine's pods may use: a pod on a pool with a GPU network must name the network too."""
    machine = TYPES[plan.machine.name]
    profile = _NETWORK_PROFILE if fast_network(machine, plan.layout) else {}
    return Placement(
        node_selector={"cloud.google.com/gke-accelerator": machine.accelerator, **profile},
        tolerations=tolerations(plan.machine.architecture),
        nvlink_domain=_SUB_BLOCK,
    )


def tolerations(architecture: str) -> list[Manifest]:
    """Return what gets onto the nodes: GKE taints GPUs, and whatever isn't x86."""
    found: list[Manifest] = [{"key": GPU_TAINT, "operator": "Exists", "effect": "NoSchedule"}]
    if architecture != "amd64":
        found.append({"key": ARCH_TAINT, "operator": "Equal", "value": architecture, "effect": "NoSchedule"})
    return found


def node_pool_args(args: GpuNodePoolArgs, rack: pulumi.Input[str] | None) -> gcp.container.NodePoolArgs:
    """Return the node pool: as many nodes as the plan has, or as many as come where they are waited for.

    Args:
        args: What the nodes take.
        rack: Name of the policy that puts all of them into one rack.
    """
    flex = args.settings.capacity.mode == "flexStart"
    network = "auto" if fast_network(args.machine, args.plan.layout) else None
    cluster = args.settings.cluster
    return gcp.container.NodePoolArgs(
        name=GPU_POOL,
        cluster=args.cluster.control_plane.id,
        # One zone alone, said again: a reservation's path doesn't tell GKE, and no GPU network joins two.
        node_locations=[args.place.zone],
        node_count=None if flex else args.plan.gpu_nodes,
        autoscaling=_waiting(args.plan.gpu_nodes) if flex else None,
        version=cluster.gpu_node_version,
        management=gcp.container.NodePoolManagementArgs(
            auto_repair=cluster.gpu_auto_repair and not flex,
            # GKE insists on it in a release channel; the cluster's exclusion is what keeps nodes as they are.
            auto_upgrade=True,
        ),
        # A surge would need a node more than the reservation, or the rack, has.
        upgrade_settings=gcp.container.NodePoolUpgradeSettingsArgs(strategy="SURGE", max_surge=0, max_unavailable=1),
        # COMPACT even for a workload policy, which is only named.
        placement_policy=gcp.container.NodePoolPlacementPolicyArgs(type="COMPACT", policy_name=rack) if rack else None,
        network_config=gcp.container.NodePoolNetworkConfigArgs(
            accelerator_network_profile=network, enable_private_nodes=True
        ),
        node_config=node_config(args),
    )


def node_config(args: GpuNodePoolArgs) -> gcp.container.NodePoolNodeConfigArgs:
    """Return what a node is: machine, driver, disks, huge pages, and which reservation it comes from."""
    machine, plan, capacity = args.machine, args.plan, args.settings.capacity
    flex = capacity.mode == "flexStart"
    driver = gcp.container.NodePoolNodeConfigGuestAcceleratorGpuDriverInstallationConfigArgs(
        # vLLM's CUDA 13 needs 580, which DEFAULT isn't everywhere. Another value replaces all nodes (provider #23248).
        gpu_driver_version="LATEST"
    )
    return gcp.container.NodePoolNodeConfigArgs(
        machine_type=plan.machine.name,
        image_type="COS_CONTAINERD",
        boot_disk=gcp.container.NodePoolNodeConfigBootDiskArgs(disk_type=machine.boot_disk, size_gb=_BOOT_GIB),
        guest_accelerators=[
            gcp.container.NodePoolNodeConfigGuestAcceleratorArgs(
                type=machine.accelerator, count=plan.machine.gpus, gpu_driver_installation_config=driver
            )
        ],
        ephemeral_storage_local_ssd_config=gcp.container.NodePoolNodeConfigEphemeralStorageLocalSsdConfigArgs(
            local_ssd_count=machine.local_ssds
        ),
        linux_node_config=_huge_pages(machine),
        labels=_NETWORK_LABELS,
        resource_labels=args.place.labels,
        taints=[gcp.container.NodePoolNodeConfigTaintArgs(key=GPU_TAINT, value="present", effect="NO_SCHEDULE")],
        taint_config=gcp.container.NodePoolNodeConfigTaintConfigArgs(architecture_taint_behavior="ARM")
        if plan.machine.architecture == "arm64"
        else None,
        workload_metadata_config=gcp.container.NodePoolNodeConfigWorkloadMetadataConfigArgs(mode="GKE_METADATA"),
        service_account=args.cluster.node_account,
        oauth_scopes=EVERYTHING,
        reservation_affinity=_reservation(args.reservation),
        flex_start=True if flex else None,
        max_run_duration=f"{(capacity.max_run_hours or _LONGEST_RUN_HOURS) * 3600}s" if flex else None,
    )


def _waiting(nodes: int) -> gcp.container.NodePoolAutoscalingArgs:
    """Return the only way in which DWS gives nodes: as pods ask for them, and from wherever it has some."""
    return gcp.container.NodePoolAutoscalingArgs(
        total_min_node_count=0, total_max_node_count=nodes, location_policy="ANY"
    )


def _huge_pages(machine: MachineType) -> gcp.container.NodePoolNodeConfigLinuxNodeConfigArgs | None:
    if not machine.huge_pages:
        return None
    pages = gcp.container.NodePoolNodeConfigLinuxNodeConfigHugepagesConfigArgs(hugepage_size2m=machine.huge_pages)
    return gcp.container.NodePoolNodeConfigLinuxNodeConfigArgs(hugepages_config=pages)


def _reservation(reservation: Reservation) -> gcp.container.NodePoolNodeConfigReservationAffinityArgs:
    if reservation.path is None:
        return gcp.container.NodePoolNodeConfigReservationAffinityArgs(consume_reservation_type="NO_RESERVATION")
    return gcp.container.NodePoolNodeConfigReservationAffinityArgs(
        consume_reservation_type="SPECIFIC_RESERVATION", key=_RESERVATION, values=[reservation.path]
    )
