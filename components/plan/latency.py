"""How long the slow parts of a cold start take: a fact table like `hardware.py`, so that a wrong figure has one home.

Seconds. "measured" is the median of published logs or of a published measurement, with its day; "estimate" is ours.
Only medians are published, so the tail follows from one assumption: durations are log-normal, and nine in ten stay
below 1.4 times the median, or below twice the median for GPU nodes, whose boots are retried.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from components.plan.hardware import GpuGeneration

Basis = Literal["measured", "estimate"]

_P90: Final = 1.281552
_P99: Final = 2.326348
"""Quantiles of the standard normal distribution."""
_USUAL: Final = 1.4 ** (_P99 / _P90)
_BOOTS: Final = 2.0 ** (_P99 / _P90)
"""99th percentile over the median."""


@dataclass(frozen=True, kw_only=True)
class Latency:
    """A duration that varies."""

    median: float
    p99: float
    """At least `median`."""
    basis: Basis
    source: str

    @property
    def p90(self) -> float:
        """Nine in ten are shorter; from the log-normal distribution of the other two."""
        return self.median * (self.p99 / self.median) ** (_P90 / _P99) if self.median else 0.0

    def scaled(self, factor: float) -> "Latency":
        """Return the same for `factor` times the work."""
        return Latency(median=self.median * factor, p99=self.p99 * factor, basis=self.basis, source=self.source)


def usual(median: float, source: str = "", *, basis: Basis = "estimate") -> Latency:
    """Return a duration of which nine in ten stay below 1.4 times the median."""
    return Latency(median=median, p99=median * _USUAL, basis=basis, source=source)


def boot(median: float, source: str = "", *, basis: Basis = "estimate") -> Latency:
    """Return a duration of which nine in ten stay below twice the median."""
    return Latency(median=median, p99=median * _BOOTS, basis=basis, source=source)


@dataclass(frozen=True, kw_only=True)
class Latencies:
    """What one cloud takes, one after the other."""

    network: Latency
    """Network, subnets and the way out."""
    cluster: Latency
    """Control plane."""
    cpu_nodes: Latency
    controllers: Latency
    """Charts, and rights that take effect late."""
    gpu_nodes: Latency
    """From the request to Ready with all devices; billed from its start."""
    image: Latency
    """The engine's image, about 10 GB compressed."""
    writes_gbps: float | None = None
    """What a bucket takes in, 10^9 bits per second; None: more than any hub gives."""
    reads_gbps: float | None = None
    """What all readers of a bucket get together; None: more than the nodes take."""


_NOTHING: Final = usual(0.0, "it is there")

CLOUDS: Final[Mapping[str, Latencies]] = MappingProxyType(
    {
        "existing": Latencies(
            network=_NOTHING,
            cluster=_NOTHING,
            cpu_nodes=_NOTHING,
            controllers=usual(40),
            gpu_nodes=_NOTHING,
            image=usual(224, "vLLM 0.28 on EKS, 2026-09-17", basis="measured"),
        ),
        "aws": Latencies(
            network=usual(118, "VPC 3 s, NAT gateway 84 to 121 s in 9 logs", basis="measured"),
            cluster=usual(540, "EKS: 494 to 606 s in 4 logs", basis="measured"),
            cpu_nodes=usual(115, "2 logs", basis="measured"),
            controllers=usual(40),
            gpu_nodes=boot(180, "90 s is the fastest that was measured"),
            image=usual(224, "vLLM 0.28 on EKS, 2026-09-17", basis="measured"),
        ),
        "azure": Latencies(
            network=usual(8, "1 log", basis="measured"),
            cluster=usual(285, "AKS: 219 to 504 s in 6 logs of 2026, its first nodes included", basis="measured"),
            cpu_nodes=_NOTHING,
            controllers=usual(205, "role assignment 25 s, 120 s until it takes effect, charts 60 s"),
            gpu_nodes=boot(600),
            image=usual(240, "no artifact streaming on arm64"),
            writes_gbps=60,
            reads_gbps=120,
        ),
        "gcp": Latencies(
            network=usual(57, "VPC 22 s measured, subnet 20 s, NAT 15 s"),
            cluster=usual(529, "regional GKE with GPUs, 2025-05", basis="measured"),
            cpu_nodes=usual(94, "64 to 116 s in 4 logs", basis="measured"),
            controllers=usual(130, "90 s until an identity takes effect, charts 40 s"),
            gpu_nodes=boot(1350, "bare metal: 900 to 1,800 s, retries are common"),
            image=usual(245, "vLLM 0.27 on GKE, 2026-09-04", basis="measured"),
            reads_gbps=200,
        ),
        "alicloud": Latencies(
            network=usual(75, "VPC 8 s and vSwitch 7 s measured, NAT gateway 60 s"),
            cluster=usual(506, "ACK: 348 to 512 s", basis="measured"),
            cpu_nodes=usual(206, "2021", basis="measured"),
            controllers=usual(40),
            gpu_nodes=boot(600),
            image=usual(300),
            writes_gbps=20,
            reads_gbps=100,
        ),
    }
)
"""Network, cluster, CPU nodes: terraform logs of 2021 to 2026. Caps: each cloud's quota page for its large regions."""

HUB_GBPS: Final = 12.8
"""Best rate that one client was seen to get from the Hugging Face hub (ModelExpress benchmarks, 2026-07-21)."""
COPY_GBPS_PER_POD: Final = 8.0
"""What one pod of the copy hashes, see README."""
FETCH_GBPS_PER_NODE: Final = 96.0
"""What our fetch writes to NVMe at most: one process hashes and writes 12 GB/s (estimate)."""
FETCH_SHARE_OF_LINE: Final = 0.85
"""Share of a link that it fills where requests stall now and then (`make bench-weights`)."""

LOAD_FROM_DISK: Final = usual(231, "the whole model from the NVMe of a p6-b300, 2026-09", basis="measured")
STREAM: Final = usual(355, "S3 to GPUs at 4.4 GB/s a node (ModelExpress benchmarks, 2026-07-21)", basis="measured")
MOUNTED: Final = Latency(
    median=480, p99=5700, basis="measured", source="8 min from NVMe, 95 min from NFS on 8 x MI355X, 2026-08"
)
"""Each reads the whole model once a node."""

COMPILE: Final[Mapping[GpuGeneration, Latency]] = MappingProxyType(
    {
        "blackwell": Latency(
            median=460,
            p99=1800,
            basis="measured",
            source="whole start of 811 s on 8 x B300 (2026-07-27) less the rest; 30 min of ptxas without any "
            "prebuilt kernel (2026-09)",
        ),
        "hopper": Latency(median=300, p99=1500, basis="estimate", source="as Blackwell, with more prebuilt kernels"),
        "cdna4": usual(240, "first start of 12 to 14 min on 8 x MI355X less 8 of weights, 2026-08", basis="measured"),
    }
)
"""Kernels that a fresh pod compiles before it can serve; autotuning is off, as in vLLM's recipe."""
INIT: Final = usual(120, "imports, graph capture of 51 s, first token", basis="measured")
