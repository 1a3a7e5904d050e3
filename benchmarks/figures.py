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
        return ratio(self.ours, self.bare)


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float | None:
    """Return the ratio of two medians; None where there is nothing to compare."""
    if not theirs or not ours or not statistics.median(theirs):
        return None
    return statistics.median(ours) / statistics.median(theirs)


def spread(values: Sequence[float]) -> tuple[float, float, float] | None:
    """Return the least, the median and the greatest value; None without values."""
    return (min(values), statistics.median(values), max(values)) if values else None


def table(comparisons: Sequence[Comparison]) -> list[str]:
    """Return the lines of one table: names to the left, figures to the right."""
    heads = [
        ["", "", "bare", "", "", "ours", "", "ratio of"],
        ["", "min", "median", "max", "min", "median", "max", "medians"],
    ]
    return aligned(heads + [_row(comparison) for comparison in comparisons])


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows as lines: the first column to the left, the others to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
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
        *cells(comparison.bare, comparison.decimals),
        *cells(comparison.ours, comparison.decimals),
        _ABSENT if ratio is None else f"{ratio:.2f}",
    ]


def cells(values: Sequence[float], decimals: int) -> list[str]:
    """Return least, median and greatest value as text."""
    found = spread(values)
    return [_ABSENT] * 3 if found is None else [f"{value:,.{decimals}f}" for value in found]


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
    return "  ".join([row[0].ljust(widths[0]), *cells]).rstrip()
