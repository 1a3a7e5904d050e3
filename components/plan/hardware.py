"""The machines that Kimi K3 can be planned on: GPU memory, links, disks and price of each, with its source.

A fact table. Topology, cost and every cloud's node pool read it, so that a wrong figure has one home.
Units: every `_gb` is decimal (10^9 bytes), every `_gbps` is 10^9 bits per second and counts one direction,
prices are USD per hour of one machine without tax, storage or traffic.

Memory is what the driver reports, not what the data sheet says: vendors mix GB with GiB (a B300 is sold as
288 GB and reports 275,040 MiB = 288.4 GB; a GB300 is sold as 288 or 279 and reports 284,208 MiB = 298.0 GB).

Comments name the source of a row. "vendor page, not re-checked" marks figures taken from memory of the
vendor's specification page; they matter for sizing CPU, RAM, disk and network, never for whether the model
fits into GPU memory.
"""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

GpuGeneration = Literal["hopper", "blackwell", "cdna4"]
"""Decides the vLLM profile: attention backend, KV cache type, MoE backend."""

Architecture = Literal["amd64", "arm64"]
"""CPU architecture of the host as Kubernetes labels it (`kubernetes.io/arch`)."""

Fabric = Literal["none", "efa", "infiniband", "roce", "erdma"]
"""RDMA network between nodes. With "none" nodes talk TCP, so only pipeline stages should cross them."""


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """One accelerator as the driver shows it."""

    name: str
    """Product name, for example "B300"."""
    memory_gb: float
    """Total memory that CUDA or ROCm reports, decimal GB, rounded to 0.01."""
    marketed_gb: int
    """Figure on the data sheet, in whatever unit the vendor calls GB; only for messages."""
    generation: GpuGeneration
    minimum_gpus: int = 0
    """Fewest GPUs that vLLM's recipe accepts for one replica; 0 when memory alone decides."""


@dataclass(frozen=True, kw_only=True)
class PriceRange:
    """What one machine costs per hour, from the cheapest to the dearest way that the source lists."""

    low: float
    """USD per hour, at least 0."""
    high: float
    """USD per hour, at least `low`."""
    source: str
    """Who published the figures and which purchase options they stand for."""
    checked: str
    """Day on which the source was read, YYYY-MM-DD. Prices move: re-check before signing anything."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """One node of the GPU pool."""

    name: str
    """Exact type name of the cloud, or `<gpus>x<gpu>` when `cloud` is "any"."""
    cloud: str
    """"aws", "azure", "gcp", "alicloud", or "any" for a machine that belongs to no price list."""
    gpu: Gpu
    gpus: int
    """GPUs per node."""
    architecture: Architecture
    nvlink_domain: int
    """GPUs that one NVLink or Infinity Fabric domain joins: 72 in an NVL72 rack, else equal to `gpus`."""
    fabric: Fabric
    fabric_gbps: int
    """Sum over the node's RDMA adapters; 0 when `fabric` is "none"."""
    network_gbps: int
    """Ethernet that can carry weights from the bucket. On Alibaba Cloud eRDMA shares it."""
    nvme_gb: int
    """Local NVMe of the node, all disks together; 0 when there is none."""
    ram_gb: int
    """Host memory, decimal GB (vendors print GiB), rounded down."""
    vcpus: int
    price: PriceRange | None
    """None: no public price; `notes` says so."""
    gpu_resource: str = "nvidia.com/gpu"
    """Kubernetes extended resource that a pod requests."""
    notes: tuple[str, ...] = ()
    """What the reader of a plan should know: missing price, unverified profile, cautious figure."""

    @property
    def memory_gb(self) -> float:
        """GPU memory of the node that the driver reports, decimal GB."""
        return round(self.gpu.memory_gb * self.gpus, 2)

    @property
    def marketed_gb(self) -> int:
        """GPU memory of the node by the data sheet."""
        return self.gpu.marketed_gb * self.gpus

    @property
    def multi_node_nvlink(self) -> bool:
        """Whether NVLink leaves the node, so that tensor parallel ranks may span nodes of one rack."""
        return self.nvlink_domain > self.gpus


def nearest(name: str) -> list[str]:
    """Return up to three catalogue names that resemble `name`, best first; empty when none does."""
    by_folded = {known.casefold(): known for known in CATALOGUE}
    return [by_folded[match] for match in difflib.get_close_matches(name.casefold(), by_folded, n=3)]


