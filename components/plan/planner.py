"""From settings to a checked plan: which machines, which layout, whether it fits and what it costs."""

from dataclasses import dataclass
from typing import Final

from components.faults import Fault, nearest
from components.plan.cost import ApiPrices, Cost, cost
from components.plan.hardware import CATALOGUE, Gpu, Machine, PriceRange
from components.plan.layout import Layout
from components.plan.memory import Memory
from components.plan.model import KIMI_K3, Model
from components.plan.profile import Profile, profile
from components.plan.timing import Timing, timing
from components.plan.topology import Request, choose, measured, warnings, why_not_fewer
from components.settings import CustomMachine, Prices, StackSettings

HOST_LIMIT: Final = 0.9
"""Share of a node's RAM that pods may plan with; the rest is the system's."""
STREAMER_GIB_PER_RANK: Final = 16
"""Host memory that the streaming loader gets for each GPU of a node."""
_ENGINE_GIB_PER_RANK: Final = 16
"""Host memory of one engine process: about 10 GiB at rest, more while it loads (estimate)."""
_IMAGE_GB: Final = 30
"""vLLM's image unpacked."""
CACHE_GIB: Final = 100
"""Node storage of one pod for compiled kernels and logs."""
_GIB_TO_GB: Final = 1.073741824


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A layout that was checked: everything that the cloud and the serving part need to know."""

    model: Model
    machine: Machine
    layout: Layout
    """One replica."""
    replicas: int
    """Replicas that run; 0 while the stack is parked."""
    profile: Profile
    memory: Memory
    max_model_len: int | None
    """Tokens of one sequence; None lets the engine find the longest."""
    draft_tokens: int
    image: str
    """The engine's image, before any mirror."""
    host_memory_gib: int
    """RAM that one pod plans with, all its ranks together."""
    cost: Cost
    timing: Timing
    """A first start, from nothing."""
    warnings: tuple[str, ...]

    @property
    def gpu_nodes(self) -> int:
        """GPU nodes that run."""
        return self.replicas * self.layout.nodes

    @property
    def longest_context(self) -> int:
        """Tokens of the longest sequence that fits and that the model and the recipe allow."""
        limits = (self.memory.cache.longest, self.model.max_context, self.profile.max_model_len)
        return min(limit for limit in limits if limit is not None)

    @property
    def full_length_sequences(self) -> int:
        """Sequences of the longest context that one replica runs at once."""
        return self.memory.cache.sequences(self.max_model_len or self.longest_context)


def make_plan(settings: StackSettings) -> tuple[Plan | None, list[Fault]]:
    """Return the plan, or None and every reason why there is none."""
    machine, found = chosen_machine(settings)
    if machine is None:
        return None, found
    request = _request(settings)
    layout, layout_faults = choose(KIMI_K3, machine, request)
    if layout is None:
        return None, [*found, *layout_faults]
    found += _node_faults(settings, machine, layout)
    host_memory = _host_memory_gib(settings, machine)
    found += [*_host_faults(settings, machine, host_memory), *_disk_faults(settings, machine, request)]
    image = settings.serving.image or _image(machine)
    found += image_faults(image, machine)
    engine = profile(machine.gpu.generation, layout)
    share = measured(KIMI_K3, machine, layout, request)
    plan = Plan(
        model=KIMI_K3,
        machine=machine,
        layout=layout,
        replicas=settings.served_replicas,
        profile=engine,
        memory=share,
        max_model_len=_max_model_len(settings, engine, share),
        draft_tokens=request.draft_tokens,
        image=image,
        host_memory_gib=host_memory,
        cost=_cost(settings, machine, layout),
        timing=timing(settings.cold_start, KIMI_K3, machine, max(settings.served_replicas, 1) * layout.nodes),
        warnings=tuple(warnings(KIMI_K3, machine, layout, own_image=settings.serving.image is not None)),
    )
    return (None if found else plan), found


