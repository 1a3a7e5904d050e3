"""The stack that only asks for a reservation: once, by name, and never taken back by accident."""

import pytest

from tests.conftest import Mocks, run_program
from tests.gcp.answers import GcpAnswers
from tests.gcp.stack import only
from tests.stacks import values


def purchase(**keys: object) -> Mocks:
    """Run the program with the committed stack file, the word said, and these changes of its capacity."""
    given = values("gcp-capacity", capacity={"acceptNonRefundable": True, **keys})
    return run_program(given, cloud=GcpAnswers(machine="a4-highgpu-8g"))


def test_what_is_asked_for_is_what_the_stack_file_names_and_nothing_else_is_made() -> None:
    mocks = purchase()
    kinds = {each.type for each in mocks.resources}
    assert kinds == {
        "pulumi:providers:gcp",
        "kimi:gcp:FutureReservation",
        "gcp:compute/futureReservation:FutureReservation",
    }
    request = only(mocks.of("FutureReservation"), "capacity-request").inputs
    assert (request["planningStatus"], request["reservationMode"]) == ("SUBMITTED", "CALENDAR")
    # FLEXIBLE is in the beta API alone; and GKE takes a specific reservation alone.
    assert (request["deploymentType"], request["specificReservationRequired"]) == ("DENSE", True)
    # Two nodes for one replica; 14 x 86,400 seconds. Both are strings to the API.
    assert request["specificSkuProperties"] == {
        "totalCount": "2",
        "instanceProperties": {"machineType": "a4-highgpu-8g"},
    }
    assert request["timeWindow"] == {"startTime": "2027-01-11T00:00:00Z", "duration": {"seconds": "1209600"}}
    # Taken once by Google: another `up` after a lost state can't ask a second time.
    assert (request["name"], request["reservationName"]) == ("kimi-k3", "kimi-k3")


def test_no_change_of_the_file_changes_or_repeats_the_request_and_destroy_only_forgets_it() -> None:
    mocks = purchase()
    resource = only(mocks.of("FutureReservation"), "capacity-request")
    request = mocks.request(resource)
    assert request.retainOnDelete
    assert resource.inputs["deletionPolicy"] == "ABANDON"
    assert set(resource.inputs) - set(request.ignoreChanges) == set()


def test_the_charge_is_said_with_the_way_to_stop_it(caplog: pytest.LogCaptureFixture) -> None:
    purchase()
    assert "charged from its start to its end" in caplog.text
    assert "gcloud compute future-reservations cancel kimi-k3 --zone us-central1-b" in caplog.text


def test_a_preview_asks_google_nothing() -> None:
    answers = GcpAnswers()
    run_program(values("gcp-capacity", capacity={"acceptNonRefundable": True}), unknown=True, cloud=answers)
    assert answers.asked == []