def _gb_of_mib(mib: int) -> float:
    """Convert the MiB that nvidia-smi prints to decimal GB."""
    return round(mib * 2**20 / 1e9, 2)


def _gb_of_gib(gib: int) -> int:
    """Convert the GiB of a vendor's page to whole decimal GB, rounded down."""
    return gib * 2**30 // 10**9


# --- GPUs ------------------------------------------------------------------------------------------------
# memory_gb: `nvidia-smi` and `rocm-smi --showmeminfo vram` listings in public repositories. minimum_gpus:
# vLLM recipe for Kimi K3 (vllm-project/recipes, models/moonshotai/Kimi-K3.yaml, 2026-08-21) and the day-0
# post of 2026-07-27, whose smallest layouts are 16 GPUs for H200 and B200 and 32 for H100. For GB200 the
# issue vllm-project/recipes#934 asks for 16, which Dynamo's and Google's recipes use as well: three nodes
# of four would hold the weights, but nobody reports that layout.

# AWS p6-b300, driver R580: 275,040 MiB.
B300 = Gpu(name="B300", memory_gb=_gb_of_mib(275_040), marketed_gb=288, generation="blackwell")

# 284,208 MiB = 277.5 GiB. Google prints 279 GB (compute/docs/gpus, 1,116 for four) and Azure 288 GB (ND
# GB300 v6 page, 2026-08-12) for the same part. 279 can only be GiB: as decimal GB it would be less than the
# driver reports.
GB300 = Gpu(name="GB300", memory_gb=_gb_of_mib(284_208), marketed_gb=288, generation="blackwell")

# 183,359 MiB = 179.1 GiB, which some pages print as "179 GiB" and the data sheet as 180 GB.
B200 = Gpu(name="B200", memory_gb=_gb_of_mib(183_359), marketed_gb=180, generation="blackwell", minimum_gpus=16)

# 189,471 MiB = 185.0 GiB. Azure's page and the recipe say 192 GB, Google's page 186 (again GiB).
GB200 = Gpu(name="GB200", memory_gb=_gb_of_mib(189_471), marketed_gb=192, generation="blackwell", minimum_gpus=16)

H200 = Gpu(name="H200", memory_gb=_gb_of_mib(143_771), marketed_gb=141, generation="hopper", minimum_gpus=16)

H100 = Gpu(name="H100", memory_gb=_gb_of_mib(81_559), marketed_gb=80, generation="hopper", minimum_gpus=32)

# Alibaba Cloud prints "96 GB" without a product name; a public service template for ebmgn8v.48xlarge calls
# it H20, which reports 97,871 MiB.
H20 = Gpu(name="H20", memory_gb=_gb_of_mib(97_871), marketed_gb=96, generation="hopper")

# The 141 GB variant of the H20. Assumed to report what an H200 reports: no listing was found.
H20_3E = Gpu(name="H20-3e", memory_gb=_gb_of_mib(143_771), marketed_gb=141, generation="hopper")

# rocm-smi: 309,220,868,096 bytes = 294,896 MiB; the data sheet's 288 GB are GiB.
MI355X = Gpu(name="MI355X", memory_gb=_gb_of_mib(294_896), marketed_gb=288, generation="cdna4")

# --- Notes that several machines share -------------------------------------------------------------------
_NO_PRICE = "no public price: put your contract's into the stack file"
_H100_UNVERIFIED = "H100 is not among the GPUs that vLLM's Kimi K3 recipe verified"
_H20_UNVERIFIED = "H20 is not among the GPUs that vLLM's Kimi K3 recipe verified; prefill is slow on it"
_ANY_HOST = "CPU, RAM and disk of a typical server and no RDMA assumed: describe yours as a custom machine"

