"""What a preview prints and a stack exports: the plan and its cost, as rows and as plain data."""

from collections.abc import Sequence
from typing import Final

import pulumi

from components.overrides import estimate_warnings
from components.plan.cost import Cost
from components.plan.planner import Plan
from components.settings import Serving

_ASK: Final = (
    "KEY=$(pulumi stack output apiKey --show-secrets); curl $(pulumi stack output endpoint)/models "
    '-H "Authorization: Bearer $KEY"'
)
_PARKED: Final = "parked: no GPU node runs; set serve: true and replicas to serve"


def announce(plan: Plan, serving: Serving) -> None:
    """Print the plan, its cost and its warnings into the preview."""
    pulumi.info(table("Plan", plan_rows(plan)))
    pulumi.info(table("Cost", cost_rows(plan.cost)))
    if plan.replicas:
        pulumi.info(table("First start", timing_rows(plan)))
    for warning in (*plan.warnings, *estimate_warnings(serving)):
        pulumi.warn(warning)


def outputs(plan: Plan) -> dict[str, object]:
    """Return what a stack exports of its plan, and what to do next."""
    state = {"model": plan.model.served_name, "next": _ASK} if plan.replicas else {"status": _PARKED}
    rows = {"plan": _data(plan_rows(plan)), "cost": _data(cost_rows(plan.cost))}
    return {**rows, "expects": _expected(plan), **state}


def plan_rows(plan: Plan) -> list[tuple[str, str]]:
    """Return the plan as (name, value) rows."""
    memory, machine = plan.memory, plan.machine
    context = "the longest that fits" if plan.max_model_len is None else f"{plan.max_model_len:,} tokens"
    return [
        ("machine", f"{machine.name}: {machine.gpus} x {machine.gpu.name}, {machine.architecture}"),
        ("layout", f"{plan.layout} a replica"),
        ("replicas", f"{plan.replicas}, on {_nodes(plan.gpu_nodes)}" if plan.replicas else "parked: no GPU node"),
        (
            "GPU memory",
            (
                f"{memory.gpu:.1f} GB: weights {memory.weights:.1f}, activations {memory.activations:.1f}, "
                f"KV cache {memory.kv_cache:.1f} GB"
            ),
        ),
        ("context", f"{context}; {plan.full_length_sequences} sequences of that length at once"),
        ("image", plan.image),
    ]


def cost_rows(cost: Cost) -> list[tuple[str, str]]:
    """Return the cost as (name, value) rows."""
    rows: list[tuple[str, str]] = []
    if cost.hourly is None or cost.monthly is None:
        rows.append(("per hour", "no price known: set prices.hourly"))
    else:
        rows += [("per hour", _usd(cost.hourly)), ("per month", _usd(cost.monthly))]
        if cost.machine is not None:
            rows.append(("price from", f"{cost.machine.source} {cost.machine.checked}".strip()))
    if cost.platform_per_hour or cost.storage_per_month:
        rows.append(("beside GPUs", _beside(cost)))
    if cost.nodes and cost.break_even_tokens is not None:
        low, high = cost.break_even_tokens
        tokens = f"{low / 1e9:.1f} to {high / 1e9:.1f} billion tokens a month"
        rows.append(("break-even", f"{tokens} against the API at {cost.api.per_million:.2f} USD a million"))
    rows += [("after destroy", _lasting(item.what, item.usd_per_month)) for item in cost.after_destroy]
    return rows or [("per hour", "nothing")]


def timing_rows(plan: Plan) -> list[tuple[str, str]]:
    """Return the forecast of a first start as (name, value) rows; the higher figures are those of a slow one."""
    rows = [
        ("first token", f"{_minutes(plan.timing.first_token)} after `up`, if nothing is there yet"),
        ("GPUs billed", f"{_minutes(plan.timing.gpus_billed)} of them{_idle(plan)}"),
    ]
    longest = sorted(plan.timing.phases, key=lambda phase: -phase.takes.median)[:4]
    rows.append(("longest", ", ".join(f"{phase.name} {phase.takes.median / 60:.0f}" for phase in longest)))
    return rows


def table(title: str, rows: Sequence[tuple[str, str]]) -> str:
    """Return rows as aligned text below a title."""
    width = max(len(name) for name, _ in rows)
    return "\n".join([title, *(f"  {name:<{width}}  {value}" for name, value in rows)])


def _expected(plan: Plan) -> dict[str, object]:
    """Return what `make verify` measures the served model by; see `checks/expectation.py`."""
    layout = plan.layout
    return {
        "gpu": plan.machine.gpu.name,
        "tensorParallel": layout.tensor_parallel,
        "pipelineParallel": layout.pipeline_parallel,
        "nodes": layout.nodes,
        "draftTokens": plan.draft_tokens,
        "context": plan.max_model_len,
    }


def _data(rows: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return rows by name; what has several rows is joined."""
    found: dict[str, str] = {}
    for name, value in rows:
        found[name] = f"{found[name]}; {value}" if name in found else value
    return found


def _nodes(count: int) -> str:
    return "1 GPU node" if count == 1 else f"{count} GPU nodes"


def _usd(amounts: tuple[float, float]) -> str:
    low, high = amounts
    return f"{low:,.2f} USD" if low == high else f"{low:,.2f} to {high:,.2f} USD"


def _beside(cost: Cost) -> str:
    found = [f"{cost.platform_per_hour:,.2f} USD an hour for the cluster"] if cost.platform_per_hour else []
    found += [f"{cost.storage_per_month:,.0f} USD a month for the bucket"] if cost.storage_per_month else []
    return ", ".join(found)


def _minutes(seconds: tuple[float, float]) -> str:
    typical, slow = (round(value / 60) for value in seconds)
    return f"{typical} to {slow} minutes"


def _idle(plan: Plan) -> str:
    """Return what the GPUs cost until the first token."""
    if plan.cost.hourly is None:
        return ""
    typical, slow = (seconds / 3600 for seconds in plan.timing.gpus_billed)
    return f", {_usd((plan.cost.hourly[0] * typical, plan.cost.hourly[1] * slow))}"


def _lasting(what: str, usd_per_month: float | None) -> str:
    return what if usd_per_month is None else f"{what}: {usd_per_month:,.0f} USD a month"
