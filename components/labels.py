"""The labels that every object of ours carries, and the ones that other controllers give to its pods."""

import re
from collections.abc import Mapping
from typing import Final

PART_OF: Final = "kimi-k3"

# https://lws.sigs.k8s.io/docs/reference/labels-annotations-and-environment-variables/
LWS_NAME: Final = "leaderworkerset.sigs.k8s.io/name"
LWS_WORKER_INDEX: Final = "leaderworkerset.sigs.k8s.io/worker-index"
LWS_GROUP_INDEX: Final = "leaderworkerset.sigs.k8s.io/group-index"
# Set by NVIDIA's GPU feature discovery and DRA driver: equal within one NVLink domain.
NVLINK_CLIQUE: Final = "nvidia.com/gpu.clique"

OWNER_ANNOTATION: Final = "kimi-k3/owner"


def common(name: str, project: str, stack: str, tags: Mapping[str, str]) -> dict[str, str]:
    """Return the labels of one object: the person's tags, and the recommended ones, which win."""
    return {
        **{key: value(tag) for key, tag in tags.items()},
        "app.kubernetes.io/name": name,
        "app.kubernetes.io/instance": value(f"{project}-{stack}"),
        "app.kubernetes.io/part-of": PART_OF,
        "app.kubernetes.io/managed-by": "pulumi",
    }


def value(text: str) -> str:
    """Return `text` as a legal label value: at most 63 letters, digits, `-`, `_` or `.`, no such sign at the ends."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", text)[:63].strip("-_.")
