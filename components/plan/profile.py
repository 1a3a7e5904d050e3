"""The engine profile of a GPU generation and a layout: what vLLM's Kimi K3 recipe sets, as data.

The recipe is https://recipes.vllm.ai/moonshotai/Kimi-K3 (repository snapshot of 2026-08-21); the H200 figures for
pipeline stages are those of SemiAnalysis InferenceX's Kimi K3 configuration (2026-08).
"""

from dataclasses import dataclass
from typing import Final

from components.plan.hardware import GpuGeneration
from components.plan.layout import Layout

ENGINE_BATCHED_TOKENS: Final = 16_384
"""vLLM 0.33's own --max-num-batched-tokens for this model."""


@dataclass(frozen=True, kw_only=True)
class Profile:
    """Engine limits that decide how much memory is left for the KV cache."""

    generation: GpuGeneration
    gpu_memory_utilization: float
    """Share of a GPU's memory that the engine may use."""
    kv_bytes: int
    """Bytes per cached value: 1 is fp8, 2 is bfloat16."""
    max_num_batched_tokens: int | None = None
    """Tokens of one step; None leaves the engine's default."""
    max_num_seqs: int | None = None
    """Sequences that run at once; None leaves the engine's default."""
    max_model_len: int | None = None
    """The recipe's cap on the context; None where there is none."""
    kda_checkpoints: int = 3
    """Recurrent states that a running sequence holds per group with prefix caching."""

    @property
    def activations_gb(self) -> float:
        """Decimal GB outside weights and KV cache: about 10 at 16,384 tokens a step, in proportion (estimate)."""
        tokens = self.max_num_batched_tokens or ENGINE_BATCHED_TOKENS
        return 1.0 + 9.0 * tokens / ENGINE_BATCHED_TOKENS


def profile(generation: GpuGeneration, layout: Layout) -> Profile:
    """Return the recipe's profile for this generation and layout."""
    pipelined = layout.pipeline_parallel > 1
    if generation == "blackwell":
        # The MXFP4 MoE workspace lies outside the pool: 0.95 runs out of memory on 180 GB parts with stages.
        return Profile(
            generation=generation,
            gpu_memory_utilization=0.90 if pipelined else 0.95,
            kv_bytes=1,
            max_num_batched_tokens=8192 if pipelined else None,
        )
    if generation == "hopper":
        padded = layout.tensor_parallel >= 16 and not layout.expert_parallel
        return Profile(
            generation=generation,
            gpu_memory_utilization=0.97 if padded else 0.95,
            kv_bytes=2,
            max_num_batched_tokens=4096,
            max_num_seqs=5 if padded else 8,
            max_model_len=32_768 if padded else None,
        )
    return Profile(
        generation=generation,
        gpu_memory_utilization=0.95,
        kv_bytes=2,
        max_num_batched_tokens=4096,
        max_num_seqs=128,
        kda_checkpoints=2,
    )
