"""The GPU nodes: exactly the plan's machines, out of the private pools, and the dearest thing of the stack."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pulumi
import pulumi_alicloud as alicloud

from components.alicloud import settings
from components.alicloud.capacity import Capacity
from components.alicloud.cluster import IMAGE_TYPE, Cluster
from components.alicloud.provider import physical_name
from components.inference_cluster import Placement

TAINT: Final = "nvidia.com/gpu"
LABELS: Final = {"kimi-k3/pool": "gpu"}
"""Of our own: ACK's are set once the driver is there."""
DRIVER_LABEL: Final = "ack.aliyun.com/nvidia-driver-version"
"""Read while a node is made, and never again (ACK, "Customize the NVIDIA GPU driver version of a node")."""
PLACEMENT: Final = Placement(node_selector=LABELS, tolerations=[{"key": TAINT, "operator": "Exists"}])
DISK_FOLDER: Final = "/mnt/kimi-k3"
"""Where a node mounts the cloud disk that holds its copy of the weights."""
_SYSTEM_DISK_GIB: Final = 500
"""The image, caches and logs."""
_FIXED: Final = ("instanceTypes", "dataDisks", "labels", "resourcePoolOptions", "systemDiskSize", "imageType")
"""What the provider changes in the pool alone: nodes that run would keep the old, and nobody would see it."""


@dataclass(frozen=True, kw_only=True)
class GpuNodePoolArgs:
    """What the nodes take."""

    cluster: Cluster
    switch_id: pulumi.Input[str]
    """In the zone of the nodes."""
    driver: str
    """NVIDIA's driver, from ACK's list."""
    machine: str
    """ECS type, or Lingjun's series."""
    nodes: int
    disk: settings.Disk | None
    """Of the weights; None where they aren't copied."""
    tags: Mapping[str, str]
    after: Sequence[pulumi.Resource]
    """What must be there first, the complete weights among it."""


class GpuNodePool(pulumi.ComponentResource):
    """A node pool of a fixed size."""

    ready: Sequence[pulumi.Resource]

    def __init__(
        self,
        name: str,
        args: GpuNodePoolArgs,
        opts: pulumi.ResourceOptions | None = None,
        *,
        pool_ids: Sequence[pulumi.Input[str]] = (),
        lingjun: Capacity | None = None,
    ) -> None:
        """Launch the nodes, or prepare the pool that Lingjun's are added to.

        Args:
            name: Of the pool, and in its children's names.
            args: What the nodes take.
            opts: Its provider.
            pool_ids: The private pools that they come from; none: whatever there is by the hour.
            lingjun: The capacity of mode lingjun.
        """
        props = {"machine": args.machine, "nodes": args.nodes, "privatePools": list(pool_ids)}
        super().__init__("kimi:alicloud:GpuNodePool", name, props, opts)
        pool = alicloud.cs.NodePool(
            f"{name}-nodes",
            lingjun_pool_args(args, lingjun) if lingjun else node_pool_args(args, pool_ids),
            opts=pulumi.ResourceOptions(
                parent=self,
                depends_on=list(args.after),
                # The private pool has no room for old and new nodes at the same time.
                delete_before_replace=True,
                replace_on_changes=list(_FIXED),
                custom_timeouts=pulumi.CustomTimeouts(create="90m", update="90m", delete="60m"),
            ),
        )
        self.ready = [pool]
        self.register_outputs({"pool": pool.node_pool_id})


def node_pool_args(args: GpuNodePoolArgs, pool_ids: Sequence[pulumi.Input[str]]) -> alicloud.cs.NodePoolArgs:
    """Return a pool of ECS instances, billed by the hour: a subscription would outlive `destroy`."""
    return alicloud.cs.NodePoolArgs(
        cluster_id=args.cluster.id,
        node_pool_name=physical_name("-gpu"),
        # The private pools are in one zone, and traffic between zones costs.
        vswitch_ids=[args.switch_id],
        instance_types=[args.machine],
        instance_charge_type="PostPaid",
        # A string in the SDK; a scaling configuration beside it would let the autoscaler take nodes away.
        desired_size=str(args.nodes),
        resource_pool_options=_private(pool_ids),
        image_type=IMAGE_TYPE,
        system_disk_category="cloud_essd",
        system_disk_size=_SYSTEM_DISK_GIB,
        data_disks=_data_disks(args.disk),
        labels=node_labels(args.driver),
        taints=_taints(),
        management=_unmanaged(),
        install_cloud_monitor=True,
        # A node that never became ready must not keep the pool, for it bills.
        force_delete=True,
        tags=args.tags,
    )


def lingjun_pool_args(args: GpuNodePoolArgs, capacity: Capacity) -> alicloud.cs.NodePoolArgs:
    """Return a pool of Lingjun's kind: it starts empty, and nodes of the group are added to it by hand."""
    return alicloud.cs.NodePoolArgs(
        cluster_id=args.cluster.id,
        node_pool_name=physical_name("-gpu"),
        type="lingjun",
        eflo_node_group=alicloud.cs.NodePoolEfloNodeGroupArgs(
            cluster_id=capacity.lingjun_cluster, group_id=capacity.lingjun_group
        ),
        vswitch_ids=[args.switch_id],
        labels=node_labels(args.driver),
        taints=_taints(),
        management=_unmanaged(),
        tags=args.tags,
    )


def node_labels(driver: str) -> list[alicloud.cs.NodePoolLabelArgs]:
    """Return the nodes' labels; that of the driver has to be there when a node is made.

    Args:
        driver: Its version.
    """
    return [
        alicloud.cs.NodePoolLabelArgs(key=key, value=value) for key, value in {**LABELS, DRIVER_LABEL: driver}.items()
    ]


def _taints() -> list[alicloud.cs.NodePoolTaintArgs]:
    return [alicloud.cs.NodePoolTaintArgs(key=TAINT, value="true", effect="NoSchedule")]


def _unmanaged() -> alicloud.cs.NodePoolManagementArgs:
    """Return no repairs and no updates: each is a restart, and costs the whole group a load of the weights."""
    return alicloud.cs.NodePoolManagementArgs(enable=False, auto_repair=False, auto_upgrade=False, auto_vul_fix=False)


def _private(pool_ids: Sequence[pulumi.Input[str]]) -> alicloud.cs.NodePoolResourcePoolOptionsArgs | None:
    if not pool_ids:
        return None
    # Never beside them: a node by the hour would cost twice, and nobody would see it.
    return alicloud.cs.NodePoolResourcePoolOptionsArgs(strategy="PrivatePoolOnly", private_pool_ids=pool_ids)


def _data_disks(disk: settings.Disk | None) -> list[alicloud.cs.NodePoolDataDiskArgs] | None:
    if disk is None:
        return None
    return [
        alicloud.cs.NodePoolDataDiskArgs(
            category="cloud_essd",
            size=disk.gib,
            performance_level=disk.performance_level,
            auto_format="true",
            file_system="ext4",
            # With a place of its own it doesn't become the one of containerd.
            mount_target=DISK_FOLDER,
        )
    ]
