"""The capacity reservation group that the GPU nodes come from: looked up and checked, or made where that is wanted."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import pulumi
import pulumi_azure_native as azure

from components.azure.provider import Place
from components.azure.settings import Capacity
from components.faults import Fault

GROUP_NAME: Final = "gpus"
_PARTS: Final = re.compile(
    r"/subscriptions/(?P<subscription>[^/]+)/resourceGroups/(?P<group>[^/]+)/providers/(?P<kind>[^/]+/[^/]+)"
    r"/(?P<name>[^/]+)(/(?P<member_kind>[^/]+)/(?P<member>[^/]+))?",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True)
class Member:
    """One reservation of a group: machines of one size in one zone."""

    machine: str
    """VM size."""
    count: int
    zones: Sequence[str] = ()
    state: str = "Succeeded"
    """The provisioning state."""


@dataclass(frozen=True, kw_only=True)
class Reservation:
    """A reservation group as Azure describes it, or only a zone without one."""

    zone: str | None
    """The availability zone of the nodes; None leaves it to Azure."""
    id: str | None = None
    """Of a group that was there before."""
    region: str = ""
    """The group's."""
    made: bool = False
    """Whether this stack reserves the machines itself."""
    members: Mapping[str, Member] = field(default_factory=dict)
    """What the group holds, by name."""


class CapacityReservation(pulumi.ComponentResource):
    """The group that the stack runs on; one of our own stays empty until the weights are complete."""

    group_id: pulumi.Input[str] | None
    """None without a group."""
    scope: pulumi.Input[str] | None
    """The resource group in which AKS has to be allowed to use it."""

    def __init__(self, name: str, args: Reservation, place: Place, opts: pulumi.ResourceOptions | None = None) -> None:
        props = {"group": args.id, "zone": args.zone, "made": args.made}
        super().__init__("kimi:azure:CapacityReservation", name, props, opts)
        self.group_id, self.scope = args.id, None
        if args.id is not None:
            self.scope = args.id.partition("/providers/")[0]
        elif args.made:
            group = azure.compute.CapacityReservationGroup(
                f"{name}-group",
                resource_group_name=place.group,
                capacity_reservation_group_name=GROUP_NAME,
                location=place.region,
                zones=[args.zone] if args.zone else None,
                tags=place.tags,
                opts=pulumi.ResourceOptions(parent=self),
            )
            self.group_id = group.id
            self.scope = group.id.apply(lambda found: found.partition("/providers/")[0])
        self.register_outputs({})


def parts(resource_id: str) -> Mapping[str, str]:
    """Return the parts of a resource id by name: subscription, group, kind, name, member.

    Raises:
        ValueError: It is no such id.
    """
    found = _PARTS.fullmatch(resource_id)
    if found is None:
        raise ValueError(f"{resource_id!r} is no resource id")
    return {key: value or "" for key, value in found.groupdict().items()}


def look_up(capacity: Capacity, opts: pulumi.InvokeOptions) -> Reservation:
    """Return the group that the stack file names, with its reservations.

    Raises:
        Exception: Azure doesn't know it, or may not be asked.
    """
    if capacity.mode != "existing" or capacity.id is None:
        return Reservation(zone=capacity.zone, made=capacity.mode == "targeted")
    place = parts(capacity.id)
    found = azure.compute.get_capacity_reservation_group(
        resource_group_name=place["group"], capacity_reservation_group_name=place["name"], opts=opts
    )
    members = {
        name: _member(place, name, opts) for name in (parts(each.id)["member"] for each in found.capacity_reservations)
    }
    return Reservation(id=capacity.id, region=found.location, members=members, zone=capacity.zone)


def _member(place: Mapping[str, str], name: str, opts: pulumi.InvokeOptions) -> Member:
    found = azure.compute.get_capacity_reservation(
        resource_group_name=place["group"],
        capacity_reservation_group_name=place["name"],
        capacity_reservation_name=name,
        opts=opts,
    )
    return Member(
        machine=found.sku.name or "",
        count=int(found.sku.capacity or 0),
        zones=tuple(found.zones or ()),
        state=found.provisioning_state,
    )


def reservation_faults(found: Reservation, *, machine: str, nodes: int, region: str) -> list[Fault]:
    """Return every way in which a group doesn't fit the plan.

    A group without a fitting reservation would be lost silently: AKS then makes the nodes beside it, with a warning
    (AKS, use-capacity-reservation-groups, 2026-05).

    Args:
        found: As Azure describes it.
        machine: The plan's VM size.
        nodes: The plan's GPU nodes.
        region: The stack's.
    """
    if found.id is None:
        return []
    name, faults = found.id.rpartition("/")[2], list[Fault]()
    if found.region.replace(" ", "").lower() != region:
        faults.append(_fault("region", region, f"the group {name} is in {found.region}", found.region))
    fitting = [each for each in found.members.values() if each.machine.lower() == machine.lower()]
    if not fitting:
        held = ", ".join(sorted({each.machine for each in found.members.values()})) or "nothing"
        allowed = f"the group holds {held} and no {machine}: AKS would only warn, and make the nodes without it"
        return [*faults, _fault("capacity.id", name, allowed, f"a reservation of {machine} in the group first")]
    zoned = [each for each in fitting if found.zone in each.zones] if found.zone else fitting
    if not zoned:
        zones = ", ".join(sorted({zone for each in fitting for zone in each.zones})) or "no zone"
        return [*faults, _fault("capacity.zone", found.zone, f"the group reserves {machine} in {zones}", zones)]
    if any(each.state != "Succeeded" for each in zoned):
        states = ", ".join(sorted({each.state for each in zoned}))
        faults.append(_fault("capacity.id", name, f"its reservation of {machine} is {states}", "one that succeeded"))
    held = sum(each.count for each in zoned)
    if held < nodes:
        allowed = f"the group {name} reserves {held} of {machine}, the plan has {nodes} nodes"
        faults.append(_fault("replicas", nodes, allowed, "fewer, or a larger reservation"))
    return faults


def zone_of(found: Reservation, machine: str) -> str | None:
    """Return the zone that the nodes must be in: the one that was asked for, or the one that all reservations share."""
    zones = {zone for each in found.members.values() if each.machine.lower() == machine.lower() for zone in each.zones}
    return found.zone or (zones.pop() if len(zones) == 1 else None)


def _fault(key: str, given: object, allowed: str, instead: str) -> Fault:
    return Fault(key=key, given=given, allowed=allowed, instead=instead)
