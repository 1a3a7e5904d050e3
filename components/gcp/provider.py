"""The explicit provider, and the labels of everything: whose it is, and which stack takes it away again."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_gcp as gcp

from components import labels as kubernetes_labels
from components.gcp.settings import GcpSettings


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where everything is."""

    project: str
    """The project's id."""
    number: str
    """Its number, by which workload identities are named."""
    region: str
    zone: str
    """The zone of the nodes: a reservation is good in one alone, and a GPU network joins no two."""
    labels: Mapping[str, str]
    """For what the provider doesn't label by itself: the machines that GKE makes."""


def labels(settings: GcpSettings) -> dict[str, str]:
    """Return the labels: the person's, then ours, which win."""
    ours = {
        "project": pulumi.get_project(),
        "stack": pulumi.get_stack(),
        "owner": settings.owner,
        "part-of": kubernetes_labels.PART_OF,
        "managed-by": "pulumi",
    }
    return {key: _value(value) for key, value in {**settings.tags, **ours}.items()}


def provider(settings: GcpSettings) -> gcp.Provider:
    """Return the explicit provider, which labels whatever it makes."""
    return gcp.Provider(
        "gcp",
        project=settings.project,
        region=settings.region,
        default_labels=labels(settings),
        # An environment's own policy could make `destroy` forget what goes on billing.
        deletion_policy="DELETE",
    )


def identity() -> str:
    """Return what everything of this stack is named after."""
    return f"{pulumi.get_project()}-{pulumi.get_stack()}"


def _value(text: str) -> str:
    """Return a legal label value: at most 63 lower-case letters, digits, `_` or `-`."""
    return re.sub(r"[^a-z0-9_-]", "_", text.lower())[:63]
