"""VM sizes: what they have and what they cost."""

import re
from dataclasses import dataclass
from typing import Final

from components.plan.hardware import CATALOGUE, Architecture

_CPU_SIZE: Final = re.compile(r"Standard_(?P<family>[DEF])(?P<vcpus>[0-9]+)\w*_v[0-9]")
_GIB_PER_VCPU: Final = {"D": 4, "E": 8, "F": 2}
_GB_PER_GIB: Final = 1.0737
# Standard_D8s_v5 in eastus, Linux: 0.384 USD an hour for 8 vCPU (Azure price page).
_USD_PER_VCPU_HOUR: Final = 0.048
_USD_PER_GPU_HOUR: Final = 27.0
"""Where no price is public: a fourth of a GB200 machine's, so that the meter shows what runs."""


@dataclass(frozen=True, kw_only=True)
class Size:
    """What a rehearsal needs to know of a size."""

    name: str
    vcpus: int
    memory_gb: int
    architecture: Architecture
    usd_per_hour: float
    gpus: int = 0
    rack: bool = False
    """Whether NVLink joins it to others."""

    @property
    def reservable(self) -> bool:
        """Whether on-demand reservations take it (Compute, capacity-reservation-overview, 2026-02)."""
        return not self.name.startswith("Standard_ND")


def size(name: str) -> Size | None:
    """What a size has; None for one that nobody here knows."""
    machine = CATALOGUE.get(name)
    if machine is not None and machine.cloud == "azure":
        return Size(
            name=name,
            vcpus=machine.vcpus,
            memory_gb=int(machine.ram_gb),
            architecture=machine.architecture,
            usd_per_hour=machine.price.high if machine.price else machine.gpus * _USD_PER_GPU_HOUR,
            gpus=machine.gpus,
            rack=machine.multi_node_nvlink,
        )
    match = _CPU_SIZE.fullmatch(name)
    if match is None:
        return None
    vcpus = int(match["vcpus"])
    return Size(
        name=name,
        vcpus=vcpus,
        memory_gb=int(vcpus * _GIB_PER_VCPU[match["family"]] * _GB_PER_GIB),
        architecture="amd64",
        usd_per_hour=vcpus * _USD_PER_VCPU_HOUR,
    )
