"""Storage accounts and their containers: names that the whole world shares, and weights that go with their account."""

from collections.abc import Iterator
from typing import Final

from rehearsal.fakes.account import Ledger, Thing
from rehearsal.fakes.azure_native import references as ref
from rehearsal.fakes.paths import text_at, texts_at
from rehearsal.fakes.resource_kind import ResourceKind, fits
from rehearsal.fakes.rules import Failure, Resource
from rehearsal.fakes.values import Properties
from rehearsal.fakes.weights import objects_in

_TAKEN: Final = ("kimi", "kimik3", "models", "weights")
"""Names that somebody in the world has for sure; the account's setting `taken_accounts` adds others."""
_ACCOUNT: Final = ref.path_of("Microsoft.Storage/storageAccounts/{accountName}")
_CONTAINER: Final = ref.path_of(
    "Microsoft.Storage/storageAccounts/{accountName}/blobServices/default/containers/{containerName}"
)


def refuse_taken_name(resource: Resource, ledger: Ledger) -> None:
    """Names are taken in the whole world (Storage, `StorageAccountAlreadyTaken`)."""
    name, others = text_at(resource.inputs, "accountName"), ledger.settings.get("taken_accounts")
    if name in _TAKEN or (isinstance(others, list) and name in others):
        raise ref.refused(
            resource.name, 409, "StorageAccountAlreadyTaken", f"The storage account named {name} is already taken."
        )


def public_failures(inputs: Properties) -> Iterator[Failure]:
    """A container is what its name says it is: private (Storage, `PublicAccessNotPermitted`, where the account is)."""
    if text_at(inputs, "publicAccess") in ("Blob", "Container"):
        text = "Public access is not permitted on this storage account."
        yield Failure("publicAccess", f'Status=409 Code="PublicAccessNotPermitted" Message="{text}"')


def refuse_missing_account(resource: Resource, ledger: Ledger) -> None:
    """A container is in an account that is there (Resource Manager, `ParentResourceNotFound`)."""
    account = _CONTAINER(resource, ledger).partition("/blobServices/")[0]
    if ledger.find(ref.ACCOUNT, account) is None:
        text = (
            f"Failed to perform 'write' on resource of type 'containers', because the parent '{account}' isn't there."
        )
        raise ref.refused(resource.name, 404, "ParentResourceNotFound", text)


def take_along(thing: Thing, ledger: Ledger) -> None:
    """Blobs are no reason to keep an account or a container: they go with it (Storage, delete account)."""
    remove_weights(thing, ledger)
    for each in ledger.of_type(ref.CONTAINER):
        if each.id.startswith(f"{thing.id}/"):
            ledger.remove(each, f"went with StorageAccount {ref.last(thing.id)}")


def remove_weights(thing: Thing, ledger: Ledger) -> None:
    """Take away what is in a container, or in all of an account."""
    for each in ledger.of_type(ref.CONTAINER):
        inside = each.id == thing.id or each.id.startswith(f"{thing.id}/")
        objects = objects_in(ref.last(each.id), ledger) if inside else None
        if objects is not None:
            ledger.remove(objects, f"went with {thing.type.rpartition(':')[2]} {ref.last(thing.id)}")


def admits(account: Thing, subnet: str) -> bool:
    """Whether an account lets a subnet in."""
    if text_at(account.inputs, "networkRuleSet.defaultAction") != "Deny":
        return True
    return subnet in texts_at(account.inputs, "networkRuleSet.virtualNetworkRules.virtualNetworkResourceId")


ACCOUNT: Final = ResourceKind(
    type=ref.ACCOUNT,
    identity=_ACCOUNT,
    replaced_by=("resourceGroupName", "accountName", "location", "isHnsEnabled"),
    # azure-mgmt-storage 23.0.1.
    checks=(fits("accountName", r"[a-z0-9]{3,24}", "3 to 24 lower-case letters and digits"),),
    admissions=(
        ref.group_exists,
        ref.not_taken(_ACCOUNT),
        refuse_taken_name,
        ref.subnet_exists("networkRuleSet.virtualNetworkRules.virtualNetworkResourceId"),
    ),
    fills=True,
    gone=take_along,
    seconds=25.0,
)
CONTAINER: Final = ResourceKind(
    type=ref.CONTAINER,
    identity=_CONTAINER,
    replaced_by=("resourceGroupName", "accountName", "containerName"),
    checks=(
        fits("containerName", r"(?=.{3,63}$)[a-z0-9](-?[a-z0-9])*", "3 to 63 lower-case letters, digits and single -"),
        public_failures,
    ),
    admissions=(ref.group_exists, refuse_missing_account, ref.not_taken(_CONTAINER)),
    fills=True,
    gone=remove_weights,
)
