"""The reservation that the GPU nodes are launched into: looked up and checked, never bought in passing."""

import datetime
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import pulumi
import pulumi_aws as aws

from components.aws.settings import Capacity
from components.faults import Fault

USABLE: Final = ("scheduled", "active")
"""States of a reservation that nodes can come from; others, such as payment-pending or expired, can't serve."""
SCALE_DOWN: Final = datetime.timedelta(minutes=40)
"""EKS takes the nodes of a Capacity Block away this long before its end (EKS user guide, capacity-blocks-mng)."""


@dataclass(frozen=True, kw_only=True)
class Reservation:
    """A reservation as EC2 describes it, or only a zone without one."""

    zone: str
    """The Availability Zone of the nodes."""
    id: str | None = None
    block: bool = False
    """A Capacity Block, whose nodes have a market of their own."""
    state: str = "active"
    machine: str = ""
    """Instance type."""
    count: int | None = None
    """Instances in it; None while EC2 doesn't say, before a block starts."""
    start: datetime.datetime | None = None
    end: datetime.datetime | None = None

    @property
    def starts_later(self) -> bool:
        """Whether no node can be launched yet."""
        return self.state == "scheduled"


class CapacityReservation(pulumi.ComponentResource):
    """What the stack runs on, in its state for whoever reads it; nothing is made."""

    def __init__(self, name: str, args: Reservation, opts: pulumi.ResourceOptions | None = None) -> None:
        props = {"reservation": args.id, "zone": args.zone, "ends": args.end.isoformat() if args.end else None}
        super().__init__("kimi:aws:CapacityReservation", name, props, opts)
        self.register_outputs({})


def look_up(capacity: Capacity, opts: pulumi.InvokeOptions) -> Reservation:
    """Return the reservation that the stack file names.

    Raises:
        Exception: AWS doesn't know it, or may not be asked.
    """
    if capacity.mode != "existing" or capacity.id is None:
        return Reservation(zone=capacity.zone or "")
    return _LOOK_UPS[capacity.kind](capacity.id, opts)


def _block(identity: str, opts: pulumi.InvokeOptions) -> Reservation:
    found = aws.ec2.get_capacity_block_reservation(id=identity, opts=opts)
    return Reservation(
        id=identity,
        zone=found.availability_zone,
        block=True,
        state=found.state,
        machine=found.instance_type,
        count=found.instance_count or None,
        start=_time(found.start_date),
        end=_time(found.end_date),
    )


def _on_demand(identity: str, opts: pulumi.InvokeOptions) -> Reservation:
    # The SDK looks up blocks alone; Cloud Control reads the other kind.
    found = aws.cloudcontrol.get_resource(identifier=identity, type_name="AWS::EC2::CapacityReservation", opts=opts)
    properties = json.loads(found.properties)
    return Reservation(
        id=identity,
        zone=properties["AvailabilityZone"],
        state=properties.get("State", "active"),
        machine=properties["InstanceType"],
        count=properties.get("TotalInstanceCount"),
        start=_time(properties.get("StartDate")),
        end=_time(properties.get("EndDate")),
    )


_LOOK_UPS: Final[dict[str, Callable[[str, pulumi.InvokeOptions], Reservation]]] = {
    "block": _block,
    "on-demand": _on_demand,
}


def reservation_faults(
    found: Reservation, capacity: Capacity, *, machine: str, nodes: int, now: datetime.datetime
) -> list[Fault]:
    """Return every way in which a reservation doesn't fit the plan.

    Args:
        found: As EC2 describes it.
        capacity: As the stack file names it.
        machine: The plan's instance type.
        nodes: The plan's GPU nodes.
        now: With a time zone.
    """
    if found.id is None:
        return []
    faults: list[Fault] = []
    if found.machine != machine:
        faults.append(_fault("machine", machine, f"{found.id} reserves {found.machine}", found.machine))
    if capacity.zone not in (None, found.zone):
        faults.append(_fault("capacity.zone", capacity.zone, f"{found.id} is in {found.zone}", "leave it out"))
    if found.count is not None and found.count < nodes:
        faults.append(
            _fault("replicas", nodes, f"{found.id} holds {found.count} instances, the plan has {nodes} nodes", "fewer")
        )
    # A parked stack has no node to lose: it outlives its reservation until there is another one.
    if nodes and found.state not in USABLE:
        allowed = f"is {found.state}; nodes come from one that is scheduled or active"
        faults.append(_fault("capacity.id", found.id, allowed, "another reservation"))
    elif nodes and found.end is not None and found.end - (SCALE_DOWN if found.block else datetime.timedelta()) <= now:
        allowed = f"ends at {found.end.isoformat()}" + (
            ", and EKS takes its nodes 40 minutes before" if found.block else ""
        )
        faults.append(_fault("capacity.id", found.id, allowed, "another reservation, or serve: false"))
    return faults


def _fault(key: str, given: object, allowed: str, instead: str) -> Fault:
    return Fault(key=key, given=given, allowed=allowed, instead=instead)


def _time(text: str | None) -> datetime.datetime | None:
    if not text:
        return None
    time = datetime.datetime.fromisoformat(text)
    return time if time.tzinfo else time.replace(tzinfo=datetime.UTC)
