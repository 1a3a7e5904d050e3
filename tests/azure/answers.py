"""What Azure answers under mocks: the look-ups of a preview, and what it computes for a resource."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.conftest import Refused

SUBSCRIPTION = "11111111-2222-3333-4444-555555555555"
IN_GROUP = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/shared/providers"
GROUP = f"{IN_GROUP}/Microsoft.Compute/capacityReservationGroups/gpus"
SUBNET = f"{IN_GROUP}/Microsoft.Network/virtualNetworks/hub/subnets/aks"
ACCOUNT = f"{IN_GROUP}/Microsoft.Storage/storageAccounts/mymodels"
GB300 = "Standard_ND128isr_GB300_v6"
ISSUER = "https://eastus2.oic.prod-aks.azure.com/tenant/cluster/"
KUBECONFIG = "kind: Config"


def reserved(size: str = GB300, count: int = 2, zones: Sequence[str] = (), state: str = "Succeeded") -> dict[str, Any]:
    """Return one reservation of a group."""
    return {"sku": {"name": size, "capacity": count}, "zones": list(zones), "provisioningState": state}


@dataclass
class AzureAnswers:
    """A subscription with one capacity reservation group; every answer can be changed."""

    members: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: {"gb300": reserved()})
    """Reservations of the group."""
    group_region: str = "eastus2"
    feature: str = "NotRegistered"
    """State of AKSInfinibandSupport."""
    endpoints: Sequence[str] = ("Microsoft.Storage",)
    """Service endpoints of the subnet."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """What Azure says instead of an answer, by the last part of the look-up's name."""

    def computed(self, kind: str, name: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return what Azure adds to a resource."""
        match kind.rsplit(":", 1)[-1]:
            case "ManagedCluster":
                # A list on the way in is a mapping on the way out, in this API alone.
                identities = {each: {} for each in inputs["identity"]["userAssignedIdentities"]}
                return {
                    "name": inputs["resourceName"],
                    "oidcIssuerProfile": {"enabled": True, "issuerURL": ISSUER},
                    "identity": {"type": "UserAssigned", "userAssignedIdentities": identities},
                }
            case "UserAssignedIdentity":
                return {
                    "name": inputs["resourceName"],
                    "clientId": f"{name}-client",
                    "principalId": f"{name}-principal",
                }
            case "ResourceGroup":
                return {"name": inputs["resourceGroupName"]}
            case "StorageAccount":
                return {"name": inputs["accountName"]}
            case "AgentPool":
                return {"name": inputs["agentPoolName"]}
            case _:
                return {}

    def look_up(self, token: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """Answer one look-up."""
        question = token.rsplit(":", 1)[-1]
        if question in self.refused:
            raise Refused(self.refused[question])
        match question:
            case "getClientConfig":
                return {"subscriptionId": SUBSCRIPTION, "tenantId": "", "clientId": "", "objectId": ""}
            case "getCapacityReservationGroup":
                members = [{"id": f"{GROUP}/capacityReservations/{name}"} for name in self.members]
                return {"location": self.group_region, "capacityReservations": members}
            case "getCapacityReservation":
                return dict(self.members[args["capacityReservationName"]])
            case "getSubscriptionFeatureRegistration":
                return {"properties": {"state": self.feature}}
            case "getSubnet":
                return {"serviceEndpoints": [{"service": each} for each in self.endpoints]}
            case "listManagedClusterAdminCredentials":
                return {"kubeconfigs": [{"name": "admin", "value": base64.b64encode(KUBECONFIG.encode()).decode()}]}
            case other:
                raise AssertionError(f"unexpected look-up {other}")
