"""The GPU nodes: exactly the plan's machines, launched into the reservation, and the dearest thing of the stack."""

import base64
import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pulumi
import pulumi_aws as aws

from components.aws.capacity_reservation import Reservation
from components.aws.cluster import Cluster
from components.aws.provider import launched

TAINT: Final = "nvidia.com/gpu"
LABELS: Final = {"nvidia.com/gpu.present": "true"}
"""Without it NVIDIA's device plugin starts no pod, and the scheduler sees no GPU."""
AMI_TYPE: Final = "AL2023_x86_64_NVIDIA"
"""Driver 580 from its release of 2026-07-14 on, which vLLM's CUDA 13 needs (awslabs/amazon-eks-ami)."""
NVME_FOLDER: Final = "/mnt/k8s-disks/0"
"""Where nodeadm mounts the RAID 0 of all local disks; kubelet's and containerd's folders lie there too."""
_ROOT_GIB: Final = 200
_AFTER_START: Final = datetime.timedelta(minutes=5)
"""The nodes come this long after a block's start; EC2 takes none before it is active."""

EFA_CARDS: Final[Mapping[str, Sequence[tuple[int, int]]]] = {
    # (network card, device) of each EFA interface. Card 0 of p6-b300 knows no EFA (aws-parallelcluster #7143).
    "p6-b300.48xlarge": [(card, 0) for card in range(1, 17)],
    "p6-b200.48xlarge": [(0, 1), *((card, 0) for card in range(1, 8))],
    "p5en.48xlarge": [(0, 1), *((card, 0) for card in range(1, 16))],
    "p5.48xlarge": [(0, 1), *((card, 0) for card in range(1, 32))],
}
"""terraform-aws-eks #3653 and the EC2 user guide, efa-acc-inst-types."""

_USER_DATA: Final = """\
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="BOUNDARY"

--BOUNDARY
Content-Type: application/node.eks.aws

---
apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  instance:
    localStorage:
      strategy: RAID0

--BOUNDARY--
"""
"""EKS merges what it needs into parts of this type, and into nothing else (awslabs/amazon-eks-ami, nodeadm)."""


@dataclass(frozen=True, kw_only=True)
class GpuNodePoolArgs:
    """What the nodes take."""

    cluster: Cluster
    subnet_ids: Sequence[pulumi.Input[str]]
    """In the reservation's zone."""
    reservation: Reservation
    machine: str
    """EC2 type."""
    nodes: int
    tags: Mapping[str, str]
    after: Sequence[pulumi.Resource]
    """What must be there first, the complete weights among it."""


class GpuNodePool(pulumi.ComponentResource):
    """A launch template and a node group; none of its nodes outlives it."""

    ready: Sequence[pulumi.Resource]

    def __init__(
        self, name: str, args: GpuNodePoolArgs, opts: pulumi.ResourceOptions | None = None, *, efa: bool = False
    ) -> None:
        """Launch the nodes.

        Args:
            name: Of the pool, and in its children's names.
            args: What the nodes take.
            opts: Its provider.
            efa: Whether the nodes talk to each other over EFA; a node alone needs none of it.
        """
        props = {"machine": args.machine, "nodes": args.nodes, "reservation": args.reservation.id}
        super().__init__("kimi:aws:GpuNodePool", name, props, opts)
        child = pulumi.ResourceOptions(parent=self, depends_on=list(args.after))
        template = aws.ec2.LaunchTemplate(
            f"{name}-template",
            launch_template_args(args, efa=efa),
            opts=child,
        )
        group = aws.eks.NodeGroup(
            f"{name}-nodes",
            node_group_args(args, template),
            opts=pulumi.ResourceOptions.merge(
                child,
                pulumi.ResourceOptions(
                    # The block has no room for old and new nodes at the same time.
                    delete_before_replace=True,
                    custom_timeouts=pulumi.CustomTimeouts(create="60m", update="60m", delete="60m"),
                ),
            ),
        )
        later = [_schedule(f"{name}-start", args, group, child)] if args.reservation.starts_later else []
        self.ready = [group, *later]
        self.register_outputs({"nodeGroup": group.node_group_name})


