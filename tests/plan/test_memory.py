"""The memory arithmetic against figures that others measured or that vLLM's own planner prints."""

import pytest

from components.plan.hardware import CATALOGUE
from components.plan.layout import Layout, cache_group_layers, padded_expert_width, stage_layers, weights_gb
from components.plan.memory import memory
from components.plan.model import KIMI_K3
from components.plan.profile import profile


@pytest.mark.parametrize(
    ("stages", "want"),
    [
        (1, [93]),
        (2, [47, 46]),
        (3, [31, 31, 31]),
        (4, [23, 23, 24, 23]),  # vllm 0.33.0 distributed/utils.py, run on the published config
    ],
)
def test_layers_are_cut_as_vllm_cuts_them(stages: int, want: list[int]) -> None:
    assert stage_layers(93, stages) == want


@pytest.mark.parametrize(("stages", "want"), [(1, 24), (2, 13), (3, 9), (4, 7), (5, 6), (6, 5), (8, 4)])
def test_largest_cache_group_of_a_stage(stages: int, want: int) -> None:
    # The planner's groups: one of 24 MLA layers, three of 23 KDA layers.
    assert cache_group_layers(KIMI_K3, stages) == want


@pytest.mark.parametrize(
    ("tensor_parallel", "state", "fp8_block", "fp8_page", "bf16_block"),
    [
        (4, 1_628_160, 2944, 1_695_744, 1536),
        (8, 814_080, 1536, 884_736, 768),
        (16, 407_040, 768, 442_368, 384),
        (32, 203_520, 384, 221_184, 256),
    ],
)
def test_block_sizes_are_those_of_the_engines_log(
    tensor_parallel: int, state: int, fp8_block: int, fp8_page: int, bf16_block: int
) -> None:
    layout = Layout(tensor_parallel=tensor_parallel)
    fp8 = memory(KIMI_K3, layout, profile("blackwell", layout), 288.4, draft_tokens=0, prefix_caching=True).cache
    bf16 = memory(KIMI_K3, layout, profile("hopper", layout), 150.75, draft_tokens=0, prefix_caching=True).cache
    assert KIMI_K3.kda_state_bytes(tensor_parallel, 0) == state
    assert (fp8.block_tokens, fp8.block_bytes) == (fp8_block, 24 * fp8_page)
    assert bf16.block_tokens == bf16_block


@pytest.mark.parametrize(
    ("layout", "want"),
    [
        (Layout(tensor_parallel=8), 206.5),  # "Model loading took 192.31 GiB" = 206.5 GB, vllm PR #50817
        (Layout(tensor_parallel=16), 139.9),  # 120.5 GB of padded experts, vllm #51124, and 19.4 of the rest
        (Layout(tensor_parallel=16, expert_parallel=True), 109.8),
        (Layout(tensor_parallel=8, pipeline_parallel=2), 104.4),  # 206.5 x 47 / 93
        (Layout(tensor_parallel=8, pipeline_parallel=4), 53.3),  # 206.5 x 24 / 93
        (Layout(tensor_parallel=32), 136.7),  # padded like TP16: 120.5 + 3.2 + 13
        (Layout(tensor_parallel=32, expert_parallel=True), 61.4),
    ],
)
def test_weights_of_the_fullest_gpu(layout: Layout, want: float) -> None:
    assert weights_gb(KIMI_K3, layout) == pytest.approx(want, abs=0.1)


@pytest.mark.parametrize(("tensor_parallel", "want"), [(4, 768), (8, 384), (16, 256), (32, 256)])
def test_experts_are_padded_from_sixteen_ranks_on(tensor_parallel: int, want: int) -> None:
    assert padded_expert_width(KIMI_K3, Layout(tensor_parallel=tensor_parallel)) == want


def test_a_full_sequence_takes_what_the_planner_says() -> None:
    layout = Layout(tensor_parallel=8)
    share = memory(KIMI_K3, layout, profile("blackwell", layout), 288.4, draft_tokens=0, prefix_caching=True)
    # 692 blocks of 21.23 MB; a sequence of one block still holds 9 more: 191 MB of state.
    assert share.kv_per_million_tokens == pytest.approx(14.69, abs=0.01)
    assert share.cache.fixed_blocks * share.cache.block_bytes == pytest.approx(191e6, rel=0.01)


def test_eight_b300_hold_three_sequences_of_a_million_tokens() -> None:
    layout = Layout(tensor_parallel=8)
    gpu = CATALOGUE["8xB300"].gpu.memory_gb
    share = memory(KIMI_K3, layout, profile("blackwell", layout), gpu, draft_tokens=0, prefix_caching=True)
    assert share.cache.sequences(1_048_576) == 3
    # 0.95 x 288.4 - 206.5 - 10
    assert share.kv_cache == pytest.approx(57.5, abs=0.2)


def test_the_draft_model_costs_memory_and_states() -> None:
    layout = Layout(tensor_parallel=8)
    without = memory(KIMI_K3, layout, profile("blackwell", layout), 288.4, draft_tokens=0, prefix_caching=True)
    with_draft = memory(KIMI_K3, layout, profile("blackwell", layout), 288.4, draft_tokens=8, prefix_caching=True)
    assert with_draft.weights - without.weights == pytest.approx(9.5)
    assert with_draft.cache.fixed_blocks == 3 * (2 + 8 + 1)


def test_without_prefix_caching_a_sequence_holds_one_state_a_group() -> None:
    layout = Layout(tensor_parallel=8)
    share = memory(KIMI_K3, layout, profile("blackwell", layout), 288.4, draft_tokens=0, prefix_caching=False)
    assert share.cache.fixed_blocks == 3
