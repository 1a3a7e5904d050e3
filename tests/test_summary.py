"""What a preview prints and a stack exports."""

from components import summary
from components.stack_file import load
from tests.stacks import loaded, values


def test_the_plan_is_a_table_that_can_be_read() -> None:
    _, plan = loaded(nodes=1)
    lines = summary.table("Plan", summary.plan_rows(plan)).splitlines()
    assert lines[0] == "Plan"
    assert lines[1] == "  machine     8xB300: 8 x B300, amd64"
    assert lines[3] == "  replicas    1, on 1 GPU node"


def test_the_cost_names_the_range_the_break_even_and_what_stays() -> None:
    _, plan = loaded(nodes=1)
    rows = dict(summary.cost_rows(plan.cost))
    assert rows["per hour"] == "59.00 to 142.00 USD"
    # 59 and 142 USD x 730 hours.
    assert rows["per month"] == "43,070.00 to 103,660.00 USD"
    assert rows["break-even"].startswith("8.0 to 19.2 billion tokens a month")


def test_everything_that_stays_is_exported() -> None:
    _, plan = loaded(nodes=1)
    cost = summary.outputs(plan)["cost"]
    assert isinstance(cost, dict)
    assert "your cluster's own nodes" in cost["after destroy"]
    assert "LeaderWorkerSet's CRDs" in cost["after destroy"]


def test_a_price_of_ones_own_is_one_figure_when_it_is_one() -> None:
    _, plan = loaded(nodes=1, prices={"hourly": {"low": 80, "high": 80}})
    assert dict(summary.cost_rows(plan.cost))["per hour"] == "80.00 USD"


def test_without_a_price_the_way_to_give_one_is_named() -> None:
    _, plan = loaded(machine="4xGB300", nodes=2)
    assert "prices.hourly" in dict(summary.cost_rows(plan.cost))["per hour"]


def test_a_parked_stack_says_so() -> None:
    _, plan = loaded(replicas=0)
    assert "parked" in str(summary.outputs(plan)["status"])
    assert "next" not in summary.outputs(plan)


def test_the_forecast_prices_the_time_in_which_gpus_wait() -> None:
    """On AWS boot, image, load, compile and init are 1,215 s at the median: 37.91 USD at 112.32 USD an hour."""
    _, plan = load(values("aws"))
    rows = dict(summary.timing_rows(plan))
    assert rows["first token"].startswith("49 to ")
    assert rows["GPUs billed"].startswith("20 to 36 minutes of them, 37.91 to ")
    assert rows["longest"].startswith("weights 16, cluster 9, ")
