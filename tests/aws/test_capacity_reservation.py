"""The reservation: looked up, compared with the plan, never bought in passing, and waited for when it starts later."""

import datetime
import json
from collections.abc import Mapping
from typing import Any

import pytest

from components.aws.capacity_reservation import Reservation, reservation_faults
from components.aws.gpu_node_pool import start_time
from components.aws.settings import Capacity
from tests.aws.answers import AwsAnswers
from tests.aws.stack import PAIR, PAIR_BLOCK, SCHEDULED, gpu_nodes, only, program, refusal, template

ID = "cr-0123456789abcdef0"
ON_DEMAND = {
    "AvailabilityZone": "us-west-2c",
    "InstanceType": "p6-b300.48xlarge",
    "TotalInstanceCount": 1,
    "State": "active",
}
ON_DEMAND_KIND = {"capacity": {"kind": "on-demand"}}
NOW = datetime.datetime(2026, 12, 1, 12, tzinfo=datetime.UTC)


def ends_in(minutes: int, *, block: bool = True, nodes: int = 1, state: str = "active") -> list[str]:
    """Return what is wrong with a reservation that ends so soon."""
    end = NOW + datetime.timedelta(minutes=minutes)
    found = Reservation(
        id=ID, zone="us-west-2b", block=block, state=state, machine="p6-b300.48xlarge", count=1, end=end
    )
    capacity = Capacity(mode="existing", id=ID)
    return [
        str(fault) for fault in reservation_faults(found, capacity, machine="p6-b300.48xlarge", nodes=nodes, now=NOW)
    ]


def test_the_committed_stacks_block_is_looked_up_by_its_id_with_the_stacks_own_provider() -> None:
    answers = AwsAnswers()
    mocks = program({}, answers)
    assert ("getCapacityBlockReservation", {"id": ID}) in answers.asked
    assert only(mocks.of("CapacityReservation")).inputs == {
        "reservation": ID,
        "zone": "us-west-2b",
        "ends": "2099-12-14T11:30:00+00:00",
    }


@pytest.mark.parametrize(
    ("change", "telling"),
    [
        (
            {"instanceType": "p6-b200.48xlarge"},
            f"kimi-k3:machine is 'p6-b300.48xlarge': {ID} reserves p6-b200.48xlarge",
        ),
        ({"state": "payment-pending"}, "is payment-pending; nodes come from one that is scheduled or active"),
        # The other states of a block in EC2's own model (botocore, CapacityBlockResourceState).
        *[
            ({"state": state}, f"is {state}; nodes come from one that is scheduled or active")
            for state in ("payment-failed", "expired", "cancelled", "failed", "unavailable")
        ],
        ({"endDate": "2026-11-30T11:30:00Z"}, "ends at 2026-11-30T11:30:00+00:00, and EKS takes its nodes 40 minutes"),
    ],
)
def test_a_block_that_does_not_fit_is_refused(change: dict[str, str], telling: str) -> None:
    said = refusal({}, AwsAnswers(block=change))
    assert "1 fault " in said
    assert telling in said


def test_a_block_with_too_few_instances_is_refused_with_both_numbers() -> None:
    said = refusal(PAIR, AwsAnswers(block={**PAIR_BLOCK, "instanceCount": 1}))
    assert f"{ID} holds 1 instances, the plan has 2 nodes" in said


def test_a_reservation_in_another_zone_than_the_stack_file_says_is_refused() -> None:
    said = refusal({"capacity": {"zone": "us-west-2a"}})
    assert f"kimi-k3:capacity.zone is 'us-west-2a': {ID} is in us-west-2b" in said


def test_all_mismatches_come_out_at_once() -> None:
    wrong = {"instanceType": "p5en.48xlarge", "instanceCount": 1, "state": "expired", "availabilityZone": "us-west-2d"}
    said = refusal({"capacity": {"zone": "us-west-2b"}, "replicas": 2}, AwsAnswers(block=wrong))
    assert said.startswith("4 faults ")
    for key in ("machine", "capacity.zone", "replicas", "capacity.id"):
        assert f"kimi-k3:{key} is" in said


def test_a_block_is_good_until_eks_takes_its_nodes() -> None:
    assert ends_in(41) == []
    assert "40 minutes before" in str(ends_in(40))
    assert "40 minutes before" in str(ends_in(39))


def test_an_on_demand_reservation_is_good_until_its_end() -> None:
    assert ends_in(1, block=False) == []
    assert "ends at" in str(ends_in(0, block=False))


@pytest.mark.parametrize("state", ["active", "expired"])
def test_a_parked_stack_outlives_its_reservation(state: str) -> None:
    assert ends_in(-60, nodes=0, state=state) == []
    assert ends_in(-60, nodes=1, state=state) != []


