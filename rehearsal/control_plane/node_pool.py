"""Nodes that come and go while a control plane runs, added by the rehearsal itself or by a stand-in's process."""

from collections.abc import Sequence

from rehearsal.control_plane import compute_domain
from rehearsal.control_plane.api import Api, Json

NODES = "/api/v1/nodes"


def add(api: Api, nodes: Sequence[Json], seconds: float = 60) -> None:
    """Adds Nodes, with channels for those in an NVLink domain, and returns when all of them take Pods.

    Raises:
        ApiError: The API server refused one.
        TimeoutError: One was not ready within `seconds`.
    """
    for node in nodes:
        api.create(NODES, node)
    for node in nodes:
        api.wait_for(f"{NODES}/{node['metadata']['name']}", _takes_pods, seconds)
    compute_domain.offer_channels(api, [node["metadata"]["name"] for node in nodes if _in_domain(node)])


def remove(api: Api, names: Sequence[str]) -> None:
    """Removes Nodes; Pods on them are collected later, as on a real cluster."""
    for name in names:
        api.delete(f"{NODES}/{name}")
    compute_domain.withdraw_channels(api, names)


def _in_domain(node: Json) -> bool:
    return compute_domain.CLIQUE_LABEL in node["metadata"]["labels"]


def _takes_pods(node: Json) -> bool:
    conditions = node["status"].get("conditions", [])
    ready = any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
    taints = node["spec"].get("taints", [])
    return ready and not any(taint["key"].startswith("node.kubernetes.io/") for taint in taints)
