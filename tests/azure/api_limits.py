"""What Azure's API takes beyond the SDK's types: names, lengths and ranges, and a check of planned inputs against it.

The table is from the clients of the same API versions as the SDK's: azure-mgmt-containerservice 40.1.0 (2025-09-01),
azure-mgmt-storage 23.0.1 (2024-01-01), azure-mgmt-msi 7.1.0 (2023-01-31); newer clients no longer state them. The rest
is Azure's page of naming rules (azure-resource-manager/management/resource-name-rules).
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from rehearsal.fakes import schema
from tests.conftest import Registered

NAMES: Final[Mapping[str, Mapping[str, str]]] = {
    "ResourceGroup": {"resourceGroupName": r"[-\w._()]{0,89}[-\w_()]"},
    "ManagedCluster": {
        "resourceName": r"[a-zA-Z0-9]|[a-zA-Z0-9][-_a-zA-Z0-9]{0,61}[a-zA-Z0-9]",
        "dnsPrefix": r"[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]{0,52}[a-zA-Z0-9]",
        "nodeResourceGroup": r"[-\w._()]{1,80}",
    },
    "AgentPool": {"agentPoolName": r"[a-z][a-z0-9]{0,11}"},
    "StorageAccount": {"accountName": r"[a-z0-9]{3,24}"},
    "BlobContainer": {"containerName": r"(?=.{3,63}$)[a-z0-9](-?[a-z0-9])*"},
    "UserAssignedIdentity": {"resourceName": r"[a-zA-Z0-9][-_a-zA-Z0-9]{2,127}"},
    "FederatedIdentityCredential": {"federatedIdentityCredentialResourceName": r"[a-zA-Z0-9][a-zA-Z0-9-_]{2,119}"},
    "VirtualNetwork": {"virtualNetworkName": r"[a-zA-Z0-9]|[a-zA-Z0-9][-\w.]{0,62}\w"},
    "CapacityReservationGroup": {"capacityReservationGroupName": r"[a-zA-Z0-9]([-\w.]{0,62}\w)?"},
    "CapacityReservation": {"capacityReservationName": r"[a-zA-Z0-9]([-\w.]{0,62}\w)?"},
}
"""A pattern for the whole name, by the last part of the type and the property."""
RANGES: Final[Mapping[str, Mapping[str, tuple[int, int]]]] = {
    "AgentPool": {"count": (0, 1000), "osDiskSizeGB": (0, 2048)},
    "ManagedCluster": {
        "networkProfile.loadBalancerProfile.idleTimeoutInMinutes": (4, 120),
        "networkProfile.loadBalancerProfile.allocatedOutboundPorts": (0, 64_000),
        "networkProfile.loadBalancerProfile.managedOutboundIPs.count": (1, 100),
    },
}


def faults(resource: Registered) -> list[str]:
    """Return what Azure would refuse in a resource's inputs."""
    kind, inputs = resource.type.rsplit(":", 1)[-1], _whole(resource.inputs)
    typed = schema.input_failures(schema.args_class("pulumi_azure_native", resource.type), inputs)
    found = [f"{resource.name}.{each.property}: {each.reason}" for each in typed]
    return [*found, *(f"{resource.name}.{each}" for each in _limits(kind, inputs))]


def _limits(kind: str, inputs: Mapping[str, Any]) -> Iterator[str]:
    for key, pattern in NAMES.get(kind, {}).items():
        if not re.fullmatch(pattern, str(inputs.get(key))):
            yield f"{key}: {inputs.get(key)!r} doesn't fit {pattern}"
    for path, (low, high) in RANGES.get(kind, {}).items():
        value: Any = inputs
        for part in path.split("."):
            value = value[part]
        if not low <= value <= high:
            yield f"{path}: {value} is not from {low} to {high}"


def _whole(value: Any) -> Any:
    """Return the inputs with whole numbers as such: on the mocks' wire every number is a fraction."""
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
