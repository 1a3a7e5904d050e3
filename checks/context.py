"""Whether the model finds a sentence in a long prompt, and whether the same prompt is quicker the second time."""

import secrets
from typing import Final

from checks import metrics
from checks.access import served_models
from checks.check import FailedError, Finding, SkippedError, Subject
from checks.filler import log, measured_line
from checks.metrics import Metrics

_ANSWER_TOKENS: Final = 4096
"""Room for the thinking and the answer."""
_MARGIN_TOKENS: Final = 256
"""The chat template, the question and the needle."""
_SHORTEST: Final = 1024
_PREFIX_TOKENS: Final = 6500
"""Two blocks of the largest that the engine chooses (2,944 tokens: TP4, fp8)."""
_HITS_SHARE: Final = 0.5
_BASE_SECONDS: Final = 300.0


def patience(tokens: int) -> float:
    """Return the seconds that a prompt may take to its first byte.

    Linear for the most part, quadratic for the attention: 135k tokens took somebody more than 130 s (BerriAI/litellm
    #34819), and a million get 55 minutes.
    """
    return _BASE_SECONDS + tokens / 500 + (tokens / 100_000) ** 2 * 8


def long_context(subject: Subject) -> Finding:
    """Expect a code word that stands at the chosen depth of a long prompt."""
    limit = served_models(subject.endpoint).get(subject.model) or subject.expectation.context
    room = None if limit is None else limit - _ANSWER_TOKENS - _MARGIN_TOKENS
    wanted = [tokens for tokens in (subject.context, room) if tokens is not None]
    length = min(wanted, default=0)
    if length < _SHORTEST:
        raise SkippedError(f"a context of {limit or 'unknown'} tokens has no room for a long prompt")
    word = f"{secrets.token_hex(3)}"
    needle = f"The code word of the lighthouse keeper is {word}."
    text = log(length, needle, subject.depth, measured_line(subject.endpoint, subject.model))
    question = f"{text}\n\nWhat is the code word of the lighthouse keeper? Reply with it alone."
    body = {
        "model": subject.model,
        "max_tokens": _ANSWER_TOKENS,
        "messages": [{"role": "user", "content": question}],
    }
    stream = subject.endpoint.stream(body, patience(length))
    asked = int(stream.usage.get("prompt_tokens") or length)
    if word not in stream.content:
        raise FailedError(
            f"the needle at depth {subject.depth:.0%} of {asked:,} tokens wasn't found: {stream.content[:80]!r}",
            "try a shorter --context to see from which length on; a cache type that loses too much (--kv-cache-dtype), "
            "a wrong --attention-config or wrong weights end like this",
        )
    first = stream.times[0] if stream.times else stream.seconds
    detail = f"found at depth {subject.depth:.0%} of {asked:,} tokens; first token after {first:.1f} s"
    return Finding(detail=detail, data={"promptTokens": asked, "firstTokenSeconds": round(first, 3)})


def prefix_cache(subject: Subject) -> Finding:
    """Expect that most of a prompt is found in the cache when it is asked a second time."""
    before = _counted(subject)
    if before.label("vllm:cache_config_info", "enable_prefix_caching") == "False":
        raise SkippedError("prefix caching is off (serving.prefixCaching)")
    room = served_models(subject.endpoint).get(subject.model)
    tokens = _PREFIX_TOKENS if room is None else min(_PREFIX_TOKENS, room - _MARGIN_TOKENS)
    message = {"role": "user", "content": log(tokens)}
    body = {"model": subject.model, "max_tokens": 1, "messages": [message]}
    subject.endpoint.chat(body)
    middle = _counted(subject)
    prompt = int(subject.endpoint.chat(body)["usage"]["prompt_tokens"])
    hits = _hits(_counted(subject)) - _hits(middle)
    if hits < prompt * _HITS_SHARE:
        raise FailedError(
            f"{hits:.0f} of {prompt:,} tokens came from the cache the second time",
            "see --enable-prefix-caching and --prefix-match-unit in serving.extraArgs, and whether the KV cache is "
            "full (vllm:kv_cache_usage_perc); with several replicas use --port-forward, which stays with one",
        )
    return Finding(detail=f"{hits:,.0f} of {prompt:,} tokens from the cache the second time", data={"hits": hits})


def _counted(subject: Subject) -> Metrics:
    found = metrics.read(subject.endpoint)
    if found is None:
        raise SkippedError("/metrics isn't forwarded on this way in; --port-forward reaches it")
    return found


def _hits(counted: Metrics) -> float:
    return counted.total("vllm:prefix_cache_hits_total")
