"""Types, ids and what they lead to: Azure's ids are paths below a resource group."""

import re
import uuid
from typing import Final

from rehearsal.fakes.account import Ledger, Thing
from rehearsal.fakes.paths import text_at, texts_at
from rehearsal.fakes.resource_kind import Admission, Consequence, Identity
from rehearsal.fakes.rules import RefusedError, Resource

GROUP: Final = "azure-native:resources:ResourceGroup"
NETWORK: Final = "azure-native:network:VirtualNetwork"
LOAD_BALANCER: Final = "azure-native:network:LoadBalancer"
IDENTITY: Final = "azure-native:managedidentity:UserAssignedIdentity"
TRUST: Final = "azure-native:managedidentity:FederatedIdentityCredential"
ROLE: Final = "azure-native:authorization:RoleAssignment"
CLUSTER: Final = "azure-native:containerservice:ManagedCluster"
POOL: Final = "azure-native:containerservice:AgentPool"
RESERVATION_GROUP: Final = "azure-native:compute:CapacityReservationGroup"
RESERVATION: Final = "azure-native:compute:CapacityReservation"
MACHINE: Final = "azure-native:compute:VirtualMachine"
ACCOUNT: Final = "azure-native:storage:StorageAccount"
CONTAINER: Final = "azure-native:storage:BlobContainer"

_SUBSCRIPTION: Final = "11111111-2222-3333-4444-555555555555"
_PLACEHOLDER: Final = re.compile(r"{(\w+)}")


def subscription(ledger: Ledger) -> str:
    """The rehearsed subscription's id."""
    return str(ledger.settings.get("subscription") or _SUBSCRIPTION)


def region(ledger: Ledger) -> str:
    """The region of what names none."""
    return str(ledger.settings.get("region") or "eastus2")


def path_of(below: str) -> Identity:
    """Return ids that are paths below a resource group.

    Args:
        below: The provider's part, with names of inputs in braces: `Microsoft.Compute/x/{xName}`.
    """

    def identity(resource: Resource, ledger: Ledger) -> str:
        group = group_path(str(resource.inputs.get("resourceGroupName")), ledger)
        filled = _PLACEHOLDER.sub(lambda match: str(resource.inputs.get(match[1])), below)
        return f"{group}/providers/{filled}"

    return identity


def group_path(name: str, ledger: Ledger) -> str:
    """The id of a resource group."""
    return f"/subscriptions/{subscription(ledger)}/resourceGroups/{name}"


def last(path: str) -> str:
    """The name at the end of an id."""
    return path.rpartition("/")[2]


def made_up_uuid(*parts: str) -> str:
    """A UUID that is the same for the same parts."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "/".join(parts)))


def group_exists(resource: Resource, ledger: Ledger) -> None:
    """Whatever is made is in a resource group that is there (Resource Manager, `ResourceGroupNotFound`)."""
    name = text_at(resource.inputs, "resourceGroupName")
    if ledger.find(GROUP, group_path(name, ledger)) is None:
        raise refused(resource.name, 404, "ResourceGroupNotFound", f"Resource group '{name}' could not be found.")


def not_taken(identity: Identity) -> Admission:
    """An admission that refuses what is there: the provider looks before it makes (pulumi-azure-native, `Create`)."""

    def admit(resource: Resource, ledger: Ledger) -> None:
        if ledger.find(resource.type, path := identity(resource, ledger)):
            raise RefusedError(f"cannot create already existing resource '{path}'")

    return admit


def exists(path: str, token: str) -> Admission:
    """An admission that refuses ids of nothing (Resource Manager, `ResourceNotFound`).

    Args:
        path: Where the ids stand in the inputs; none there is fine.
        token: The type of what they must be.
    """

    def admit(resource: Resource, ledger: Ledger) -> None:
        for identity in texts_at(resource.inputs, path):
            if ledger.find(token, identity) is None:
                text = f"The Resource '{identity.partition('/providers/')[2] or identity}' was not found."
                raise refused(resource.name, 404, "ResourceNotFound", text)

    return admit


def subnet_exists(path: str) -> Admission:
    """The same for subnets, which are parts of their networks."""

    def admit(resource: Resource, ledger: Ledger) -> None:
        for identity in texts_at(resource.inputs, path):
            if subnet(identity, ledger) is None:
                text = f"Resource {identity} referenced by resource {resource.name} was not found."
                raise refused(resource.name, 400, "InvalidResourceReference", text)

    return admit


def subnet(identity: str, ledger: Ledger) -> dict[str, object] | None:
    """What is said of a subnet by its id; None for one that isn't there."""
    network, _, name = identity.partition("/subnets/")
    found = ledger.find(NETWORK, network)
    known = found.inputs.get("subnets") if found else None
    members = [each for each in known if isinstance(each, dict)] if isinstance(known, list) else []
    return next((each for each in members if each.get("name") == name), None)


def refuse_while_used(code: str, text: str, *users: tuple[str, str]) -> Consequence:
    """A consequence of a deletion: it is refused while something else names the id.

    Args:
        code: Of the error.
        text: The service's own, with `{}` for the id; who uses it is added.
        users: Types, each with the path at which it names the id or something below it.
    """

    def refuse(thing: Thing, ledger: Ledger) -> None:
        for token, path in users:
            for other in ledger.of_type(token):
                if any(each == thing.id or each.startswith(f"{thing.id}/") for each in texts_at(other.inputs, path)):
                    raise refused(thing.name, 409, code, f"{text.format(thing.id)} (in use by {other.id})")

    return refuse


def refused(name: str, status: int, code: str, text: str) -> RefusedError:
    """A refusal as the provider prints Resource Manager's."""
    return RefusedError(f'{name}: Status={status} Code="{code}" Message="{text}"')
