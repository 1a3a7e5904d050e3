"""What a preview asks Google: each check refuses, can be skipped, and says so when it gets no answer."""

import pytest

from tests.gcp.answers import GcpAnswers
from tests.gcp.stack import EXISTING_NETWORK, Changes, program, refusal

DENIED = "googleapi: Error 403: Required 'compute.reservations.get' permission"
OTHER_VPC = "https://www.googleapis.com/compute/v1/projects/my-project/global/networks/other"

Check = tuple[str, Changes, GcpAnswers, str]
FAULTS: list[Check] = [
    ("machine-type", {}, GcpAnswers(offered=False), "isn't offered in us-central1-b"),
    ("reservation", {}, GcpAnswers(reservation={"status": "DELETING"}), "is DELETING"),
    ("version", {"cluster": {"version": "1.39"}}, GcpAnswers(versions=()), "isn't among the versions that GKE offers"),
    ("subnet", EXISTING_NETWORK, GcpAnswers(subnet={"network": OTHER_VPC}), "belongs to other"),
    (
        "subnet",
        EXISTING_NETWORK,
        GcpAnswers(subnet={"privateIpGoogleAccess": False}),
        "private nodes can't reach Cloud Storage",
    ),
    (
        "subnet",
        EXISTING_NETWORK,
        GcpAnswers(subnet={"secondaryIpRanges": [{"rangeName": "pods"}]}),
        "network.servicesRange is 'services': the subnet has pods",
    ),
]
UNANSWERED: list[Check] = [
    ("reservation", {}, GcpAnswers(refused={"getReservationSubBlock": DENIED}), "kimi-k3:capacity.reservation is"),
    ("machine-type", {}, GcpAnswers(refused={"getMachineTypes": DENIED}), "kimi-k3:machine is"),
    ("version", {}, GcpAnswers(refused={"getEngineVersions": DENIED}), "kimi-k3:cluster.version is"),
    ("subnet", EXISTING_NETWORK, GcpAnswers(refused={"getSubnetwork": DENIED}), "kimi-k3:network.subnet is"),
]
CASES = [pytest.param(*case, id=f"{case[0]} {index}") for index, case in enumerate(FAULTS)]
SILENCES = [pytest.param(*case, id=f"{case[0]} silent") for case in UNANSWERED]


@pytest.mark.parametrize(("check", "changes", "answers", "telling"), CASES)
def test_a_check_refuses_before_anything_is_made(
    check: str, changes: Changes, answers: GcpAnswers, telling: str
) -> None:
    del check
    said = refusal(changes, answers)
    assert said.startswith("1 fault in the stack's configuration; nothing was created:")
    assert telling in said


@pytest.mark.parametrize(("check", "changes", "answers", "telling"), [*CASES, *SILENCES])
def test_a_check_can_be_skipped(check: str, changes: Changes, answers: GcpAnswers, telling: str) -> None:
    del telling
    assert program({**changes, "preflight": {"skip": [check]}}, answers).of("NodePool")


@pytest.mark.parametrize(("check", "changes", "answers", "telling"), SILENCES)
def test_a_question_without_an_answer_says_how_to_go_on(
    check: str, changes: Changes, answers: GcpAnswers, telling: str
) -> None:
    said = refusal(changes, answers)
    assert telling in said
    assert "Google could not be asked: invoke of gcp:" in said
    assert DENIED in said
    assert f"preflight: {{skip: [{check}]}}" in said


def test_the_project_must_answer_for_its_number_names_the_pods_identities() -> None:
    said = refusal({}, GcpAnswers(refused={"getProject": "googleapi: Error 403: no access"}))
    assert "kimi-k3:project is 'my-project': Google could not be asked" in said
    assert "skip:" not in said


def test_the_sign_in_plugin_must_be_there_in_a_preview_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    said = refusal()
    assert "plugin needs gke-gcloud-auth-plugin on PATH, in a preview too" in said
    assert "gcloud components install gke-gcloud-auth-plugin, or kubeconfig: token" in said
    assert program({"cluster": {"kubeconfig": "token"}}).of("NodePool")
    assert program({"preflight": {"skip": ["auth-plugin"]}}).of("NodePool")


def test_a_version_is_asked_for_as_it_stands_in_the_file() -> None:
    answers = GcpAnswers()
    program({"cluster": {"version": "1.35.1-gke.1000000"}}, answers)
    (asked,) = [args for question, args in answers.asked if question == "getEngineVersions"]
    assert (asked["location"], asked["versionPrefix"]) == ("us-central1", "1.35.1-gke.1000000")


def test_a_skipped_reservation_still_has_its_path() -> None:
    answers = GcpAnswers(refused={"getReservation": DENIED})
    mocks = program({"preflight": {"skip": ["reservation"]}}, answers)
    (pool,) = [each for each in mocks.of("NodePool") if each.name == "gpu-nodes"]
    (path,) = pool.inputs["nodeConfig"]["reservationAffinity"]["values"]
    assert path.endswith("/reservationSubBlocks/kimi-k3-block-0001-subblock-0001")
