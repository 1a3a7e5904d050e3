"""Buying a Capacity Block: a stack of its own, so that destroying what serves can't touch what was paid for.

Creating the resource is the purchase: at once, for weeks, without a way back. Four things keep it from happening by
itself. The stack file names the offering, the highest fee and `acceptNonRefundable`. Right before the purchase, and
never else, EC2 is asked for the offering again, and another id or a higher fee ends the update. What is bought is
protected, kept on delete and never replaced. And a block that has ended and left the state can't be bought again,
since its offering is gone.
"""

from dataclasses import dataclass
from typing import Final

import pulumi
import pulumi_aws as aws

from components.aws.provider import provider
from components.aws.settings import AwsSettings, Capacity
from components.plan.planner import Plan

_PLATFORM: Final = "Linux/UNIX"
_PAYMENT: Final = "13h"
"""A payment takes up to 12 hours; a create that gives up earlier is taken for broken, and bought again."""


@dataclass(frozen=True, kw_only=True)
class CapacityBlockArgs:
    """What is bought."""

    capacity: Capacity
    """With mode purchase, checked."""
    machine: str
    """EC2 type."""
    nodes: int
    look_ups: pulumi.InvokeOptions


class CapacityBlock(pulumi.ComponentResource):
    """A Capacity Block that this stack bought."""

    reservation_id: pulumi.Output[str]

    def __init__(self, name: str, args: CapacityBlockArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        capacity = args.capacity
        props = {"offering": capacity.offering_id, "machine": args.machine, "nodes": args.nodes}
        super().__init__("kimi:aws:CapacityBlock", name, props, opts)

        async def last_look(_: pulumi.ResourceHookArgs) -> None:
            refusal = why_not(capacity, await _offered(args))
            if refusal:
                raise ValueError(refusal)

        gate = pulumi.ResourceHook(f"{name}-gate", last_look, pulumi.ResourceHookOptions(on_dry_run=True))
        block = aws.ec2.CapacityBlockReservation(
            f"{name}-block",
            capacity_block_offering_id=capacity.offering_id or "",
            instance_platform=_PLATFORM,
            opts=pulumi.ResourceOptions(
                parent=self,
                protect=True,
                retain_on_delete=True,
                # Offerings get new ids, and another id would mean another purchase.
                ignore_changes=["capacityBlockOfferingId", "instancePlatform"],
                custom_timeouts=pulumi.CustomTimeouts(create=_PAYMENT),
                hooks=pulumi.ResourceHookBinding(before_create=[gate]),
            ),
        )
        self.reservation_id = block.id
        self.register_outputs({"reservationId": block.id})


@dataclass(frozen=True, kw_only=True)
class Offering:
    """What EC2 offers now for the plan's machines."""

    id: str
    fee: float
    currency: str


def why_not(capacity: Capacity, offered: Offering) -> str:
    """Return why the offering isn't bought, or nothing.

    Args:
        capacity: With mode purchase.
        offered: What EC2 says right now.
    """
    limit = capacity.max_upfront_fee or 0.0
    if offered.currency != "USD":
        return f"nothing was bought: capacity.maxUpfrontFee is in USD and the fee in {offered.currency}"
    if offered.id != capacity.offering_id:
        return (
            f"nothing was bought: capacity.offeringId is {capacity.offering_id}, and EC2 offers {offered.id} for "
            f"{offered.fee:,.2f} USD now; an offering that is gone was sold, or bought before"
        )
    if offered.fee > limit:
        price = f"{offered.id} costs {offered.fee:,.2f} USD"
        return f"nothing was bought: {price}, more than capacity.maxUpfrontFee {limit:,.2f}"
    return ""


def capacity_purchase(settings: AwsSettings, plan: Plan) -> dict[str, pulumi.Input[object]]:
    """Buy what the stack file names, and return what the serving stack needs of it."""
    account = provider(settings)
    args = CapacityBlockArgs(
        capacity=settings.capacity,
        machine=plan.machine.name,
        nodes=plan.layout.nodes * settings.replicas,
        look_ups=pulumi.InvokeOptions(provider=account),
    )
    block = CapacityBlock("capacity", args, pulumi.ResourceOptions(providers=[account]))
    return {"capacityReservationId": block.reservation_id}


async def _offered(args: CapacityBlockArgs) -> Offering:
    found = await aws.ec2.get_capacity_block_offering_output(
        capacity_duration_hours=args.capacity.duration_hours or 0,
        instance_count=args.nodes,
        instance_type=args.machine,
        # Among several offerings the look-up chooses none.
        start_date_range=args.capacity.starts_at,
        end_date_range=args.capacity.ends_at,
        opts=pulumi.InvokeOutputOptions(provider=args.look_ups.provider),
    ).future()
    assert found is not None  # noqa: S101 - an invoke whose arguments are all known has an answer
    return Offering(id=found.capacity_block_offering_id, fee=float(found.upfront_fee), currency=found.currency_code)
