"""The Azure stack on the real engine: what waits for what, what no machine or a kept account stops, what is left."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rehearsal.bill import bill
from rehearsal.depths import Light
from rehearsal.fakes.account import Account
from rehearsal.fakes.azure_native import references as ref
from rehearsal.fakes.azure_native.reservation import no_capacity
from rehearsal.stack_file import merged
from rehearsal.workspace import Workspace
from tests.azure.answers import ACCOUNT, GROUP, SUBNET
from tests.azure.stack import GB200, H200
from tests.rehearsed_stack import RehearsedStack, config_of, rehearsed

pytestmark = pytest.mark.engine

SIZE = "Standard_ND128isr_GB300_v6"
MACHINE = f"gpu-pool ({SIZE})"
TARGETED = {
    "capacity": {"mode": "targeted", "allowUnsupportedSize": True},
    "exposure": {"mode": "internal"},
    "weights": {"keep": False},
}
RESERVED = {"capacity": {"mode": "existing", "id": GROUP}}
THEIRS = {**RESERVED, "network": {"subnetId": SUBNET}, "weights": {"accountId": ACCOUNT}}


@pytest.fixture
def stack(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[RehearsedStack]:
    """A stack that isn't deployed yet, with the changes of the test's parameter."""
    config = config_of("azure", **getattr(request, "param", {}))
    workspace = Workspace(tmp_path)
    workspace.create()
    with Light().stage(config, workspace) as stage:
        yield rehearsed("azure", config, stage, tmp_path)


def _reconfigure(stack: RehearsedStack, **changes: object) -> None:
    stack.engine.reconfigure({"config": merged(config_of("azure", **changes), stack.stage.overrides)})


def _account(stack: RehearsedStack) -> Account:
    return Account(stack.engine.workspace.account)


@pytest.mark.parametrize("stack", [TARGETED], indirect=True)
def test_a_reservation_of_our_own_goes_between_its_machines_and_its_group_and_nothing_is_left(
    stack: RehearsedStack,
) -> None:
    assert stack.engine.up().ok, "\n".join(stack.lines)
    dependencies = stack.dependencies()
    assert {"weights-model-job", "cluster-reservation"} <= dependencies["gpu-reservation"]
    assert bill(stack.ledger).waited is True
    assert stack.engine.destroy().ok, "\n".join(stack.lines)
    gone = stack.journal("delete")
    order = [
        "kimi-k3-service",
        "kimi-k3-group",
        MACHINE,
        "gpu-pool",
        "gpu-reservation",
        "capacity-group",
        "group",
    ]
    assert sorted(order, key=gone.index) == order
    # Not gone with a group that went, but each by its own: what the engine forgets would bill in a kept group.
    whys = {event.name: event.text for event in stack.ledger.events if event.verb == "delete"}
    assert [name for name, why in whys.items() if "ResourceGroup" in why] == []
    assert stack.stage.existing() == []


@pytest.mark.parametrize("stack", [THEIRS], indirect=True)
def test_what_was_there_before_is_used_and_left_alone(stack: RehearsedStack) -> None:
    assert stack.engine.up().ok, "\n".join(stack.lines)
    reserved = [each for each in stack.ledger.of_type(ref.MACHINE) if each.inputs.get("reservation")]
    assert len(reserved) == 2
    again = stack.engine.up(expect_no_changes=True)
    assert again.ok, again.text
    assert stack.engine.destroy().ok, "\n".join(stack.lines)
    left = stack.stage.existing()
    assert [each.kind for each in left] == [
        "CapacityReservation",
        "CapacityReservationGroup",
        "StorageAccount",
        "VirtualNetwork",
    ]
    assert [each.name for each in left if not each.left_because] == []


@pytest.mark.parametrize("stack", [H200, GB200], indirect=True, ids=["H200", "GB200"])
def test_the_other_machines_go_up_and_down(stack: RehearsedStack) -> None:
    assert stack.engine.up().ok, "\n".join(stack.lines)
    again = stack.engine.up(expect_no_changes=True)
    assert again.ok, again.text
    assert stack.engine.destroy().ok, "\n".join(stack.lines)
    # The weights are kept, and nothing else is.
    kinds = {each.kind for each in stack.stage.existing()}
    assert kinds == {"ResourceGroup", "StorageAccount"}


@pytest.mark.parametrize("stack", [RESERVED], indirect=True)
def test_a_group_without_our_size_is_refused_before_anything_is_made(stack: RehearsedStack) -> None:
    with _account(stack).open() as ledger:
        (member,) = ledger.of_type(ref.RESERVATION)
        member.outputs["sku"] = {"name": "Standard_ND96isr_H200_v5", "capacity": 2}
    step = stack.engine.up()
    assert not step.ok
    assert f"the group holds Standard_ND96isr_H200_v5 and no {SIZE}" in " ".join(step.text.split())
    assert stack.journal("create") == []


def test_an_up_without_a_machine_left_bills_no_gpu_and_the_next_goes_on_from_there(stack: RehearsedStack) -> None:
    account = _account(stack)
    account.no_capacity(ref.POOL, no_capacity(SIZE))
    step = stack.engine.up()
    assert not step.ok
    assert "Allocation failed" in step.text
    assert bill(stack.ledger).gpu_hours == 0
    account.lift_faults()
    assert stack.engine.up().ok, "\n".join(stack.lines)
    assert len([name for name in stack.journal("create") if name.startswith("weights in ")]) == 1
    assert stack.engine.destroy().ok, "\n".join(stack.lines)


def test_replicas_change_the_pool_in_place_and_another_zone_makes_it_anew(stack: RehearsedStack) -> None:
    assert stack.engine.up().ok, "\n".join(stack.lines)
    _reconfigure(stack, replicas=2)
    assert stack.engine.up().ok, "\n".join(stack.lines)
    assert stack.journal("create").count(MACHINE) == 4
    assert "gpu-pool" not in stack.journal("delete")
    _reconfigure(stack, replicas=2, capacity={"mode": "none", "zone": "2"})
    assert stack.engine.up().ok, "\n".join(stack.lines)
    # The old machines first: there is neither quota nor capacity for both.
    verbs = [event.verb for event in stack.ledger.events if event.name == MACHINE]
    assert verbs == ["create"] * 4 + ["delete"] * 4 + ["create"] * 4
    # The workload stays, and waits for the new ones: nothing of ours keeps AKS from draining the old.
    assert set(stack.journal("delete")) == {MACHINE, "gpu-pool"}


def test_a_kept_account_is_in_the_way_of_the_next_stack_until_this_names_it(stack: RehearsedStack) -> None:
    assert stack.engine.up().ok, "\n".join(stack.lines)
    assert stack.engine.destroy().ok, "\n".join(stack.lines)
    kept = next(each.id for each in stack.ledger.of_type(ref.ACCOUNT))
    step = stack.engine.up()
    assert not step.ok
    assert "cannot create already existing resource" in step.text
    assert f"set kimi-k3:weights: {{accountId: {kept}}} and nothing is copied again" in " ".join(step.text.split())
    _reconfigure(stack, weights={"accountId": kept})
    assert stack.engine.up().ok, "\n".join(stack.lines)
    assert len([name for name in stack.journal("create") if name.startswith("weights in ")]) == 1
    assert stack.engine.destroy().ok, "\n".join(stack.lines)
