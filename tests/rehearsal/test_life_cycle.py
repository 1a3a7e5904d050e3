"""What happens to a resource between the engine and the account."""

from pathlib import Path

import pytest

from rehearsal.fakes.account import Account
from rehearsal.fakes.life_cycle import LifeCycle, formatted_outputs
from rehearsal.fakes.rules import RefusedError, UnreadyError
from rehearsal.fakes.values import UNKNOWN, Properties, Secret
from tests.rehearsal.made_up_rules import NODE, MadeUpRules, node

# What str() of an Output begins with (pulumi/output.py).
_FORMATTED = "Calling __str__ on an Output[T] is not supported."


@pytest.fixture
def account(tmp_path: Path) -> Account:
    return Account(tmp_path / "account.json")


@pytest.fixture
def life(account: Account) -> LifeCycle:
    return LifeCycle(MadeUpRules(), account)


def _journal(account: Account) -> list[tuple[str, str]]:
    return [(event.verb, event.id) for event in account.ledger().events]


def test_a_thing_lives_from_create_to_delete(account: Account, life: LifeCycle) -> None:
    thing = life.create(node(), timeout=0)
    outputs = life.update(node(size=9), thing.id)
    life.delete(NODE, thing.id)
    assert (thing.outputs["address"], outputs["size"]) == ("192.0.2.1", 9)
    assert _journal(account) == [("create", "a"), ("update", "a"), ("delete", "a")]
    assert account.ledger().things == []


def test_creating_takes_virtual_time(account: Account, life: LifeCycle) -> None:
    life.create(node(), timeout=0)
    assert account.ledger().clock.now == 60


def test_a_refused_creation_leaves_nothing_but_a_note(account: Account, life: LifeCycle) -> None:
    account.fail_next(NODE, "QuotaExceeded")
    with pytest.raises(RefusedError, match="QuotaExceeded"):
        life.create(node(), timeout=0)
    assert (account.ledger().things, _journal(account)) == ([], [("refuse", "a")])
    life.create(node(), timeout=0)


def test_rules_refuse_too(account: Account, life: LifeCycle) -> None:
    life.create(node(), timeout=0)
    with pytest.raises(RefusedError, match="NameInUse"):
        life.create(node(), timeout=0)
    assert len(account.ledger().things) == 1


@pytest.mark.parametrize(("seconds", "timeout"), [(61, 60), (700, 0)])
def test_what_is_late_exists_all_the_same(account: Account, life: LifeCycle, seconds: float, timeout: float) -> None:
    account.slow(NODE, seconds)
    with pytest.raises(UnreadyError, match="timed out") as late:
        life.create(node(), timeout=timeout)
    assert late.value.thing.outputs["address"] == "192.0.2.1"
    assert account.ledger().find(NODE, "a") is not None


def test_a_timeout_that_is_long_enough_waits(account: Account, life: LifeCycle) -> None:
    account.slow(NODE, 3000)
    life.create(node(), timeout=3600)
    assert account.ledger().clock.now == 3000


def test_unknown_inputs_can_not_be_created(life: LifeCycle) -> None:
    with pytest.raises(RefusedError, match="unknown"):
        life.create(node(size=UNKNOWN), timeout=0)


def test_deleting_what_is_gone_is_fine_and_what_is_locked_is_not(account: Account, life: LifeCycle) -> None:
    life.delete(NODE, "never there")
    life.create(node(locked=True), timeout=0)
    with pytest.raises(RefusedError, match="Locked"):
        life.delete(NODE, "a")
    assert account.ledger().find(NODE, "a") is not None


def test_updating_what_is_gone_is_refused(life: LifeCycle) -> None:
    with pytest.raises(RefusedError, match='made:up:Node "a" not found'):
        life.update(node(), "a")


def test_reading_shows_drift_and_keeps_secrets(account: Account, life: LifeCycle) -> None:
    known: Properties = {"name": "a", "size": 8, "key": Secret("hush")}
    life.create(node(key=Secret("hush")), timeout=0)
    with account.open() as ledger:
        ledger.things[0].inputs["size"] = 4
    thing = life.read(NODE, "a", (known, known))
    assert thing is not None
    assert thing.inputs == {"name": "a", "size": 4, "key": Secret("hush")}
    assert life.read(NODE, "b", ({}, {})) is None


def test_a_change_that_can_not_be_made_in_place_replaces(life: LifeCycle) -> None:
    difference = life.diff(node(zone="b", size=9), {"name": "a", "size": 8, "zone": "a"})
    assert [change.path for change in difference.changed] == ["size", "zone"]
    assert (difference.replaces, difference.deletes_first) == (["zone"], True)


@pytest.mark.parametrize(
    ("inputs", "want"),
    [
        ({"size": 8}, []),
        ({}, ["size"]),
        ({"size": 8, "script": [f"echo {_FORMATTED}"]}, ["script[0]"]),
        ({"size": 8, "key": Secret({"a": _FORMATTED})}, ["key.a"]),
    ],
)
def test_check(life: LifeCycle, inputs: Properties, want: list[str]) -> None:
    resource = node()
    _, failures = life.check(type(resource)(**{**vars(resource), "inputs": inputs}), None)
    assert [failure.property for failure in failures] == want


def test_the_text_of_an_output_is_not_repeated() -> None:
    (failure,) = formatted_outputs({"name": _FORMATTED})
    assert failure.reason.startswith("holds the text of an Output")


def test_look_ups_see_the_account(life: LifeCycle) -> None:
    life.create(node(), timeout=0)
    assert life.invoke("made:up:count", {}) == {"count": 1}
