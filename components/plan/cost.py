"""What the plan costs: per hour, per month, against the official API, and what goes on after `pulumi destroy`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from components.plan.hardware import Machine, PriceRange

HOURS_PER_MONTH: Final = 730
"""The clouds' own convention: 8,760 hours / 12."""


@dataclass(frozen=True, kw_only=True)
class ApiPrices:
    """The official API's prices in USD per million tokens, and the mix of tokens that it would be asked for."""

    input: float
    cached_input: float
    output: float
    input_share: float
    """Input tokens as a share of all tokens."""
    cache_hit_rate: float
    """Cached input tokens as a share of input tokens."""

    @property
    def per_million(self) -> float:
        """USD for a million tokens of this mix."""
        fresh = 1.0 - self.cache_hit_rate
        prompt = self.cache_hit_rate * self.cached_input + fresh * self.input
        return self.input_share * prompt + (1.0 - self.input_share) * self.output


@dataclass(frozen=True, kw_only=True)
class Lasting:
    """Something that goes on billing after `pulumi destroy`."""

    what: str
    usd_per_month: float | None
    """None when the amount isn't known here."""


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What a stack costs, in USD; ranges are (low, high)."""

    nodes: int
    """GPU nodes that bill."""
    machine: PriceRange | None
    """One node an hour; None when there is no price."""
    storage_per_month: float
    platform_per_hour: float
    """What runs beside the GPU nodes: control plane, CPU nodes, gateways."""
    api: ApiPrices
    after_destroy: tuple[Lasting, ...]

    @property
    def hourly(self) -> tuple[float, float] | None:
        """USD an hour of all GPU nodes."""
        if self.machine is None:
            return None
        return self.nodes * self.machine.low, self.nodes * self.machine.high

    @property
    def monthly(self) -> tuple[float, float] | None:
        """USD a month of GPU nodes, platform and storage, running around the clock."""
        if self.hourly is None:
            return None
        low, high = ((gpus + self.platform_per_hour) * HOURS_PER_MONTH + self.storage_per_month for gpus in self.hourly)
        return low, high

    @property
    def break_even_tokens(self) -> tuple[float, float] | None:
        """Tokens a month from which the stack is cheaper than the API, at the low and at the high price."""
        if self.hourly is None or not self.api.per_million:
            return None
        low, high = self.hourly
        per_token = self.api.per_million / 1e6
        return low * HOURS_PER_MONTH / per_token, high * HOURS_PER_MONTH / per_token


def cost(
    machine: Machine,
    nodes: int,
    *,
    hourly: PriceRange | None,
    storage_usd_month: float,
    platform_usd_hour: float = 0.0,
    api: ApiPrices,
    after_destroy: Sequence[Lasting] = (),
) -> Cost:
    """Return the cost of `nodes` machines.

    Args:
        machine: The machine type; its catalogue price is taken when `hourly` is None.
        nodes: GPU nodes that bill; 0 while the stack is parked.
        hourly: A price of the person's own for one machine.
        storage_usd_month: USD a month for the weights' bucket, 0 when it isn't ours.
        platform_usd_hour: USD an hour for what this stack runs beside the GPU nodes.
        api: The official API's prices and the mix of tokens.
        after_destroy: What goes on billing after `pulumi destroy`.
    """
    return Cost(
        nodes=nodes,
        machine=hourly or machine.price,
        storage_per_month=storage_usd_month,
        platform_per_hour=platform_usd_hour,
        api=api,
        after_destroy=tuple(after_destroy),
    )
