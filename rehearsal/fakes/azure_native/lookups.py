"""The functions of the provider: what a program asks of the subscription, and the way into a cluster."""

import base64
import json
from collections.abc import Mapping
from typing import Final

from rehearsal.fakes.account import Ledger, Thing
from rehearsal.fakes.azure_native import references as ref
from rehearsal.fakes.azure_native.cluster import NOWHERE
from rehearsal.fakes.azure_native.reservation import members_of, users_of
from rehearsal.fakes.cloud import Lookup
from rehearsal.fakes.paths import text_at
from rehearsal.fakes.rules import RefusedError
from rehearsal.fakes.values import Properties, Secret

_INFINIBAND: Final = "AKSInfinibandSupport"


def _client(arguments: Properties, ledger: Ledger) -> Properties:
    del arguments
    ids = {key: ref.made_up_uuid(key) for key in ("clientId", "objectId", "tenantId")}
    return {**ids, "subscriptionId": ref.subscription(ledger)}


def _group(arguments: Properties, ledger: Ledger) -> Properties:
    found = _found(arguments, "Microsoft.Compute/capacityReservationGroups", "capacityReservationGroupName", ledger)
    members = members_of(found.id, ledger)
    return {
        **found.outputs,
        "id": found.id,
        "name": ref.last(found.id),
        "type": "Microsoft.Compute/capacityReservationGroups",
        "capacityReservations": [{"id": each.id} for each in members],
        "virtualMachinesAssociated": [{"id": user.id} for each in members for user in users_of(each, ledger)],
    }


def _reservation(arguments: Properties, ledger: Ledger) -> Properties:
    group = _found(arguments, "Microsoft.Compute/capacityReservationGroups", "capacityReservationGroupName", ledger)
    name = text_at(arguments, "capacityReservationName")
    found = ledger.find(ref.RESERVATION, f"{group.id}/capacityReservations/{name}")
    if found is None:
        raise _missing(f"{group.id}/capacityReservations/{name}")
    return {"provisioningState": "Succeeded", **found.outputs, "id": found.id, "name": name}


def _feature(arguments: Properties, ledger: Ledger) -> Properties:
    """One that nobody ever registered isn't found (Features, `FeatureRegistrationNotFound`)."""
    name = text_at(arguments, "featureName")
    if name != _INFINIBAND or ledger.settings.get("infiniband") is not True:
        raise RefusedError(
            f'Status=404 Code="FeatureRegistrationNotFound" Message="The feature \'{name}\' isn\'t there."'
        )
    return {"id": name, "name": name, "type": "", "properties": {"state": "Registered"}}


def _subnet(arguments: Properties, ledger: Ledger) -> Properties:
    found = _found(arguments, "Microsoft.Network/virtualNetworks", "virtualNetworkName", ledger)
    identity = f"{found.id}/subnets/{arguments.get('subnetName')}"
    subnet = ref.subnet(identity, ledger)
    if subnet is None:
        raise _missing(identity)
    return {**subnet, "id": identity}


def _credentials(arguments: Properties, ledger: Ledger) -> Properties:
    _found(arguments, "Microsoft.ContainerService/managedClusters", "resourceName", ledger)
    cluster: Properties = {"server": str(ledger.settings.get("server") or NOWHERE)}
    if authority := ledger.settings.get("authority"):
        cluster["certificate-authority-data"] = authority
    user = {"token": str(ledger.settings.get("token") or "rehearsal")}
    # AKS' own is YAML, of which JSON is a part.
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "aks", "cluster": cluster}],
        "users": [{"name": "admin", "user": user}],
        "contexts": [{"name": "aks", "context": {"cluster": "aks", "user": "admin"}}],
        "current-context": "aks",
    }
    value = base64.b64encode(json.dumps(config).encode()).decode()
    return {"kubeconfigs": [{"name": "clusterAdmin", "value": Secret(value)}]}


def _found(arguments: Properties, collection: str, key: str, ledger: Ledger) -> Thing:
    path = (
        f"{ref.group_path(text_at(arguments, 'resourceGroupName'), ledger)}/providers/{collection}/{arguments.get(key)}"
    )
    found = next((each for each in ledger.things if each.id == path), None)
    if found is None:
        raise _missing(path)
    return found


def _missing(path: str) -> RefusedError:
    text = f"The Resource '{path.partition('/providers/')[2]}' was not found."
    return RefusedError(f'Status=404 Code="ResourceNotFound" Message="{text}"')


LOOKUPS: Final[Mapping[str, Lookup]] = {
    "azure-native:authorization:getClientConfig": _client,
    "azure-native:compute:getCapacityReservation": _reservation,
    "azure-native:compute:getCapacityReservationGroup": _group,
    "azure-native:containerservice:listManagedClusterAdminCredentials": _credentials,
    "azure-native:features:getSubscriptionFeatureRegistration": _feature,
    "azure-native:network:getSubnet": _subnet,
}
