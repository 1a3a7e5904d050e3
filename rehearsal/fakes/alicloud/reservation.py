"""Private pools: capacity reservations and elasticity assurances, what is free in them, and what they cost."""

from dataclasses import dataclass
from typing import Final

from rehearsal.fakes.account import Ledger, Rate, Thing
from rehearsal.fakes.alicloud import references as ref
from rehearsal.fakes.alicloud.machine import machine_type
from rehearsal.fakes.clock import parsed
from rehearsal.fakes.paths import number_at, text_at, texts_at
from rehearsal.fakes.resource_kind import ResourceKind, digest
from rehearsal.fakes.rules import Resource
from rehearsal.fakes.values import Properties


@dataclass(frozen=True, kw_only=True)
class Pool:
    """A private pool at a moment."""

    thing: Thing
    machine: str
    zone: str
    total: int
    used: int
    criteria: str
    status: str

    @property
    def free(self) -> int:
        """Instances that can still be launched into it."""
        return self.total - self.used if self.status == "Active" else 0

    @property
    def billed(self) -> bool:
        """Whether this account's meter bills the pool, so that its instances cost nothing more."""
        return self.thing.rate != Rate()


def pool(identity: str, ledger: Ledger) -> Pool | None:
    """The private pool of an id, as it is now."""
    thing = ledger.find(ref.RESERVATION, identity) or ledger.find(ref.ASSURANCE, identity)
    if thing is None:
        return None
    end = text_at(thing.inputs, "endTime")
    over = bool(end) and parsed(end) <= ledger.clock.moment
    return Pool(
        thing=thing,
        machine=text_at(thing.inputs, "instanceType"),
        zone=text_at(thing.inputs, "zoneIds"),
        total=number_at(thing.inputs, "instanceAmount"),
        used=sum(text_at(each.inputs, "pool") == identity for each in ledger.of_type(ref.INSTANCE)),
        criteria=text_at(thing.inputs, "matchCriteria") or "Open",
        status="Released" if over else text_at(thing.outputs, "status") or "Active",
    )


def sold_out(machine: str, count: int, ledger: Ledger) -> bool:
    """Whether fewer instances of a type are left than wanted; by default there are as many as anyone wants.

    The account's setting `sold` says how many there are, such as {"ecs.ebmgn8v.48xlarge": 0}.
    """
    limits = ledger.settings.get("sold")
    limit = limits.get(machine) if isinstance(limits, dict) else None
    return isinstance(limit, int) and limit < count


def refuse_past(resource: Resource, ledger: Ledger) -> None:
    """A limited reservation ends later than now (ECS, CreateCapacityReservation)."""
    end, kind = text_at(resource.inputs, "endTime"), text_at(resource.inputs, "endTimeType")
    if kind == "Limited" and (not end or parsed(end) <= ledger.clock.moment):
        raise ref.refused(resource.name, "", f"the end time {end} is over, or there is none")


def refuse_without_stock(resource: Resource, ledger: Ledger) -> None:
    """What is reserved must be free (ECS, `OperationDenied.NoStock`), and in one zone."""
    if len(texts_at(resource.inputs, "zoneIds")) != 1:
        raise ref.refused(resource.name, "", "exactly one zone can be specified.")
    machine, count = text_at(resource.inputs, "instanceType"), number_at(resource.inputs, "instanceAmount")
    if sold_out(machine, count, ledger):
        raise ref.refused(resource.name, "OperationDenied.NoStock", f"{machine} is sold out in the specified zone.")


def _rate(inputs: Properties) -> Rate:
    """The full price from its creation, used or not (ECS, "Overview of capacity reservations")."""
    found, count = machine_type(text_at(inputs, "instanceType")), number_at(inputs, "instanceAmount")
    return Rate(usd_per_hour=count * found.usd_per_hour, gpus=count * found.gpus) if found else Rate()


def _computed(resource: Resource, identity: str, ledger: Ledger) -> Properties:
    del resource, identity
    return {"status": "Active", "startTime": ledger.clock.stamp()}


KIND: Final = ResourceKind(
    type=ref.RESERVATION,
    identity=lambda resource, ledger: f"crp-{digest(resource.urn, len(ledger.events), length=20)}",
    checks=(
        ref.fits("capacityReservationName", r"[A-Za-z][A-Za-z0-9:_.-]{1,127}", "2 to 128 signs, a letter first"),
        ref.one_of("matchCriteria", "Open", "Target"),
        ref.one_of("endTimeType", "Limited", "Unlimited"),
        ref.one_of("platform", "linux", "windows"),
    ),
    replaced_by=("instanceType", "matchCriteria", "zoneIds"),
    admissions=(refuse_past, refuse_without_stock),
    computed=_computed,
    rate=_rate,
    seconds=20.0,
    patience=300.0,
)