# --- AWS -------------------------------------------------------------------------------------------------
# EFA and disks: EC2 accelerated computing specifications. vCPU and RAM of the three 8-GPU types besides
# p6-b300: vendor page, not re-checked. network_gbps is ENA on the primary card, which pods use by default:
# 300 Gbps on p6-b300 (AWS What's New 2026-05; the table in aws-c-s3 says 350, the lower is taken); the
# other types: vendor page, not re-checked. Prices: AWS's pages for Capacity Blocks (low) and on-demand
# instances (high). AWS announced new block rates for October 2026, and p6 is on the on-demand list but
# reportedly not sold that way.
_AWS = (
    Machine(
        name="p6-b300.48xlarge",
        cloud="aws",
        gpu=B300,
        gpus=8,
        architecture="amd64",
        nvlink_domain=8,
        fabric="efa",
        fabric_gbps=6_400,  # 16 EFA cards of 400; card 0 is ENA only
        network_gbps=300,
        nvme_gb=30_720,  # 8 x 3.84 TB
        ram_gb=_gb_of_gib(4_096),
        vcpus=192,
        price=PriceRange(
            low=112.32,
            high=142.416,
            source="AWS price pages: Capacity Block (14.04 per GPU), on-demand SKU",
            checked="2026-08-01",
        ),
    ),
    Machine(
        name="p6-b200.48xlarge",
        cloud="aws",
        gpu=B200,
        gpus=8,
        architecture="amd64",
        nvlink_domain=8,
        fabric="efa",
        fabric_gbps=3_200,
        network_gbps=200,
        nvme_gb=30_720,
        ram_gb=_gb_of_gib(2_048),
        vcpus=192,
        price=PriceRange(
            low=98.84,
            high=113.93,
            source="AWS price pages: Capacity Block, on-demand SKU",
            checked="2026-08-01",
        ),
    ),
    Machine(
        name="p5en.48xlarge",
        cloud="aws",
        gpu=H200,
        gpus=8,
        architecture="amd64",
        nvlink_domain=8,
        fabric="efa",
        fabric_gbps=3_200,
        network_gbps=100,
        nvme_gb=30_720,
        ram_gb=_gb_of_gib(2_048),
        vcpus=192,
        price=PriceRange(
            low=54.92,
            high=63.296,
            source="AWS price pages: Capacity Block, on-demand SKU",
            checked="2026-08-01",
        ),
    ),
    Machine(
        name="p5.48xlarge",
        cloud="aws",
        gpu=H100,
        gpus=8,
        architecture="amd64",
        nvlink_domain=8,
        fabric="efa",
        fabric_gbps=3_200,
        network_gbps=100,
        nvme_gb=30_720,
        ram_gb=_gb_of_gib(2_048),
        vcpus=192,
        # Only the Capacity Block has a source of 2026; the on-demand figure is from memory of the 2025 list.
        price=PriceRange(
            low=37.76,
            high=55.04,
            source="AWS price pages: Capacity Block in ap-south-1; on-demand of June 2025, not re-checked",
            checked="2026-08-10",
        ),
        notes=(_H100_UNVERIFIED,),
    ),
)

