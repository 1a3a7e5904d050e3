"""All stacks side by side, from the same pure functions that a preview plans with: `make compare`.

Nothing is asked and nothing is made. A stack whose file has faults is a column that says so.
"""

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import yaml

from components.faults import Faulty
from components.plan.planner import Plan
from components.stack_file import Settings, load

PROJECT: Final = Path(__file__).resolve().parent.parent
_PREFIX: Final = "kimi-k3:"
_SHORT: Final = re.compile(r"[:,]| \(")
"""What ends the name of a thing, before what is said about it."""
_BUSY_TOKENS_PER_GPU: Final[Mapping[str, float]] = {"B300": 1395.0}
"""Tokens a second, in and out, of one GPU at 64 requests of 8k + 1k at once, without speculative decoding.

SGLang 0.5.18 on 8 x B300 (sgl-project/sglang PR #37878, 2026-09-03). Nobody has published another GPU's.
"""

Column = Mapping[str, str]


def stacks(project: Path = PROJECT) -> dict[str, Path]:
    """Return the stack files of a project that serve the model, by name."""
    found = {file.name.split(".")[1]: file for file in sorted(project.glob("Pulumi.*.yaml"))}
    return {name: file for name, file in found.items() if not name.endswith("-capacity")}


def column(file: Path) -> Column:
    """Return what a stack file plans, by row; or its first fault."""
    config = yaml.safe_load(file.read_text())["config"]
    values = {key.removeprefix(_PREFIX): value for key, value in config.items() if key.startswith(_PREFIX)}
    try:
        settings, plan = load(values)
    except Faulty as error:
        return {"machines": f"refused: {error.faults[0].key}"}
    return _rows(settings, plan)


def table(columns: Mapping[str, Column]) -> str:
    """Return the columns as a table in Markdown, whose cells are aligned for a terminal."""
    names = list(dict.fromkeys(row for each in columns.values() for row in each))
    lines = [["", *columns], *([name, *(each.get(name, "") for each in columns.values())] for name in names)]
    widths = [max(len(line[index]) for line in lines) for index in range(len(lines[0]))]
    rule = ["-" * width for width in widths]
    return "\n".join(_line(line, widths) for line in [lines[0], rule, *lines[1:]])


def _rows(settings: Settings, plan: Plan) -> Column:
    cost, timing, machine = plan.cost, plan.timing, plan.machine
    return {
        "machines": f"{plan.gpu_nodes} x {machine.name}",
        "GPUs": f"{plan.gpu_nodes * machine.gpus} x {machine.gpu.name}, {machine.architecture}",
        "layout": str(plan.layout),
        "weights of each GPU": f"{plan.memory.weights:.0f} of {plan.memory.gpu:.0f} GB",
        "longest context": f"{plan.longest_context:,}",
        "of that length at once": str(plan.full_length_sequences),
        "USD an hour, GPUs": _range(cost.hourly, "{:.0f}") if cost.hourly else "no public price",
        "USD an hour, beside them": f"{cost.platform_per_hour:.2f}",
        "USD a million tokens": _per_million(plan),
        "minutes to the first token": _range([seconds / 60 for seconds in timing.first_token], "{:.0f}"),
        "of them with GPUs billed": _range([seconds / 60 for seconds in timing.gpus_billed], "{:.0f}"),
        "weights": settings.cold_start.delivery,
        "bills after destroy": "; ".join(_SHORT.split(item.what)[0] for item in cost.after_destroy) or "nothing",
    }


def _per_million(plan: Plan) -> str:
    """Return the price of busy GPUs' tokens, where anybody has measured them."""
    tokens = _BUSY_TOKENS_PER_GPU.get(plan.machine.gpu.name)
    if tokens is None or plan.cost.hourly is None:
        return "not measured"
    millions = tokens * plan.gpu_nodes * plan.machine.gpus * 3600 / 1e6
    return _range([usd / millions for usd in plan.cost.hourly], "{:.2f}")


def _range(values: Sequence[float], form: str) -> str:
    low, high = (form.format(value) for value in values)
    return low if low == high else f"{low} to {high}"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) + " |"


def main() -> int:
    """Print the table."""
    sys.stdout.write(table({name: column(file) for name, file in stacks().items()}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
