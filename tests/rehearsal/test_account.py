"""The rehearsed account: one file that several provider processes share."""

import multiprocessing
from pathlib import Path

import pytest

from rehearsal.fakes.account import Account, Thing, from_environment, hidden, revealed
from rehearsal.fakes.clock import Clock
from rehearsal.fakes.values import Properties, Secret


@pytest.fixture
def account(tmp_path: Path) -> Account:
    return Account(tmp_path / "account.json")


def _thing(identity: str = "a", kind: str = "made:up:Node", **inputs: object) -> Thing:
    return Thing(kind, identity, f"logical-{identity}", inputs, {})


def _add_many(path: Path, prefix: str) -> None:
    for number in range(20):
        with Account(path).open() as ledger:
            ledger.add(_thing(f"{prefix}{number}"))


def test_what_was_added_is_there_for_the_next_process(account: Account) -> None:
    with account.open() as ledger:
        ledger.clock.advance(90)
        ledger.add(_thing(size=8))
    thing = account.ledger().find("made:up:Node", "a")
    assert thing is not None
    assert (thing.inputs, thing.since) == ({"size": 8}, 90)


def test_processes_do_not_lose_each_others_things(account: Account) -> None:
    processes = [multiprocessing.Process(target=_add_many, args=(account.path, name)) for name in "ab"]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert len(account.ledger().things) == 40


def test_a_secret_is_never_written_to_the_file(account: Account) -> None:
    with account.open() as ledger:
        ledger.add(_thing(key=Secret("sentinel")))
    assert "sentinel" not in account.path.read_text()


def test_the_journal_survives_a_refused_operation(account: Account) -> None:
    def refused() -> None:
        with account.open() as ledger:
            ledger.note("refuse", _thing(), "no")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        refused()
    assert [event.verb for event in account.ledger().events] == ["refuse"]


def test_looking_at_the_account_changes_nothing(account: Account) -> None:
    account.ledger().add(_thing())
    assert account.ledger().things == []


def test_a_fault_strikes_once_and_only_its_type(account: Account) -> None:
    account.fail_next("made:up:Node", "broken")
    with account.open() as ledger:
        assert ledger.take_fault("made:up:Other", "create") is None
        assert ledger.take_fault("made:up:Node", "delete") is None
        first, second = (ledger.take_fault("made:up:Node", "create") for _ in range(2))
    assert (first.text if first else None, second) == ("broken", None)


def test_no_capacity_lasts_until_it_is_lifted(account: Account) -> None:
    account.no_capacity("made:*", "InsufficientCapacity")
    with account.open() as ledger:
        struck = [ledger.take_fault("made:up:Node", "create") for _ in range(3)]
    assert all(struck)
    account.lift_faults()
    assert account.ledger().take_fault("made:up:Node", "create") is None


@pytest.mark.parametrize(
    ("stored", "known", "want"),
    [
        ({"a": 1}, {}, {"a": 1}),
        (hidden({"a": Secret("x")}), {"a": Secret("x")}, {"a": Secret("x")}),
        (hidden({"a": Secret("x")}), {}, {"a": Secret(None)}),
        (hidden({"l": [Secret("x"), 2]}), {"l": [Secret("x")]}, {"l": [Secret("x"), 2]}),
    ],
)
def test_secrets_come_back_from_what_the_engine_knows(stored: Properties, known: Properties, want: Properties) -> None:
    assert revealed(stored, known) == want


def test_the_clock_runs_forwards_only() -> None:
    clock = Clock()
    assert (clock.advance(90), clock.stamp()) == (90, "2026-01-01T00:01:30Z")
    with pytest.raises(ValueError, match="forwards"):
        clock.advance(-1)


def test_a_stand_in_without_a_rehearsal_around_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REHEARSAL_ACCOUNT", raising=False)
    with pytest.raises(SystemExit, match="in a rehearsal only"):
        from_environment()
