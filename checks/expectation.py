"""What the stack's plan lets one expect of the served model: the output `expects`, and figures that were published."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

PROMPT_TOKENS: Final = 8192
"""Of the requests that the time to the first token is expected for."""
_ACCEPTED: Final = 0.9
"""Share of a published figure that counts as reached."""
_FIRST_TOKEN_SECONDS: Final = 0.6
"""8 x B300 took 0.378 s for 8k tokens (sgl-project/sglang PR #37878, 2026-09-03); with room for the way there."""

# One request alone, on GB300 (https://vllm-project.github.io, post 2026-07-27-k3): by tensor-parallel size. 8 x B300
# with SGLang took 8.51 ms a token, 117 a second (PR #37878).
_GPUS: Final = ("B300", "GB300")
_TOKENS_PER_SECOND: Final = {8: 111.0, 16: 118.0}
_DRAFTED_TOKENS_PER_SECOND: Final = {8: 331.0, 16: 370.0}


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """What the plan said; every field has a value that expects nothing."""

    gpu: str = ""
    """Such as B300."""
    tensor_parallel: int = 0
    pipeline_parallel: int = 1
    nodes: int = 1
    """Of one replica."""
    draft_tokens: int = 0
    """0 without speculative decoding."""
    context: int | None = None
    """Tokens of one sequence; None where the engine finds the longest."""

    @property
    def published(self) -> float | None:
        """Tokens a second of one request alone that somebody measured on such a layout; None: nobody."""
        if self.gpu not in _GPUS or self.pipeline_parallel > 1:
            return None
        figures = _DRAFTED_TOKENS_PER_SECOND if self.draft_tokens else _TOKENS_PER_SECOND
        return figures.get(self.tensor_parallel)

    @property
    def tokens_per_second(self) -> float | None:
        """The fewest tokens a second that one request alone should get."""
        return None if self.published is None else self.published * _ACCEPTED

    @property
    def first_token_seconds(self) -> float | None:
        """The longest that its first token should take after a prompt of `PROMPT_TOKENS`."""
        return None if self.published is None else _FIRST_TOKEN_SECONDS


def expectation(said: Mapping[str, Any]) -> Expectation:
    """Return the stack's output `expects`; one that is missing expects nothing.

    Numbers of an output come back as floats.
    """
    context = said.get("context")
    return Expectation(
        gpu=str(said.get("gpu", "")),
        tensor_parallel=int(said.get("tensorParallel", 0)),
        pipeline_parallel=int(said.get("pipelineParallel", 1)),
        nodes=int(said.get("nodes", 1)),
        draft_tokens=int(said.get("draftTokens", 0)),
        context=None if context is None else int(context),
    )
