"""What a rehearsed account would have cost: money for each thing between its creation and its end."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rehearsal.fakes.account import Event

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


def charges(events: Iterable[Event], usd_per_hour: Mapping[str, float], now: float) -> list[Charge]:
    """What each thing with a price cost until `now` (virtual seconds), in the order of creation.

    Args:
        events: The account's journal, oldest first.
        usd_per_hour: Price of one thing by its type; a type without a price is free.
        now: End of the period for what still exists.
    """
    started: dict[tuple[str, str], Event] = {}
    ended: list[tuple[Event, float, bool]] = []
    for event in events:
        key = (event.type, event.id)
        if event.verb == "create" and event.type in usd_per_hour:
            started[key] = event
        elif event.verb == "delete" and key in started:
            ended.append((started.pop(key), event.at, False))
    ended += [(event, now, True) for event in started.values()]
    ended.sort(key=lambda row: row[0].at)
    return [_charge(event, end - event.at, usd_per_hour[event.type], still=still) for event, end, still in ended]


def _charge(event: Event, seconds: float, price: float, *, still: bool) -> Charge:
    hours = seconds / _SECONDS_PER_HOUR
    return Charge(event.type, event.id, event.name, hours, hours * price, still)
