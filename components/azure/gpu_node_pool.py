"""The GPU nodes: exactly the plan's machines, out of the reservation, and the dearest thing of the stack."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pulumi
import pulumi_azure_native as azure

from components.azure.capacity_reservation import GROUP_NAME, CapacityReservation, Reservation
from components.azure.cluster import Cluster
from components.azure.network import Network
from components.azure.provider import Place

TAINT: Final = "nvidia.com/gpu"
LABELS: Final = {"kimi-k3/pool": "gpu"}
"""Of our own: NVIDIA's are set by its operator once the driver is there."""
NAME: Final = "gpu"
"""At most 12 lower-case letters and digits (AKS)."""
_DISK_GIB: Final = 256
"""The image, caches and logs; the weights are on the machine's own disks."""
_CREATE: Final = "90m"
"""A right to a reservation takes up to an hour to be known (AKS, use-capacity-reservation-groups)."""
_DELETE: Final = "60m"
"""Azure lets a reservation go only when the last machine has left it (terraform-provider-azurerm #19051)."""
_FIXED: Final = (
    "gpuProfile",
    "capacityReservationGroupID",
    "availabilityZones",
    "osDiskType",
    "osDiskSizeGB",
    "vnetSubnetID",
)
"""What AKS doesn't change in a pool, and the SDK would try to; its own list has the VM size and two more."""


@dataclass(frozen=True, kw_only=True)
class GpuNodePoolArgs:
    """What the nodes take."""

    cluster: Cluster
    network: Network
    reservation: CapacityReservation
    found: Reservation
    """The reservation as Azure describes it."""
    machine: str
    """VM size."""
    nodes: int
    place: Place
    after: Sequence[pulumi.Resource]
    """What must be there first, the complete weights among it."""


class GpuNodePool(pulumi.ComponentResource):
    """An agent pool, and the reservation of its machines where the stack makes one."""

    ready: Sequence[pulumi.Resource]

    def __init__(self, name: str, args: GpuNodePoolArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        props = {"machine": args.machine, "nodes": args.nodes, "group": args.reservation.group_id}
        super().__init__("kimi:azure:GpuNodePool", name, props, opts)
        child = pulumi.ResourceOptions(parent=self)
        after = [*args.after, *args.cluster.allowed]
        # Billed like the machines from its first second on, so not before the weights are complete; and there before
        # the pool, which would otherwise be made beside it.
        reserved = [_reservation(f"{name}-reservation", args, _after(child, after))] if args.found.made else []
        pool = _agent_pool(f"{name}-pool", args, _after(child, [*after, *reserved]))
        self.ready = [pool]
        self.register_outputs({"pool": pool.name})


def _reservation(name: str, args: GpuNodePoolArgs, opts: pulumi.ResourceOptions) -> azure.compute.CapacityReservation:
    return azure.compute.CapacityReservation(
        name,
        resource_group_name=args.place.group,
        capacity_reservation_group_name=GROUP_NAME,
        capacity_reservation_name=NAME,
        location=args.place.region,
        sku=azure.compute.SkuArgs(name=args.machine, capacity=args.nodes),
        zones=[args.found.zone] if args.found.zone else None,
        tags=args.place.tags,
        opts=pulumi.ResourceOptions.merge(
            opts, pulumi.ResourceOptions(custom_timeouts=pulumi.CustomTimeouts(delete=_DELETE))
        ),
    )


def _agent_pool(name: str, args: GpuNodePoolArgs, opts: pulumi.ResourceOptions) -> azure.containerservice.AgentPool:
    aks = azure.containerservice
    return aks.AgentPool(
        name,
        resource_group_name=args.place.group,
        resource_name_=args.cluster.name,
        agent_pool_name=NAME,
        mode="User",
        # The other kind takes no reservation (Azure/AKS #5943).
        type="VirtualMachineScaleSets",
        vm_size=args.machine,
        count=args.nodes,
        availability_zones=[args.found.zone] if args.found.zone else None,
        capacity_reservation_group_id=args.reservation.group_id,
        vnet_subnet_id=args.network.subnet_id,
        os_type="Linux",
        # Its 24.04 comes with the cluster's version; the SDK's API has no name of its own for it.
        os_sku="Ubuntu",
        os_disk_type="Managed",
        os_disk_size_gb=_DISK_GIB,
        # The driver comes with NVIDIA's operator: AKS has none for GB200 and GB300, and two would fight.
        gpu_profile=aks.GPUProfileArgs(driver="None"),
        # A surge would ask for one machine more than there is.
        upgrade_settings=aks.AgentPoolUpgradeSettingsArgs(max_surge="0", max_unavailable="1"),
        # A machine that is only switched off keeps billing for its disk, and keeps its reservation.
        scale_down_mode="Delete",
        node_labels=LABELS,
        node_taints=[f"{TAINT}=present:NoSchedule"],
        tags=args.place.tags,
        opts=pulumi.ResourceOptions.merge(
            opts,
            pulumi.ResourceOptions(
                # Neither the quota nor the reservation has room for two.
                delete_before_replace=True,
                replace_on_changes=list(_FIXED),
                custom_timeouts=pulumi.CustomTimeouts(create=_CREATE, delete=_DELETE),
            ),
        ),
    )


def _after(opts: pulumi.ResourceOptions, resources: Sequence[pulumi.Resource]) -> pulumi.ResourceOptions:
    return pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=list(resources)))
