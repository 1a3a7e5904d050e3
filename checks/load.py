"""How fast it answers under load: streamed requests at rising concurrency, against what the plan lets one expect."""

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final

from checks import metrics
from checks.access import served_models
from checks.check import FailedError, Finding, SkippedError, Subject
from checks.context import patience
from checks.endpoint import CallError
from checks.event_stream import EventStream
from checks.expectation import PROMPT_TOKENS
from checks.filler import log
from checks.slowness import likely_cause

OUTPUT_TOKENS: Final = 256
_FEWEST: Final = 3
"""Requests of the first level: a median of one says nothing."""
_LEAST_PROMPT: Final = 64
_MARGIN_TOKENS: Final = 256


@dataclass(frozen=True, kw_only=True)
class Level:
    """What so many requests at once got."""

    at_once: int
    seconds: float
    """From the first request to the last answer."""
    streams: Sequence[EventStream]
    """The answers that came to their end."""
    errors: Sequence[str] = field(default=())

    @property
    def first_token(self) -> list[float]:
        """Seconds to the first token, of each request."""
        return [stream.times[0] for stream in self.streams if stream.times]

    @property
    def gaps(self) -> list[float]:
        """Seconds between two pieces of an answer, of all requests."""
        return [gap for stream in self.streams for gap in stream.gaps]

    @property
    def per_user(self) -> float | None:
        """Tokens a second of the request in the middle; None when no answer had two pieces."""
        rates = [rate for stream in self.streams if (rate := stream.tokens_per_second) is not None]
        return percentile(rates, 50)

    @property
    def data(self) -> dict[str, Any]:
        """Plain values; times in seconds."""
        tokens = sum(stream.tokens for stream in self.streams)
        return {
            "atOnce": self.at_once,
            "requests": len(self.streams) + len(self.errors),
            "errors": list(self.errors),
            "firstToken": _percentiles(self.first_token),
            "interToken": _percentiles(self.gaps),
            "tokensPerSecondEach": _rounded(self.per_user, 1),
            "tokensPerSecondAll": round(tokens / self.seconds, 1) if self.seconds > 0 else None,
        }


def percentile(values: Sequence[float], percent: float) -> float | None:
    """Return the smallest value that so many percent of all don't exceed (nearest rank); None without values."""
    return sorted(values)[max(0, math.ceil(len(values) * percent / 100) - 1)] if values else None


def load(subject: Subject) -> Finding:
    """Expect no error at any level, and at the first one the speed that was published for such a layout."""
    limit = served_models(subject.endpoint).get(subject.model)
    prompt = PROMPT_TOKENS if limit is None else min(PROMPT_TOKENS, limit - OUTPUT_TOKENS - _MARGIN_TOKENS)
    if prompt < _LEAST_PROMPT:
        raise SkippedError(f"a context of {limit} tokens has no room for such requests")
    before = metrics.read(subject.endpoint)
    levels = [_level(subject, at_once, prompt) for at_once in subject.levels]
    data = {"promptTokens": prompt, "outputTokens": OUTPUT_TOKENS, "levels": [level.data for level in levels]}
    errors = [error for level in levels for error in level.errors]
    if errors:
        raise FailedError(f"{len(errors)} requests failed: {errors[0]}", CallError("stalled", "").hint, data)
    trouble = _too_slow(subject, levels)
    if trouble:
        first = levels[0].per_user or 0.0
        cause = likely_cause(first, subject.expectation, before, metrics.read(subject.endpoint))
        raise FailedError(trouble, cause, data)
    return Finding(detail=_detail(subject, levels), data=data)


def _level(subject: Subject, at_once: int, prompt: int) -> Level:
    clock = subject.endpoint.clock
    started = clock()
    with ThreadPoolExecutor(at_once) as pool:
        asked = [pool.submit(_one, subject, prompt) for _ in range(max(_FEWEST, 2 * at_once))]
        found = [each.result() for each in asked]
    return Level(
        at_once=at_once,
        seconds=clock() - started,
        streams=[each for each in found if isinstance(each, EventStream)],
        errors=[each for each in found if isinstance(each, str)],
    )


def _one(subject: Subject, prompt: int) -> EventStream | str:
    """Return an answer, or why there is none."""
    body = {
        "model": subject.model,
        "max_tokens": OUTPUT_TOKENS,
        # Each answer is as long as the others, whatever the model would say.
        "ignore_eos": True,
        "messages": [{"role": "user", "content": log(prompt)}],
    }
    try:
        stream = subject.endpoint.stream(body, patience(prompt))
    except CallError as error:
        return str(error)
    if stream.error or stream.finish_reason is None:
        return stream.error or f"broke off after {len(stream.times)} pieces"
    return stream


def _too_slow(subject: Subject, levels: Sequence[Level]) -> str:
    """Return what is below the expectation; empty when nothing is, or nobody knows."""
    alone = next((level for level in levels if level.at_once == 1), None)
    fewest, longest = subject.expectation.tokens_per_second, subject.expectation.first_token_seconds
    if alone is None or fewest is None or longest is None:
        return ""
    rate, first = alone.per_user or 0.0, percentile(alone.first_token, 50) or math.inf
    found = [f"{rate:.0f} tokens/s of one request alone, {fewest:.0f} expected"] if rate < fewest else []
    found += [f"first token after {first:.2f} s, {longest:.1f} expected"] if first > longest else []
    return "; ".join(found)


def _detail(subject: Subject, levels: Sequence[Level]) -> str:
    rate, fewest = levels[0].per_user, subject.expectation.tokens_per_second
    measured = "no rate" if rate is None else f"{rate:.0f} tokens/s each with {levels[0].at_once} at once"
    expected = "nobody has published a figure for this layout" if fewest is None else f"at least {fewest:.0f} expected"
    return f"{measured}; {expected}"


def _percentiles(values: Sequence[float]) -> Mapping[str, float | None]:
    return {f"p{percent}": _rounded(percentile(values, percent), 4) for percent in (50, 90, 99)}


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)
