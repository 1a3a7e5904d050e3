"""What a rehearsed account would have cost."""

import pytest

from rehearsal.fakes.account import Event, Rate, Verb
from rehearsal.fakes.meter import charges

_RATES = {"gpu": Rate(usd_per_hour=60, gpus=8), "disk": Rate(usd_per_hour=0.5), "block": Rate(usd_once=900)}


def _event(hour: float, verb: Verb, kind: str = "gpu", identity: str = "a") -> Event:
    return Event(hour * 3600, verb, kind, identity, f"logical-{identity}", rate=_RATES.get(kind, Rate()))


@pytest.mark.parametrize(
    ("events", "want"),
    [
        ([], []),
        ([_event(0, "create"), _event(2, "delete")], [("a", 2, 120, False)]),
        ([_event(1, "create")], [("a", 9, 540, True)]),
        ([_event(0, "create", "free"), _event(2, "delete", "free")], []),
        ([_event(0, "refuse")], []),
        # What is paid at once costs the same, however long it lasts.
        ([_event(4, "create", "block")], [("a", 6, 900, True)]),
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
    got = charges(events, now=10 * 3600)
    assert [(charge.id, charge.hours, charge.usd, charge.open) for charge in got] == want


def test_gpu_hours_count_each_gpu() -> None:
    (charge,) = charges([_event(0, "create"), _event(2, "delete")], now=10 * 3600)
    assert charge.gpu_hours == 16
