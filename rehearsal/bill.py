"""What a rehearsal shows of money: what billed, for how long, and whether the dear part waited for the weights."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from rehearsal.fakes.account import Event, Ledger
from rehearsal.fakes.meter import Charge, charges
from rehearsal.fakes.weights import OBJECTS

_CENT: Final = 0.005


@dataclass(frozen=True)
class Bill:
    """The account's bill until now, on the virtual clock."""

    charges: Sequence[Charge]
    waited: bool | None
    """Whether no GPU billed before the weights were complete; None where there were no weights or no GPUs."""

    @property
    def usd(self) -> float:
        """All of it."""
        return sum(charge.usd for charge in self.charges)

    @property
    def gpu_hours(self) -> float:
        """Hours of single GPUs."""
        return sum(charge.gpu_hours for charge in self.charges)

    @property
    def rows(self) -> list[tuple[str, str, str, str]]:
        """What billed more than nothing: thing, hours, GPU hours, USD."""
        return [
            (
                charge.name,
                f"{charge.hours:.2f}",
                f"{charge.gpu_hours:.2f}" if charge.gpu_hours else "-",
                f"{charge.usd:,.2f}",
            )
            for charge in self.charges
            if charge.usd >= _CENT
        ]


def bill(ledger: Ledger) -> Bill:
    """Return the bill of an account."""
    return Bill(charges(ledger.events, ledger.clock.now), waited_for_weights(ledger.events))


def waited_for_weights(events: Iterable[Event]) -> bool | None:
    """Return whether the first GPU that bills by the hour came after the weights; None if one of both never came."""
    made = [event for event in events if event.verb == "create"]
    weights = next((index for index, event in enumerate(made) if event.type == OBJECTS), None)
    gpus = next((index for index, event in enumerate(made) if event.rate.gpus and event.rate.usd_per_hour), None)
    return None if weights is None or gpus is None else weights < gpus
