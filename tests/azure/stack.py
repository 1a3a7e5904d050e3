"""The committed Azure stack under recorded registrations, and the variants that the tests share."""

from collections.abc import Mapping
from typing import Any

import pulumi
import pytest

from tests.azure.answers import ACCOUNT, GROUP, SUBNET, AzureAnswers
from tests.conftest import Mocks, Registered, run_program
from tests.stacks import values

Changes = Mapping[str, object]
RACK_OVER_INFINIBAND: Changes = {"topology": {"interconnect": "rdma"}}
"""The same two machines where NVLink between them isn't to be had."""
OVER_TCP: Changes = {"topology": {"interconnect": "tcp"}}
GB200: Changes = {"machine": "Standard_ND128isr_NDR_GB200_v6"}
"""Four nodes of one rack."""
H200: Changes = {"machine": "Standard_ND96isr_H200_v5"}
"""Two x86 nodes that talk over InfiniBand."""
RESERVED: Changes = {"capacity": {"mode": "existing", "id": GROUP}}
TARGETED: Changes = {"capacity": {"mode": "targeted", "allowUnsupportedSize": True}}
"""A reservation of the stack's own, in a subscription for which Azure has opened it."""
THEIR_SUBNET: Changes = {"network": {"subnetId": SUBNET}}
THEIR_ACCOUNT: Changes = {"weights": {"accountId": ACCOUNT}}
PUBLIC: Changes = {
    "exposure": {
        "mode": "public",
        "allowedRanges": ["203.0.113.0/24", "198.51.100.7/32"],
        "certificateSecret": "api-tls",
    }
}


def registered(changes: Changes) -> AzureAnswers:
    """Return a subscription whose InfiniBand feature is as the machine needs it."""
    return AzureAnswers(feature="Registered" if "H200" in str(changes.get("machine")) else "NotRegistered")


def program(changes: Changes | None = None, answers: AzureAnswers | None = None, *, unknown: bool = False) -> Mocks:
    """Run the program with the committed stack file and these changes."""
    given = changes or {}
    return run_program(values("azure", **given), unknown=unknown, cloud=answers or registered(given))


def refusal(changes: Changes | None = None, answers: AzureAnswers | None = None) -> str:
    """Return what the program refuses the stack with, before it has registered anything but the provider."""
    with pytest.raises(pulumi.RunError) as caught:
        program(changes, answers)
    return str(caught.value)


def only(found: list[Registered], name: str = "") -> Registered:
    """Return the one resource, or the one of that name."""
    (resource,) = [each for each in found if name in ("", each.name)]
    return resource


def gpu_nodes(mocks: Mocks) -> Registered:
    """Return the GPU nodes' agent pool."""
    return only(mocks.of("AgentPool"))


def control_plane(mocks: Mocks) -> Mapping[str, Any]:
    """Return the cluster's inputs."""
    return only(mocks.of("ManagedCluster")).inputs


def engine_pod(mocks: Mocks, role: str = "leader") -> Mapping[str, Any]:
    """Return the pod template of a role, its metadata included."""
    (group,) = mocks.of("LeaderWorkerSet")
    return group.inputs["spec"]["leaderWorkerTemplate"][f"{role}Template"]


def engine(mocks: Mocks, role: str = "leader") -> Mapping[str, Any]:
    """Return the engine's container."""
    return engine_pod(mocks, role)["spec"]["containers"][0]


def environment(mocks: Mocks) -> dict[str, str]:
    """Return the literal variables of the engine."""
    return {entry["name"]: entry["value"] for entry in engine(mocks)["env"] if "value" in entry}