# --- Azure -----------------------------------------------------------------------------------------------
# MicrosoftDocs/azure-compute-docs, sizes/gpu-accelerated: nd-gb300-v6 (2026-08-12), nd-gb200-v6
# (2025-03-20), nd-h200-v5 and ndh100v5 (both 2025-09-02). They print the front-end bandwidth as "160 Mbps":
# Gbps is meant. Disks: "16 TB" on the GB pages are four of ~3.5 TiB in Azure/ai-infrastructure-on-azure, so
# 3.84 TB each; the 28 TiB of the Hopper sizes are eight of the same. The InfiniBand of the two Hopper
# sizes: vendor page, not re-checked. GB200's page says 900 GiB RAM, Azure's SKU list (through aspire.dev)
# 864: the lower is taken.
_ND_GB300 = Machine(
    name="Standard_ND128isr_GB300_v6",
    cloud="azure",
    gpu=GB300,
    gpus=4,
    architecture="arm64",
    nvlink_domain=72,
    fabric="infiniband",
    fabric_gbps=3_200,  # 4 x 800
    network_gbps=160,
    nvme_gb=15_360,
    ram_gb=_gb_of_gib(864),
    vcpus=128,
    # The retail price API answers with no row for it (September 2026). Its GB200 sister lists at 108.16.
    price=None,
    notes=(_NO_PRICE,),
)
_AZURE = (
    _ND_GB300,
    replace(_ND_GB300, name="Standard_ND128isrG5_GB300_v6"),  # a row of the same page with the same figures
    Machine(
        name="Standard_ND128isr_NDR_GB200_v6",
        cloud="azure",
        gpu=GB200,
        gpus=4,
        architecture="arm64",
        nvlink_domain=72,
        fabric="infiniband",
        fabric_gbps=1_600,  # 4 x 400
        network_gbps=160,
        nvme_gb=15_360,
        ram_gb=_gb_of_gib(864),
        vcpus=128,
        # A data set of October 2026 has 216.32 for a 4-GPU size, exactly twice this: two machines or another
        # meter, so it isn't used.
        price=PriceRange(
            low=108.16,
            high=108.16,
            source="Azure Retail Prices API, Linux pay-as-you-go, eastus and westus3",
            checked="2026-09-30",
        ),
    ),
    Machine(
        name="Standard_ND96isr_H200_v5",
        cloud="azure",
        gpu=H200,
        gpus=8,
        architecture="amd64",
        nvlink_domain=8,
        fabric="infiniband",
        fabric_gbps=3_200,
        network_gbps=80,
        nvme_gb=30_720,
        ram_gb=_gb_of_gib(1_850),
        vcpus=96,
        price=None,
        notes=(_NO_PRICE,),
    ),
    Machine(
        name="Standard_ND96isr_H100_v5",
        cloud="azure",
        gpu=H100,
        gpus=8,
        architecture="amd64",
        nvlink_domain=8,
        fabric="infiniband",
        fabric_gbps=3_200,
        network_gbps=80,
        nvme_gb=30_720,
        ram_gb=_gb_of_gib(1_900),
        vcpus=96,
        price=PriceRange(
            low=98.32,
            high=98.32,
            source="Azure retail price list, pay-as-you-go",
            checked="2026-12-01",
        ),
        notes=(_H100_UNVERIFIED,),
    ),
)

# --- Google Cloud ----------------------------------------------------------------------------------------
# docs.cloud.google.com/compute/docs/gpus and accelerator-optimized-machines. Google's "GB" of RAM and disk
# are GiB. Network: the page prints one sum; what isn't RDMA is left for storage (A4X Max 3,600 = 8 x 400
# RDMA + 400). Sums of A4X, A4 and A3 Ultra, and vCPU and RAM of the latter two: vendor page, not
# re-checked. Disks: machine list of cluster-toolkit. Prices: Compute catalogue, Americas. A4 from
# flex-start (8.055 per GPU, runs at most seven days) to on demand (16.11); reservations in calendar mode
# are 11.28 per GPU. Spot (4.95) is left out: it can't hold a group. Google's own
# price page reportedly shows no on-demand rate for A4.
_GCP = (
    Machine(
        name="a4x-maxgpu-4g-metal",
        cloud="gcp",
        gpu=GB300,
        gpus=4,
        architecture="arm64",
        nvlink_domain=72,
        fabric="roce",
        fabric_gbps=3_200,
        network_gbps=400,
        nvme_gb=_gb_of_gib(12_000),
        ram_gb=_gb_of_gib(960),
        vcpus=144,
        price=None,
        notes=(
            _NO_PRICE,
            "vLLM verified Kimi K3 on GB300; a report from this very machine was not found (2026-12-01)",
        ),
    ),
    Machine(
        name="a4x-highgpu-4g",
        cloud="gcp",
        gpu=GB200,
        gpus=4,
        architecture="arm64",
        nvlink_domain=72,
        fabric="roce",
        fabric_gbps=1_600,
        network_gbps=400,
        nvme_gb=_gb_of_gib(12_000),
        ram_gb=_gb_of_gib(884),
        vcpus=140,
        price=None,
        notes=(_NO_PRICE, "Google validated Kimi K3 on it with SGLang, not with vLLM (2026-07)"),
    ),
    Machine(
        name="a4-highgpu-8g",
        cloud="gcp",
        gpu=B200,
        gpus=8,
        architecture="amd64",
        nvlink_domain=8,
        fabric="roce",
        fabric_gbps=3_200,
        network_gbps=400,
        nvme_gb=_gb_of_gib(12_000),
        ram_gb=_gb_of_gib(3_968),
        vcpus=224,
        price=PriceRange(
            low=64.44,
            high=128.88,
            source="Google Compute catalogue, Americas: flex-start, on demand",
            checked="2026-07-30",
        ),
    ),
    Machine(
        name="a3-ultragpu-8g",
        cloud="gcp",
        gpu=H200,
        gpus=8,
        architecture="amd64",
        nvlink_domain=8,
        fabric="roce",
        fabric_gbps=3_200,
        network_gbps=400,
        nvme_gb=_gb_of_gib(12_000),
        ram_gb=_gb_of_gib(2_952),
        vcpus=224,
        price=PriceRange(
            low=86.76,
            high=86.76,
            source="Google Compute catalogue, Americas (10.85 per GPU)",
            checked="2026-07-30",
        ),
    ),
    Machine(
        name="a3-megagpu-8g",
        cloud="gcp",
        gpu=H100,
        gpus=8,
        architecture="amd64",
        nvlink_domain=8,
        # Its 8 x 200 Gbps between GPUs are GPUDirect-TCPXO, which is TCP with a plugin and not RDMA.
        fabric="none",
        fabric_gbps=0,
        network_gbps=200,  # 1,800 - 1,600 for TCPXO
        nvme_gb=_gb_of_gib(6_000),
        ram_gb=_gb_of_gib(1_872),
        vcpus=208,
        price=None,
        notes=(_NO_PRICE, _H100_UNVERIFIED),
    ),
)

