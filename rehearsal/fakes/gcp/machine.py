"""Machine types: what they have, what they cost, and what Google sells them for."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from components.plan.hardware import CATALOGUE, Architecture

# e2-standard in us-central1, on demand: 0.268 USD an hour for 8 vCPU (Compute Engine price page).
_USD_PER_VCPU_HOUR: Final = 0.0335
_USD_PER_GPU_HOUR: Final = 10.0
"""Where no price is public: of the order of what others ask for such GPUs, so that the meter shows what runs."""
_CPU_TYPE: Final = re.compile(r"(?P<family>[a-z]+[0-9][a-z]?)-(?P<kind>standard|highmem|highcpu)-(?P<vcpus>[0-9]+)")
_GIB_PER_VCPU: Final[Mapping[str, int]] = {"standard": 4, "highmem": 8, "highcpu": 1}
_GB_PER_GIB: Final = 1.0737

GPUS: Final[Mapping[str, str]] = {
    "a4x-maxgpu-4g-metal": "nvidia-gb300",
    "a4x-highgpu-4g": "nvidia-gb200",
    "a4-highgpu-8g": "nvidia-b200",
    "a3-ultragpu-8g": "nvidia-h200-141gb",
    "a3-megagpu-8g": "nvidia-h100-mega-80gb",
}
"""GKE's name of each machine's GPU (GKE documentation, GPUs; cluster-toolkit's definitions, 2026-06)."""
RESERVED_ALONE: Final = ("a4x-maxgpu-4g-metal", "a4x-highgpu-4g")
"""Sold by a reservation and in no other way (AI Hypercomputer, consumption options, 2026-04)."""


@dataclass(frozen=True, kw_only=True)
class MachineType:
    """What a rehearsal needs to know of a type."""

    name: str
    vcpus: int
    memory_gb: int
    architecture: Architecture
    usd_per_hour: float
    gpus: int = 0
    nvme_gb: int = 0

    @property
    def bare_metal(self) -> bool:
        """Whether it is no virtual machine."""
        return self.name.endswith("-metal")


def machine_type(name: str) -> MachineType | None:
    """What a type has; None for a type that nobody here knows."""
    machine = CATALOGUE.get(name)
    if machine is not None and machine.cloud == "gcp":
        price = machine.price
        return MachineType(
            name=name,
            vcpus=machine.vcpus,
            memory_gb=int(machine.ram_gb),
            architecture=machine.architecture,
            usd_per_hour=price.high if price else machine.gpus * _USD_PER_GPU_HOUR,
            gpus=machine.gpus,
            nvme_gb=machine.nvme_gb,
        )
    match = _CPU_TYPE.fullmatch(name)
    if match is None:
        return None
    vcpus = int(match["vcpus"])
    return MachineType(
        name=name,
        vcpus=vcpus,
        memory_gb=int(vcpus * _GIB_PER_VCPU[match["kind"]] * _GB_PER_GIB),
        architecture="amd64",
        usd_per_hour=vcpus * _USD_PER_VCPU_HOUR,
    )
