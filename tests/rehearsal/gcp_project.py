"""A rehearsed project on GCP, in which tests make one thing after the other."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rehearsal.fakes.account import Account, Thing
from rehearsal.fakes.gcp import belongings
from rehearsal.fakes.gcp import references as ref
from rehearsal.fakes.gcp.kubernetes import GkeKubernetesRules
from rehearsal.fakes.gcp.provider import GcpRules
from rehearsal.fakes.life_cycle import LifeCycle
from rehearsal.fakes.rules import RefusedError, Resource
from rehearsal.fakes.values import Properties

NUMBER: Final = "123456789012"
PATH: Final = "projects/my-project/reservations/kimi-k3"
SUB_BLOCK: Final = f"{PATH}/reservationBlocks/b1/reservationSubBlocks/s1"
MEMBER: Final = "gcp:storage/bucketIAMMember:BucketIAMMember"
PRINCIPAL: Final = (
    f"principal://iam.googleapis.com/projects/{NUMBER}/locations/global/workloadIdentityPools/my-project.svc.id.goog"
    "/subject/ns/kimi-k3/sa/kimi-k3"
)
_EMAIL: Final = "kimi-nodes@my-project.iam.gserviceaccount.com"
_SERVICE: Final = "kubernetes:core/v1:Service"

# Inputs that the project takes as they are; a test changes one thing of them.
INPUTS: Final[Mapping[str, Properties]] = {
    ref.SERVICE_ACCOUNT: {"accountId": "kimi-nodes"},
    ref.NETWORK: {"name": "kimi", "autoCreateSubnetworks": False},
    ref.SUBNETWORK: {
        "name": "kimi",
        "network": "kimi",
        "region": "us-central1",
        "ipCidrRange": "10.20.128.0/19",
        "secondaryIpRanges": [
            {"rangeName": "pods", "ipCidrRange": "10.20.0.0/17"},
            {"rangeName": "services", "ipCidrRange": "10.20.160.0/19"},
        ],
    },
    ref.ROUTER: {"name": "kimi", "network": "kimi", "region": "us-central1"},
    ref.NAT: {
        "name": "kimi",
        "router": "kimi",
        "region": "us-central1",
        "natIpAllocateOption": "AUTO_ONLY",
        "sourceSubnetworkIpRangesToNat": "ALL_SUBNETWORKS_ALL_IP_RANGES",
        "enableDynamicPortAllocation": True,
        "minPortsPerVm": 512,
    },
    ref.CLUSTER: {
        "name": "kimi",
        "location": "us-central1",
        "nodeLocations": ["us-central1-b"],
        "network": "kimi",
        "subnetwork": "kimi",
        "datapathProvider": "ADVANCED_DATAPATH",
        "deletionProtection": False,
        "enableShieldedNodes": False,
        "minMasterVersion": "1.35",
        "ipAllocationPolicy": {"clusterSecondaryRangeName": "pods", "servicesSecondaryRangeName": "services"},
        "nodeConfig": {"serviceAccount": _EMAIL},
    },
    ref.RESOURCE_POLICY: {
        "name": "rack",
        "region": "us-central1",
        "workloadPolicy": {"type": "HIGH_THROUGHPUT", "acceleratorTopology": "1x72"},
    },
    ref.NODE_POOL: {
        "name": "gpu",
        "cluster": "projects/my-project/locations/us-central1/clusters/kimi",
        "nodeLocations": ["us-central1-b"],
        "nodeCount": 2,
        "upgradeSettings": {"strategy": "SURGE", "maxSurge": 0, "maxUnavailable": 1},
        "placementPolicy": {"type": "COMPACT", "policyName": "rack"},
        "networkConfig": {"acceleratorNetworkProfile": "auto"},
        "nodeConfig": {
            "machineType": "a4x-maxgpu-4g-metal",
            "serviceAccount": _EMAIL,
            "bootDisk": {"diskType": "hyperdisk-balanced"},
            "guestAccelerators": [
                {
                    "type": "nvidia-gb300",
                    "count": 4,
                    "gpuDriverInstallationConfig": {"gpuDriverVersion": "LATEST"},
                }
            ],
            "reservationAffinity": {
                "consumeReservationType": "SPECIFIC_RESERVATION",
                "key": "compute.googleapis.com/reservation-name",
                "values": [SUB_BLOCK],
            },
        },
    },
    ref.BUCKET: {"name": "kimi-weights", "location": "us-central1", "forceDestroy": True},
    MEMBER: {"bucket": "kimi-weights", "role": "roles/storage.objectViewer", "member": PRINCIPAL},
    ref.FUTURE_RESERVATION: {
        "name": "kimi-k3",
        "zone": "us-central1-b",
        "planningStatus": "SUBMITTED",
        "reservationMode": "CALENDAR",
        "deploymentType": "DENSE",
        "specificSkuProperties": {"totalCount": "2", "instanceProperties": {"machineType": "a4-highgpu-8g"}},
        "timeWindow": {"startTime": "2027-01-11T00:00:00Z", "duration": {"seconds": "1209600"}},
    },
}
IN_ORDER: Final = (
    ref.SERVICE_ACCOUNT,
    ref.NETWORK,
    ref.SUBNETWORK,
    ref.ROUTER,
    ref.NAT,
    ref.CLUSTER,
    ref.RESOURCE_POLICY,
)


@dataclass
class GcpProject:
    """What there is, and who may ask for more."""

    account: Account
    cloud: LifeCycle
    cluster: LifeCycle

    def make(self, kind: str, **changes: Any) -> Thing:
        """Make a thing; a change by `a__b` goes into a nested block, and None takes a property away.

        Raises:
            RefusedError: With what the project says.
        """
        inputs = changed(INPUTS[kind], changes)
        resource = Resource(urn=f"urn:pulumi:dev::kimi-k3::{kind}::a", type=kind, name="a", inputs=inputs, seed=b"1")
        completed, failures = self.cloud.check(resource, None)
        if failures:
            raise RefusedError("; ".join(f"{each.property}: {each.reason}" for each in failures))
        asked = Resource(urn=resource.urn, type=kind, name="a", inputs=completed, seed=b"1")
        return self.cloud.create(asked, timeout=0)

    def delete(self, thing: Thing) -> None:
        """Delete a thing."""
        (self.cluster if thing.type.startswith("kubernetes:") else self.cloud).delete(thing.type, thing.id)

    def service(self, **spec: object) -> Thing:
        """Make a Service in the cluster."""
        manifest: Properties = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "api", "namespace": "default"},
            "spec": {"type": "LoadBalancer", "ports": [{"port": 8000}], **spec},
        }
        resource = Resource(urn=f"urn:pulumi:dev::kimi-k3::{_SERVICE}::api", type=_SERVICE, name="api", inputs=manifest)
        return self.cluster.create(resource, timeout=0)

    def reserve(self, hosts: int = 2, machine: str = "a4x-maxgpu-4g-metal", **facts: Any) -> Thing:
        """Put a reservation into the project."""
        described = belongings.Reserved(
            name="kimi-k3",
            owner="my-project",
            zone="us-central1-b",
            machine=machine,
            hosts=hosts,
            block="b1",
            sub_block="s1",
        )
        with self.account.open() as ledger:
            return belongings.reservation(ledger, described, **facts)

    def things(self, kind: str) -> list[Thing]:
        """The things of a type."""
        return self.account.ledger().of_type(kind)


def project(folder: Path, *, with_cluster: bool = False) -> GcpProject:
    """Return a project, empty or with a cluster and a reservation of two hosts.

    Args:
        folder: Where the account's file is.
        with_cluster: Whether the cluster and whatever it stands on are there.
    """
    account = Account(folder / "account.json")
    account.configure(project="my-project", region="us-central1")
    found = GcpProject(account, LifeCycle(GcpRules(), account), LifeCycle(GkeKubernetesRules(), account))
    if with_cluster:
        found.reserve()
        for kind in IN_ORDER:
            found.make(kind)
    return found


def changed(inputs: Properties, changes: Mapping[str, Any]) -> Properties:
    """Return inputs with changes; `a__b` is the property b of the block a."""
    found: Any = copy.deepcopy(inputs)
    for path, value in changes.items():
        *blocks, key = path.split("__")
        block = found
        for name in blocks:
            block = block.setdefault(name, {})
        if value is None:
            block.pop(key, None)
        else:
            block[key] = value
    return found
