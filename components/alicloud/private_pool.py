"""A private pool that the stack makes itself: capacity for the nodes that are launched next, at once and by the hour.

ECS bills it at the full price from its creation, used or not, so it comes right before the nodes and goes right after
them; it ends by itself at the time that the stack file names. Nothing of it is a subscription.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_alicloud as alicloud

from components.alicloud.capacity import Capacity
from components.alicloud.provider import physical_name


@dataclass(frozen=True, kw_only=True)
class PrivatePoolArgs:
    """What is reserved."""

    capacity: Capacity
    """With mode reserve, checked."""
    machine: str
    """ECS type."""
    nodes: int
    tags: Mapping[str, str]
    after: Sequence[pulumi.Resource]
    """What must be there first, the complete weights among it."""


class PrivatePool(pulumi.ComponentResource):
    """A capacity reservation for exactly the plan's nodes."""

    id: pulumi.Output[str]
    ready: Sequence[pulumi.Resource]

    def __init__(self, name: str, args: PrivatePoolArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        props = {"machine": args.machine, "nodes": args.nodes, "endTime": args.capacity.end_time}
        super().__init__("kimi:alicloud:PrivatePool", name, props, opts)
        child = pulumi.ResourceOptions(
            parent=self,
            depends_on=list(args.after),
            # Two of them would bill at once, and the stock may not hold both.
            delete_before_replace=True,
            custom_timeouts=pulumi.CustomTimeouts(create="15m"),
        )
        reservation = alicloud.ecs.CapacityReservation(f"{name}-reservation", reservation_args(args), opts=child)
        self.id = reservation.id
        self.ready = [reservation]
        self.register_outputs({"id": reservation.id})


def reservation_args(args: PrivatePoolArgs) -> alicloud.ecs.CapacityReservationArgs:
    """Return the reservation: for who names it, in one zone, with an end."""
    return alicloud.ecs.CapacityReservationArgs(
        capacity_reservation_name=physical_name(),
        instance_type=args.machine,
        instance_amount=args.nodes,
        platform="linux",
        zone_ids=[args.capacity.zone or ""],
        # Open, the default, would let any instance of the account take the places.
        match_criteria="Target",
        end_time_type="Limited",
        end_time=args.capacity.end_time,
        tags=args.tags,
    )
