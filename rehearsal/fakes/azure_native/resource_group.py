"""Resource groups: whoever deletes one deletes all that is in it, whatever a stack wanted to keep."""

from typing import Final

from rehearsal.fakes.account import Ledger, Thing
from rehearsal.fakes.azure_native import references as ref
from rehearsal.fakes.azure_native.storage import remove_weights
from rehearsal.fakes.paths import text_at
from rehearsal.fakes.resource_kind import ResourceKind, fits
from rehearsal.fakes.rules import Resource


def take_along(thing: Thing, ledger: Ledger) -> None:
    """Delete what is in the group, whoever made it (Resource Manager, delete-resource-group)."""
    for each in [each for each in ledger.things if each.id.startswith(f"{thing.id}/")]:
        if each.type == ref.ACCOUNT:
            remove_weights(each, ledger)
        ledger.remove(each, f"went with ResourceGroup {ref.last(thing.id)}")


def _identity(resource: Resource, ledger: Ledger) -> str:
    return ref.group_path(text_at(resource.inputs, "resourceGroupName"), ledger)


KIND: Final = ResourceKind(
    type=ref.GROUP,
    identity=_identity,
    replaced_by=("resourceGroupName", "location"),
    # azure-resource-manager/management/resource-name-rules.
    checks=(fits("resourceGroupName", r"[-\w._()]{0,89}[-\w_()]", "1 to 90 letters, digits, -, ., _ and brackets"),),
    admissions=(ref.not_taken(_identity),),
    fills=True,
    gone=take_along,
)
