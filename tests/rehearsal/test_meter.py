"""What a rehearsed account would have cost."""

import pytest

from rehearsal.fakes.account import Event, Verb
from rehearsal.fakes.meter import charges

_PRICES = {"gpu": 60.0, "disk": 0.5}


def _event(hour: float, verb: Verb, kind: str = "gpu", identity: str = "a") -> Event:
    return Event(hour * 3600, verb, kind, identity, f"logical-{identity}")


@pytest.mark.parametrize(
    ("events", "want"),
    [
        ([], []),
        ([_event(0, "create"), _event(2, "delete")], [("a", 2, 120, False)]),
        ([_event(1, "create")], [("a", 9, 540, True)]),
        ([_event(0, "create", "free"), _event(2, "delete", "free")], []),
        ([_event(0, "refuse")], []),
        ([_event(0, "create"), _event(1, "update"), _event(3, "delete")], [("a", 3, 180, False)]),
        (
            [_event(0, "create"), _event(1, "delete"), _event(2, "create"), _event(4, "delete")],
            [("a", 1, 60, False), ("a", 2, 120, False)],
        ),
        (
            [_event(0, "create", "disk", "d"), _event(1, "create"), _event(2, "delete")],
            [("d", 10, 5, True), ("a", 1, 60, False)],
        ),
    ],
)
def test_charges_until_ten_hours(events: list[Event], want: list[tuple[str, float, float, bool]]) -> None:
    got = charges(events, _PRICES, now=10 * 3600)
    assert [(charge.id, charge.hours, charge.usd, charge.open) for charge in got] == want
