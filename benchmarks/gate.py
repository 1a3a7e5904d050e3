"""A figure with its limit, and what a run's figures say together."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.figures import aligned

_HEADS: Final = ("gate", "limit", "found", "")


@dataclass(frozen=True, kw_only=True)
class Gate:
    """One figure that has to keep to a limit."""

    title: str
    found: float | None
    """None where it couldn't be measured, which is a miss."""
    limit: float
    least: bool = False
    """Whether the limit is the least that will do, not the most."""
    wall: bool = False
    """Whether it hangs on wall times, which other work on the machine moves."""
    decimals: int = 2

    @property
    def met(self) -> bool:
        """Whether the figure as it is printed keeps to the limit."""
        if self.found is None:
            return False
        found = round(self.found, self.decimals)
        return found >= self.limit if self.least else found <= self.limit

    def row(self) -> list[str]:
        """Return the cells of the gate's line."""
        sign = ">=" if self.least else "<="
        found = "-" if self.found is None else f"{self.found:,.{self.decimals}f}"
        return [self.title, f"{sign} {self.limit:,.{self.decimals}f}", found, "met" if self.met else "MISSED"]


def table(gates: Sequence[Gate]) -> list[str]:
    """Return the lines of one table."""
    return aligned([_HEADS, *(gate.row() for gate in gates)])


def missed(gates: Sequence[Gate], *, walls: bool) -> list[Gate]:
    """Return the gates that a run fails for.

    Args:
        gates: All.
        walls: Whether those count that hang on wall times.
    """
    return [gate for gate in gates if not gate.met and (walls or not gate.wall)]