def chosen_machine(settings: StackSettings) -> tuple[Machine | None, list[Fault]]:
    """Return the machine of the catalogue or the custom one, or why there is none."""
    choice = settings.machine
    if choice.custom is not None and choice.name is None:
        return _custom(choice.custom), []
    known = CATALOGUE.get(choice.name or "")
    if known is not None and choice.custom is None:
        return known, []
    close = nearest(choice.name or "", list(CATALOGUE))
    return None, [
        Fault(
            key="machine",
            given=choice.name,
            allowed="either a type of the catalogue or custom: {...}; the catalogue has " + ", ".join(CATALOGUE),
            instead=close or "custom: {gpu: ..., gpus: ..., gpuMemoryGb: ..., generation: ...}",
        )
    ]


def _custom(custom: CustomMachine) -> Machine:
    return Machine(
        name="custom",
        cloud="any",
        gpu=Gpu(
            name=custom.gpu,
            memory_gb=custom.gpu_memory_gb,
            marketed_gb=round(custom.gpu_memory_gb),
            generation=custom.generation,
        ),
        gpus=custom.gpus,
        architecture=custom.architecture,
        nvlink_domain=custom.nvlink_domain or custom.gpus,
        fabric=custom.fabric,
        fabric_gbps=0,
        network_gbps=0,
        nvme_gb=custom.nvme_gb,
        ram_gb=custom.ram_gb,
        vcpus=custom.vcpus,
        price=None,
        gpu_resource=custom.gpu_resource,
    )


def _request(settings: StackSettings) -> Request:
    topology, serving = settings.topology, settings.serving
    return Request(
        tensor_parallel=topology.tensor_parallel,
        pipeline_parallel=topology.pipeline_parallel,
        data_parallel=topology.data_parallel,
        expert_parallel=topology.expert_parallel,
        interconnect=topology.interconnect,
        draft_tokens=KIMI_K3.draft_tokens if serving.speculative_decoding else 0,
        prefix_caching=serving.prefix_caching,
        max_model_len=serving.max_model_len,
    )


def _max_model_len(settings: StackSettings, engine: Profile, share: Memory) -> int | None:
    if settings.serving.max_model_len is not None:
        return settings.serving.max_model_len
    if engine.max_model_len is not None:
        return engine.max_model_len
    return KIMI_K3.max_context if share.cache.longest >= KIMI_K3.max_context else None


