"""Which GKE versions run the machines: floors, and one that breaks them."""

import re
from collections.abc import Mapping
from typing import Final

from components.faults import Fault

DEFAULT: Final = "1.35"
"""A minor version stands for its newest patch in the channel."""
PATTERN: Final = r"^1\.[0-9]{2}(\.[0-9]+-gke\.[0-9]+)?$"

_DRANET: Final[Mapping[int, str]] = {34: "1.34.1-gke.1829001"}
FLOORS: Final[Mapping[str, Mapping[int, str]]] = {
    # Two floors: an early 1.35 is newer than 1.34.3 and still too old.
    "a4x-maxgpu-4g-metal": {34: "1.34.3-gke.1318000", 35: "1.35.0-gke.2745000"},
    "a4x-highgpu-4g": _DRANET,
    "a4-highgpu-8g": _DRANET,
    "a3-ultragpu-8g": _DRANET,
    "a3-megagpu-8g": _DRANET,
}
"""Oldest version by minor version: Google's A4X Max page (2026-04) and GKE's of managed DRANET (2026-04)."""

BROKEN: Final[Mapping[str, str]] = {
    "1.36.0-gke.4681000": "its COS image fails every CUDA context on GB300 while nvidia-smi looks fine (2026-07)"
}
"""Reported by the operators of a cluster of 300 nodes; 1.36.0-gke.4447000 worked."""


def faults(key: str, version: str, machine: str) -> list[Fault]:
    """Return why a version can't run a machine.

    Args:
        key: Of the stack file.
        version: A minor version, which is taken for its newest patch, or a whole one.
        machine: The plan's machine type.
    """
    floors, minor = FLOORS[machine], _numbers(version)[1]
    floor = floors.get(minor, floors[min(floors)])
    whole = len(_numbers(version)) > 2
    if minor < min(floors) or (whole and _numbers(version) < _numbers(floor)):
        return [Fault(key=key, given=version, allowed=f"{machine} needs GKE {floor} or newer", instead=DEFAULT)]
    if version in BROKEN:
        return [Fault(key=key, given=version, allowed=BROKEN[version], instead=DEFAULT)]
    return []


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"[0-9]+", version))
