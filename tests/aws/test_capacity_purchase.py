"""Buying a Capacity Block: by its own stack, on a person's word, once, and never by a preview."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pulumi
import pytest

from components.aws.capacity_purchase import Offering, why_not
from components.aws.settings import Capacity
from components.faults import Faulty
from components.stack_file import load
from tests.aws.answers import AwsAnswers
from tests.aws.stack import only
from tests.conftest import Mocks, Registered, run_program
from tests.stacks import values

OFFERING = "cb-0123456789abcdef0"
BLOCK = "aws:ec2/capacityBlockReservation:CapacityBlockReservation"
SAID = {"acceptNonRefundable": True}


@pytest.fixture
def gates(monkeypatch: pytest.MonkeyPatch) -> list[pulumi.ResourceHook]:
    """Return the hooks that the program makes, as the engine gets them."""
    made: list[pulumi.ResourceHook] = []

    class Kept(pulumi.ResourceHook):
        def __init__(self, name: str, func: Any, opts: pulumi.ResourceHookOptions | None = None) -> None:
            super().__init__(name, func, opts)
            made.append(self)

    monkeypatch.setattr(pulumi, "ResourceHook", Kept)
    return made


def bought(answers: AwsAnswers | None = None, *, unknown: bool = False, **capacity: object) -> Mocks:
    """Run the committed stack file of a purchase with the word said and these changes."""
    changed = values("aws-capacity", capacity={**SAID, **capacity})
    return run_program(changed, cloud=answers or AwsAnswers(), unknown=unknown)


def block(mocks: Mocks) -> Registered:
    """Return the one thing that is bought."""
    return only(mocks.of("CapacityBlockReservation"))


def opened(gate: pulumi.ResourceHook) -> str:
    """Return why a gate stays shut, or nothing; asked as the engine does, right before the purchase."""
    said: list[str] = []

    async def ask() -> None:
        args = pulumi.ResourceHookArgs(urn="", id="", name="capacity-block", type=BLOCK)
        try:
            waiting = gate(args)
            assert waiting is not None
            await waiting
        except ValueError as refusal:
            said.append(str(refusal))

    @pulumi.runtime.test
    def hook() -> Any:
        return asyncio.ensure_future(ask())

    hook()
    return "".join(said)


def faults(**capacity: object) -> dict[str, str]:
    """Return the faults of the stack file of a purchase, by key."""
    with pytest.raises(Faulty) as caught:
        load(values("aws-capacity", capacity=capacity))
    return {fault.key: str(fault) for fault in caught.value.faults}


def test_the_stack_makes_the_block_and_nothing_else() -> None:
    made = [each for each in bought().resources if not each.type.startswith(("pulumi:", "kimi:"))]
    assert [each.type for each in made] == [BLOCK]
    assert block(bought()).inputs == {"capacityBlockOfferingId": OFFERING, "instancePlatform": "Linux/UNIX"}


@pytest.mark.parametrize(
    ("change", "key", "telling"),
    [
        ({}, "capacity.acceptNonRefundable", "can't be given back"),
        ({"acceptNonRefundable": False}, "capacity.acceptNonRefundable", "true, when you mean it"),
        ({**SAID, "offeringId": None}, "capacity.offeringId", "mode purchase needs it"),
        ({**SAID, "offeringId": "cb-1"}, "capacity.offeringId", OFFERING),
        ({**SAID, "maxUpfrontFee": None}, "capacity.maxUpfrontFee", "mode purchase needs it"),
        ({**SAID, "maxUpfrontFee": 0}, "capacity.maxUpfrontFee", "greater than 0"),
        ({**SAID, "durationHours": None}, "capacity.durationHours", "mode purchase needs it"),
        ({**SAID, "durationHours": 25}, "capacity.durationHours", "multiple of 24"),
        ({**SAID, "durationHours": 4392}, "capacity.durationHours", "4368"),
        # 15 days: longer than 14, and no whole weeks (EC2 user guide, ec2-capacity-blocks).
        ({**SAID, "durationHours": 360}, "capacity.durationHours", "Instead: 336"),
        ({**SAID, "id": "cr-0123456789abcdef0"}, "capacity.id", "mode purchase takes"),
        ({**SAID, "zone": "us-west-2b"}, "capacity.zone", "mode purchase takes"),
        ({**SAID, "startsAt": "tomorrow"}, "capacity.startsAt", "2026-12-07T11:30:00Z"),
    ],
)
def test_a_form_that_is_half_filled_buys_nothing(change: dict[str, object], key: str, telling: str) -> None:
    assert telling in faults(**change)[key]


@pytest.mark.parametrize("hours", [24, 336, 504, 4368])
def test_the_lengths_that_ec2_offers_are_taken(hours: int) -> None:
    settings, _ = load(values("aws-capacity", capacity={**SAID, "durationHours": hours}))
    assert settings.cloud == "aws"
    assert settings.capacity.duration_hours == hours


def test_nothing_is_bought_for_a_plan_that_does_not_fit_the_machine() -> None:
    alone = {"tensorParallel": 8, "pipelineParallel": 1}
    with pytest.raises(Faulty):
        load(values("aws-capacity", capacity=SAID, machine="p6-b200.48xlarge", topology=alone))


def test_what_is_bought_is_protected_kept_and_never_replaced() -> None:
    mocks = bought()
    request = mocks.request(block(mocks))
    assert (request.protect, request.retainOnDelete) == (True, True)
    # Offerings get new ids on every query: another id must not mean another purchase.
    assert set(request.ignoreChanges) == {"capacityBlockOfferingId", "instancePlatform"}
    assert set(block(mocks).inputs) == set(request.ignoreChanges)
    assert list(request.replaceOnChanges) == []


def test_a_payment_has_the_twelve_hours_that_it_may_take() -> None:
    # A create that gives up is kept as broken, and what is broken is made, which is bought, again.
    mocks = bought()
    assert mocks.request(block(mocks)).customTimeouts.create == "13h"


@pytest.mark.parametrize("unknown", [True, False])
def test_the_program_itself_asks_for_no_offering(unknown: bool) -> None:
    # The answer of a look-up would be another offering each time, and none at all once this one is sold.
    answers = AwsAnswers(refused={"getCapacityBlockOffering": "no matching Capacity Block offerings"})
    mocks = bought(answers, unknown=unknown)
    assert answers.asked == []
    assert block(mocks).inputs["capacityBlockOfferingId"] == OFFERING


def test_the_gate_stands_before_the_purchase_and_is_tried_in_previews_too(gates: list[pulumi.ResourceHook]) -> None:
    mocks = bought()
    (gate,) = gates
    assert list(mocks.request(block(mocks)).hooks.before_create) == [gate.name]
    assert gate.opts is not None
    assert (gate.opts.on_dry_run, gate.opts.ignore_errors) == (True, False)


def test_the_gate_asks_for_exactly_what_the_file_says(gates: list[pulumi.ResourceHook]) -> None:
    answers = AwsAnswers()
    bought(answers, startsAt="2026-12-07T11:30:00Z", endsAt="2026-12-14T11:30:00Z")
    assert opened(gates[0]) == ""
    assert answers.asked == [
        (
            "getCapacityBlockOffering",
            {
                "capacityDurationHours": 168,
                "instanceCount": 1,
                "instanceType": "p6-b300.48xlarge",
                "startDateRange": "2026-12-07T11:30:00Z",
                "endDateRange": "2026-12-14T11:30:00Z",
            },
        )
    ]


@pytest.mark.parametrize(
    ("offering", "telling"),
    [
        # An `up` after the block has ended and a refresh has taken it out of the state; or somebody was faster.
        ({"capacityBlockOfferingId": "cb-00000000000000000"}, "an offering that is gone was sold, or bought before"),
        ({"upfrontFee": "20000.01"}, "costs 20,000.01 USD, more than capacity.maxUpfrontFee 20,000.00"),
        ({"currencyCode": "CNY"}, "capacity.maxUpfrontFee is in USD and the fee in CNY"),
    ],
)
def test_the_gate_stays_shut(gates: list[pulumi.ResourceHook], offering: Mapping[str, Any], telling: str) -> None:
    bought(AwsAnswers(offering=offering))
    said = opened(gates[0])
    assert said.startswith("nothing was bought: ")
    assert telling in said


def test_a_fee_at_the_limit_is_paid_and_a_cent_more_is_not() -> None:
    capacity = Capacity.model_validate(
        {"mode": "purchase", "offeringId": OFFERING, "durationHours": 168, "maxUpfrontFee": 18869.76, **SAID}
    )
    offered = Offering(id=OFFERING, fee=18869.76, currency="USD")
    assert why_not(capacity, offered) == ""
    assert why_not(capacity, replace(offered, fee=18869.77)) != ""


def test_without_an_answer_nothing_is_bought(gates: list[pulumi.ResourceHook]) -> None:
    bought(AwsAnswers(refused={"getCapacityBlockOffering": "no matching Capacity Block offerings"}))
    with pytest.raises(Exception, match="no matching Capacity Block offerings"):
        opened(gates[0])


def test_machines_for_all_replicas_are_bought_at_once(gates: list[pulumi.ResourceHook]) -> None:
    answers = AwsAnswers()
    serving = {"image": "registry.example.com/vllm-efa:0.33.0"}
    changed = values("aws-capacity", capacity=SAID, machine="p6-b200.48xlarge", replicas=2, serving=serving)
    run_program(changed, cloud=answers)
    opened(gates[0])
    ((_, asked),) = answers.asked
    assert (asked["instanceType"], asked["instanceCount"]) == ("p6-b200.48xlarge", 4)


def test_a_stack_that_buys_says_that_nothing_comes_back_and_bills_nothing_by_the_hour() -> None:
    settings, plan = load(values("aws-capacity", capacity=SAID))
    assert [lasting.what for lasting in plan.cost.after_destroy] == [
        "the Capacity Block, which is paid and can't be given back"
    ]
    assert (settings.platform_usd_hour, settings.storage_usd_month) == (0, 0)


def test_the_serving_stack_protects_nothing_so_that_destroy_goes_through() -> None:
    # One protected resource would end `destroy` before the GPU nodes are gone (pulumi/pulumi #7033).
    mocks = run_program(values("aws"), cloud=AwsAnswers())
    assert [request.name for request in mocks.requests.values() if request.protect] == []
