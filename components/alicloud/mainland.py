"""The Chinese mainland: which regions it has, and what a stack there must bring because its nodes don't reach it."""

from components.faults import Fault
from components.settings import Mirror, Weights

_OUTSIDE = ("cn-hongkong",)
"""Regions whose names begin with cn- and whose networks are open."""


def mainland(region: str) -> bool:
    """Return whether a region is in the mainland."""
    return region.startswith("cn-") and region not in _OUTSIDE


def mirror_faults(region: str, mirror: Mirror, weights: Weights) -> list[Fault]:
    """Return everything that a stack in the mainland lacks: what isn't mirrored there doesn't arrive, or by chance.

    Args:
        region: The stack's.
        mirror: Where images, charts and libraries come from.
        weights: Where the weights come from, and with which image they are copied.
    """
    if not mainland(region):
        return []
    rules = [
        (
            mirror.images is None,
            "mirror.images",
            "Docker Hub and registry.k8s.io",
            "a registry of yours: registry-vpc.cn-hangzhou.cr.aliyuncs.com/my-mirror",
        ),
        (
            mirror.charts is None,
            "mirror.charts",
            "registry.k8s.io",
            "one with LeaderWorkerSet's chart: oci://registry-vpc.cn-hangzhou.cr.aliyuncs.com/my-mirror",
        ),
        (
            weights.source == "huggingface" and mirror.hub is None,
            "weights.source",
            "huggingface.co",
            "modelscope with digest or sourceRevision, an oss:// folder, or mirror: {hub: ...}",
        ),
        (
            weights.image is None and mirror.python_index is None,
            "mirror.pythonIndex",
            "pypi.org",
            "https://mirrors.aliyun.com/pypi/simple/, or weights: {image: ...} with the libraries in it",
        ),
    ]
    return [
        Fault(
            key=key,
            given="huggingface" if key == "weights.source" else None,
            allowed=f"nodes in {region} don't reach {place} reliably",
            instead=instead,
        )
        for missing, key, place, instead in rules
        if missing
    ]
