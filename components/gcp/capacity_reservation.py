"""The reservation that the GPU nodes are launched into: looked up and checked, never asked for in passing."""

from dataclasses import dataclass
from typing import Final

import pulumi
import pulumi_gcp as gcp

from components.faults import Fault
from components.gcp.settings import Capacity

_READY: Final = "READY"
"""The one state that nodes come from; CREATING and UPDATING pass, DELETING doesn't."""


@dataclass(frozen=True, kw_only=True)
class Reservation:
    """A reservation as Compute Engine describes it, or only a zone without one."""

    zone: str
    path: str | None = None
    """As GKE takes it; None for machines without a reservation."""
    machine: str = ""
    """Machine type."""
    specific: bool = True
    """Whether it is used by those alone who name it."""
    state: str = _READY
    healthy: int | None = None
    """Hosts that can run; None where nobody was asked."""
    used: int = 0
    """Hosts that run instances, ours among them."""


class CapacityReservation(pulumi.ComponentResource):
    """What the stack runs on, in its state for whoever reads it; nothing is made."""

    def __init__(self, name: str, args: Reservation, opts: pulumi.ResourceOptions | None = None) -> None:
        props = {"reservation": args.path, "zone": args.zone, "hosts": args.healthy}
        super().__init__("kimi:gcp:CapacityReservation", name, props, opts)
        self.register_outputs({})


def path(capacity: Capacity, project: str) -> str | None:
    """Return the whole path of a reservation, a block or a sub-block, the only form that GKE's API takes.

    gcloud makes it out of short forms; the API answers those with a 404 (cluster-toolkit PR #5043).

    Args:
        capacity: The block of keys.
        project: The stack's; a shared reservation is in another one.
    """
    if capacity.mode != "existing":
        return None
    parts = [f"projects/{capacity.reservation_project or project}/reservations/{capacity.reservation}"]
    parts += [f"reservationBlocks/{capacity.block}"] if capacity.block else []
    parts += [f"reservationSubBlocks/{capacity.sub_block}"] if capacity.sub_block else []
    return "/".join(parts)


def look_up(capacity: Capacity, project: str, opts: pulumi.InvokeOptions) -> Reservation:
    """Return the reservation that the stack file names, with the hosts of its sub-block or block where it names one.

    Capacity is counted there and not in the whole, which says nothing of one rack (cluster-toolkit PR #4492).

    Raises:
        Exception: Compute Engine doesn't know it, or may not be asked.
    """
    if capacity.mode != "existing":
        return Reservation(zone=capacity.zone)
    owner, name = capacity.reservation_project or project, capacity.reservation or ""
    found = gcp.compute.get_reservation(name=name, project=owner, zone=capacity.zone, opts=opts)
    held = found.specific_reservations[0]
    healthy, used = _hosts(capacity, owner, opts) or (held.count, held.in_use_count)
    return Reservation(
        zone=found.zone or capacity.zone,
        path=path(capacity, project),
        machine=held.instance_properties[0].machine_type,
        specific=found.specific_reservation_required,
        state=found.status,
        healthy=healthy,
        used=used,
    )


def _hosts(capacity: Capacity, project: str, opts: pulumi.InvokeOptions) -> tuple[int, int] | None:
    """Return healthy and used hosts of the sub-block or the block; None without either."""
    if capacity.block is None:
        return None
    reservation, zone = capacity.reservation, capacity.zone
    if capacity.sub_block is None:
        block = gcp.compute.get_reservation_block(
            name=capacity.block, project=project, reservation=reservation, zone=zone, opts=opts
        )
        return block.block_count, block.in_use_count
    rack = gcp.compute.get_reservation_sub_block(
        name=capacity.sub_block,
        project=project,
        reservation=reservation,
        reservation_block=capacity.block,
        zone=zone,
        opts=opts,
    )
    healthy = sum(each.healthy_host_count for each in rack.health_infos)
    return healthy if rack.health_infos else rack.sub_block_count, rack.in_use_count


def reservation_faults(found: Reservation, *, machine: str, nodes: int, ours: int) -> list[Fault]:
    """Return every way in which a reservation doesn't fit the plan.

    Args:
        found: As Compute Engine describes it.
        machine: The plan's machine type.
        nodes: The plan's GPU nodes.
        ours: Nodes of this stack that run in it already.
    """
    if found.path is None or not nodes:
        return []
    name, faults = found.path.rpartition("/")[2], list[Fault]()
    if found.machine and found.machine != machine:
        faults.append(_fault("machine", machine, f"{name} reserves {found.machine}", found.machine))
    if not found.specific:
        allowed = f"GKE takes a specific reservation, and {name} is open to all instances of its shape"
        faults.append(_fault("capacity.reservation", name, allowed, "one with specificReservationRequired"))
    if found.state != _READY:
        allowed = f"is {found.state}; nodes come from one that is {_READY}"
        faults.append(_fault("capacity.reservation", name, allowed, "serve: false until it is"))
    free = nodes if found.healthy is None else found.healthy - found.used + ours
    if free < nodes:
        own = f" + {ours} of ours" if ours else ""
        hosts = f"{found.healthy} healthy hosts in {name} - {found.used} in use{own} = {free}"
        allowed = f"{hosts}, the plan has {nodes} nodes"
        faults.append(_fault("replicas", nodes, allowed, "fewer, or another sub-block"))
    return faults


def _fault(key: str, given: object, allowed: str, instead: str) -> Fault:
    return Fault(key=key, given=given, allowed=allowed, instead=instead)
