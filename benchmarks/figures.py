"""Figures of repeated runs: their spread, the ratio of two programs, and one table of all of it."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_ABSENT: Final = "-"


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One quantity of the bare program and of ours, a value a run."""

    title: str
    """With the unit: `pulumi preview, wall (s)`."""
    decimals: int
    bare: Sequence[float]
    """Empty where this machine can't tell."""
    ours: Sequence[float]

    @property
    def ratio(self) -> float | None:
        """Our median over the bare one; None where there is nothing to compare."""
        if not self.bare or not self.ours or not statistics.median(self.bare):
            return None
        return statistics.median(self.ours) / statistics.median(self.bare)


def spread(values: Sequence[float]) -> tuple[float, float, float] | None:
    """Return the least, the median and the greatest value; None without values."""
    return (min(values), statistics.median(values), max(values)) if values else None


def table(comparisons: Sequence[Comparison]) -> list[str]:
    """Return the lines of one table: names to the left, figures to the right."""
    heads = [
        ["", "", "bare", "", "", "ours", "", "ratio of"],
        ["", "min", "median", "max", "min", "median", "max", "medians"],
    ]
    rows = heads + [_row(comparison) for comparison in comparisons]
    widths = [max(len(row[column]) for row in rows) for column in range(len(heads[0]))]
    return [_aligned(row, widths) for row in rows]


def verdict(ratio: float | None, aim: float) -> str:
    """Return the sentence that says whether the aim is met."""
    if ratio is None:
        return f"Aim: at most {aim:.2f} x the bare program's wall time. Not measured."
    # Compared as printed: 1.154 reads 1.15, and so does the aim.
    met = "met" if round(ratio, 2) <= aim else "NOT met"
    return f"Aim: at most {aim:.2f} x the bare program's wall time. It is {ratio:.2f} x: {met}."


def _row(comparison: Comparison) -> list[str]:
    ratio = comparison.ratio
    return [
        comparison.title,
        *_cells(comparison.bare, comparison.decimals),
        *_cells(comparison.ours, comparison.decimals),
        _ABSENT if ratio is None else f"{ratio:.2f}",
    ]


def _cells(values: Sequence[float], decimals: int) -> list[str]:
    found = spread(values)
    return [_ABSENT] * 3 if found is None else [f"{value:,.{decimals}f}" for value in found]


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
    return "  ".join([row[0].ljust(widths[0]), *cells]).rstrip()
