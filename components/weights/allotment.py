"""What a container may use of its node: the cores and the memory that its cgroup (version 2) leaves it."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_CGROUP: Final = Path("/sys/fs/cgroup")
_MIB: Final = 1 << 20
_UNLIMITED: Final = "max"


@dataclass(frozen=True, kw_only=True)
class Allotment:
    """Cores and memory of this container."""

    cores: int
    memory_mib: int | None
    """None where there is no limit."""


def read_allotment(cgroup: Path = _CGROUP) -> Allotment:
    """Return what the cgroup allows; a file that isn't there limits nothing."""
    affine = len(os.sched_getaffinity(0))
    quota, _, period = _text(cgroup / "cpu.max").partition(" ")
    cores = affine if quota == _UNLIMITED else min(affine, max(1, int(quota) // int(period)))
    memory = _text(cgroup / "memory.max")
    return Allotment(cores=cores, memory_mib=None if memory == _UNLIMITED else int(memory) // _MIB)


def _text(path: Path) -> str:
    try:
        return path.read_text().strip() or _UNLIMITED
    except OSError:
        return _UNLIMITED
