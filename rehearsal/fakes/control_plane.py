"""The real control plane of a full rehearsal, as a stand-in's process sees it; a light rehearsal has none."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rehearsal.control_plane import node_pool
from rehearsal.control_plane.api import Api, Json

KUBECONFIG_VARIABLE: Final = "REHEARSAL_KUBECONFIG"
"""Environment variable with the path of an administrator's kubeconfig."""


def control_plane() -> Api | None:
    """A client of the control plane that the environment names; None in a light rehearsal."""
    path = os.environ.get(KUBECONFIG_VARIABLE)
    return Api.from_kubeconfig(Path(path)) if path else None


def add_nodes(nodes: Sequence[Json]) -> None:
    """Let machines join the control plane, if there is one."""
    api = control_plane()
    if api is not None:
        node_pool.add(api, nodes)


def remove_nodes(names: Sequence[str]) -> None:
    """Take machines out of the control plane, if there is one."""
    api = control_plane()
    if api is not None:
        node_pool.remove(api, names)


def completed_copies() -> list[list[str]]:
    """The arguments of each Job that has completed in the control plane; none without one."""
    api = control_plane()
    jobs = api.items("/apis/batch/v1/jobs") if api is not None else []
    return [_arguments(job) for job in jobs if _complete(job)]


def _arguments(job: Json) -> list[str]:
    containers = job["spec"]["template"]["spec"]["containers"]
    return [text for each in containers for text in (*each.get("command", []), *each.get("args", []))]


def _complete(job: Json) -> bool:
    conditions = job.get("status", {}).get("conditions", [])
    return any(each["type"] == "Complete" and each["status"] == "True" for each in conditions)