def _node_faults(settings: StackSettings, machine: Machine, layout: Layout) -> list[Fault]:
    """Refuse what the nodes that there are can't hold: groups would wait for each other, and all would bill."""
    available, replicas = settings.gpu_nodes, settings.served_replicas
    surge = settings.serving.rollout.max_surge
    needed = replicas * layout.nodes
    found: list[Fault] = []
    if available is not None and needed > available:
        fewer = ""
        if layout.nodes > 1:
            fewer = f"; {layout.nodes - 1} would be too few: {why_not_fewer(KIMI_K3, machine, layout.nodes - 1)}"
        found.append(
            Fault(
                key="replicas",
                given=settings.replicas,
                allowed=f"{replicas} x {layout.nodes} nodes of {machine.name} = {needed} nodes, and there are "
                f"{available}{fewer}",
                instead=str(available // layout.nodes)
                if available >= layout.nodes
                else f"{needed} nodes or another machine",
            )
        )
    elif surge and (available or needed) < (replicas + surge) * layout.nodes:
        found.append(
            Fault(
                key="serving.rollout.maxSurge",
                given=surge,
                allowed=f"({replicas} + {surge}) x {layout.nodes} = {(replicas + surge) * layout.nodes} nodes, and "
                f"there are {available or needed}: the new group would wait for the old one for ever",
                instead="0",
            )
        )
    return found


def _image(machine: Machine) -> str:
    return KIMI_K3.rocm_image if machine.gpu.generation == "cdna4" else KIMI_K3.image


def image_faults(image: str, machine: Machine) -> list[Fault]:
    """Refuse an image of another architecture or GPU maker, and a reference that moves."""
    wrong_suffix = {"amd64": ("-aarch64", "-arm64"), "arm64": ("-x86_64", "-amd64")}[machine.architecture]
    rules = [
        (image.endswith(wrong_suffix), f"{machine.name} is {machine.architecture}"),
        (("rocm" in image) != (machine.gpu.generation == "cdna4"), f"{machine.name} has {machine.gpu.name} GPUs"),
        (
            image.endswith(":latest") or not _has_reference(image),
            "a tag that moves, or none, can change the engine between two pods of a group",
        ),
    ]
    return [
        Fault(key="serving.image", given=image, allowed=rule, instead=_image(machine))
        for broken, rule in rules
        if broken
    ]


def _has_reference(image: str) -> bool:
    return ":" in image.rsplit("/", 1)[-1]


def _host_memory_gib(settings: StackSettings, machine: Machine) -> int:
    """Return the RAM of one pod: what each rank takes, times the ranks of the node, plus shared memory."""
    per_rank = _ENGINE_GIB_PER_RANK + STREAMER_GIB_PER_RANK + settings.serving.kv_offload_gib_per_rank
    return per_rank * machine.gpus + settings.serving.shared_memory_gib


def _host_faults(settings: StackSettings, machine: Machine, needed: int) -> list[Fault]:
    limit = int(HOST_LIMIT * machine.ram_gb / _GIB_TO_GB)
    if needed <= limit:
        return []
    serving = settings.serving
    fixed = _ENGINE_GIB_PER_RANK + STREAMER_GIB_PER_RANK
    room = max((limit - serving.shared_memory_gib) // machine.gpus - fixed, 0)
    return [
        Fault(
            key="serving.kvOffloadGibPerRank",
            given=serving.kv_offload_gib_per_rank,
            allowed=f"{machine.gpus} ranks x ({fixed} + {serving.kv_offload_gib_per_rank}) GiB + "
            f"{serving.shared_memory_gib} GiB of shared memory = {needed} GiB, and 90 % of {machine.name}'s "
            f"{machine.ram_gb} GB is {limit} GiB",
            instead=f"at most {room}",
        )
    ]


def _disk_faults(settings: StackSettings, machine: Machine, request: Request) -> list[Fault]:
    """Refuse a copy of the weights that the node's disk can't hold beside the image and the caches."""
    weights = KIMI_K3.weight_bytes / 1e9 + (KIMI_K3.draft_gb if request.draft_tokens else 0.0)
    needed = weights + _IMAGE_GB + CACHE_GIB * _GIB_TO_GB
    limit = HOST_LIMIT * machine.nvme_gb
    if not settings.weights_on_node or needed <= limit:
        return []
    return [
        Fault(
            key="weights.delivery",
            given="nvme",
            allowed=f"{weights:,.0f} GB of weights + {_IMAGE_GB} GB of image + {CACHE_GIB} GiB of caches = "
            f"{needed:,.0f} GB, and 90 % of the {machine.nvme_gb:,} GB of NVMe of {machine.name} is {limit:,.0f} GB",
            instead="stream",
        )
    ]


def _cost(settings: StackSettings, machine: Machine, layout: Layout) -> Cost:
    prices: Prices = settings.prices
    own = None
    if prices.hourly is not None:
        own = PriceRange(low=prices.hourly.low, high=prices.hourly.high, source="prices.hourly", checked="")
    return cost(
        machine,
        settings.served_replicas * layout.nodes,
        hourly=own,
        storage_usd_month=settings.storage_usd_month,
        platform_usd_hour=settings.platform_usd_hour,
        api=ApiPrices(
            input=prices.api_input,
            cached_input=prices.api_cached_input,
            output=prices.api_output,
            input_share=prices.usage.input_share,
            cache_hit_rate=prices.usage.cache_hit_rate,
        ),
        after_destroy=settings.after_destroy,
    )
