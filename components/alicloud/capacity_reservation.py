"""The private pools that the GPU nodes are launched into: looked up and checked, never made in passing."""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pulumi
import pulumi_alicloud as alicloud

from components.alicloud.capacity import Capacity
from components.faults import Fault

_RESERVATION: Final = "crp-"
"""Of a capacity reservation's id; an elasticity assurance has another one."""
_USABLE: Final = "Active"


@dataclass(frozen=True, kw_only=True)
class Pool:
    """A private pool as ECS describes it."""

    id: str
    zone: str
    machine: str
    count: int
    criteria: str
    """Target: for who names it; Open: for any instance of its type in the account."""
    state: str
    ends: datetime.datetime | None


@dataclass(frozen=True, kw_only=True)
class Reservation:
    """Where the nodes come from: private pools, or only a zone."""

    zone: str
    """The zone of the nodes."""
    ids: Sequence[str] = ()
    pools: Sequence[Pool] = ()
    """As ECS describes them; none where they aren't looked up."""


class CapacityReservation(pulumi.ComponentResource):
    """What the stack runs on, in its state for whoever reads it; nothing is made."""

    def __init__(self, name: str, args: Reservation, opts: pulumi.ResourceOptions | None = None) -> None:
        ends = [pool.ends.isoformat() for pool in args.pools if pool.ends]
        props = {"pools": list(args.ids), "zone": args.zone, "ends": ends}
        super().__init__("kimi:alicloud:CapacityReservation", name, props, opts)
        self.register_outputs({})


def look_up(capacity: Capacity, opts: pulumi.InvokeOptions) -> Reservation:
    """Return the private pools that the stack file names, in the zone of the first.

    Raises:
        Exception: Alibaba Cloud doesn't know one, or may not be asked.
    """
    if not capacity.ids:
        return Reservation(zone=capacity.zone or "")
    pools = [_pool(identity, opts) for identity in capacity.ids]
    return Reservation(zone=pools[0].zone, ids=capacity.ids, pools=pools)


def _pool(identity: str, opts: pulumi.InvokeOptions) -> Pool:
    found = _reserved(identity, opts) if identity.startswith(_RESERVATION) else _assured(identity, opts)
    if found is None:
        raise LookupError(f"there is no {identity} in this region")
    return found


def _reserved(identity: str, opts: pulumi.InvokeOptions) -> Pool | None:
    found = alicloud.ecs.get_capacity_reservations(ids=[identity], opts=opts).reservations
    return next(
        (
            Pool(
                id=identity,
                zone=pool.zone_ids[0],
                machine=pool.instance_type,
                count=int(pool.instance_amount),
                criteria=pool.match_criteria,
                state=pool.status,
                ends=_time(pool.end_time),
            )
            for pool in found
        ),
        None,
    )


def _assured(identity: str, opts: pulumi.InvokeOptions) -> Pool | None:
    found = alicloud.ecs.get_elasticity_assurances(ids=[identity], opts=opts).assurances
    return next(
        (
            Pool(
                id=identity,
                zone=pool.allocated_resources[0].zone_id,
                machine=pool.allocated_resources[0].instance_type,
                count=pool.allocated_resources[0].total_amount,
                criteria=pool.private_pool_options_match_criteria,
                state=pool.status,
                ends=_time(pool.end_time),
            )
            for pool in found
        ),
        None,
    )


def reservation_faults(
    found: Reservation, capacity: Capacity, *, machine: str, nodes: int, now: datetime.datetime
) -> list[Fault]:
    """Return every way in which the private pools don't fit the plan.

    Args:
        found: As ECS describes them.
        capacity: As the stack file names them.
        machine: The plan's ECS type.
        nodes: The plan's GPU nodes; a parked stack has none to lose and outlives its pools.
        now: With a time zone.
    """
    faults = [
        fault for pool in found.pools for fault in _pool_faults(pool, found.zone, machine, parked=not nodes, now=now)
    ]
    if found.pools and capacity.zone not in (None, found.zone):
        faults.append(_fault("capacity.zone", capacity.zone, f"{found.ids[0]} is in {found.zone}", "leave it out"))
    held = sum(pool.count for pool in found.pools)
    if found.pools and held < nodes:
        faults.append(
            _fault("replicas", nodes, f"the private pools hold {held} instances, the plan has {nodes} nodes", "fewer")
        )
    ends = capacity.ends if capacity.mode == "reserve" else None
    if nodes and ends is not None and ends <= now:
        faults.append(_fault("capacity.endTime", capacity.end_time, "is over", "a later time, or serve: false"))
    return faults


def _pool_faults(pool: Pool, zone: str, machine: str, *, parked: bool, now: datetime.datetime) -> list[Fault]:
    rules = [
        (pool.machine != machine, "machine", machine, f"{pool.id} holds {pool.machine}", pool.machine),
        (pool.zone != zone, "capacity.ids", pool.id, f"is in {pool.zone}, and the first one in {zone}", "one zone"),
        (
            # An Open one goes to whatever starts first in the account.
            pool.criteria != "Target",
            "capacity.ids",
            pool.id,
            f"is in mode {pool.criteria}; a node pool names pools of mode Target alone",
            "one that was made with Target",
        ),
        (
            not parked and pool.state != _USABLE,
            "capacity.ids",
            pool.id,
            f"is {pool.state}; nodes come from one that is Active",
            "another one, or serve: false",
        ),
        (
            # Instances that run on cost the full price, without the pool's place for the next start.
            not parked and pool.ends is not None and pool.ends <= now,
            "capacity.ids",
            pool.id,
            f"ended at {pool.ends}",
            "another one, or serve: false",
        ),
    ]
    return [_fault(key, given, allowed, instead) for broken, key, given, allowed, instead in rules if broken]


def _fault(key: str, given: object, allowed: str, instead: str) -> Fault:
    return Fault(key=key, given=given, allowed=allowed, instead=instead)


def _time(text: str | None) -> datetime.datetime | None:
    if not text:
        return None
    found = datetime.datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=datetime.UTC)
