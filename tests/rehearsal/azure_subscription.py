"""A rehearsed subscription on Azure, in which tests make one thing after the other."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rehearsal.fakes.account import Account, Thing
from rehearsal.fakes.azure_native import belongings
from rehearsal.fakes.azure_native import references as ref
from rehearsal.fakes.azure_native.access import BLOB_CONTRIBUTOR, CONTRIBUTOR, NETWORK_CONTRIBUTOR
from rehearsal.fakes.azure_native.kubernetes import AksKubernetesRules
from rehearsal.fakes.azure_native.provider import AzureRules
from rehearsal.fakes.life_cycle import LifeCycle
from rehearsal.fakes.rules import RefusedError, Resource
from rehearsal.fakes.values import Properties

SUBSCRIPTION: Final = "/subscriptions/11111111-2222-3333-4444-555555555555"
IN_GROUP: Final = f"{SUBSCRIPTION}/resourceGroups/kimi/providers"
SUBNET: Final = f"{IN_GROUP}/Microsoft.Network/virtualNetworks/net/subnets/nodes"
CONTAINER: Final = f"{IN_GROUP}/Microsoft.Storage/storageAccounts/kimi1/blobServices/default/containers/models"
THEIRS: Final = f"{SUBSCRIPTION}/resourceGroups/shared/providers/Microsoft.Compute/capacityReservationGroups/gpus"
GB300: Final = "Standard_ND128isr_GB300_v6"
JOB: Final = "kubernetes:batch/v1:Job"
_ACCOUNT: Final = "kubernetes:core/v1:ServiceAccount"
_GROUP: Final[Properties] = {"resourceGroupName": "kimi", "location": "eastus2"}

# Inputs that the subscription takes as they are; a test changes one thing of them.
INPUTS: Final[Mapping[str, Properties]] = {
    ref.GROUP: {"resourceGroupName": "kimi", "location": "eastus2"},
    ref.NETWORK: {
        **_GROUP,
        "virtualNetworkName": "net",
        "addressSpace": {"addressPrefixes": ["10.20.0.0/16"]},
        "subnets": [{"name": "nodes", "addressPrefix": "10.20.0.0/17"}],
    },
    ref.IDENTITY: {**_GROUP, "resourceName": "aks"},
    ref.ACCOUNT: {
        **_GROUP,
        "accountName": "kimi1",
        "kind": "StorageV2",
        "sku": {"name": "Standard_LRS"},
        "networkRuleSet": {"defaultAction": "Deny", "virtualNetworkRules": [{"virtualNetworkResourceId": SUBNET}]},
    },
    ref.CONTAINER: {
        "resourceGroupName": "kimi",
        "accountName": "kimi1",
        "containerName": "models",
        "publicAccess": "None",
    },
    ref.CLUSTER: {
        **_GROUP,
        "resourceName": "kimi",
        "dnsPrefix": "kimi",
        "kubernetesVersion": "1.35",
        "identity": {
            "type": "UserAssigned",
            "userAssignedIdentities": [f"{IN_GROUP}/Microsoft.ManagedIdentity/userAssignedIdentities/aks"],
        },
        "oidcIssuerProfile": {"enabled": True},
        "networkProfile": {"serviceCidr": "172.30.0.0/16", "dnsServiceIP": "172.30.0.10", "podCidr": "10.244.0.0/16"},
        "agentPoolProfiles": [
            {"name": "system", "mode": "System", "count": 2, "vmSize": "Standard_D8s_v5", "vnetSubnetID": SUBNET}
        ],
    },
    ref.POOL: {
        "resourceGroupName": "kimi",
        "resourceName": "kimi",
        "agentPoolName": "gpu",
        "mode": "User",
        "count": 2,
        "vmSize": GB300,
        "vnetSubnetID": SUBNET,
        "gpuProfile": {"driver": "None"},
        "upgradeSettings": {"maxSurge": "0", "maxUnavailable": "1"},
        "nodeTaints": ["nvidia.com/gpu=present:NoSchedule"],
    },
    ref.RESERVATION_GROUP: {**_GROUP, "capacityReservationGroupName": "ours"},
    ref.RESERVATION: {
        **_GROUP,
        "capacityReservationGroupName": "ours",
        "capacityReservationName": "gpu",
        "sku": {"name": GB300, "capacity": 2},
    },
}


@dataclass
class AzureSubscription:
    """What there is, and who may ask for more."""

    account: Account
    cloud: LifeCycle
    cluster: LifeCycle

    def make(self, kind: str, **changes: Any) -> Thing:
        """Make a thing; a change by `a__b` goes into a nested block, and None takes a property away.

        Raises:
            RefusedError: With what Azure says.
        """
        return self.ask(kind, changed(INPUTS[kind], changes))

    def ask(self, kind: str, inputs: Properties) -> Thing:
        """Make a thing of these inputs."""
        resource = Resource(urn=f"urn:pulumi:dev::kimi-k3::{kind}::a", type=kind, name="a", inputs=inputs, seed=b"1")
        completed, failures = self.cloud.check(resource, None)
        if failures:
            raise RefusedError("; ".join(f"{each.property}: {each.reason}" for each in failures))
        return self.cloud.create(
            Resource(urn=resource.urn, type=kind, name="a", inputs=completed, seed=b"1"), timeout=0
        )

    def allow(self, identity: Thing, role: str, scope: str, **changes: Any) -> Thing:
        """Give an identity a role."""
        inputs: Properties = {
            "principalId": identity.outputs["principalId"],
            "principalType": "ServicePrincipal",
            "roleDefinitionId": f"{SUBSCRIPTION}/providers/Microsoft.Authorization/roleDefinitions/{role}",
            "scope": scope,
        }
        return self.ask(ref.ROLE, changed(inputs, changes))

    def delete(self, thing: Thing) -> None:
        """Delete a thing."""
        (self.cluster if thing.type.startswith("kubernetes:") else self.cloud).delete(thing.type, thing.id)

    def put(self, kind: str, manifest: Properties) -> Thing:
        """Make an object in the cluster."""
        resource = Resource(urn=f"urn:pulumi:dev::kimi-k3::{kind}::o", type=kind, name="o", inputs=manifest)
        return self.cluster.create(resource, timeout=0)

    def copy(self, *, labels: Mapping[str, str], client: object) -> Thing:
        """Run a Job that copies the weights into the container, as a service account of this client id."""
        account = {"name": "weights", "namespace": "default"}
        notes = {"azure.workload.identity/client-id": client}
        self.put(
            _ACCOUNT, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {**account, "annotations": notes}}
        )
        container = {"name": "copy", "image": "python:3.12.11", "args": ["--to", "az://models/moonshotai"]}
        pod = {"serviceAccountName": "weights", "restartPolicy": "Never", "containers": [container]}
        manifest: Properties = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "copy", "namespace": "default"},
            "spec": {"template": {"metadata": {"labels": dict(labels)}, "spec": pod}},
        }
        return self.put(JOB, manifest)

    def writer(self, issuer: object, subject: str = "system:serviceaccount:default:weights") -> Thing:
        """Make an identity that a service account may take."""
        identity = self.make(ref.IDENTITY, resourceName="writer")
        inputs: Properties = {
            "resourceGroupName": "kimi",
            "resourceName": "writer",
            "federatedIdentityCredentialResourceName": "writer",
            "issuer": issuer,
            "subject": subject,
            "audiences": ["api://AzureADTokenExchange"],
        }
        self.ask(ref.TRUST, inputs)
        return identity

    def service(self, **annotations: str) -> Thing:
        """Make a Service of type LoadBalancer; an annotation's name without Azure's prefix, `_` for `-`."""
        prefix = "service.beta.kubernetes.io/azure"
        notes = {f"{prefix}-{key.replace('_', '-')}": value for key, value in annotations.items()}
        manifest: Properties = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "api", "namespace": "default", "annotations": notes},
            "spec": {
                "type": "LoadBalancer",
                "ports": [{"port": 8000}],
                "loadBalancerSourceRanges": ["10.0.0.0/8"],
            },
        }
        return self.put("kubernetes:core/v1:Service", manifest)

    def reserve(self, count: int = 2, machine: str = GB300, zone: str | None = None) -> None:
        """Put somebody's capacity reservation group into the subscription."""
        with self.account.open() as ledger:
            belongings.reservation(ledger, THEIRS, machine=machine, count=count, zone=zone)

    def later(self, seconds: float) -> None:
        """Let time pass."""
        with self.account.open() as ledger:
            ledger.clock.advance(seconds)

    def things(self, kind: str) -> list[Thing]:
        """The things of a type."""
        return self.account.ledger().of_type(kind)

    def only(self, kind: str) -> Thing:
        """The one thing of a type."""
        (found,) = self.things(kind)
        return found