# --- Alibaba Cloud ---------------------------------------------------------------------------------------
# help.aliyun.com, "GPU-accelerated compute-optimized instance families": vCPU, RAM, network and eRDMA of
# ebmgn8v, gn8v and gn8v-tee; none of them has local NVMe. A type named plain ecs.gn8v-8x doesn't exist.
# eRDMA runs inside the instance's network bandwidth. gn8v-tee: GPUDirect with confidential computing is
# unproven, so no fabric is assumed. None of these pages has a price; Alibaba sells the types through sales.
_EBMGN8V = Machine(
    name="ecs.ebmgn8v.48xlarge",
    cloud="alicloud",
    gpu=H20,
    gpus=8,
    architecture="amd64",
    nvlink_domain=8,
    fabric="erdma",
    fabric_gbps=160,
    network_gbps=170,
    nvme_gb=0,
    ram_gb=_gb_of_gib(1_024),
    vcpus=192,
    price=None,
    notes=(_NO_PRICE, _H20_UNVERIFIED),
)
_GN8V_48 = replace(_EBMGN8V, name="ecs.gn8v-8x.48xlarge", fabric_gbps=100, network_gbps=100)
_GN8V_16 = replace(
    _EBMGN8V,
    name="ecs.gn8v-8x.16xlarge",
    fabric_gbps=32,
    network_gbps=32,
    ram_gb=_gb_of_gib(768),
    vcpus=64,
)

# Lingjun sells card series instead of machine types: GX8SF is sold as "L20X" and shows 143,771 MiB at
# compute capability 9.0, that is an H200; GU8TEF is likely an H20-3e; GU8TF is sold as "L20Z" and shows 80
# GB, that is an H100 (field reports). Neither CPU, RAM nor disk is published, so the row holds cautious
# lower bounds. The fabric is that of HPN 7.0 (SIGCOMM 2024, "Alibaba HPN": two ports of 200 Gbps per GPU),
# not re-checked per series. Left out: P16EN/ZW810E (not CUDA), ebmgn8te and ebmgn9* (at most 72 GB per
# GPU), efg3.GN9A.ch72 (an NVL72 rack whose GPU isn't named), GU120 (a name of PAI for 8 x 96 GB).
_GX8SF = Machine(
    name="GX8SF",
    cloud="alicloud",
    gpu=H200,
    gpus=8,
    architecture="amd64",
    nvlink_domain=8,
    fabric="roce",
    fabric_gbps=3_200,
    network_gbps=100,
    nvme_gb=0,
    ram_gb=900,
    vcpus=128,
    price=None,
    notes=(
        _NO_PRICE,
        "Lingjun publishes no CPU, RAM, disk or Ethernet figures: these are cautious lower bounds",
    ),
)
_ALICLOUD = (
    _EBMGN8V,
    _GN8V_48,
    _GN8V_16,
    replace(_GN8V_48, name="ecs.gn8v-tee-8x.48xlarge", fabric="none", fabric_gbps=0),
    replace(_GN8V_16, name="ecs.gn8v-tee-8x.16xlarge", fabric="none", fabric_gbps=0),
    _GX8SF,
    replace(
        _GX8SF,
        name="GU8TEF",
        gpu=H20_3E,
        notes=(*_GX8SF.notes, _H20_UNVERIFIED, "the GPU behind this series is inferred, not documented"),
    ),
    replace(_GX8SF, name="GU8TF", gpu=H100, notes=(*_GX8SF.notes, _H100_UNVERIFIED)),
)

