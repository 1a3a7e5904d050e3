"""Prices and the break-even against the guide's own figures."""

import pytest

from components.plan.cost import ApiPrices, cost
from components.plan.hardware import CATALOGUE, PriceRange


def _api(cache_hit_rate: float) -> ApiPrices:
    return ApiPrices(input=3.00, cached_input=0.30, output=15.00, input_share=0.8, cache_hit_rate=cache_hit_rate)


@pytest.mark.parametrize(
    ("cache_hit_rate", "per_million", "billions"),
    [
        (0.0, 5.40, 8.0),  # 0.8 x 3 + 0.2 x 15; the guide says about 8 billion tokens a month
        (0.9, 3.456, 12.5),  # 0.8 x (0.9 x 0.3 + 0.1 x 3) + 0.2 x 15; the guide says 12.5 billion
    ],
)
def test_break_even_of_the_cheapest_node(cache_hit_rate: float, per_million: float, billions: float) -> None:
    api = _api(cache_hit_rate)
    found = cost(CATALOGUE["8xB300"], 1, hourly=None, storage_usd_month=0.0, api=api).break_even_tokens
    assert api.per_million == pytest.approx(per_million)
    assert found is not None
    assert found[0] / 1e9 == pytest.approx(billions, rel=0.1)


def test_month_of_the_guides_node() -> None:
    found = cost(CATALOGUE["8xB300"], 1, hourly=None, storage_usd_month=0.0, api=_api(0.0)).monthly
    # The guide: 43,000 to 104,000 USD a month for 59 to 142 USD an hour.
    assert found == (pytest.approx(43_000, rel=0.01), pytest.approx(104_000, rel=0.01))


def test_a_price_of_ones_own_and_storage_count() -> None:
    own = PriceRange(low=10.0, high=20.0, source="contract", checked="2026-12-01")
    found = cost(CATALOGUE["8xB300"], 2, hourly=own, storage_usd_month=36.0, api=_api(0.0))
    assert found.hourly == (20.0, 40.0)
    assert found.monthly == (20.0 * 730 + 36.0, 40.0 * 730 + 36.0)


def test_a_parked_stack_has_no_gpu_bill() -> None:
    found = cost(CATALOGUE["8xB300"], 0, hourly=None, storage_usd_month=36.0, api=_api(0.0))
    assert found.hourly == (0.0, 0.0)
    assert found.monthly == (36.0, 36.0)


def test_no_price_is_no_number() -> None:
    found = cost(CATALOGUE["8xB200"], 2, hourly=None, storage_usd_month=0.0, api=_api(0.0))
    assert found.hourly is None
    assert found.break_even_tokens is None


def test_a_month_holds_the_platform_and_the_bucket_too() -> None:
    own = PriceRange(low=10.0, high=20.0, source="x", checked="")
    found = cost(CATALOGUE["8xB300"], 1, hourly=own, storage_usd_month=36.0, platform_usd_hour=1.0, api=_api(0.0))
    # 11 and 21 USD for 730 hours, and the bucket.
    assert found.monthly == (8_066.0, 15_366.0)
