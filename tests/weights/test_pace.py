"""Patience that follows what requests take."""

import pytest

from components.weights.pace import Limits, Pace, Patience


def paced(waits: list[float], rates: list[tuple[int, float]] | None = None) -> Pace:
    """Return a pace that has seen these waits and (bytes, seconds)."""
    pace = Pace(Patience(shortest_seconds=1.0, silence_seconds=10.0))
    for wait in waits:
        pace.note_wait(wait)
    for count, seconds in rates or []:
        pace.note_rate(count, seconds)
    return pace


@pytest.mark.parametrize(
    ("waits", "tries", "want"),
    [
        ([], 0, 10.0),
        ([0.01] * 15, 0, 10.0),
        # 8 x 10 ms is less than the shortest patience.
        ([0.01] * 16, 0, 1.0),
        ([0.01] * 16, 2, 4.0),
        ([0.01] * 16, 9, 10.0),
        # 8 x 250 ms.
        ([0.25] * 16, 0, 2.0),
        ([5.0] * 16, 0, 10.0),
        # Two of twenty are silent: the median doesn't see them.
        ([0.25] * 18 + [10.0] * 2, 0, 2.0),
    ],
)
def test_silence_is_eight_times_the_usual_wait_within_limits(waits: list[float], tries: int, want: float) -> None:
    assert paced(waits).silence(tries) == pytest.approx(want)


def test_when_most_requests_are_abandoned_the_patience_grows_until_they_are_not() -> None:
    pace = paced([0.01] * 16)
    for _ in range(200):
        pace.note_wait(pace.silence(0))
    assert pace.silence(0) == 10.0


@pytest.mark.parametrize(
    ("rates", "want"),
    [
        ([], None),
        ([(1_000_000, 1.0)] * 15, None),
        # 8 MB at 1 MB/s take 8 s; four times that.
        ([(1_000_000, 1.0)] * 16, 32.0),
        # Never less than twice the shortest patience.
        ([(1_000_000_000, 1.0)] * 16, 2.0),
    ],
)
def test_a_part_may_take_four_times_as_long_as_usual(rates: list[tuple[int, float]], want: float | None) -> None:
    assert paced([], rates).whole(8_000_000) == (None if want is None else pytest.approx(want))


@pytest.mark.parametrize(("tries", "want"), [(0, 0.1), (3, 0.8), (6, 6.4), (7, 10.0), (4000, 10.0)])
def test_pauses_double_up_to_the_longest_give_or_take_a_quarter(tries: int, want: float) -> None:
    pause = Limits(deadline=0, identity_deadline=0).pause(tries)
    assert 0.75 * want <= pause <= 1.25 * want
