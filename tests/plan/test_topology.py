"""Which layouts are chosen, which are refused and with what words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.plan.hardware import CATALOGUE
from components.plan.layout import TENSOR_PARALLEL_SIZES
from components.plan.model import KIMI_K3
from components.plan.topology import Request, choose, measured, warnings
from tests.stacks import loaded


@pytest.mark.parametrize(
    ("machine", "want"),
    [
        ("p6-b300.48xlarge", "TP8 on 1 node"),
        ("8xMI355X", "TP8 on 1 node"),
        ("Standard_ND128isr_GB300_v6", "TP8 on 2 nodes (mnnvl)"),
        ("a4x-maxgpu-4g-metal", "TP8 on 2 nodes (mnnvl)"),
        ("Standard_ND128isr_NDR_GB200_v6", "TP16 on 4 nodes (mnnvl)"),
        ("a4x-highgpu-4g", "TP16 on 4 nodes (mnnvl)"),
        ("p6-b200.48xlarge", "TP8 x PP2 on 2 nodes (rdma)"),
        ("a4-highgpu-8g", "TP8 x PP2 on 2 nodes (rdma)"),
        ("p5en.48xlarge", "TP8 x PP2 on 2 nodes (rdma)"),
        ("Standard_ND96isr_H200_v5", "TP8 x PP2 on 2 nodes (rdma)"),
        ("a3-ultragpu-8g", "TP8 x PP2 on 2 nodes (rdma)"),
        ("p5.48xlarge", "TP8 x PP4 on 4 nodes (rdma)"),
        ("a3-megagpu-8g", "TP8 x PP4 on 4 nodes (tcp)"),
        ("ecs.ebmgn8v.48xlarge", "TP8 x PP3 on 3 nodes (tcp)"),
    ],
)
def test_automatic_layout(machine: str, want: str) -> None:
    layout, faults = choose(KIMI_K3, CATALOGUE[machine], Request())
    assert faults == []
    assert str(layout) == want


@pytest.mark.parametrize("network", ["rdma", "tcp"])
def test_without_nvlink_between_trays_two_stages_take_its_place(network: str) -> None:
    machine = CATALOGUE["Standard_ND128isr_GB300_v6"]
    layout, faults = choose(KIMI_K3, machine, Request(interconnect="rdma" if network == "rdma" else "tcp"))
    assert faults == []
    assert str(layout) == f"TP4 x PP2 on 2 nodes ({network})"


@pytest.mark.parametrize(
    ("machine", "sizes", "telling"),
    [
        # The guide's table: these total less than 1,680 GB.
        ("8xB200", {"tensor_parallel": 8}, "1 x 8 x 192.27 GB = 1,538 GB of GPU memory"),
        ("8xH200", {"tensor_parallel": 8}, "1 x 8 x 150.75 GB = 1,206 GB of GPU memory"),
        ("4xGB200", {"tensor_parallel": 8}, "2 x 4 x 198.67 GB = 1,589 GB of GPU memory"),
        ("ecs.ebmgn8v.48xlarge", {"tensor_parallel": 8, "pipeline_parallel": 2}, "the model needs 1,680 GB"),
        # vllm #51124: padded experts, 136.7 GB a GPU.
        ("p5.48xlarge", {"tensor_parallel": 32}, "experts padded from 96 to 256 columns a rank"),
        ("8xB300", {"tensor_parallel": 1, "data_parallel": 8, "expert_parallel": True}, "weights 295.4 GB"),
        ("8xB300", {"tensor_parallel": 12}, "1, 2, 4, 8, 16 or 32"),
        ("8xB300", {"tensor_parallel": 64}, "1, 2, 4, 8, 16 or 32"),
        ("8xB300", {"tensor_parallel": 4}, "4 GPUs is no whole number of nodes with 8 GPUs"),
        ("p6-b200.48xlarge", {"tensor_parallel": 8, "pipeline_parallel": 3, "data_parallel": 1}, ""),
        ("a3-megagpu-8g", {"tensor_parallel": 16}, "needs NVLink or RDMA between them, not TCP"),
        ("8xB300", {"tensor_parallel": 8, "interconnect": "mnnvl", "pipeline_parallel": 2}, "joins 8 GPUs"),
        ("a3-megagpu-8g", {"pipeline_parallel": 4, "interconnect": "rdma"}, "has no RDMA network"),
        (
            "p6-b200.48xlarge",
            {"tensor_parallel": 2, "pipeline_parallel": 2, "data_parallel": 4, "expert_parallel": True},
            "no sequence parallelism with pipeline stages",
        ),
        ("p5en.48xlarge", {"tensor_parallel": 16, "max_model_len": 500_000}, "at most 107,904 tokens"),
    ],
)
def test_explicit_layout_is_checked(machine: str, sizes: dict[str, object], telling: str) -> None:
    request = Request(**sizes)  # pyright: ignore[reportArgumentType]
    layout, faults = choose(KIMI_K3, CATALOGUE[machine], request)
    if not telling:
        assert layout is not None
        return
    assert layout is None
    assert telling in "\n".join(map(str, faults))


@pytest.mark.parametrize(
    ("machine", "sizes"),
    [
        ("p5.48xlarge", {"tensor_parallel": 32, "expert_parallel": True}),
        ("p5.48xlarge", {"tensor_parallel": 8, "pipeline_parallel": 4}),
        ("p5en.48xlarge", {"tensor_parallel": 16}),
        ("p5en.48xlarge", {"tensor_parallel": 16, "expert_parallel": True}),
        ("p6-b200.48xlarge", {"tensor_parallel": 16}),
        ("8xMI355X", {"tensor_parallel": 8}),
        # The recipe's DEP needs 16 GPUs: 90.4 GB of experts and 114.6 GB of the rest on each.
        ("p6-b300.48xlarge", {"tensor_parallel": 1, "data_parallel": 16, "expert_parallel": True}),
        ("ecs.ebmgn8v.48xlarge", {"tensor_parallel": 8, "pipeline_parallel": 4}),
    ],
)
def test_explicit_layouts_of_the_guide_fit(machine: str, sizes: dict[str, object]) -> None:
    layout, faults = choose(KIMI_K3, CATALOGUE[machine], Request(**sizes))  # pyright: ignore[reportArgumentType]
    assert faults == []
    assert layout is not None


def test_fewer_h100_than_the_recipes_floor_are_refused() -> None:
    _, faults = choose(KIMI_K3, CATALOGUE["p5.48xlarge"], Request(tensor_parallel=8, pipeline_parallel=3))
    assert "24 GPUs, and the recipe needs 32 of this type" in str(faults[0])


def test_the_draft_model_is_refused_with_stages_and_says_how_to_go_on() -> None:
    _, faults = choose(KIMI_K3, CATALOGUE["a3-megagpu-8g"], Request(draft_tokens=8))
    assert faults[0].key == "serving.speculativeDecoding"
    assert "pipelineParallel: 1" in faults[0].instead


def test_the_draft_model_makes_tensor_parallelism_cross_rdma() -> None:
    layout, faults = choose(KIMI_K3, CATALOGUE["a4-highgpu-8g"], Request(draft_tokens=8))
    assert faults == []
    assert str(layout) == "TP16 on 2 nodes (rdma)"


def test_warnings_name_padding_hopper_caps_and_the_missing_efa_plugin() -> None:
    machine = CATALOGUE["p5en.48xlarge"]
    layout, _ = choose(KIMI_K3, machine, Request(tensor_parallel=16))
    assert layout is not None
    text = "\n".join(warnings(KIMI_K3, machine, layout))
    assert "30 GB a GPU" in text  # 1446.4 GB x (256 - 192) / 3072
    assert "32,768 tokens and 5 sequences" in text
    assert "no EFA plugin" in text


@given(
    machine=st.sampled_from(sorted(CATALOGUE)),
    tensor_parallel=st.one_of(st.none(), st.sampled_from((*TENSOR_PARALLEL_SIZES, 3, 12, 64))),
    pipeline_parallel=st.one_of(st.none(), st.integers(1, 8)),
    data_parallel=st.one_of(st.none(), st.integers(1, 16)),
    expert_parallel=st.booleans(),
    draft_tokens=st.sampled_from((0, 8)),
)
def test_whatever_is_chosen_is_whole_nodes_and_fits(
    machine: str,
    tensor_parallel: int | None,
    pipeline_parallel: int | None,
    data_parallel: int | None,
    expert_parallel: bool,
    draft_tokens: int,
) -> None:
    request = Request(
        tensor_parallel=tensor_parallel,
        pipeline_parallel=pipeline_parallel,
        data_parallel=data_parallel,
        expert_parallel=expert_parallel,
        draft_tokens=draft_tokens,
    )
    layout, faults = choose(KIMI_K3, CATALOGUE[machine], request)
    assert (layout is None) == bool(faults)
    if layout is None:
        return
    share = measured(KIMI_K3, CATALOGUE[machine], layout, request)
    assert layout.world_size == layout.nodes * CATALOGUE[machine].gpus
    assert layout.tensor_parallel in TENSOR_PARALLEL_SIZES
    assert layout.nodes * CATALOGUE[machine].memory_gb >= 1680
    assert share.weights + share.activations < share.usable < share.gpu
    assert share.cache.sequences(1024) >= 1


def test_an_image_of_ones_own_isnt_taken_for_the_stock_one() -> None:
    _, stock = loaded("p5en.48xlarge", nodes=2)
    _, own = loaded("p5en.48xlarge", nodes=2, serving={"image": "registry.example.com/vllm-efa:0.33.0"})
    assert any("EFA plugin" in warning for warning in stock.warnings)
    assert not any("EFA plugin" in warning for warning in own.warnings)
