"""What a run of checks prints: a line for each, the levels of the load as a table, or all of it as JSON."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from checks.check import Result

_MARKS: Final = {"passed": "ok", "failed": "FAILED", "skipped": "skipped"}
_HEAD: Final = (
    "at once",
    "requests",
    "errors",
    "first token s p50/p90/p99",
    "between ms p50/p99",
    "tokens/s each",
    "all",
)


def line(result: Result) -> str:
    """Return a result as text, with the hint below a failed one."""
    time = f" ({result.seconds:.1f} s)" if result.seconds >= 1 else ""
    lines = [f"{_MARKS[result.status]:<8} {result.name:<13} {result.detail}{time}"]
    lines += [f"{'':<23}-> {result.hint}"] if result.hint else []
    lines += [f"{'':<9}{row}" for row in table(result.data.get("levels") or ())]
    return "\n".join(lines)


def table(levels: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the levels of a load as aligned rows below a head; none without levels."""
    if not levels:
        return []
    rows = [_HEAD, *(_row(level) for level in levels)]
    widths = [max(len(row[index]) for row in rows) for index in range(len(_HEAD))]
    return ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]


def summary(results: Sequence[Result]) -> str:
    """Return how many checks ended how."""
    counts = {status: sum(result.status == status for result in results) for status in _MARKS}
    return ", ".join(f"{count} {status}" for status, count in counts.items() if count) or "nothing was checked"


def as_json(endpoint: str, way: str, results: Sequence[Result]) -> str:
    """Return everything as one object; it holds no key.

    Args:
        endpoint: The stack's output.
        way: How it was reached.
        results: Of all checks that were asked for.
    """
    failed = [result.name for result in results if result.status == "failed"]
    checks = [asdict(result) for result in results]
    return json.dumps({"endpoint": endpoint, "reached": way, "failed": failed, "checks": checks}, indent=2)


def _row(level: Mapping[str, Any]) -> tuple[str, ...]:
    first, between = level["firstToken"], level["interToken"]
    return (
        str(level["atOnce"]),
        str(level["requests"]),
        str(len(level["errors"])),
        " / ".join(_number(first[name], "{:.2f}") for name in ("p50", "p90", "p99")),
        " / ".join(_number(between[name], "{:.1f}", 1000) for name in ("p50", "p99")),
        _number(level["tokensPerSecondEach"], "{:.0f}"),
        _number(level["tokensPerSecondAll"], "{:.0f}"),
    )


def _number(value: float | None, form: str, factor: float = 1) -> str:
    return "-" if value is None else form.format(value * factor)
