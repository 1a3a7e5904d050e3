"""The AWS stack on the real engine: what waits for what, what ends first, and what is left."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rehearsal.bill import bill
from rehearsal.depths import Light
from rehearsal.fakes.account import Account
from rehearsal.fakes.aws import references as ref
from rehearsal.workspace import Workspace
from tests.rehearsed_stack import RehearsedStack, config_of, rehearsed

pytestmark = pytest.mark.engine

GPU = "gpu-nodes"
MACHINE = "gpu-nodes (p6-b300.48xlarge)"
INTERNAL = {"exposure": {"mode": "internal", "allowedRanges": ["10.0.0.0/8"]}}


def _stack(folder: Path, **changes: object) -> Iterator[RehearsedStack]:
    config = config_of("aws", **changes)
    workspace = Workspace(folder)
    workspace.create()
    with Light().stage(config, workspace) as stage:
        yield rehearsed("aws", config, stage, folder)


@pytest.fixture(scope="module")
def destroyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RehearsedStack, dict[str, frozenset[str]]]]:
    """A stack with a load balancer that was made and destroyed, and what its resources depended on."""
    for stack in _stack(tmp_path_factory.mktemp("aws"), **INTERNAL):
        assert stack.engine.up().ok, "\n".join(stack.lines)
        dependencies = dict(stack.dependencies())
        assert stack.engine.destroy().ok, "\n".join(stack.lines)
        yield stack, dependencies


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[RehearsedStack]:
    """A stack that isn't deployed yet."""
    yield from _stack(tmp_path)


def _gone(stack: RehearsedStack, name: str) -> int:
    return stack.journal("delete").index(name)


@pytest.mark.parametrize(
    ("dear", "waits_for"),
    [
        (GPU, "weights-model-job"),
        (GPU, "cluster-eks-eksCluster"),
        (GPU, "network-private-routes"),
        ("kimi-k3-group", GPU),
        ("kimi-k3-service", "load-balancers-release"),
        ("weights-model-job", "cluster-system"),
    ],
)
def test_what_waits_for_what(
    destroyed: tuple[RehearsedStack, dict[str, frozenset[str]]], dear: str, waits_for: str
) -> None:
    _, dependencies = destroyed
    assert any(each.startswith(waits_for) for each in dependencies[dear]), sorted(dependencies[dear])


def test_the_weights_are_complete_before_a_gpu_bills(
    destroyed: tuple[RehearsedStack, dict[str, frozenset[str]]],
) -> None:
    stack, _ = destroyed
    made = stack.journal("create")
    (weights,) = [name for name in made if name.startswith("weights in ")]
    assert made.index(weights) < made.index(MACHINE)
    assert bill(stack.ledger).waited is True


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("kimi-k3-service", "kimi-k3-group"),
        ("kimi-k3-group", MACHINE),
        (MACHINE, GPU),
        (GPU, "cluster-eks-eksCluster"),
        (GPU, "cluster-system"),
        (GPU, "gpu-template"),
        (GPU, "network-nat"),
        ("cluster-eks-eksCluster", "network-vpc"),
    ],
)
def test_what_ends_before_what(
    destroyed: tuple[RehearsedStack, dict[str, frozenset[str]]], first: str, then: str
) -> None:
    stack, _ = destroyed
    assert _gone(stack, first) < _gone(stack, then)


def test_the_load_balancer_goes_while_its_controller_is_there(
    destroyed: tuple[RehearsedStack, dict[str, frozenset[str]]],
) -> None:
    stack, _ = destroyed
    (balancer,) = [event for event in stack.ledger.events if (event.type, event.verb) == (ref.LOAD_BALANCER, "delete")]
    assert balancer.text == "its object is gone"


def test_nothing_is_left_but_the_bucket_and_what_was_there(
    destroyed: tuple[RehearsedStack, dict[str, frozenset[str]]],
) -> None:
    stack, _ = destroyed
    assert [each.kind for each in stack.stage.existing()] == ["Bucket", "CapacityBlock"]


def test_a_bucket_that_is_not_kept_goes_with_the_weights_in_it(tmp_path: Path) -> None:
    for stack in _stack(tmp_path, weights={"keep": False}):
        assert stack.engine.up().ok, "\n".join(stack.lines)
        assert stack.engine.destroy().ok, "\n".join(stack.lines)
        assert [each.kind for each in stack.stage.existing()] == ["CapacityBlock"]


def test_without_capacity_the_up_fails_bills_no_gpu_and_can_be_destroyed(stack: RehearsedStack) -> None:
    account = Account(stack.engine.workspace.account)
    account.no_capacity(ref.NODE_GROUP, "InsufficientInstanceCapacity")
    step = stack.engine.up()
    assert not step.ok
    assert "InsufficientInstanceCapacity" in step.text
    assert bill(stack.ledger).gpu_hours == 0
    account.lift_faults()
    assert stack.engine.destroy().ok, "\n".join(stack.lines)
    assert [each.kind for each in stack.stage.existing()] == ["Bucket", "CapacityBlock"]


def test_a_copy_that_fails_leaves_the_gpus_unborn(stack: RehearsedStack) -> None:
    Account(stack.engine.workspace.account).fail_next("kubernetes:batch/v1:Job", "BackoffLimitExceeded")
    step = stack.engine.up()
    assert not step.ok
    assert MACHINE not in stack.journal("create")
    assert GPU not in stack.journal("create")
    # The next one goes on where it stopped.
    assert stack.engine.up().ok, "\n".join(stack.lines)
    assert MACHINE in stack.journal("create")
    assert stack.engine.destroy().ok, "\n".join(stack.lines)
