"""Percentiles, likely causes and the picture: pure functions, figures by hand."""

from xml.etree import ElementTree

import pytest

from checks import plot
from checks.expectation import Expectation, expectation
from checks.load import Level, percentile
from checks.metrics import Metrics
from checks.report import table
from checks.slowness import likely_cause
from components import summary
from components.stack_file import load
from tests.stacks import values

ALONE = Expectation(gpu="B300", tensor_parallel=8)
PAIR = Expectation(gpu="GB300", tensor_parallel=8, nodes=2)
DRAFTED = Expectation(gpu="B300", tensor_parallel=8, draft_tokens=8)


@pytest.mark.parametrize(
    ("values", "percent", "want"),
    [([], 50, None), ([3.0], 99, 3.0), ([4.0, 1.0, 3.0, 2.0], 50, 2.0), ([float(n) for n in range(1, 101)], 99, 99.0)],
)
def test_percentiles_are_values_that_were_measured(values: list[float], percent: float, want: float | None) -> None:
    assert percentile(values, percent) == want


@pytest.mark.parametrize(
    ("planned", "want"),
    [
        (ALONE, 99.9),
        (DRAFTED, 297.9),
        (Expectation(gpu="GB300", tensor_parallel=16), 106.2),
        (Expectation(gpu="B300", tensor_parallel=8, pipeline_parallel=2), None),
        (Expectation(gpu="H200", tensor_parallel=8), None),
        (Expectation(), None),
    ],
)
def test_a_layout_is_expected_to_reach_nine_tenths_of_what_was_published(
    planned: Expectation, want: float | None
) -> None:
    """111, 331 (DSpark) and 118 tokens a second (vLLM's post of 2026-07-27)."""
    assert planned.tokens_per_second == (want if want is None else pytest.approx(want))


def test_a_stack_hands_out_what_its_plan_expects() -> None:
    _, plan = load(values("azure"))
    said = summary.outputs(plan)["expects"]
    assert isinstance(said, dict)
    assert expectation(said) == Expectation(gpu="GB300", tensor_parallel=8, nodes=2, context=1_048_576)


def test_numbers_of_an_output_come_back_as_floats() -> None:
    said = {"gpu": "B300", "tensorParallel": 8.0, "draftTokens": 8.0, "context": None}
    assert expectation(said).tokens_per_second == pytest.approx(297.9)


def counted(**values: float) -> Metrics:
    return Metrics("\n".join(f'vllm:{name}{{engine="0"}} {value}' for name, value in values.items()))


QUIET = counted(num_requests_running=0, num_preemptions_total=0)
NO_DRAFTS = counted(num_requests_running=0)
DRAFTS = counted(
    spec_decode_num_drafts_total=10, spec_decode_num_draft_tokens_total=80, spec_decode_num_accepted_tokens_total=8
)


@pytest.mark.parametrize(
    ("rate", "planned", "before", "after", "cause"),
    [
        (20, PAIR, QUIET, QUIET, "fallback to TCP"),
        (20, PAIR, None, None, "fallback to TCP"),
        (20, ALONE, QUIET, QUIET, "CUDA graphs are off"),
        (80, PAIR, QUIET, QUIET, "autotune is off"),
        (111, DRAFTED, NO_DRAFTS, NO_DRAFTS, "speculative decoding is off"),
        (111, DRAFTED, NO_DRAFTS, DRAFTS, "10% of the draft's tokens"),
        (50, PAIR, counted(num_requests_running=3), QUIET, "others were being served"),
        (50, PAIR, QUIET, counted(num_preemptions_total=2), "KV cache is full"),
    ],
)
def test_the_likely_cause(
    rate: float, planned: Expectation, before: Metrics | None, after: Metrics | None, cause: str
) -> None:
    assert cause in likely_cause(rate, planned, before, after)


def test_metrics_are_summed_over_engines_and_told_from_names_that_begin_alike() -> None:
    text = 'vllm:a_total{engine="0"} 1.5\nvllm:a_total{engine="1"} 2.5\nvllm:a_total_created 9\n# vllm:a_total 7'
    assert Metrics(text).total("vllm:a_total") == 4.0
    assert Metrics('vllm:info{caching="False",x="1"} 1').label("vllm:info", "caching") == "False"
    assert not Metrics(text).has("vllm:a")


def test_levels_without_an_answer_are_shown_and_drawn() -> None:
    levels = [Level(at_once=count, seconds=1.0, streams=(), errors=["gone"]).data for count in (1, 16)]
    rows = table(levels)
    assert len({len(row) for row in rows}) == 1
    assert rows[2].split()[:3] == ["16", "1", "1"]
    picture = ElementTree.fromstring(plot.svg(levels))  # noqa: S314 - our own text
    assert picture.get("width") == "720"
