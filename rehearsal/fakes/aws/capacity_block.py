"""EC2 Capacity Blocks for ML: offerings, the purchase of one, and what is left of it when the stack is gone.

A purchase is real, immediate and can't be taken back, and the provider's deletion does nothing but forget
(hashicorp/terraform-provider-aws, internal/service/ec2/ec2_capacity_block_reservation.go). So the block is a thing of
its own here, which stays.
"""

import secrets
from typing import Final

from rehearsal.fakes.account import Ledger, Rate, Thing
from rehearsal.fakes.aws.instance_type import instance_type
from rehearsal.fakes.aws.naming import arn, region
from rehearsal.fakes.aws.reservation import BLOCK, Reservation, reservation
from rehearsal.fakes.clock import parsed
from rehearsal.fakes.paths import number_at, text_at
from rehearsal.fakes.resource_kind import ResourceKind, digest
from rehearsal.fakes.rules import RefusedError, Resource
from rehearsal.fakes.values import Properties, mapping, sequence

_PURCHASE: Final = "aws:ec2/capacityBlockReservation:CapacityBlockReservation"
_SOLD: Final = "sold_offerings"
"""The account's own setting with the ids of what was bought."""
_LONGEST_HOURS: Final = 182 * 24
_MOST_INSTANCES: Final = 64
_HOUR: Final = 3600.0
_UNTIL_START: Final = _HOUR
# EC2 user guide, "Capacity Blocks for ML": the block ends half an hour after the last instance is taken away.
_PAYMENT_SECONDS: Final = 60.0
"""Payment takes up to 12 hours; the account's setting `payment_seconds` says how long here."""


def offering(arguments: Properties, ledger: Ledger) -> Properties:
    """Answer `getCapacityBlockOffering`: one offering, under another id each time.

    The account's setting `offering` pins one: {"id": "cb-…", "upfrontFee": "1234.0", "availabilityZone": "…"}.
    """
    name, count = text_at(arguments, "instanceType"), number_at(arguments, "instanceCount")
    hours = number_at(arguments, "capacityDurationHours")
    found, pinned = instance_type(name), mapping(ledger.settings.get("offering"))
    if found is None or not found.gpus or not 0 < hours <= _LONGEST_HOURS or not 0 < count <= _MOST_INSTANCES:
        raise RefusedError("reading EC2 Capacity Block Offering: empty result")
    fee = text_at(pinned, "upfrontFee") or f"{found.block_usd_per_hour * hours * count:.2f}"
    pinned_id = text_at(pinned, "id")
    sold = pinned_id in sequence(ledger.settings.get(_SOLD))
    facts: Properties = {
        "capacityBlockOfferingId": pinned_id if pinned_id and not sold else f"cb-{secrets.token_hex(9)[:17]}",
        "instanceType": name,
        "instanceCount": count,
        "capacityDurationHours": hours,
        "availabilityZone": text_at(pinned, "availabilityZone") or f"{region(ledger)}b",
        "upfrontFee": fee,
        "currencyCode": "USD",
        "tenancy": "default",
        "region": region(ledger),
    }
    offered = mapping(ledger.settings.setdefault("offered", {}))
    offered[str(facts["capacityBlockOfferingId"])] = facts
    return {**facts, "id": facts["capacityBlockOfferingId"]}


def refuse_unknown_offering(resource: Resource, ledger: Ledger) -> None:
    """An offering is good while it is offered (EC2, `InvalidCapacityBlockOfferingId.NotFound`)."""
    identity = text_at(resource.inputs, "capacityBlockOfferingId")
    if not _offered(identity, ledger) or identity in sequence(ledger.settings.get(_SOLD)):
        raise RefusedError(
            f"creating {resource.name}: api error InvalidCapacityBlockOfferingId.NotFound: the Capacity Block offering "
            f"{identity} does not exist"
        )


def found_block(identity: str, ledger: Ledger) -> Reservation:
    """The block of an id.

    Raises:
        RefusedError: There is none (EC2, `InvalidCapacityReservationId.NotFound`).
    """
    block = reservation(identity, ledger)
    if block is None:
        raise RefusedError(
            "reading EC2 Capacity Block Reservation: api error InvalidCapacityReservationId.NotFound: The capacity "
            f"reservation ID '{identity}' does not exist"
        )
    return block


def seconds_left(block: Reservation, ledger: Ledger) -> float:
    """Seconds until a block ends; negative afterwards."""
    return (parsed(block.end) - ledger.clock.moment).total_seconds()


def _offered(identity: str, ledger: Ledger) -> Properties:
    return mapping(mapping(ledger.settings.get("offered")).get(identity))


def _identity(resource: Resource, ledger: Ledger) -> str:
    return f"cr-{digest(resource.urn, len(ledger.events))}"


def _computed(resource: Resource, identity: str, ledger: Ledger) -> Properties:
    block = ledger.find(BLOCK, identity)
    facts = block.outputs if block else _bought(resource, ledger)
    shown = ("instanceType", "instanceCount", "availabilityZone", "startDate", "endDate")
    return {
        **{key: facts.get(key) for key in shown},
        "arn": arn("ec2", f"capacity-reservation/{identity}", ledger),
        "createdDate": ledger.clock.stamp(),
        "endDateType": "limited",
        "reservationType": "capacity-block",
        "tenancy": "default",
    }


def _bought(resource: Resource, ledger: Ledger) -> Properties:
    offered = _offered(text_at(resource.inputs, "capacityBlockOfferingId"), ledger)
    length = number_at(offered, "capacityDurationHours") * _HOUR
    return {
        **offered,
        "startDate": ledger.clock.stamp(_UNTIL_START),
        "endDate": ledger.clock.stamp(_UNTIL_START + length),
    }


def _made(thing: Thing, ledger: Ledger) -> None:
    """Pay, and have the block from now on."""
    offered = _offered(text_at(thing.inputs, "capacityBlockOfferingId"), ledger)
    fee = float(text_at(offered, "upfrontFee") or 0)
    found = instance_type(text_at(thing.outputs, "instanceType"))
    pending = ledger.settings.get("payment_seconds", _PAYMENT_SECONDS)
    paid = ledger.clock.stamp(float(str(pending)))
    # An offering is sold once.
    sold = text_at(thing.inputs, "capacityBlockOfferingId")
    ledger.settings[_SOLD] = [*sequence(ledger.settings.get(_SOLD)), sold]
    because = f"bought for {fee:,.2f} USD and paid until {thing.outputs.get('endDate')}: it can't be given back"
    count = number_at(thing.outputs, "instanceCount")
    rate = Rate(usd_once=fee, gpus=count * found.gpus if found else 0)
    facts = {**thing.outputs, "paidDate": paid}
    ledger.add(Thing(BLOCK, thing.id, thing.name, {}, facts, left_because=because, rate=rate))


KIND: Final = ResourceKind(
    type=_PURCHASE,
    identity=_identity,
    replaced_by=("capacityBlockOfferingId", "instancePlatform"),
    admissions=(refuse_unknown_offering,),
    computed=_computed,
    made=_made,
    patience=2400.0,
)
