"""Reserved capacity as EC2 describes it at a moment: Capacity Blocks and On-Demand Capacity Reservations alike."""

from dataclasses import dataclass
from typing import Final, Literal

from rehearsal.fakes.account import Ledger, Rate
from rehearsal.fakes.aws import references as ref
from rehearsal.fakes.aws.instance_type import instance_type
from rehearsal.fakes.aws.naming import account_id, arn
from rehearsal.fakes.aws.zone import refuse_foreign_zone
from rehearsal.fakes.clock import parsed
from rehearsal.fakes.paths import number_at, text_at
from rehearsal.fakes.resource_kind import ResourceKind, digest
from rehearsal.fakes.rules import RefusedError, Resource
from rehearsal.fakes.values import Properties

BLOCK: Final = "aws:ec2:CapacityBlock"
"""A block as a thing of the account; whoever bought it, nothing makes it go before its end."""
ON_DEMAND: Final = "aws:ec2/capacityReservation:CapacityReservation"

State = Literal["payment-pending", "scheduled", "active", "expired"]
"""The states that a rehearsal can show; botocore's CapacityReservationState has more."""


@dataclass(frozen=True, kw_only=True)
class Reservation:
    """A reservation at a moment."""

    id: str
    instance_type: str
    zone: str
    total: int
    available: int
    state: State
    start: str
    end: str
    """Empty for one without an end."""
    block: bool
    paid: bool
    """Whether this account's meter bills the reservation, so that its instances cost nothing more."""


def reservation(identity: str, ledger: Ledger) -> Reservation | None:
    """The reservation of an id, as it is now."""
    thing = ledger.find(BLOCK, identity) or ledger.find(ON_DEMAND, identity)
    if thing is None:
        return None
    facts, total = thing.outputs, number_at(thing.outputs, "instanceCount")
    used = sum(text_at(each.inputs, "reservation") == identity for each in ledger.of_type(ref.INSTANCE))
    return Reservation(
        id=identity,
        instance_type=text_at(facts, "instanceType"),
        zone=text_at(facts, "availabilityZone"),
        total=total,
        available=total - used,
        state=_state(facts, ledger),
        start=text_at(facts, "startDate"),
        end=text_at(facts, "endDate"),
        block=thing.type == BLOCK,
        paid=thing.rate != Rate(),
    )


def _state(facts: Properties, ledger: Ledger) -> State:
    now = ledger.clock.moment
    paid, start, end = (text_at(facts, key) for key in ("paidDate", "startDate", "endDate"))
    if end and parsed(end) <= now:
        return "expired"
    if paid and parsed(paid) > now:
        return "payment-pending"
    return "scheduled" if start and parsed(start) > now else "active"


def refuse_without_capacity(resource: Resource, ledger: Ledger) -> None:
    """A reservation needs what it reserves to be free (EC2, `InsufficientInstanceCapacity`); by default it is.

    The account's setting `on_demand` says how many instances of a type there are, such as {"p6-b300.48xlarge": 0}.
    """
    name, count = text_at(resource.inputs, "instanceType"), number_at(resource.inputs, "instanceCount")
    free = on_demand_left(name, ledger)
    if free is not None and free < count:
        raise RefusedError(
            f"creating {resource.name}: api error InsufficientInstanceCapacity: Insufficient capacity for {name}."
        )


def on_demand_left(name: str, ledger: Ledger) -> int | None:
    """How many instances of a type EC2 still has outside reservations; None for as many as anyone wants."""
    limits = ledger.settings.get("on_demand")
    limit = limits.get(name) if isinstance(limits, dict) else None
    if not isinstance(limit, int):
        return None
    running = [each for each in ledger.of_type(ref.INSTANCE) if text_at(each.inputs, "instanceType") == name]
    outside = [each for each in running if not text_at(each.inputs, "reservation")]
    return limit - len(outside)


def _identity(resource: Resource, ledger: Ledger) -> str:
    return f"cr-{digest(resource.urn, len(ledger.events))}"


def _computed(resource: Resource, identity: str, ledger: Ledger) -> Properties:
    del resource
    return {
        "arn": arn("ec2", f"capacity-reservation/{identity}", ledger),
        "ownerId": account_id(ledger),
        "startDate": ledger.clock.stamp(),
        "reservationType": "default",
    }


def _rate(inputs: Properties) -> Rate:
    """It bills from now on, used or not (EC2 user guide, capacity reservations pricing)."""
    found, count = instance_type(text_at(inputs, "instanceType")), number_at(inputs, "instanceCount")
    return Rate(usd_per_hour=count * found.usd_per_hour, gpus=count * found.gpus) if found else Rate()


KIND: Final = ResourceKind(
    type=ON_DEMAND,
    identity=_identity,
    replaced_by=("availabilityZone", "instanceType", "instancePlatform", "tenancy", "ebsOptimized"),
    admissions=(refuse_foreign_zone, refuse_without_capacity),
    computed=_computed,
    rate=_rate,
)
