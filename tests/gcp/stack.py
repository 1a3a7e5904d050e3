"""The committed GCP stack under recorded registrations, and the variants that the tests share."""

from collections.abc import Mapping
from typing import Any

import pulumi
import pytest

from tests.conftest import Mocks, Registered, run_program
from tests.gcp.answers import GcpAnswers
from tests.stacks import values

Changes = Mapping[str, object]
A4: Changes = {"machine": "a4-highgpu-8g", "capacity": {"subBlock": None, "block": None}}
"""Two nodes of 8 x B200 a replica, which talk over RDMA."""
FLEX: Changes = {
    "machine": "a4-highgpu-8g",
    "capacity": {
        "mode": "flexStart",
        "reservation": None,
        "subBlock": None,
        "block": None,
    },
}
"""The same by DWS flex-start."""
GB200: Changes = {"machine": "a4x-highgpu-4g"}
"""Four nodes of one rack."""
H200: Changes = {"machine": "a3-ultragpu-8g", "capacity": {"subBlock": None, "block": None}}
H100: Changes = {"machine": "a3-megagpu-8g", "capacity": {"subBlock": None, "block": None}}
GATEWAY: Changes = {"replicas": 2, "exposure": {"inferenceGateway": True}}
"""Two replicas behind GKE's Inference Gateway."""
PUBLIC: Changes = {
    "exposure": {
        "mode": "public",
        "allowedRanges": ["203.0.113.0/24", "198.51.100.7/32"],
        "certificateSecret": "api-tls",
    }
}
EXISTING_NETWORK: Changes = {
    "network": {"name": "shared", "subnet": "gke", "podsRange": "pods", "servicesRange": "services"}
}


def program(changes: Changes | None = None, answers: GcpAnswers | None = None, *, unknown: bool = False) -> Mocks:
    """Run the program with the committed stack file and these changes."""
    changed = values("gcp", **(changes or {}))
    machine = changed["machine"]
    assert isinstance(machine, str)
    return run_program(changed, unknown=unknown, cloud=answers or GcpAnswers(machine=machine, healthy=18))


def refusal(changes: Changes | None = None, answers: GcpAnswers | None = None) -> str:
    """Return what the program refuses the stack with, before it has registered anything but the provider."""
    with pytest.raises(pulumi.RunError) as caught:
        program(changes, answers)
    return str(caught.value)


def only(found: list[Registered], name: str = "") -> Registered:
    """Return the one resource, or the one of that name."""
    (resource,) = [each for each in found if name in ("", each.name)]
    return resource


def gpu_nodes(mocks: Mocks) -> Mapping[str, Any]:
    """Return the GPU node pool's inputs."""
    return only(mocks.of("NodePool"), "gpu-nodes").inputs


def gpu_node(mocks: Mocks) -> Mapping[str, Any]:
    """Return what one of its nodes is."""
    return gpu_nodes(mocks)["nodeConfig"]


def control_plane(mocks: Mocks) -> Mapping[str, Any]:
    """Return the cluster's inputs."""
    return only(mocks.of("Cluster"), "cluster-gke").inputs


def engine_pod(mocks: Mocks, role: str = "leader") -> Mapping[str, Any]:
    """Return the pod template's spec of a role."""
    (group,) = mocks.of("LeaderWorkerSet")
    return group.inputs["spec"]["leaderWorkerTemplate"][f"{role}Template"]["spec"]


def engine(mocks: Mocks) -> Mapping[str, Any]:
    """Return the engine's container."""
    return engine_pod(mocks)["containers"][0]


def environment(mocks: Mocks) -> dict[str, str]:
    """Return the literal variables of the engine."""
    return {entry["name"]: entry["value"] for entry in engine(mocks)["env"] if "value" in entry}
