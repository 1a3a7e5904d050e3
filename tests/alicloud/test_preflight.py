"""What a preview asks Alibaba Cloud: whatever doesn't fit is said before anything is made, all of it at once."""

import pytest

from tests.alicloud.answers import AlicloudAnswers
from tests.alicloud.stack import (
    BY_THE_HOUR,
    EXISTING_NETWORK,
    FOUR,
    INTERNAL,
    LINGJUN,
    RESERVE,
    STREAM,
    SWITCHES,
    VPC,
    Changes,
    gpu_nodes,
    only,
    program,
    refusal,
)

POOL = "crp-bp67acfmxazb4ph0abcd"
ASSURED: Changes = {"capacity": {"ids": ["eap-bp67acfmxazb4ph0abcd"]}}


@pytest.mark.parametrize(
    ("pool", "telling"),
    [
        ({"instanceType": "ecs.gn8v-8x.48xlarge"}, f"{POOL} holds ecs.gn8v-8x.48xlarge"),
        ({"instanceAmount": "2"}, "the private pools hold 2 instances, the plan has 3 nodes"),
        ({"matchCriteria": "Open"}, "is in mode Open"),
        ({"status": "Pending"}, "is Pending; nodes come from one that is Active"),
        ({"status": "Released"}, "is Released"),
        ({"endTime": "2024-01-01T00:00:00Z"}, "ended at 2024-01-01"),
    ],
)
def test_a_private_pool_that_does_not_fit_is_refused(pool: dict[str, str], telling: str) -> None:
    assert telling in refusal({}, AlicloudAnswers(pools={POOL: pool}))


def test_an_elasticity_assurance_serves_as_well_and_is_checked_as_well() -> None:
    mocks = program(ASSURED)
    assert gpu_nodes(mocks).inputs["resourcePoolOptions"]["privatePoolIds"] == ["eap-bp67acfmxazb4ph0abcd"]
    answers = AlicloudAnswers(assurances={"eap-bp67acfmxazb4ph0abcd": {"status": "Preparing"}})
    assert "is Preparing" in refusal(ASSURED, answers)


def test_several_pools_count_together_and_must_be_in_one_zone() -> None:
    two: Changes = {**FOUR, "capacity": {"ids": [POOL, "crp-bp67acfmxazb4ph0abce"]}}
    program(two)
    apart = AlicloudAnswers(pools={"crp-bp67acfmxazb4ph0abce": {"zoneIds": ["ap-southeast-1b"]}})
    assert "is in ap-southeast-1b, and the first one in ap-southeast-1a" in refusal(two, apart)


def test_a_pool_that_is_not_there_is_told_with_the_way_round() -> None:
    found = refusal({}, AlicloudAnswers(unknown=[POOL]))
    assert f"there is no {POOL} in this region" in found
    assert "preflight: {skip: [reservation]}" in found


def test_a_zone_that_is_not_the_pools_is_refused() -> None:
    assert f"{POOL} is in ap-southeast-1a" in refusal({"capacity": {"zone": "ap-southeast-1b"}})


def test_a_parked_stack_outlives_its_pool() -> None:
    answers = AlicloudAnswers(pools={POOL: {"status": "Released", "endTime": "2024-01-01T00:00:00Z"}})
    assert program({"serve": False}, answers).of("LeaderWorkerSet") == []


def test_a_private_pool_of_our_own_does_not_end_in_the_past() -> None:
    capacity = RESERVE["capacity"]
    assert isinstance(capacity, dict)
    assert "is over" in refusal({"capacity": {**capacity, "endTime": "2024-01-31T16:00:00Z"}})


@pytest.mark.parametrize("changes", [BY_THE_HOUR, RESERVE])
def test_a_machine_that_the_zone_does_not_sell_is_refused_before_the_weights_are_copied(changes: Changes) -> None:
    found = refusal(changes, AlicloudAnswers(sold=False))
    assert "isn't sold by the hour in ap-southeast-1" in found


