"""Which Kubernetes versions EKS supports, until when, and the add-ons that belong to each."""

import datetime
from collections.abc import Mapping
from typing import Final

from components.faults import Fault

DEFAULT: Final = "1.35"

STANDARD_SUPPORT_ENDS: Final[Mapping[str, datetime.date]] = {
    "1.33": datetime.date(2026, 7, 29),
    "1.34": datetime.date(2026, 12, 2),
    "1.35": datetime.date(2027, 3, 27),
}
"""endoflife.date/amazon-eks and the EKS user guide's calendar, read in April 2026; newer versions are taken unseen."""

ADDONS: Final[Mapping[str, Mapping[str, str]]] = {
    "1.35": {
        "vpc-cni": "v1.21.1-eksbuild.7",
        "kube-proxy": "v1.35.3-eksbuild.2",
        "coredns": "v1.13.2-eksbuild.4",
        "eks-pod-identity-agent": "v1.3.10-eksbuild.3",
    },
}
"""Found together in public configurations of mid-2026. VPC CNI from 1.18.5 knows interfaces of type efa-only."""


def faults(key: str, version: str, today: datetime.date | None = None) -> list[Fault]:
    """Refuse a version in extended support: its control plane costs six times as much.

    Args:
        key: Of the stack file.
        version: Such as 1.35.
        today: The day to judge by; None is today.
    """
    ends = STANDARD_SUPPORT_ENDS.get(version)
    known = min(STANDARD_SUPPORT_ENDS, key=_minor)
    if ends is None and _minor(version) > _minor(known):
        return []
    if ends is not None and (today or datetime.datetime.now(datetime.UTC).date()) < ends:
        return []
    ended = f"left standard support on {ends}" if ends else "left standard support"
    return [
        Fault(
            key=key,
            given=version,
            allowed=f"{ended}: the control plane would cost 0.60 USD an hour instead of 0.10",
            instead=DEFAULT,
        )
    ]


def addons(version: str, changed: Mapping[str, str]) -> Mapping[str, str | None]:
    """Return the version of each add-on; None lets EKS take its own default for a version that isn't pinned here.

    Args:
        version: Of Kubernetes.
        changed: Versions of the person's own, by add-on.
    """
    pinned = ADDONS.get(version, dict.fromkeys(ADDONS[DEFAULT]))
    return {**pinned, **changed}


def _minor(version: str) -> int:
    return int(version.partition(".")[2])
