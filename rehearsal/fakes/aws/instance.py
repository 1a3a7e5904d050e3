"""EC2 instances of node groups: launched into a reservation or on demand, or not launched at all."""

from dataclasses import dataclass
from typing import Final

from rehearsal.fakes.account import Ledger, Rate, Thing
from rehearsal.fakes.aws import references as ref
from rehearsal.fakes.aws.instance_type import InstanceType, instance_type
from rehearsal.fakes.aws.launch_template import template_of
from rehearsal.fakes.aws.reservation import Reservation, on_demand_left, reservation
from rehearsal.fakes.aws.subnet import zone_of
from rehearsal.fakes.paths import text_at, texts_at
from rehearsal.fakes.resource_kind import digest
from rehearsal.fakes.values import Properties

_DEFAULT_TYPE: Final = "t3.medium"
"""EKS' own default (CreateNodegroup, instanceTypes)."""
_CAPACITY: Final = (
    "Could not launch {market} Instances. InsufficientInstanceCapacity - We currently do not have sufficient {name} "
    "capacity in the Availability Zone you requested ({zone}). Launching EC2 instance failed."
)
"""aws/containers-roadmap #2204."""
_EXCEEDED: Final = (
    "ReservationCapacityExceeded: The requested reservation does not have sufficient compatible and available capacity "
    "for this request."
)
"""hashicorp/terraform-provider-aws #35745."""


@dataclass(frozen=True)
class Launch:
    """What one node group asks EC2 for."""

    group: Thing
    template: Properties
    """Inputs of the launch template; empty without one."""
    type: InstanceType
    subnet: str
    reservation: Reservation | None

    @property
    def block(self) -> bool:
        """Whether it asks for instances of a Capacity Block."""
        return text_at(self.group.inputs, "capacityType") == "CAPACITY_BLOCK"


def launch_of(group: Thing, ledger: Ledger) -> Launch:
    """What a node group asks for, in the first of its subnets."""
    found = template_of(group.inputs, ledger)
    template = found.inputs if found else {}
    name = text_at(template, "instanceType") or text_at(group.inputs, "instanceTypes") or _DEFAULT_TYPE
    wanted = text_at(template, "capacityReservationSpecification.capacityReservationTarget.capacityReservationId")
    type_ = instance_type(name) or InstanceType(
        name=name, vcpus=2, memory_gb=4, architecture="amd64", usd_per_hour=0.0, block_usd_per_hour=0.0
    )
    subnet = text_at(group.inputs, "subnetIds")
    return Launch(group, template, type_, subnet, reservation(wanted, ledger) if wanted else None)


def refusal(launch: Launch, count: int, ledger: Ledger) -> str:
    """Why EC2 launches no further `count` instances; empty if it does."""
    market = text_at(launch.template, "instanceMarketOptions.marketType")
    zone, name = zone_of(launch.subnet, ledger), launch.type.name
    if launch.block:
        return _block_refusal(launch, market, count, zone)
    if launch.reservation is not None:
        reserved = launch.reservation
        if reserved.block:
            return _no_market(market)
        fits = (reserved.zone, reserved.instance_type) == (zone, name) and reserved.state == "active"
        return "" if fits and reserved.available >= count else _EXCEEDED
    left = on_demand_left(name, ledger)
    return "" if left is None or left >= count else _CAPACITY.format(market="On-Demand", name=name, zone=zone)


def launch(wanted: Launch, count: int, ledger: Ledger) -> list[Thing]:
    """Launch so many instances; they are in the account from now on."""
    return [ledger.add(_instance(wanted, index, ledger)) for index in range(count)]


def instances_of(group: Thing, ledger: Ledger) -> list[Thing]:
    """The instances of a node group, oldest first."""
    return [each for each in ledger.of_type(ref.INSTANCE) if text_at(each.inputs, "nodeGroup") == group.id]


def _block_refusal(launch: Launch, market: str, count: int, zone: str) -> str:
    reserved = launch.reservation
    if market != "capacity-block":
        return _no_market(market)
    if reserved is None or not reserved.block:
        target = "a Capacity Block as its reservation target"
        return f"InvalidParameterValue: The market type capacity-block needs {target}"
    if reserved.state != "active":
        # EC2 user guide, "Launch instances using Capacity Blocks": only while the block is active.
        return f"InvalidCapacityReservationState: The Capacity Block {reserved.id} is {reserved.state}, not active"
    fits = (reserved.zone, reserved.instance_type) == (zone, launch.type.name)
    return "" if fits and reserved.available >= count else _EXCEEDED


def _no_market(market: str) -> str:
    # aws.md 7.9: without the market type, EC2 takes the request for an on-demand one.
    return f"InvalidParameterValue: The market type (purchasing) option is not valid: '{market or 'on-demand'}'"


def _instance(wanted: Launch, index: int, ledger: Ledger) -> Thing:
    reserved = wanted.reservation
    identity = f"i-{digest(wanted.group.id, index, len(ledger.events))}"
    inputs: Properties = {
        "instanceType": wanted.type.name,
        "subnetId": wanted.subnet,
        "securityGroups": texts_at(wanted.template, "networkInterfaces.securityGroups"),
        "nodeGroup": wanted.group.id,
        "reservation": reserved.id if reserved else None,
        "address": f"10.20.{len(ledger.events) % 250}.{index + 4}",
    }
    paid = reserved is not None and reserved.paid
    usd = wanted.type.block_usd_per_hour if wanted.block else wanted.type.usd_per_hour
    rate = Rate() if paid else Rate(usd_per_hour=usd, gpus=wanted.type.gpus)
    return Thing(ref.INSTANCE, identity, f"{wanted.group.name} ({wanted.type.name})", inputs, {}, rate=rate)