def launch_template_args(args: GpuNodePoolArgs, *, efa: bool) -> aws.ec2.LaunchTemplateArgs:
    """Return how a node is launched: type, market, reservation, adapters, disks."""
    reservation = args.reservation
    market = (
        aws.ec2.LaunchTemplateInstanceMarketOptionsArgs(market_type="capacity-block") if reservation.block else None
    )
    return aws.ec2.LaunchTemplateArgs(
        # Here and not in the node group, which refuses a second one.
        instance_type=args.machine,
        instance_market_options=market,
        capacity_reservation_specification=_target(reservation),
        network_interfaces=network_interfaces(args.machine, args.cluster.security_group_id) if efa else None,
        block_device_mappings=[
            aws.ec2.LaunchTemplateBlockDeviceMappingArgs(
                device_name="/dev/xvda",
                ebs=aws.ec2.LaunchTemplateBlockDeviceMappingEbsArgs(
                    volume_size=_ROOT_GIB, volume_type="gp3", encrypted="true", delete_on_termination="true"
                ),
            )
        ],
        metadata_options=aws.ec2.LaunchTemplateMetadataOptionsArgs(
            http_endpoint="enabled", http_tokens="required", http_put_response_hop_limit=2
        ),
        user_data=base64.b64encode(_USER_DATA.encode()).decode(),
        update_default_version=True,
        tag_specifications=launched(args.tags),
    )


def _target(reservation: Reservation) -> aws.ec2.LaunchTemplateCapacityReservationSpecificationArgs | None:
    if reservation.id is None:
        return None
    return aws.ec2.LaunchTemplateCapacityReservationSpecificationArgs(
        # Never beside it: a node on demand would cost twice, and nobody would see it.
        capacity_reservation_preference="capacity-reservations-only",
        capacity_reservation_target=aws.ec2.LaunchTemplateCapacityReservationSpecificationCapacityReservationTargetArgs(
            capacity_reservation_id=reservation.id
        ),
    )


def network_interfaces(
    machine: str, security_group_id: pulumi.Input[str]
) -> list[aws.ec2.LaunchTemplateNetworkInterfaceArgs]:
    """Return the adapters of a node that talks over EFA: one with an address, the others for RDMA alone.

    Each has the group that EKS made, without which a node never reaches the control plane: EKS adds it to a template
    that names no adapter, and to no other.

    Interfaces of type `efa` would take addresses too, and nodeadm would trip over them (amazon-eks-ami #2423).
    """
    layout = [(0, 0, "interface"), *((card, device, "efa-only") for card, device in EFA_CARDS[machine])]
    return [
        aws.ec2.LaunchTemplateNetworkInterfaceArgs(
            network_card_index=card,
            device_index=device,
            interface_type=kind,
            security_groups=[security_group_id],
            delete_on_termination="true",
        )
        for card, device, kind in layout
    ]


def node_group_args(args: GpuNodePoolArgs, template: aws.ec2.LaunchTemplate) -> aws.eks.NodeGroupArgs:
    """Return the node group: as many nodes as the plan has, or none before a block starts."""
    return aws.eks.NodeGroupArgs(
        cluster_name=args.cluster.name,
        node_role_arn=args.cluster.node_role_arn,
        subnet_ids=args.subnet_ids,
        ami_type=AMI_TYPE,
        capacity_type="CAPACITY_BLOCK" if args.reservation.block else "ON_DEMAND",
        launch_template=aws.eks.NodeGroupLaunchTemplateArgs(
            id=template.id, version=template.latest_version.apply(lambda version: f"{version}")
        ),
        scaling_config=aws.eks.NodeGroupScalingConfigArgs(
            min_size=0, desired_size=0 if args.reservation.starts_later else args.nodes, max_size=args.nodes
        ),
        # The other way launches the new node first, for which a full reservation has no room.
        update_config=aws.eks.NodeGroupUpdateConfigArgs(max_unavailable=1, update_strategy="MINIMAL"),
        # A repair that takes the only node away costs a whole load of the weights.
        node_repair_config=aws.eks.NodeGroupNodeRepairConfigArgs(enabled=False),
        labels=LABELS,
        taints=[aws.eks.NodeGroupTaintArgs(key=TAINT, value="present", effect="NO_SCHEDULE")],
    )


def start_time(reservation: Reservation) -> str:
    """Return when the nodes come, as Auto Scaling writes a time; empty for a reservation that has begun."""
    if reservation.start is None or not reservation.starts_later:
        return ""
    return (reservation.start + _AFTER_START).astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _schedule(
    name: str, args: GpuNodePoolArgs, group: aws.eks.NodeGroup, opts: pulumi.ResourceOptions
) -> aws.autoscaling.Schedule:
    return aws.autoscaling.Schedule(
        name,
        scheduled_action_name="start-of-the-capacity-block",
        autoscaling_group_name=group.resources.apply(_auto_scaling_group),
        min_size=0,
        max_size=args.nodes,
        desired_capacity=args.nodes,
        start_time=start_time(args.reservation),
        opts=opts,
    )


def _auto_scaling_group(resources: Sequence[aws.eks.outputs.NodeGroupResource]) -> str:
    (found,) = resources
    (group,) = found.autoscaling_groups or []
    return group.name or ""
