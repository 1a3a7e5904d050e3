"""Prompts of a chosen length that no cache knows yet: a harbour's log, each with a number of its own at the start."""

import secrets
from typing import Final

from checks.endpoint import Endpoint

TOKENS_PER_LINE: Final = 20.0
"""About what one line takes; `measured_line` says it exactly."""
_MEASURED_LINES: Final = 200


def log(tokens: int, needle: str = "", depth: float = 0.0, tokens_per_line: float = TOKENS_PER_LINE) -> str:
    """Return a text of about so many tokens with a needle at some depth (0 its beginning, 1 its end)."""
    lines = [_line(number) for number in range(max(1, int(tokens / tokens_per_line)))]
    if needle:
        lines.insert(round(depth * len(lines)), needle)
    return f"Log {secrets.token_hex(8)} of the harbour\n" + "\n".join(lines)


def measured_line(endpoint: Endpoint, model: str) -> float:
    """Return the tokens of one line, as the served tokenizer cuts it."""
    text = log(int(_MEASURED_LINES * TOKENS_PER_LINE))
    answer = endpoint.chat({"model": model, "max_tokens": 1, "messages": [{"role": "user", "content": text}]})
    return answer["usage"]["prompt_tokens"] / _MEASURED_LINES


def _line(number: int) -> str:
    return f"{number:06d} wind {number * 7 % 12}, tide {number * 5 % 9} feet, {number * 11 % 40} ships at the quay."