def test_an_on_demand_reservation_is_looked_up_through_cloud_control() -> None:
    answers = AwsAnswers(on_demand=ON_DEMAND)
    mocks = program(ON_DEMAND_KIND, answers)
    asked = [args for question, args in answers.asked if question == "getResource"]
    assert asked == [{"identifier": ID, "typeName": "AWS::EC2::CapacityReservation"}]
    # It bills at the on-demand price: no market of its own, but the reservation and no other instance.
    assert "instanceMarketOptions" not in template(mocks)
    assert template(mocks)["capacityReservationSpecification"]["capacityReservationTarget"] == {
        "capacityReservationId": ID
    }
    assert gpu_nodes(mocks).inputs["capacityType"] == "ON_DEMAND"
    assert gpu_nodes(mocks).inputs["subnetIds"] == ["network-private-us-west-2c-id"]


@pytest.mark.parametrize(
    ("change", "telling"),
    [
        ({"InstanceType": "p5en.48xlarge"}, "reserves p5en.48xlarge"),
        ({"State": "cancelled"}, "is cancelled"),
        ({"EndDate": "2026-11-30T11:30:00Z"}, "ends at 2026-11-30T11:30:00+00:00."),
    ],
)
def test_an_on_demand_reservation_that_does_not_fit_is_refused(change: dict[str, str], telling: str) -> None:
    assert telling in refusal(ON_DEMAND_KIND, AwsAnswers(on_demand={**ON_DEMAND, **change}))


@pytest.mark.parametrize("known", [True, False])
def test_nodes_of_a_block_that_starts_later_come_five_minutes_after_its_start(known: bool) -> None:
    mocks = program({}, AwsAnswers(block=SCHEDULED), unknown=not known)
    assert gpu_nodes(mocks).inputs["scalingConfig"] == {"minSize": 0, "desiredSize": 0, "maxSize": 1}
    schedule = only(mocks.of("Schedule")).inputs
    sizes = {key: schedule[key] for key in ("startTime", "minSize", "maxSize", "desiredCapacity")}
    assert sizes == {"startTime": "2099-12-01T11:35:00Z", "minSize": 0, "maxSize": 1, "desiredCapacity": 1}
    if known:
        assert schedule["autoscalingGroupName"] == "eks-gpu-nodes"


def test_nobody_waits_for_pods_of_nodes_that_come_later() -> None:
    mocks = program({"exposure": {"mode": "internal"}}, AwsAnswers(block=SCHEDULED))
    for each in (only(mocks.of("LeaderWorkerSet")), only(mocks.of("Service"))):
        assert each.inputs["metadata"]["annotations"]["pulumi.com/skipAwait"] == "true"
    hooks = mocks.request(only(mocks.of("LeaderWorkerSet"))).hooks
    assert not hooks.before_create


def test_a_group_of_nodes_that_are_there_is_waited_for() -> None:
    mocks = program()
    annotations = only(mocks.of("LeaderWorkerSet")).inputs["metadata"]["annotations"]
    assert "pulumi.com/skipAwait" not in annotations
    assert "condition=Available" in annotations["pulumi.com/waitFor"]
    assert mocks.of("Schedule") == []


def test_a_start_is_written_in_utc_as_auto_scaling_wants_it() -> None:
    start = datetime.datetime(2026, 12, 7, 3, 30, tzinfo=datetime.timezone(datetime.timedelta(hours=-8)))
    assert start_time(Reservation(id=ID, zone="us-west-2b", state="scheduled", start=start)) == "2026-12-07T11:35:00Z"
    assert start_time(Reservation(id=ID, zone="us-west-2b", state="active", start=start)) == ""


def test_without_a_reservation_nothing_is_looked_up_and_the_nodes_are_on_demand() -> None:
    answers = AwsAnswers()
    mocks = program({"capacity": {"mode": "none", "id": None, "zone": "us-west-2c"}}, answers)
    assert not {"getCapacityBlockReservation", "getResource"} & {question for question, _ in answers.asked}
    assert not {"instanceMarketOptions", "capacityReservationSpecification"} & set(template(mocks))
    assert gpu_nodes(mocks).inputs["capacityType"] == "ON_DEMAND"


def test_a_reservation_that_is_not_looked_up_is_trusted() -> None:
    answers = AwsAnswers(refused={"getCapacityBlockReservation": "not authorized"})
    mocks = program({"preflight": {"skip": ["reservation"]}, "capacity": {"zone": "us-west-2a"}}, answers)
    assert template(mocks)["instanceMarketOptions"] == {"marketType": "capacity-block"}
    assert ID in json.dumps(template(mocks)["capacityReservationSpecification"])
    assert gpu_nodes(mocks).inputs["subnetIds"] == ["network-private-us-west-2a-id"]


def test_a_reservation_that_aws_does_not_know_is_one_line() -> None:
    answers = AwsAnswers(refused={"getCapacityBlockReservation": "InvalidCapacityReservationId.NotFound:\n  cr-..."})
    said = refusal({}, answers)
    assert said.count("\n") == 1
    assert f"kimi-k3:capacity.id is '{ID}': AWS could not be asked" in said
    assert "preflight: {skip: [reservation]}" in said


def test_a_refused_stack_has_made_nothing() -> None:
    made: list[str] = []

    class Watched(AwsAnswers):
        def computed(self, kind: str, name: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
            made.append(kind)
            return super().computed(kind, name, inputs)

    refusal({}, Watched(block={"state": "expired"}))
    assert made == ["pulumi:providers:aws"]