@pytest.mark.parametrize("changes", [{}, LINGJUN])
def test_machines_that_are_there_already_need_not_be_for_sale(changes: Changes) -> None:
    assert program(changes, AlicloudAnswers(sold=False)).of("LeaderWorkerSet")


def test_a_version_that_ack_no_longer_makes_is_refused_with_one_that_it_makes() -> None:
    found = refusal({"cluster": {"version": "1.33.1-aliyun.1"}})
    assert "1.35.1-aliyun.1, 1.36.2-aliyun.1" in found
    assert "Instead: 1.36.2-aliyun.1" in found


@pytest.mark.parametrize(
    ("changes", "zones", "telling"),
    [
        ({}, ("ap-southeast-1a",), "must be another zone than ap-southeast-1a"),
        ({"network": {"secondZone": "ap-southeast-1a"}}, ("ap-southeast-1a", "ap-southeast-1b"), "must be another"),
        (INTERNAL, ("ap-southeast-1b", "ap-southeast-1c"), "has none in ap-southeast-1a"),
        (
            {**INTERNAL, "network": {"secondZone": "ap-southeast-1c"}},
            ("ap-southeast-1a", "ap-southeast-1b"),
            "has none in ap-southeast-1c",
        ),
    ],
)
def test_a_network_load_balancer_has_two_zones_to_stand_in(
    changes: Changes, zones: tuple[str, ...], telling: str
) -> None:
    assert telling in refusal(changes, AlicloudAnswers(balancer_zones=zones))


def test_without_a_load_balancer_any_zone_will_do() -> None:
    mocks = program({}, AlicloudAnswers(balancer_zones=("ap-southeast-1b", "ap-southeast-1c")))
    assert {each.inputs["zoneId"] for each in mocks.of("Switch")} == {"ap-southeast-1a", "ap-southeast-1b"}


@pytest.mark.parametrize(
    ("switches", "telling"),
    [
        ({**SWITCHES, "vsw-t4nabcdefgi": ("ap-southeast-1c", VPC)}, "one must be in ap-southeast-1a"),
        ({**SWITCHES, "vsw-t4nabcdefgj": ("ap-southeast-1b", VPC)}, "one must be in ap-southeast-1a"),
        ({**SWITCHES, "vsw-t4nabcdefgh": ("ap-southeast-1a", VPC)}, "another one elsewhere"),
        ({**SWITCHES, "vsw-t4nabcdefgh": ("ap-southeast-1b", "vpc-other00000")}, "belongs to vpc-other00000"),
        ({}, "belongs to no VPC of this region"),
    ],
)
def test_a_network_that_was_there_is_looked_at(switches: dict[str, tuple[str, str]], telling: str) -> None:
    assert telling in refusal(EXISTING_NETWORK, AlicloudAnswers(switches=switches))


def test_streaming_without_keys_is_refused() -> None:
    found = refusal(STREAM)
    assert "pulumi config set --secret kimi-k3:bucketAccessKeyId" in found
    assert "pulumi config set --secret kimi-k3:bucketSecretAccessKey" in found


def test_every_fault_comes_out_at_once() -> None:
    answers = AlicloudAnswers(pools={POOL: {"status": "Pending"}}, versions=(), balancer_zones=("ap-southeast-1a",))
    found = refusal({}, answers)
    assert found.startswith("3 faults")


@pytest.mark.parametrize(
    ("question", "check"),
    [("getCapacityReservations", "reservation"), ("getKubernetesVersion", "kubernetes-version")],
)
def test_a_question_without_an_answer_can_be_left_out(question: str, check: str) -> None:
    refused = {question: "Forbidden.RAM: User not authorized"}
    assert "Forbidden.RAM" in refusal({}, AlicloudAnswers(refused=refused))
    zone = {"capacity": {"zone": "ap-southeast-1a"}}
    answers = AlicloudAnswers(refused=refused)
    mocks = program({"preflight": {"skip": [check]}, **zone}, answers)
    assert question not in [asked for asked, _ in answers.asked]
    assert only(mocks.of("LeaderWorkerSet"))
