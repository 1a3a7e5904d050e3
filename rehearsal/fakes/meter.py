"""What a rehearsed account would have cost: money for each thing between its creation and its end."""

from collections.abc import Iterable
from dataclasses import dataclass

from rehearsal.fakes.account import Event, Rate

_SECONDS_PER_HOUR = 3600


@dataclass(frozen=True)
class Charge:
    """What one thing cost: `hours` on the virtual clock, `usd` for all of them; `open` if it still bills."""

    type: str
    id: str
    name: str
    hours: float
    usd: float
    open: bool
    gpu_hours: float = 0.0


def charges(events: Iterable[Event], now: float) -> list[Charge]:
    """What each thing with a rate cost until `now` (virtual seconds), in the order of creation.

    Args:
        events: The account's journal, oldest first.
        now: End of the period for what still exists.
    """
    started: dict[tuple[str, str], Event] = {}
    ended: list[tuple[Event, float, bool]] = []
    for event in events:
        key = (event.type, event.id)
        if event.verb == "create" and event.rate != Rate():
            started[key] = event
        elif event.verb == "delete" and key in started:
            ended.append((started.pop(key), event.at, False))
    ended += [(event, now, True) for event in started.values()]
    ended.sort(key=lambda row: row[0].at)
    return [_charge(event, end - event.at, still=still) for event, end, still in ended]


def _charge(event: Event, seconds: float, *, still: bool) -> Charge:
    hours, rate = seconds / _SECONDS_PER_HOUR, event.rate
    usd = rate.usd_once + hours * rate.usd_per_hour
    return Charge(event.type, event.id, event.name, hours, usd, still, hours * rate.gpus)
