"""What a preview asks Azure: each check refuses, can be skipped, and says so when it gets no answer."""

import pytest

from tests.azure.answers import GB300, GROUP, AzureAnswers, reserved
from tests.azure.stack import GB200, H200, RESERVED, THEIR_ACCOUNT, THEIR_SUBNET, Changes, gpu_nodes, program, refusal

DENIED = "AuthorizationFailed: the client does not have authorization to perform the action"
H200_SIZE = "Standard_ND96isr_H200_v5"

FAULTS: list[tuple[str, Changes, AzureAnswers, str]] = [
    ("reservation", RESERVED, AzureAnswers(members={}), "the group holds nothing and no Standard_ND128isr_GB300_v6"),
    ("infiniband", {}, AzureAnswers(feature="Registered"), "`az feature unregister "),
    ("infiniband", GB200, AzureAnswers(feature="Registered"), "`az feature unregister "),
    ("infiniband", H200, AzureAnswers(feature="NotRegistered"), "`az feature register "),
    # Registering takes minutes; nodes that are made meanwhile have none.
    ("infiniband", H200, AzureAnswers(feature="Registering"), "`az feature register "),
    ("subnet", THEIR_SUBNET, AzureAnswers(endpoints=()), "has no service endpoint Microsoft.Storage"),
]
SILENCES: list[tuple[str, Changes, AzureAnswers, str]] = [
    ("reservation", RESERVED, AzureAnswers(refused={"getCapacityReservationGroup": DENIED}), "capacity.id"),
    ("infiniband", H200, AzureAnswers(refused={"getSubscriptionFeatureRegistration": DENIED}), "machine"),
    ("subnet", THEIR_SUBNET, AzureAnswers(refused={"getSubnet": DENIED}), "network.subnetId"),
]


@pytest.mark.parametrize(("check", "changes", "answers", "telling"), FAULTS)
def test_a_check_refuses_before_anything_is_made(
    check: str, changes: Changes, answers: AzureAnswers, telling: str
) -> None:
    del check
    said = refusal(changes, answers)
    assert said.startswith("1 fault in the stack's configuration; nothing was created:")
    assert telling in said


@pytest.mark.parametrize(("check", "changes", "answers", "telling"), [*FAULTS, *SILENCES])
def test_a_check_can_be_skipped(check: str, changes: Changes, answers: AzureAnswers, telling: str) -> None:
    del telling
    assert gpu_nodes(program({**changes, "preflight": {"skip": [check]}}, answers))


@pytest.mark.parametrize(("check", "changes", "answers", "key"), SILENCES)
def test_a_question_without_an_answer_says_how_to_go_on(
    check: str, changes: Changes, answers: AzureAnswers, key: str
) -> None:
    said = refusal(changes, answers)
    assert f"kimi-k3:{key} is" in said
    assert "Azure could not be asked" in said
    assert DENIED in said
    assert f"Instead: preflight: {{skip: [{check}]}}, or the right to ask" in said


def test_all_checks_speak_at_once() -> None:
    answers = AzureAnswers(members={}, feature="Registered", endpoints=())
    assert refusal({**RESERVED, **THEIR_SUBNET}, answers).startswith("3 faults ")


def test_a_feature_that_never_was_registered_is_not_registered() -> None:
    answers = AzureAnswers(refused={"getSubscriptionFeatureRegistration": "FeatureRegistrationNotFound"})
    assert gpu_nodes(program({}, answers))
    assert "`az feature register " in refusal(H200, answers)


def test_a_parked_stack_needs_no_feature() -> None:
    assert program({**H200, "replicas": 0}, AzureAnswers(feature="NotRegistered")).of("ManagedCluster")


def test_a_subnet_needs_no_way_to_an_account_that_lets_it_in_by_itself() -> None:
    changes = {**THEIR_SUBNET, **THEIR_ACCOUNT}
    assert gpu_nodes(program(changes, AzureAnswers(endpoints=())))


# Group of the stack file, in eastus2, for two machines.
@pytest.mark.parametrize(
    ("answers", "zone", "telling"),
    [
        (AzureAnswers(members={"a": reserved(H200_SIZE)}), None, f"the group holds {H200_SIZE} and no {GB300}"),
        (
            AzureAnswers(members={"a": reserved(count=1)}),
            None,
            "reserves 1 of Standard_ND128isr_GB300_v6, the plan has 2",
        ),
        (AzureAnswers(members={"a": reserved(zones=["2"])}), "1", "in 2"),
        (AzureAnswers(members={"a": reserved()}), "1", "in no zone"),
        (AzureAnswers(members={"a": reserved(state="Failed")}), None, "is Failed"),
        (AzureAnswers(group_region="westus3"), None, "the group gpus is in westus3"),
        # Two zones hold one machine each: a rack doesn't lie across them.
        (
            AzureAnswers(members={"a": reserved(count=1, zones=["1"]), "b": reserved(count=1, zones=["2"])}),
            "1",
            "reserves 1 of",
        ),
    ],
)
def test_a_group_that_would_lose_its_association_is_refused(
    answers: AzureAnswers, zone: str | None, telling: str
) -> None:
    # AKS only warns, and makes the nodes beside the reservation, which bills all the same.
    assert telling in refusal({"capacity": {"mode": "existing", "id": GROUP, "zone": zone}}, answers)


@pytest.mark.parametrize(
    ("answers", "zone", "want"),
    [
        (AzureAnswers(), None, None),
        (AzureAnswers(members={"a": reserved(zones=["3"])}), None, ["3"]),
        (AzureAnswers(members={"a": reserved(zones=["3"]), "b": reserved(zones=["2"])}), "2", ["2"]),
        (AzureAnswers(members={"a": reserved(count=1), "b": reserved(count=1)}), None, None),
        # Azure writes regions both ways.
        (AzureAnswers(group_region="East US 2"), None, None),
    ],
)
def test_nodes_are_in_the_zone_that_is_reserved(
    answers: AzureAnswers, zone: str | None, want: list[str] | None
) -> None:
    mocks = program({"capacity": {"mode": "existing", "id": GROUP, "zone": zone}}, answers)
    assert gpu_nodes(mocks).inputs.get("availabilityZones") == want
