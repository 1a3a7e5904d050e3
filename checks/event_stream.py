"""A streamed chat completion, read as it comes: what was said, and when each piece of it arrived.

The stream has pieces that no text comes with: comments that keep it alive, a first chunk with the role alone, a last
one without choices that has the usage (awslabs/llmeter PR #34).
"""

import json
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

_DATA: Final = b"data:"
_END: Final = b"[DONE]"


@dataclass
class EventStream:
    """What has come so far."""

    content: str = ""
    reasoning: str = ""
    times: list[float] = field(default_factory=list)
    """Seconds after the request of each piece of text."""
    finish_reason: str | None = None
    usage: dict[str, Any] = field(default_factory=dict)
    """Token counts; empty where the server sends none."""
    done: bool = False
    """Whether the end was announced."""
    error: str | None = None
    """What the server said when it gave up in the midst."""
    seconds: float = 0.0
    """After the request, when the stream ended."""
    _rest: bytes = b""

    @property
    def tokens(self) -> int:
        """Tokens that were made: as the server counts them, or one for each piece."""
        return int(self.usage.get("completion_tokens") or len(self.times))

    @property
    def gaps(self) -> list[float]:
        """Seconds between one piece and the next."""
        return [later - earlier for earlier, later in pairwise(self.times)]

    @property
    def tokens_per_second(self) -> float | None:
        """How fast this answer was written after its first token; None for an answer of one piece."""
        span = self.times[-1] - self.times[0] if self.times else 0.0
        return (self.tokens - 1) / span if span > 0 else None

    def feed(self, seconds: float, piece: bytes) -> None:
        """Take what arrived, cut anywhere."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            if line.startswith(_DATA):
                self._event(seconds, line.removeprefix(_DATA).strip())

    def _event(self, seconds: float, data: bytes) -> None:
        if data == _END:
            self.done = True
            return
        try:
            chunk = json.loads(data)
        except ValueError:
            self.error = f"a piece that is no JSON: {data[:100]!r}"
            return
        if "error" in chunk:
            self.error = str(chunk["error"])
        self.usage = chunk.get("usage") or self.usage
        for choice in chunk.get("choices") or ():
            self._choice(seconds, choice)

    def _choice(self, seconds: float, choice: dict[str, Any]) -> None:
        delta = choice.get("delta") or {}
        said, thought = delta.get("content") or "", thinking(delta)
        self.content += said
        self.reasoning += thought
        if said or thought:
            self.times.append(seconds)
        self.finish_reason = choice.get("finish_reason") or self.finish_reason


def thinking(message: dict[str, Any]) -> str:
    """Return the thinking of a message or a delta: `reasoning` in vLLM, `reasoning_content` behind other front ends."""
    return message.get("reasoning") or message.get("reasoning_content") or ""
