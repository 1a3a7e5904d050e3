"""EC2 instance types: what they have, what they cost, and how their network cards are laid out."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from components.plan.hardware import CATALOGUE, Architecture

# m7i.xlarge, on-demand Linux in us-west-2: 0.2016 USD an hour for 4 vCPU (AWS price page, read 2026-08). Other
# families differ by some tenths; what a rehearsal shows of them is the order of magnitude.
_USD_PER_VCPU_HOUR: Final = 0.0504
_CPU_TYPE: Final = re.compile(
    r"(?P<family>[a-z]+)(?P<generation>\d)(?P<options>[a-z-]*)\.(?P<factor>\d*)(?P<size>x?large)"
)
_GIB_PER_VCPU: Final[Mapping[str, int]] = {"c": 2, "m": 4, "t": 4, "r": 8}
_SMALLEST_VCPUS: Final = 2
_GB_PER_GIB: Final = 1.0737


@dataclass(frozen=True, kw_only=True)
class InstanceType:
    """What a rehearsal needs to know of a type."""

    name: str
    vcpus: int
    memory_gb: int
    architecture: Architecture
    usd_per_hour: float
    """On demand."""
    block_usd_per_hour: float
    """In a Capacity Block."""
    gpus: int = 0
    gpu_resource: str = ""
    nvme_gb: int = 0


@dataclass(frozen=True, kw_only=True)
class NetworkCards:
    """The network cards of a type."""

    count: int
    first_efa: int
    """The lowest index of a card that knows EFA."""


NETWORK_CARDS: Final[Mapping[str, NetworkCards]] = {
    # aws/aws-parallelcluster #7143: 17 cards, of which card 0 knows ENA only.
    "p6-b300.48xlarge": NetworkCards(count=17, first_efa=1),
    "p6-b200.48xlarge": NetworkCards(count=8, first_efa=0),
    "p5en.48xlarge": NetworkCards(count=16, first_efa=0),
    "p5.48xlarge": NetworkCards(count=32, first_efa=0),
}
ONE_CARD: Final = NetworkCards(count=1, first_efa=1)
"""Types that the table doesn't have know no EFA."""


def instance_type(name: str) -> InstanceType | None:
    """What a type has; None for a type that nobody here knows."""
    machine = CATALOGUE.get(name)
    if machine is not None and machine.cloud == "aws":
        price = machine.price
        return InstanceType(
            name=name,
            vcpus=machine.vcpus,
            memory_gb=int(machine.ram_gb),
            architecture=machine.architecture,
            usd_per_hour=price.high if price else 0.0,
            block_usd_per_hour=price.low if price else 0.0,
            gpus=machine.gpus,
            gpu_resource=machine.gpu_resource,
            nvme_gb=machine.nvme_gb,
        )
    return _cpu_type(name)


def _cpu_type(name: str) -> InstanceType | None:
    match = _CPU_TYPE.fullmatch(name)
    if match is None or match["family"] not in _GIB_PER_VCPU:
        return None
    doubled = 1 if match["size"] == "large" else 2 * int(match["factor"] or 1)
    vcpus = _SMALLEST_VCPUS * doubled
    price = vcpus * _USD_PER_VCPU_HOUR
    return InstanceType(
        name=name,
        vcpus=vcpus,
        memory_gb=int(vcpus * _GIB_PER_VCPU[match["family"]] * _GB_PER_GIB),
        architecture="arm64" if match["options"].startswith("g") else "amd64",
        usd_per_hour=price,
        block_usd_per_hour=price,
    )
