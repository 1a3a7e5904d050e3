"""What Google answers under mocks: the look-ups of a preview, and what it computes for a resource."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.conftest import Refused

NUMBER = "123456789012"
"""Of the project."""
RESERVATION: dict[str, Any] = {
    "name": "kimi-k3",
    "zone": "us-central1-b",
    "status": "READY",
    "specificReservationRequired": True,
}
"""A reservation that the committed stack file can use."""


@dataclass
class GcpAnswers:
    """A project with one reservation of two healthy hosts in its sub-block; every answer can be changed."""

    machine: str = "a4x-maxgpu-4g-metal"
    """Type of the reserved machines."""
    count: int = 18
    """Hosts in the reservation as a whole and in its block."""
    reservation: Mapping[str, Any] = field(default_factory=dict)
    """Changes to the reservation."""
    healthy: int = 2
    """Healthy hosts of the sub-block."""
    used: int = 0
    """Of them, those that run."""
    running: int | None = None
    """GPU nodes that this stack has already; None: there is no cluster yet."""
    offered: bool = True
    """Whether the zone has the machine."""
    versions: Sequence[str] = ("1.35.1-gke.1000000",)
    """Control planes that GKE makes in the region."""
    subnet: Mapping[str, Any] = field(default_factory=dict)
    """Changes to the subnet that was there before."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """What Google says instead of an answer, by the last part of the look-up's name."""
    asked: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    """Every look-up, in order."""

    def computed(self, kind: str, name: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return what Google adds to a resource."""
        match kind:
            case "gcp:container/cluster:Cluster":
                return {"endpoint": "203.0.113.9", "masterAuth": {"clusterCaCertificate": "Q0E="}}
            case "gcp:serviceaccount/account:Account":
                email = f"{inputs['accountId']}@my-project.iam.gserviceaccount.com"
                return {"email": email, "member": f"serviceAccount:{email}"}
            case "gcp:compute/address:Address":
                return {"address": "10.20.128.7"}
            case _:
                return {}

    def look_up(self, token: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """Answer one look-up."""
        question = token.rsplit("/", 1)[-1].rsplit(":", 1)[-1]
        self.asked.append((question, args))
        if question in self.refused:
            raise Refused(self.refused[question])
        if question == "getCluster" and self.running is None:
            raise Refused("googleapi: Error 404: Not found: projects/my-project/.../clusters/kimi-k3-existing")
        machines = {"count": self.count, "inUseCount": self.used}
        subnet = {
            "network": "https://www.googleapis.com/compute/v1/projects/my-project/global/networks/shared",
            "privateIpGoogleAccess": True,
            "secondaryIpRanges": [{"rangeName": "pods"}, {"rangeName": "services"}],
        }
        return {
            "getReservation": {
                **RESERVATION,
                "specificReservations": [{**machines, "instanceProperties": [{"machineType": self.machine}]}],
                **self.reservation,
            },
            "getReservationBlock": {"blockCount": self.count, "inUseCount": self.used},
            "getReservationSubBlock": {
                "subBlockCount": self.count,
                "inUseCount": self.used,
                "healthInfos": [{"healthyHostCount": self.healthy, "degradedHostCount": self.count - self.healthy}],
            },
            "getCluster": {"nodePools": [{"name": "gpu", "nodeCount": self.running}]},
            "getMachineTypes": {"machineTypes": [{"name": self.machine}] if self.offered else []},
            "getEngineVersions": {
                "validMasterVersions": list(self.versions),
                "releaseChannelDefaultVersion": {"REGULAR": "1.35.1-gke.1000000"},
            },
            "getSubnetwork": {**subnet, **self.subnet},
            "getProject": {"number": NUMBER},
            "getClientConfig": {"accessToken": "ya29.token", "project": "my-project"},
        }[question]