def subscription(folder: Path, *, with_cluster: bool = False) -> AzureSubscription:
    """Return a subscription with one resource group, or with a cluster and whatever it stands on.

    Args:
        folder: Where the account's file is.
        with_cluster: Whether network, identity, roles, storage account and cluster are there.
    """
    account = Account(folder / "account.json")
    found = AzureSubscription(account, LifeCycle(AzureRules(), account), LifeCycle(AksKubernetesRules(), account))
    found.make(ref.GROUP)
    if with_cluster:
        found.make(ref.NETWORK)
        identity = found.make(ref.IDENTITY)
        found.allow(identity, NETWORK_CONTRIBUTOR, SUBNET)
        for kind in (ref.ACCOUNT, ref.CONTAINER, ref.CLUSTER):
            found.make(kind)
    return found


def contribute(found: AzureSubscription, scope: str) -> Thing:
    """Make the cluster's identity a Contributor of something."""
    identity = found.things(ref.IDENTITY)[0]
    return found.allow(identity, CONTRIBUTOR, scope)


def write(found: AzureSubscription, identity: Thing) -> Thing:
    """Let an identity write into the container."""
    return found.allow(identity, BLOB_CONTRIBUTOR, CONTAINER)


def changed(inputs: Properties, changes: Mapping[str, Any]) -> Properties:
    """Return inputs with changes; `a__b` is the property b of the block a."""
    result: Any = copy.deepcopy(inputs)
    for path, value in changes.items():
        *blocks, key = path.split("__")
        block = result
        for name in blocks:
            block = block.setdefault(name, {})
        if value is None:
            block.pop(key, None)
        else:
            block[key] = value
    return result
