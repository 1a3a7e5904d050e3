"""The reservation: its whole path, and every way in which it doesn't fit the plan, from what Google says of it."""

import pytest

from components.gcp import capacity_reservation
from components.gcp.capacity_reservation import Reservation, reservation_faults
from components.gcp.settings import Capacity
from tests.gcp.answers import GcpAnswers
from tests.gcp.stack import A4, FLEX, Changes, only, program, refusal

PATH = "projects/my-project/reservations/kimi-k3"
FITS = Reservation(zone="us-central1-b", path=PATH, machine="a4x-maxgpu-4g-metal", healthy=2)


def capacity(**keys: object) -> Capacity:
    """Return a block of keys of a reservation."""
    return Capacity.model_validate({"mode": "existing", "zone": "us-central1-b", "reservation": "kimi-k3", **keys})


@pytest.mark.parametrize(
    ("keys", "path"),
    [
        ({}, PATH),
        ({"block": "b1"}, f"{PATH}/reservationBlocks/b1"),
        ({"block": "b1", "subBlock": "s1"}, f"{PATH}/reservationBlocks/b1/reservationSubBlocks/s1"),
        ({"reservationProject": "gpu-pool"}, "projects/gpu-pool/reservations/kimi-k3"),
        ({"mode": "flexStart", "reservation": None}, None),
    ],
)
def test_gkes_api_is_given_the_whole_path_which_gcloud_would_have_built(
    keys: dict[str, object], path: str | None
) -> None:
    assert capacity_reservation.path(capacity(**keys), "my-project") == path


@pytest.mark.parametrize(
    ("found", "telling"),
    [
        ({"machine": "a4x-highgpu-4g"}, "kimi-k3 reserves a4x-highgpu-4g"),
        ({"specific": False}, "open to all instances of its shape"),
        ({"state": "CREATING"}, "is CREATING; nodes come from one that is READY"),
        ({"state": "DELETING"}, "is DELETING"),
        ({"healthy": 1}, "1 healthy hosts in kimi-k3 - 0 in use = 1, the plan has 2 nodes"),
        ({"healthy": 18, "used": 17}, "18 healthy hosts in kimi-k3 - 17 in use = 1, the plan has 2 nodes"),
    ],
)
def test_a_reservation_that_does_not_fit_is_refused(found: dict[str, object], telling: str) -> None:
    reservation = Reservation(**{**vars(FITS), **found})  # pyright: ignore[reportArgumentType]
    (fault,) = reservation_faults(reservation, machine="a4x-maxgpu-4g-metal", nodes=2, ours=0)
    assert telling in str(fault)


@pytest.mark.parametrize(
    ("found", "nodes", "ours"),
    [
        (FITS, 2, 0),
        # Those in use are ours: a second `up` must not be refused.
        (Reservation(**{**vars(FITS), "used": 2}), 2, 2),
        # A parked stack has no node to lose.
        (Reservation(**{**vars(FITS), "state": "DELETING", "healthy": 0}), 0, 0),
        (Reservation(zone="us-central1-b"), 2, 0),
        (Reservation(**{**vars(FITS), "healthy": None}), 2, 0),
    ],
)
def test_a_reservation_that_fits_is_taken(found: Reservation, nodes: int, ours: int) -> None:
    assert reservation_faults(found, machine="a4x-maxgpu-4g-metal", nodes=nodes, ours=ours) == []


def test_all_faults_of_a_reservation_come_at_once() -> None:
    said = refusal({}, GcpAnswers(reservation={"status": "UPDATING", "specificReservationRequired": False}, healthy=1))
    assert "is UPDATING" in said
    assert "specificReservationRequired" in said
    assert "1 healthy hosts" in said


def test_hosts_are_counted_in_the_sub_block_and_not_in_the_whole() -> None:
    # 18 hosts in the reservation say nothing of one rack (cluster-toolkit PR #4492).
    said = refusal({}, GcpAnswers(count=18, healthy=1))
    assert "1 healthy hosts in kimi-k3-block-0001-subblock-0001 - 0 in use = 1, the plan has 2 nodes" in said


@pytest.mark.parametrize(
    ("changes", "asked"),
    [
        ({}, "getReservationSubBlock"),
        ({**A4, "capacity": {"subBlock": None}}, "getReservationBlock"),
        (A4, "getReservation"),
    ],
)
def test_the_smallest_part_that_is_named_is_asked_for(changes: Changes, asked: str) -> None:
    answers = GcpAnswers(machine=str(changes.get("machine", "a4x-maxgpu-4g-metal")))
    program(changes, answers)
    assert [question for question, _ in answers.asked if question.startswith("getReservation")][-1] == asked


def test_nodes_of_our_own_that_run_already_are_no_ones_in_the_way() -> None:
    answers = GcpAnswers(healthy=2, used=2, running=2)
    assert program({}, answers).of("LeaderWorkerSet")
    assert "getCluster" in [question for question, _ in answers.asked]


def test_nodes_of_others_are_in_the_way() -> None:
    assert "2 in use = 0, the plan has 2 nodes" in refusal({}, GcpAnswers(healthy=2, used=2))


def test_a_shared_reservation_is_asked_for_in_its_owners_project() -> None:
    answers = GcpAnswers()
    program({"capacity": {"reservationProject": "gpu-pool"}}, answers)
    projects = {args["project"] for question, args in answers.asked if question.startswith("getReservation")}
    assert projects == {"gpu-pool"}


def test_flex_start_asks_for_no_reservation() -> None:
    answers = GcpAnswers(machine="a4-highgpu-8g")
    program(FLEX, answers)
    assert [question for question, _ in answers.asked if question.startswith("getReservation")] == []


def test_the_state_says_what_the_stack_runs_on() -> None:
    found = only([each for each in program().resources if each.type == "kimi:gcp:CapacityReservation"])
    sub_block = f"{PATH}/reservationBlocks/kimi-k3-block-0001/reservationSubBlocks/kimi-k3-block-0001-subblock-0001"
    assert found.inputs == {"reservation": sub_block, "zone": "us-central1-b", "hosts": 18}
