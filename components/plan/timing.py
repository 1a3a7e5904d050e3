"""When a stack serves its first token and how much of that time bills by the GPU: the critical path of a cold start.

Pure. What it predicts sets the start-up budgets too, so that no probe ends a start that is merely slow: a budget that
is too short throws the group away, which reads 1.56 TB again and never gets further.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final, Literal

from components.plan import latency
from components.plan.hardware import Machine
from components.plan.latency import Latencies, Latency
from components.plan.model import Model

Delivery = Literal["nvme", "disk", "stream", "mount", "mounted"]
"""How weights reach the GPUs: a copy on the node's own disk, a stream from the bucket, or a file system."""

BUDGET: Final = 1.5
"""A start-up budget over the 99th percentile of what it has to cover."""
_LEAST: Final = 7200
"""Seconds; NVIDIA Dynamo's K3 recipe gives as much."""
_STEP: Final = 600
_IMAGE_AND_COPY: Final = 1800


@dataclass(frozen=True, kw_only=True)
class ColdStart:
    """What decides how long a first start takes, beside model and machine."""

    cloud: str
    """A key of `latency.CLOUDS`."""
    delivery: Delivery
    workers: int
    """Pods that fill the bucket first; 0 when it isn't this stack that fills it."""
    line_gbps: float | None = None
    """Gbit/s of their way to the hub, where it is narrower than the cloud's usual one."""


@dataclass(frozen=True, kw_only=True)
class Phase:
    """One step of a cold start."""

    name: str
    takes: Latency
    after: tuple[str, ...] = ()
    """Names of the phases that must have ended."""
    bills_gpus: bool = False


@dataclass(frozen=True, kw_only=True)
class Timing:
    """A cold start, from `pulumi up` to the first token; pairs are (median, nine in ten), in seconds."""

    phases: tuple[Phase, ...]
    """In an order in which each comes after the ones that it needs."""

    @property
    def first_token(self) -> tuple[float, float]:
        """Seconds after `up` begins."""
        typical, slow = self.ends()
        return max(typical.values()), max(slow.values())

    @property
    def gpus_billed(self) -> tuple[float, float]:
        """Seconds of them in which the GPU nodes exist."""
        first = next(phase for phase in self.phases if phase.bills_gpus)
        begins = [max(ends[name] for name in first.after) for ends in self.ends()]
        return self.first_token[0] - begins[0], self.first_token[1] - begins[1]

    @property
    def engine_budget(self) -> int:
        """Seconds that the engine gets from its start to its first answer: at least two hours, in steps of ten minutes.

        1.5 times the 99th percentile of reading, compiling and initialising; the copy to the node's disk comes before.
        """
        return _budget(phase.takes.p99 for phase in self.phases if phase.name in ("load", "compile", "init"))

    @property
    def await_budget(self) -> int:
        """Seconds that `up` waits for groups on nodes that are there: copy and image too."""
        tails = (phase.takes.p99 for phase in self.phases if phase.bills_gpus and phase.name != "GPU nodes")
        return max(self.engine_budget + _IMAGE_AND_COPY, _budget(tails))

    def ends(self) -> tuple[Mapping[str, float], Mapping[str, float]]:
        """Return when each phase ends, in seconds after `up` begins: at the median, and with every phase slow."""
        return _ends(self.phases, "median"), _ends(self.phases, "p90")


def timing(start: ColdStart, model: Model, machine: Machine, nodes: int) -> Timing:
    """Return the cold start of a stack that stands nowhere yet.

    Args:
        start: The cloud, and the weights' way.
        model: What is read.
        machine: One GPU node.
        nodes: GPU nodes that read at the same time, at least 1.
    """
    takes = latency.CLOUDS[start.cloud]
    gigabits = model.weight_bytes * 8 / 1e9
    phases = [
        Phase(name="network", takes=takes.network),
        Phase(name="cluster", takes=takes.cluster, after=("network",)),
        Phase(name="CPU nodes", takes=takes.cpu_nodes, after=("cluster",)),
        Phase(name="controllers", takes=takes.controllers, after=("CPU nodes",)),
    ]
    if start.workers:
        phases.append(Phase(name="weights", takes=_copy(takes, gigabits, start), after=("CPU nodes",)))
    return Timing(phases=(*phases, *_on_gpus(start, machine, nodes, gigabits, tuple(each.name for each in phases[3:]))))


def _on_gpus(start: ColdStart, machine: Machine, nodes: int, gigabits: float, before: tuple[str, ...]) -> list[Phase]:
    """Return what happens while GPUs bill; the image is pulled beside a copy of the weights, see `image_pull`."""
    takes, copies = latency.CLOUDS[start.cloud], start.delivery in ("nvme", "disk")
    fetch = {"fetch": _fetch(takes, machine, gigabits, nodes)} if copies else {}
    beside = {**fetch, "image": takes.image}
    load = latency.LOAD_FROM_DISK if copies else latency.STREAM
    load = latency.MOUNTED if start.delivery in ("mount", "mounted") else load
    return [
        Phase(name="GPU nodes", takes=takes.gpu_nodes, after=before, bills_gpus=True),
        *(Phase(name=name, takes=span, after=("GPU nodes",), bills_gpus=True) for name, span in beside.items()),
        Phase(name="load", takes=load, after=tuple(beside), bills_gpus=True),
        Phase(name="compile", takes=latency.COMPILE[machine.gpu.generation], after=("load",), bills_gpus=True),
        Phase(name="init", takes=latency.INIT, after=("compile",), bills_gpus=True),
    ]


def _copy(takes: Latencies, gigabits: float, start: ColdStart) -> Latency:
    limits = [limit for limit in (takes.writes_gbps, start.line_gbps) if limit is not None]
    rate = min(start.workers * latency.COPY_GBPS_PER_POD, latency.HUB_GBPS, *limits)
    return latency.usual(gigabits / rate, f"{rate:g} Gbit/s from the hub")


def _fetch(takes: Latencies, machine: Machine, gigabits: float, nodes: int) -> Latency:
    line = machine.network_gbps or latency.FETCH_GBPS_PER_NODE
    shared = takes.reads_gbps / nodes if takes.reads_gbps else line
    rate = min(latency.FETCH_SHARE_OF_LINE * min(line, shared), latency.FETCH_GBPS_PER_NODE)
    return latency.usual(gigabits / rate, f"{rate:.0f} Gbit/s a node")


def _budget(tails: Iterable[float]) -> int:
    return max(_LEAST, ceil(BUDGET * sum(tails) / _STEP) * _STEP)


def _ends(phases: Sequence[Phase], quantile: Literal["median", "p90"]) -> Mapping[str, float]:
    found: dict[str, float] = {}
    for phase in phases:
        takes = phase.takes.median if quantile == "median" else phase.takes.p90
        found[phase.name] = max((found[name] for name in phase.after), default=0.0) + takes
    return found
