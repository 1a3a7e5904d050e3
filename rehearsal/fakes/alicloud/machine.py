"""Machine types: what they have, and what they cost in a rehearsal."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from components.plan.hardware import CATALOGUE

_USD_PER_VCPU_HOUR: Final = 0.05
"""Of the order of ecs.g8i in Singapore by the hour (Alibaba Cloud price page)."""
_USD_PER_GPU_HOUR: Final = 5.0
"""No price is public: of the order of what others ask for such GPUs, so that the meter shows what runs."""
_CPU_TYPE: Final = re.compile(r"ecs\.(?P<kind>[gcr])[0-9][a-z]*\.(?P<size>[0-9]*)xlarge")
_GIB_PER_VCPU: Final[Mapping[str, int]] = {"c": 2, "g": 4, "r": 8}
_GB_PER_GIB: Final = 1.0737


@dataclass(frozen=True, kw_only=True)
class MachineType:
    """What a rehearsal needs to know of a type."""

    name: str
    vcpus: int
    memory_gb: int
    usd_per_hour: float
    gpus: int = 0


def machine_type(name: str) -> MachineType | None:
    """What a type has; None for a type that nobody here knows."""
    machine = CATALOGUE.get(name)
    if machine is not None and machine.cloud == "alicloud":
        return MachineType(
            name=name,
            vcpus=machine.vcpus,
            memory_gb=int(machine.ram_gb),
            usd_per_hour=machine.gpus * _USD_PER_GPU_HOUR,
            gpus=machine.gpus,
        )
    match = _CPU_TYPE.fullmatch(name)
    if match is None:
        return None
    vcpus = 4 * int(match["size"] or 1)
    return MachineType(
        name=name,
        vcpus=vcpus,
        memory_gb=int(vcpus * _GIB_PER_VCPU[match["kind"]] * _GB_PER_GIB),
        usd_per_hour=vcpus * _USD_PER_VCPU_HOUR,
    )
