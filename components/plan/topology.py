"""The layout of a replica on a machine: the one that the recipe recommends, or the one that was asked for, checked.

One rule chooses: tensor parallelism fills the NVLink domain, pipeline stages cross what is slower, on the fewest nodes
that hold the model. It gives TP8 on eight B300, TP8 on two GB300 trays, TP16 on four GB200 trays, and TP8 x PPn on
eight-GPU nodes that are too small alone: the layouts of vLLM's recipe, of NVIDIA Dynamo's for H200 and of InferenceX's.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from components.faults import Fault
from components.plan.hardware import Machine
from components.plan.layout import (
    TENSOR_PARALLEL_SIZES,
    Interconnect,
    Layout,
    padded_expert_width,
)
from components.plan.memory import Memory, memory
from components.plan.model import Model
from components.plan.profile import profile

MAX_NODES: Final = 8
"""Nodes of one replica that an automatic layout tries."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a stack file asks of a layout; sizes that are None are chosen."""

    tensor_parallel: int | None = None
    pipeline_parallel: int | None = None
    data_parallel: int | None = None
    expert_parallel: bool = False
    interconnect: Interconnect | None = None
    draft_tokens: int = 0
    prefix_caching: bool = True
    max_model_len: int | None = None

    @property
    def automatic(self) -> bool:
        """Whether the plan chooses the sizes."""
        return (self.tensor_parallel, self.pipeline_parallel, self.data_parallel) == (None, None, None)


def layouts(machine: Machine, request: Request) -> Iterator[Layout]:
    """Yield what may be meant, best first: one layout for explicit sizes, one for each number of nodes otherwise."""
    if not request.automatic:
        yield _explicit(machine, request)
        return
    for nodes in range(1, MAX_NODES + 1):
        between = _interconnect(machine, request, nodes)
        # The draft model has no pipeline stages, so with it tensor parallelism crosses RDMA too.
        whole = between in ("single", "mnnvl") or (between == "rdma" and request.draft_tokens > 0)
        tensor_parallel = machine.gpus * nodes if whole else machine.gpus
        if tensor_parallel in TENSOR_PARALLEL_SIZES:
            yield Layout(
                tensor_parallel=tensor_parallel,
                pipeline_parallel=machine.gpus * nodes // tensor_parallel,
                expert_parallel=request.expert_parallel,
                nodes=nodes,
                interconnect=between,
            )


def choose(model: Model, machine: Machine, request: Request) -> tuple[Layout | None, list[Fault]]:
    """Return the first layout without a fault, or the telling faults: those of the first that is large enough."""
    telling: list[Fault] = []
    for layout in layouts(machine, request):
        found = faults(model, machine, layout, request)
        if not found:
            return layout, []
        if not telling or telling[0].key == "machine":
            telling = found
    return None, telling


def faults(model: Model, machine: Machine, layout: Layout, request: Request) -> list[Fault]:
    """Return why this layout can't serve the model on this machine: all reasons, with the arithmetic."""
    found = [*_size_faults(machine, layout), *_network_faults(machine, layout, request)]
    if request.draft_tokens and layout.pipeline_parallel > 1:
        found.append(
            Fault(
                key="serving.speculativeDecoding",
                given=True,
                allowed=f"DSpark doesn't run with pipeline stages ({layout}; vllm-project/vllm #50098)",
                instead="false, or a topology with pipelineParallel: 1",
            )
        )
    return found or _memory_faults(model, machine, layout, request)


def measured(model: Model, machine: Machine, layout: Layout, request: Request) -> Memory:
    """Return the memory of one GPU under the layout's profile."""
    return memory(
        model,
        layout,
        profile(machine.gpu.generation, layout),
        machine.gpu.memory_gb,
        draft_tokens=request.draft_tokens,
        prefix_caching=request.prefix_caching,
    )


def why_not_fewer(model: Model, machine: Machine, nodes: int) -> str:
    """Return the arithmetic that makes this many nodes too few for one replica."""
    total = nodes * machine.memory_gb
    share = f"{nodes} x {machine.gpus} x {machine.gpu.memory_gb:g} GB = {total:,.0f} GB"
    weights = model.weight_bytes / 1e9
    if total < model.floor_gb:
        return f"{share} of GPU memory, and the model needs {model.floor_gb:,.0f} GB ({weights:,.0f} GB of weights)"
    if nodes * machine.gpus < machine.gpu.minimum_gpus:
        return f"{nodes * machine.gpus} GPUs, and the recipe needs {machine.gpu.minimum_gpus} of this type"
    return f"{share}, without a legal layout that fits"


