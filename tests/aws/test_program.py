"""The whole program on AWS under recorded registrations: what is made, with which providers, in previews too."""

import pytest

from tests.aws.answers import AwsAnswers
from tests.conftest import Mocks, run_program
from tests.stacks import values


@pytest.fixture(autouse=True)
def command(monkeypatch: pytest.MonkeyPatch) -> None:
    """The `aws` command is there."""
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")


def program(answers: AwsAnswers | None = None, *, unknown: bool = False, **changes: object) -> Mocks:
    """Run the program with the committed stack file and these changes."""
    return run_program(values("aws", **changes), unknown=unknown, cloud=answers or AwsAnswers())


def test_every_resource_has_an_explicit_provider() -> None:
    for unknown in (False, True):
        made = [each for each in program(unknown=unknown).resources if each.type.split(":")[0] in ("aws", "kubernetes")]
        assert {each.provider.split("::")[-2] for each in made} == {"aws", "cluster-kubernetes"}


def test_nothing_is_made_inside_an_apply() -> None:
    known, unknown = (program(unknown=flag) for flag in (False, True))
    assert sorted((each.type, each.name) for each in known.resources) == sorted(
        (each.type, each.name) for each in unknown.resources
    )


def test_nothing_is_bought_by_a_stack_that_serves() -> None:
    assert program().of("CapacityBlockReservation") == []


@pytest.mark.parametrize("changes", [{"serve": False}, {"replicas": 0}])
def test_a_parked_stack_has_its_weights_and_no_gpu_node(changes: dict[str, object]) -> None:
    mocks = run_program(values("aws", **changes), cloud=AwsAnswers())
    assert [group.name for group in mocks.of("NodeGroup")] == ["cluster-system"]
    assert len(mocks.of("Job")) == 1
    assert mocks.of("LeaderWorkerSet") == []
