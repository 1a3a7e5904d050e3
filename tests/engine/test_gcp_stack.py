"""The GCP stack on the real engine: what the state still protects, what a rack without hosts stops, what is left."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rehearsal.bill import bill
from rehearsal.depths import Light
from rehearsal.fakes.account import Account
from rehearsal.fakes.gcp import references as ref
from rehearsal.stack_file import merged
from rehearsal.workspace import Workspace
from tests.rehearsed_stack import RehearsedStack, config_of, rehearsed

pytestmark = pytest.mark.engine

GPU = "gpu-nodes"
MACHINE = "gpu-nodes (a4x-maxgpu-4g-metal)"


@pytest.fixture
def stack(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[RehearsedStack]:
    """A stack that isn't deployed yet, with the changes of the test's parameter."""
    config = config_of("gcp", **getattr(request, "param", {}))
    workspace = Workspace(tmp_path)
    workspace.create()
    with Light().stage(config, workspace) as stage:
        yield rehearsed("gcp", config, stage, tmp_path)


def _degrade(stack: RehearsedStack, hosts: int) -> None:
    """Say that so many hosts of the rack are broken."""
    with Account(stack.engine.workspace.account).open() as ledger:
        ledger.of_type(ref.RESERVATION)[0].outputs["degraded"] = hosts


def _reconfigure(stack: RehearsedStack, **changes: object) -> None:
    stack.engine.reconfigure({"config": merged(config_of("gcp", **changes), stack.stage.overrides)})


@pytest.mark.parametrize("stack", [{"exposure": {"mode": "internal"}, "weights": {"keep": False}}], indirect=True)
def test_everything_goes_in_order_and_nothing_is_left_but_the_reservation(stack: RehearsedStack) -> None:
    assert stack.engine.up().ok, "\n".join(stack.lines)
    dependencies = stack.dependencies()
    assert {"weights-model-job", "drivers-dra-driver-nvidia-gpu", "gpu-rack", "cluster-system"} <= dependencies[GPU]
    assert bill(stack.ledger).waited is True
    assert stack.engine.destroy().ok, "\n".join(stack.lines)
    gone = stack.journal("delete")
    order = ["kimi-k3-service", "kimi-k3-group", MACHINE, GPU, "cluster-system", "cluster-gke", "network-vpc"]
    assert sorted(order, key=gone.index) == order
    assert [each.kind for each in stack.stage.existing()] == ["Reservation"]


@pytest.mark.parametrize("stack", [{"cluster": {"deletionProtection": True}, "serve": False}], indirect=True)
def test_a_protected_cluster_needs_an_up_before_its_destroy(stack: RehearsedStack) -> None:
    assert stack.engine.up().ok, "\n".join(stack.lines)
    _reconfigure(stack, serve=False)
    # The file says false by now, and the state doesn't.
    step = stack.engine.destroy()
    assert not step.ok
    assert "Cannot destroy cluster because deletion_protection is set to true" in step.text
    assert stack.engine.up().ok, "\n".join(stack.lines)
    assert stack.engine.destroy().ok, "\n".join(stack.lines)
    assert [each.kind for each in stack.stage.existing()] == ["Bucket", "Reservation"]


def test_a_rack_with_a_broken_host_is_refused_before_anything_is_made(stack: RehearsedStack) -> None:
    _degrade(stack, 1)
    step = stack.engine.up()
    assert not step.ok
    assert "1 healthy hosts in kimi-k3-block-0001-subblock-0001" in step.text
    assert stack.journal("create") == []


def test_a_pool_that_gets_no_host_bills_nothing_and_is_made_anew_by_the_next_up(stack: RehearsedStack) -> None:
    account = Account(stack.engine.workspace.account)
    account.no_capacity(ref.NODE_POOL, "Specified reservation does not have available resources for the request.")
    step = stack.engine.up()
    assert not step.ok
    assert "does not have available resources" in step.text
    assert bill(stack.ledger).gpu_hours == 0
    account.lift_faults()
    assert stack.engine.up().ok, "\n".join(stack.lines)
    assert stack.journal("create").count(MACHINE) == 2
    # The weights were copied once.
    assert len([name for name in stack.journal("create") if name.startswith("weights in ")]) == 1
    assert stack.engine.destroy().ok, "\n".join(stack.lines)


def test_a_label_is_changed_in_place_and_another_sub_block_replaces_the_pool(stack: RehearsedStack) -> None:
    assert stack.engine.up().ok, "\n".join(stack.lines)
    _reconfigure(stack, tags={"team": "inference"})
    assert stack.engine.up().ok, "\n".join(stack.lines)
    assert {GPU, MACHINE, "cluster-gke", "cluster-system"} & set(stack.journal("delete")) == set()
    with Account(stack.engine.workspace.account).open() as ledger:
        ledger.of_type(ref.RESERVATION)[0].outputs["sub_block"] = "rack2"
    _reconfigure(stack, capacity={"subBlock": "rack2"})
    assert stack.engine.up().ok, "\n".join(stack.lines)
    # Deleted first: the reservation has no room for both.
    assert [event.verb for event in stack.ledger.events if event.name == GPU] == [
        "create",
        "update",
        "delete",
        "create",
    ]
    assert "cluster-gke" not in stack.journal("delete")