# --- Machines of nobody's price list ---------------------------------------------------------------------
# For clusters that somebody owns or rents elsewhere. Hosts: NVIDIA's DGX H100 and, for Grace, what Azure
# shows of an NVL72 compute tray. Vendor pages, not re-checked; 100 Gbps of Ethernet is assumed, a fabric
# isn't. Rents: survey of July 2026 in APIMaster's "Kimi K3 open weights: deployment, cost and hosting
# providers", which crosses vLLM's post with analyses of Kingy.ai and Northflank. Only the month is known,
# so `checked` is its last day. The survey gives one range for 8 x B300 and 8 x MI355X. Later single offers
# lie below it: a B300 for 6.00 (Akash, 2026-09-20), an H200 from 3.45 (2026-10-24).
_SURVEY = "July 2026 survey of rents over all providers (APIMaster, after Kingy.ai and Northflank)"
_8X_H100 = Machine(
    name="8xH100",
    cloud="any",
    gpu=H100,
    gpus=8,
    architecture="amd64",
    nvlink_domain=8,
    fabric="none",
    fabric_gbps=0,
    network_gbps=100,
    nvme_gb=30_720,
    ram_gb=_gb_of_gib(2_048),
    vcpus=224,
    price=None,
    notes=(_NO_PRICE, _ANY_HOST, _H100_UNVERIFIED),
)
_4X_GB300 = Machine(
    name="4xGB300",
    cloud="any",
    gpu=GB300,
    gpus=4,
    architecture="arm64",
    nvlink_domain=72,
    fabric="none",
    fabric_gbps=0,
    network_gbps=100,
    nvme_gb=15_360,
    ram_gb=_gb_of_gib(864),
    vcpus=144,
    price=None,
    notes=(_NO_PRICE, _ANY_HOST),
)
_ANY = (
    replace(
        _8X_H100,
        name="8xB300",
        gpu=B300,
        price=PriceRange(low=59.0, high=142.0, source=_SURVEY, checked="2026-07-31"),
        notes=(_ANY_HOST,),
    ),
    replace(_8X_H100, name="8xB200", gpu=B200, notes=(_NO_PRICE, _ANY_HOST)),
    replace(
        _8X_H100,
        name="8xH200",
        gpu=H200,
        # The survey has 46,600 to 116,800 USD a month for 16 GPUs, halved here and divided by 730 hours.
        price=PriceRange(
            low=round(46_600 / 2 / 730, 2),
            high=round(116_800 / 2 / 730, 2),
            source=_SURVEY,
            checked="2026-07-31",
        ),
        notes=(_ANY_HOST,),
    ),
    _8X_H100,
    replace(
        _8X_H100,
        name="8xMI355X",
        gpu=MI355X,
        price=PriceRange(low=59.0, high=142.0, source=_SURVEY, checked="2026-07-31"),
        gpu_resource="amd.com/gpu",
        notes=(_ANY_HOST,),
    ),
    _4X_GB300,
    replace(
        _4X_GB300,
        name="4xGB200",
        gpu=GB200,
        price=PriceRange(
            low=42.0,
            high=108.16,
            source="CoreWeave (10.50 per GPU, 2026-09-20) to Azure Retail Prices API (27.04 per GPU)",
            checked="2026-09-30",
        ),
        notes=(_ANY_HOST,),
    ),
)

_MACHINES = (*_AWS, *_AZURE, *_GCP, *_ALICLOUD, *_ANY)

GPUS: Mapping[str, Gpu] = MappingProxyType(
    {gpu.name: gpu for gpu in (B300, GB300, B200, GB200, H200, H100, H20, H20_3E, MI355X)}
)
"""Every known GPU by name, for a stack file that describes a custom machine."""

CATALOGUE: Mapping[str, Machine] = MappingProxyType({machine.name: machine for machine in _MACHINES})
"""Every known machine by its exact type name."""
