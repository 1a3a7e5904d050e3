"""What a preview asks AWS: each check refuses, can be skipped, and says so when it gets no answer."""

import pytest

from tests.aws.answers import AwsAnswers
from tests.aws.stack import EXISTING_NETWORK, SUBNETS, Changes, program, refusal

ON_DEMAND: Changes = {"capacity": {"mode": "none", "id": None, "zone": "us-west-2b"}}
"""Nodes that count against the quota of the account."""
DENIED = "operation error EC2: api error UnauthorizedOperation: You are not authorized"

Check = tuple[str, Changes, AwsAnswers, str]
FAULTS: list[Check] = [
    (
        "instance-type",
        {},
        AwsAnswers(offered=False),
        "kimi-k3:machine is 'p6-b300.48xlarge': isn't offered in us-west-2b",
    ),
    ("quota", ON_DEMAND, AwsAnswers(quota=191), "(on-demand P instances) is 191 vCPUs, the nodes have 192"),
    ("reservation", {"capacity": {"zone": "us-west-2b"}}, AwsAnswers(block={"state": "expired"}), "is expired"),
]
UNANSWERED: list[Check] = [
    ("instance-type", {}, AwsAnswers(refused={"getInstanceTypeOfferings": DENIED}), "kimi-k3:machine is"),
    ("quota", ON_DEMAND, AwsAnswers(refused={"getServiceQuota": DENIED}), "kimi-k3:machine is"),
    (
        "reservation",
        {"capacity": {"zone": "us-west-2b"}},
        AwsAnswers(refused={"getCapacityBlockReservation": DENIED}),
        "kimi-k3:capacity.id is",
    ),
]
CASES = [pytest.param(*case, id=case[0]) for case in FAULTS]
SILENCES = [pytest.param(*case, id=case[0]) for case in UNANSWERED]


@pytest.mark.parametrize(("check", "changes", "answers", "telling"), CASES)
def test_a_check_refuses_before_anything_is_made(
    check: str, changes: Changes, answers: AwsAnswers, telling: str
) -> None:
    del check
    said = refusal(changes, answers)
    assert said.startswith("1 fault in the stack's configuration; nothing was created:")
    assert telling in said


@pytest.mark.parametrize(("check", "changes", "answers", "telling"), [*CASES, *SILENCES])
def test_a_check_can_be_skipped(check: str, changes: Changes, answers: AwsAnswers, telling: str) -> None:
    del telling
    assert program({**changes, "preflight": {"skip": [check]}}, answers).of("Vpc")


@pytest.mark.parametrize(("check", "changes", "answers", "telling"), SILENCES)
def test_a_question_without_an_answer_says_how_to_go_on(
    check: str, changes: Changes, answers: AwsAnswers, telling: str
) -> None:
    said = refusal(changes, answers)
    assert telling in said
    assert "AWS could not be asked: invoke of aws:" in said
    assert DENIED in said
    assert f"Instead: preflight: {{skip: [{check}]}}, or the right to ask" in said


def test_without_the_aws_command_even_a_preview_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    assert "kimi-k3:preflight is 'no `aws` command'" in refusal()
    assert program({"preflight": {"skip": ["aws-command"]}}).of("Vpc")


def test_all_checks_speak_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    said = refusal(ON_DEMAND, AwsAnswers(offered=False, quota=0))
    # Type and quota are both faults of the machine.
    assert said.startswith("3 faults ")


def test_the_nodes_of_a_block_do_not_count_against_the_quota() -> None:
    answers = AwsAnswers(quota=0)
    assert program({}, answers).of("Vpc")
    assert "getServiceQuota" not in [question for question, _ in answers.asked]


def test_a_parked_stack_needs_no_quota() -> None:
    assert program({**ON_DEMAND, "replicas": 0}, AwsAnswers(quota=0)).of("Vpc")


def test_the_quota_is_that_of_on_demand_p_instances() -> None:
    # https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html: Running On-Demand P instances.
    answers = AwsAnswers(quota=192)
    program(ON_DEMAND, answers)
    assert ("getServiceQuota", {"serviceCode": "ec2", "quotaCode": "L-417A185B"}) in answers.asked


def test_the_type_is_asked_for_in_the_nodes_own_zone() -> None:
    answers = AwsAnswers()
    program({}, answers)
    (asked,) = [args for question, args in answers.asked if question == "getInstanceTypeOfferings"]
    assert asked["locationType"] == "availability-zone"
    filters = {each["name"]: each["values"] for each in asked["filters"]}
    assert filters == {"instance-type": ["p6-b300.48xlarge"], "location": ["us-west-2b"]}


def test_a_subnet_of_another_vpc_is_refused() -> None:
    subnets = {**SUBNETS, "subnet-0123456789abcdef1": ("us-west-2b", "vpc-00000000000000000")}
    said = refusal(EXISTING_NETWORK, AwsAnswers(subnets=subnets))
    assert "belongs to vpc-00000000000000000, not to network.vpcId vpc-0123456789abcdef0" in said


def test_a_network_without_a_private_subnet_in_the_reservations_zone_is_refused() -> None:
    elsewhere = {subnet: ("us-west-2a", vpc) for subnet, (_, vpc) in SUBNETS.items()}
    said = refusal(EXISTING_NETWORK, AwsAnswers(subnets=elsewhere))
    assert "none is in us-west-2b, where the GPU nodes must be" in said


def test_a_subnet_that_is_not_there_is_one_line() -> None:
    answers = AwsAnswers(refused={"getSubnet": "InvalidSubnetID.NotFound"})
    said = refusal(EXISTING_NETWORK, answers)
    assert said.count("InvalidSubnetID.NotFound") == said.count("kimi-k3:network.privateSubnetIds")
    assert "a value that exists, and the right to ask" in said
