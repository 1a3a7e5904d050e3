"""GPU memory of one replica: weights, activations, and how many tokens the rest can cache.

The KV cache arithmetic is that of vllm 0.33.0's planner (v1/core/kv_cache_planning.py, layers/mamba/mamba_utils.py):
every cache group shares one page size, the recurrent KDA state is padded to it, and one block is reserved.
"""

from dataclasses import dataclass
from typing import Final

from components.plan.layout import Layout, cache_group_layers, weights_gb
from components.plan.model import Model
from components.plan.profile import Profile

_BLOCK_STEP: Final = 128
_KDA_GROUPS: Final = 3
SHARD_GB: Final = 16.26
"""One shard of the checkpoint; fastsafetensors holds two on the GPU while it loads, or one in serial mode."""


@dataclass(frozen=True, kw_only=True)
class Cache:
    """The paged KV cache on the fullest GPU."""

    block_tokens: int
    """Tokens of one block: the log's "Setting attention block size to N tokens"."""
    block_bytes: int
    blocks: int
    fixed_blocks: int
    """Blocks that a running sequence holds whatever its length: its recurrent state."""

    def sequences(self, tokens: int) -> int:
        """How many sequences of this length run at once."""
        return self.blocks // (-(-tokens // self.block_tokens) + self.fixed_blocks)

    @property
    def longest(self) -> int:
        """Tokens of the longest single sequence, 0 when not even its fixed part fits."""
        return max(self.blocks - self.fixed_blocks, 0) * self.block_tokens


@dataclass(frozen=True, kw_only=True)
class Memory:
    """Decimal GB on the fullest GPU of a replica."""

    gpu: float
    usable: float
    """What the engine may use."""
    weights: float
    activations: float
    cache: Cache

    @property
    def kv_cache(self) -> float:
        """What is left for the KV cache; below zero when the model doesn't fit."""
        return self.usable - self.weights - self.activations

    @property
    def kv_per_million_tokens(self) -> float:
        """GB that one sequence of 1,048,576 tokens takes on every GPU."""
        tokens = 1_048_576
        return (-(-tokens // self.cache.block_tokens) + self.cache.fixed_blocks) * self.cache.block_bytes / 1e9


def memory(
    model: Model, layout: Layout, engine: Profile, gpu_gb: float, *, draft_tokens: int, prefix_caching: bool
) -> Memory:
    """Return the memory of one GPU.

    Args:
        model: The model's figures.
        layout: The parallel sizes.
        engine: The profile that limits the engine.
        gpu_gb: Decimal GB of the GPU as its driver reports it.
        draft_tokens: Tokens that speculative decoding proposes per step; 0 without it.
        prefix_caching: Whether prefixes are cached, which keeps further recurrent states.
    """
    usable = gpu_gb * engine.gpu_memory_utilization
    weights = weights_gb(model, layout) + (model.draft_gb if draft_tokens else 0.0)
    token_bytes = model.latent_width * engine.kv_bytes
    state = model.kda_state_bytes(layout.tensor_parallel, draft_tokens)
    block_tokens = _BLOCK_STEP * -(-state // (_BLOCK_STEP * token_bytes))
    block_bytes = cache_group_layers(model, layout.pipeline_parallel) * block_tokens * token_bytes
    free = usable - weights - engine.activations_gb
    states = engine.kda_checkpoints + draft_tokens if prefix_caching else 1 + draft_tokens
    cache = Cache(
        block_tokens=block_tokens,
        block_bytes=block_bytes,
        blocks=max(int(free * 1e9) // block_bytes - 1, 0),
        fixed_blocks=_KDA_GROUPS * states,
    )
    return Memory(gpu=gpu_gb, usable=usable, weights=weights, activations=engine.activations_gb, cache=cache)