def _explicit(machine: Machine, request: Request) -> Layout:
    stages, replicas = request.pipeline_parallel or 1, request.data_parallel or 1
    tensor_parallel = request.tensor_parallel or machine.gpus
    nodes = max(1, -(-tensor_parallel * stages * replicas // machine.gpus))
    return Layout(
        tensor_parallel=tensor_parallel,
        pipeline_parallel=stages,
        data_parallel=replicas,
        expert_parallel=request.expert_parallel,
        nodes=nodes,
        interconnect=_interconnect(machine, request, nodes),
    )


def _interconnect(machine: Machine, request: Request, nodes: int) -> Interconnect:
    if nodes == 1:
        return "single"
    if request.interconnect:
        return request.interconnect
    if machine.multi_node_nvlink:
        return "mnnvl"
    # eRDMA has to be asked for: no stock image has its libraries, and without them NCCL takes TCP and says nothing.
    return "tcp" if machine.fabric in ("none", "erdma") else "rdma"


def _size_faults(machine: Machine, layout: Layout) -> list[Fault]:
    found: list[Fault] = []
    if layout.tensor_parallel not in TENSOR_PARALLEL_SIZES:
        found.append(
            Fault(
                key="topology.tensorParallel",
                given=layout.tensor_parallel,
                allowed="96 heads and a vocabulary of 163,840 must both divide by it: 1, 2, 4, 8, 16 or 32",
                instead=str(max(size for size in TENSOR_PARALLEL_SIZES if size <= max(layout.tensor_parallel, 1))),
            )
        )
    if layout.world_size != layout.nodes * machine.gpus:
        found.append(
            Fault(
                key="topology",
                given=str(layout),
                allowed=f"tensor x pipeline x data parallel = {layout.world_size} GPUs is no whole number of nodes "
                f"with {machine.gpus} GPUs",
                instead=f"sizes whose product is {layout.nodes * machine.gpus}, or auto",
            )
        )
    spread = layout.expert_parallel and layout.data_parallel > 1 and layout.tensor_parallel > 1
    if spread and layout.pipeline_parallel > 1:
        found.append(
            Fault(
                key="topology",
                given=str(layout),
                allowed="vLLM has no sequence parallelism with pipeline stages, which expert, data and tensor "
                "parallelism together need",
                instead="pipelineParallel: 1, or dataParallel: 1",
            )
        )
    return found


def _network_faults(machine: Machine, layout: Layout, request: Request) -> list[Fault]:
    found: list[Fault] = []
    if request.interconnect == "mnnvl" and layout.nodes * machine.gpus > machine.nvlink_domain:
        found.append(
            Fault(
                key="topology.interconnect",
                given="mnnvl",
                allowed=f"one NVLink domain of {machine.name} joins {machine.nvlink_domain} GPUs, "
                f"the replica has {layout.nodes * machine.gpus}",
                instead="rdma" if machine.fabric != "none" else "tcp",
            )
        )
    # A generic machine of one's own may have any network.
    if request.interconnect == "rdma" and machine.fabric == "none" and machine.cloud != "any":
        found.append(
            Fault(
                key="topology.interconnect",
                given="rdma",
                allowed=f"{machine.name} has no RDMA network",
                instead="mnnvl" if machine.multi_node_nvlink else "tcp",
            )
        )
    if layout.interconnect == "tcp" and layout.tensor_parallel_spans_nodes(machine.gpus):
        found.append(
            Fault(
                key="topology.tensorParallel",
                given=layout.tensor_parallel,
                allowed="tensor parallelism over more than one node needs NVLink or RDMA between them, not TCP",
                instead=f"tensorParallel: {machine.gpus}, pipelineParallel: {layout.nodes}",
            )
        )
    return found


def _memory_faults(model: Model, machine: Machine, layout: Layout, request: Request) -> list[Fault]:
    total = layout.nodes * machine.memory_gb
    if total < model.floor_gb or layout.nodes * machine.gpus < machine.gpu.minimum_gpus:
        return [
            Fault(
                key="machine",
                given=machine.name,
                allowed=f"{layout}: {why_not_fewer(model, machine, layout.nodes)}",
                instead="a larger machine, or a topology over more nodes",
            )
        ]
    share = measured(model, machine, layout, request)
    if share.cache.sequences(1024) < 1:
        padding = _padding(model, layout)
        return [
            Fault(
                key="topology",
                given=str(layout),
                allowed=f"each GPU of {machine.gpu.memory_gb:g} GB may use {share.usable:.1f} GB; weights "
                f"{share.weights:.1f} GB{padding} and activations {share.activations:.1f} GB leave "
                f"{share.kv_cache:.1f} GB for the KV cache",
                instead="auto, or more pipeline stages instead of more tensor parallelism",
            )
        ]
    asked = request.max_model_len
    if asked is not None and asked > share.cache.longest:
        return [
            Fault(
                key="serving.maxModelLen",
                given=asked,
                allowed=f"{layout} leaves {share.kv_cache:.1f} GB a GPU for the KV cache: at most "
                f"{share.cache.longest:,} tokens",
                instead=f"{share.cache.longest}, or auto",
            )
        ]
    return []


def _padding(model: Model, layout: Layout) -> str:
    own, padded = model.expert_width // layout.tensor_parallel, padded_expert_width(model, layout)
    if layout.expert_parallel or padded <= own:
        return ""
    return f" (experts padded from {own} to {padded} columns a rank: vllm-project/vllm #51124)"


def warnings(model: Model, machine: Machine, layout: Layout, *, own_image: bool = False) -> list[str]:
    """Return what a person should know of a layout that does work, and of the stock image unless theirs is another."""
    notes: list[str] = []
    own, padded = model.expert_width // layout.tensor_parallel, padded_expert_width(model, layout)
    if not layout.expert_parallel and padded > own:
        waste = model.routed_expert_gb * (padded - own) / model.expert_width / layout.pipeline_parallel
        notes.append(f"TP{layout.tensor_parallel} without expert parallelism pads experts: {waste:.0f} GB a GPU")
    if machine.gpu.generation == "hopper" and layout.tensor_parallel >= 16 and not layout.expert_parallel:
        notes.append("Hopper with TP16: the recipe caps the context at 32,768 tokens and 5 sequences")
    if layout.interconnect == "rdma" and machine.fabric == "efa" and not own_image:
        notes.append(
            "the stock vLLM image has no EFA plugin and NCCL falls back to TCP silently: set serving.image to one "
            "that has aws-ofi-nccl (vllm-project/vllm #55635)"
        )
    if layout.interconnect == "mnnvl":
        notes.append(
            "each NVLink domain among the nodes must have room for whole groups: a leader that lands in a smaller one "
            "waits for its workers for ever"
        )
    if layout.interconnect == "tcp":
        notes.append("the nodes of a replica talk over TCP: pipeline stages only, with higher latency")
    return [*notes, *machine.notes]
