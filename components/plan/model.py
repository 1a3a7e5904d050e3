"""Kimi K3 in numbers: what the plan's arithmetic stands on, each with its source.

Sizes are decimal (1 GB = 10^9 bytes) unless a name says GiB. `config.json` is the published one of the pinned revision.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, kw_only=True)
class Repository:
    """A model repository of the hub at one commit."""

    name: str
    """Organisation and model, as on the hub."""
    revision: str
    """The commit, 40 hexadecimal digits."""


@dataclass(frozen=True, kw_only=True)
class Model:
    """What the engine and the arithmetic need to know of a model."""

    repository: str
    revision: str
    served_name: str
    """The model name in requests."""
    image: str
    """The pinned engine image, for NVIDIA GPUs."""
    rocm_image: str
    """The engine image for AMD GPUs."""
    draft: Repository
    """The DSpark draft model for speculative decoding: a second repository to have in place."""
    draft_tokens: int
    """Tokens that the draft proposes per step."""
    draft_gb: float
    """The draft's weights, held whole by every rank."""

    weight_bytes: int
    """All files of the repository."""
    weight_shards: int
    floor_gb: float
    """GPU memory of all GPUs together below which nothing serves."""
    routed_expert_gb: float
    """The routed experts, cut by tensor or expert parallelism."""
    shared_gb: float
    """Everything else that tensor parallelism cuts."""
    replicated_gb: float
    """What every tensor-parallel rank holds whole."""

    layers: int
    kda_layers: int
    mla_layers: int
    heads: int
    kda_head_dim: int
    kda_conv_kernel: int
    latent_width: int
    """Values that one MLA layer keeps per token: kv_lora_rank 512 + qk_rope_head_dim 64."""
    vocabulary: int
    experts: int
    expert_width: int
    """moe_intermediate_size: split by tensor parallelism when whole experts aren't spread."""
    expert_width_minimum: int
    """A rank's share of expert_width is padded up to this (vllm models/kimi_k3/nvidia/model.py)."""
    max_context: int

    def kda_state_bytes(self, tensor_parallel: int, draft_tokens: int) -> int:
        """Bytes of recurrent and convolution state of one sequence, per KDA layer and rank.

        vllm 0.33.0 layers/mamba/mamba_utils.py: three bfloat16 convolution states and one float32 recurrent state.
        """
        head_values = self.heads * self.kda_head_dim
        convolution = 3 * head_values // tensor_parallel * (self.kda_conv_kernel - 1 + draft_tokens) * 2
        recurrent = head_values // tensor_parallel * self.kda_head_dim * 4
        return convolution + recurrent


KIMI_K3: Final = Model(
    repository="moonshotai/Kimi-K3",
    # The commit of the first public weights, 2026-07-27; vllm-project/vllm PR #50657 pins the same.
    revision="9f62e4e9fffbd0a83ddd60e1c209d828994b3569",
    served_name="Kimi-K3",
    # First release with kimi_k3: 0.27.0; prefix caching by default: 0.28.0; DCP with DSpark: 0.29.0. The tag
    # `kimi-k3` is the preview of 2026-07-27 and stale (vllm-project/vllm #51975).
    image="vllm/vllm-openai:v0.33.0",
    # The same release for ROCm. The recipe names the preview tag `kimi-k3`, which lacks the release's variables.
    rocm_image="vllm/vllm-openai-rocm:v0.33.0",
    draft=Repository(name="RedHatAI/Kimi-K3-speculator.dspark", revision="46264ceaf6e011cd203f5735af5081c91ac6a235"),
    # vLLM's Kimi K3 recipe: num_speculative_tokens 8.
    draft_tokens=8,
    # 4,744,900,481 bfloat16 parameters (the draft's model card).
    draft_gb=9.5,
    # The hub's file list: 118 files, 96 of them weights.
    weight_bytes=1_560_998_998_830,
    weight_shards=96,
    # vLLM's Kimi K3 recipe: vram_minimum_gb 1680.
    floor_gb=1680.0,
    # 92 layers x 896 experts x 3 matrices x 3584 x 3072 x 0.53125 bytes (MXFP4 with one scale per 32 values).
    routed_expert_gb=1446.4,
    # 1561.0 - 1446.4 - 13: reproduces "Model loading took 192.31 GiB" at TP8 (vllm-project/vllm PR #50817).
    shared_gb=101.6,
    replicated_gb=13.0,
    layers=93,
    kda_layers=69,
    mla_layers=24,
    heads=96,
    kda_head_dim=128,
    kda_conv_kernel=4,
    latent_width=576,
    vocabulary=163_840,
    experts=896,
    expert_width=3072,
    expert_width_minimum=256,
    max_context=1_048_576,
)
