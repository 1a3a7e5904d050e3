"""Which Kubernetes versions the GPU nodes' image and NVLink between nodes work with on AKS."""

from typing import Final

from components.faults import Fault

DEFAULT: Final = "1.35"

MINIMUM: Final = (1, 35)
"""From here on AKS' `Ubuntu` is 24.04, the one image with a disk controller for GB200 and GB300 (AKS release notes of
2026-01-04); DRA's API, which joins nodes over NVLink, is final from 1.34.2 on."""


def faults(key: str, version: str) -> list[Fault]:
    """Refuse a version whose node image can't start the machines.

    Args:
        key: Of the stack file.
        version: Such as 1.35.
    """
    major, minor = version.split(".")
    if (int(major), int(minor)) >= MINIMUM:
        return []
    allowed = "before 1.35 AKS' Ubuntu is 22.04, which can't start GB200 and GB300, and DRA's API isn't final"
    return [Fault(key=key, given=version, allowed=allowed, instead=DEFAULT)]
