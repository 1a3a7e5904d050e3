"""How one replica is cut over GPUs: parallel sizes, nodes, and what follows for each GPU's share of the model."""

from dataclasses import dataclass
from typing import Final, Literal

from components.plan.model import Model

Interconnect = Literal["single", "mnnvl", "rdma", "tcp"]
"""What joins the nodes of a replica; `single` when there is one node only."""

TENSOR_PARALLEL_SIZES: Final = (1, 2, 4, 8, 16, 32)
"""96 heads and a vocabulary of 163,840 must both divide; 3, 6 and 12 pass vLLM's config and fail in the worker."""

_KERNEL_WIDTH: Final = 128
"""The MXFP4 kernels round a rank's expert width up to this (vllm fused_moe/oracle/mxfp4.py)."""
_KDA_GROUPS: Final = 3
"""vLLM puts the KDA layers into three cache groups beside the one of the MLA layers."""


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The parallel sizes of one replica."""

    tensor_parallel: int
    pipeline_parallel: int = 1
    data_parallel: int = 1
    expert_parallel: bool = False
    nodes: int = 1
    """Nodes of one replica, each running one pod."""
    interconnect: Interconnect = "single"

    @property
    def world_size(self) -> int:
        """GPUs of one replica."""
        return self.tensor_parallel * self.pipeline_parallel * self.data_parallel

    def tensor_parallel_spans_nodes(self, gpus_per_node: int) -> bool:
        """Whether one tensor-parallel group has members on more than one node."""
        return self.tensor_parallel > gpus_per_node

    def __str__(self) -> str:
        """The field's short form, such as `TP8 x PP2 on 2 nodes (rdma)`."""
        parts = [f"TP{self.tensor_parallel}"]
        parts += [f"PP{self.pipeline_parallel}"] if self.pipeline_parallel > 1 else []
        parts += [f"DP{self.data_parallel}"] if self.data_parallel > 1 else []
        parts += ["EP"] if self.expert_parallel else []
        nodes = "1 node" if self.nodes == 1 else f"{self.nodes} nodes ({self.interconnect})"
        return f"{' x '.join(parts)} on {nodes}"


def stage_layers(layers: int, pipeline_parallel: int) -> list[int]:
    """Return the layers of each pipeline stage, as vLLM cuts them (distributed/utils.py).

    The remainder goes to the stages before the last one: 93 layers are 47+46, 31x3 or 23+23+24+23.
    """
    base, remainder = divmod(layers, pipeline_parallel)
    stages = [base] * pipeline_parallel
    for index in range(2, remainder + 2):
        stages[-index] += 1
    return stages


def cache_group_layers(model: Model, pipeline_parallel: int) -> int:
    """Return the layers of the largest KV cache group on any stage; one cache block costs a page for each.

    The MLA layers are every fourth layer and the last one (config.json: full_attn_layers 4, 8, ..., 92, 93).
    """
    largest, first = 0, 1
    for count in stage_layers(model.layers, pipeline_parallel):
        stage = range(first, first + count)
        attention = sum(1 for layer in stage if layer % 4 == 0 or layer == model.layers)
        recurrent = -(-(count - attention) // _KDA_GROUPS)
        largest, first = max(largest, attention, recurrent), first + count
    return largest


def padded_expert_width(model: Model, layout: Layout) -> int:
    """Return the share of an expert that one rank holds, in columns, with the padding that vLLM adds."""
    if layout.expert_parallel:
        return model.expert_width
    width = max(model.expert_width // layout.tensor_parallel, model.expert_width_minimum)
    return -(-width // _KERNEL_WIDTH) * _KERNEL_WIDTH


def weights_gb(model: Model, layout: Layout) -> float:
    """Return the decimal GB of weights on the fullest GPU."""
    if layout.expert_parallel:
        experts = model.routed_expert_gb / (layout.tensor_parallel * layout.data_parallel)
    else:
        experts = model.routed_expert_gb * padded_expert_width(model, layout) / model.expert_width
    whole = experts + model.shared_gb / layout.tensor_parallel + model.replicated_gb
    fullest = max(stage_layers(model.layers, layout.pipeline_parallel))
    return whole * fullest / model.layers
