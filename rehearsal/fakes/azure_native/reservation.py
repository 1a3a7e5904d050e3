"""Capacity reservation groups and what they hold: billed like the machines, and in the way until these have left."""

from typing import Final

from rehearsal.fakes.account import Ledger, Rate, Thing
from rehearsal.fakes.azure_native import references as ref
from rehearsal.fakes.azure_native.machine import size
from rehearsal.fakes.paths import number_at, text_at, texts_at
from rehearsal.fakes.resource_kind import ResourceKind, fits
from rehearsal.fakes.rules import Resource
from rehearsal.fakes.values import Properties

_GROUP: Final = ref.path_of("Microsoft.Compute/capacityReservationGroups/{capacityReservationGroupName}")
_MEMBER: Final = ref.path_of(
    "Microsoft.Compute/capacityReservationGroups/{capacityReservationGroupName}/capacityReservations/"
    "{capacityReservationName}"
)
_NAME: Final = (r"[a-zA-Z0-9]([-\w.]{0,62}\w)?", "1 to 64 letters, digits, -, _ and .")


def members_of(group: str, ledger: Ledger) -> list[Thing]:
    """The reservations of a group, by its id."""
    return [each for each in ledger.of_type(ref.RESERVATION) if each.id.startswith(f"{group}/")]


def fitting(group: str, machine: str, zones: list[str], ledger: Ledger) -> Thing | None:
    """The reservation of a group that machines of a size in these zones are associated with; none in no zone."""
    for each in members_of(group, ledger):
        if text_at(each.inputs, "sku.name") == machine and texts_at(each.inputs, "zones") == zones:
            return each
    return None


def users_of(member: Thing, ledger: Ledger) -> list[Thing]:
    """The machines that are associated with a reservation."""
    return [each for each in ledger.of_type(ref.MACHINE) if text_at(each.inputs, "reservation") == member.id]


def refuse_unsupported_size(resource: Resource, ledger: Ledger) -> None:
    """ND sizes aren't reserved, unless a subscription may (Compute, capacity-reservation-overview, 2026-02)."""
    name = text_at(resource.inputs, "sku.name")
    found = size(name)
    if found is not None and not found.reservable and ledger.settings.get("nd_reservations") is not True:
        text = f"The requested VM size '{name}' is not supported for Capacity Reservation."
        raise ref.refused(resource.name, 400, "OperationNotAllowed", text)


def refuse_missing_group(resource: Resource, ledger: Ledger) -> None:
    """A reservation is in a group that is there (Resource Manager, `ParentResourceNotFound`)."""
    group = _MEMBER(resource, ledger).partition("/capacityReservations/")[0]
    found = ledger.find(ref.RESERVATION_GROUP, group)
    if found is None:
        raise ref.refused(resource.name, 404, "ParentResourceNotFound", f"The parent '{group}' could not be found.")
    zones = texts_at(resource.inputs, "zones")
    if set(zones) - set(texts_at(found.inputs, "zones")):
        text = f"The zones {', '.join(zones)} aren't those of the capacity reservation group."
        raise ref.refused(resource.name, 400, "BadRequest", text)


def refuse_without_machines(resource: Resource, ledger: Ledger) -> None:
    """All of it or nothing (Compute, capacity-reservation-overview, `AllocationFailed`)."""
    free = ledger.settings.get("free_machines")
    wanted = number_at(resource.inputs, "sku.capacity")
    if isinstance(free, int) and free < wanted:
        raise ref.refused(resource.name, 409, "AllocationFailed", no_capacity(text_at(resource.inputs, "sku.name")))


def no_capacity(machine: str) -> str:
    """What Compute says when it has no machine left."""
    return (
        f"Allocation failed. We do not have sufficient capacity for the requested VM size {machine} in this region. "
        "Read more about improving likelihood of allocation success at http://aka.ms/allocation-guidance"
    )


def refuse_associated(thing: Thing, ledger: Ledger) -> None:
    """A reservation goes after its machines, even those that are switched off (terraform-provider-azurerm #19051)."""
    if users := users_of(thing, ledger):
        text = (
            f"Capacity Reservation {ref.last(thing.id)} cannot be deleted because it has associated virtual machines: "
            f"{', '.join(ref.last(each.id) for each in users)}. Dissociate them first."
        )
        raise ref.refused(thing.name, 409, "OperationNotAllowed", text)


def refuse_filled(thing: Thing, ledger: Ledger) -> None:
    """A group goes after its reservations (Compute, capacity-reservation-overview)."""
    if members := members_of(thing.id, ledger):
        text = (
            f"Capacity Reservation Group {ref.last(thing.id)} cannot be deleted because it holds Capacity "
            f"Reservations: {', '.join(ref.last(each.id) for each in members)}."
        )
        raise ref.refused(thing.name, 409, "OperationNotAllowed", text)


def _rate(inputs: Properties) -> Rate:
    """Like its machines, from the first second on; these are then free."""
    found = size(text_at(inputs, "sku.name"))
    count = number_at(inputs, "sku.capacity")
    return Rate(usd_per_hour=found.usd_per_hour * count, gpus=found.gpus * count) if found else Rate()


GROUP: Final = ResourceKind(
    type=ref.RESERVATION_GROUP,
    identity=_GROUP,
    replaced_by=("resourceGroupName", "capacityReservationGroupName", "location", "zones"),
    checks=(fits("capacityReservationGroupName", *_NAME),),
    admissions=(ref.group_exists, ref.not_taken(_GROUP)),
    fills=True,
    gone=refuse_filled,
)
MEMBER: Final = ResourceKind(
    type=ref.RESERVATION,
    identity=_MEMBER,
    replaced_by=("resourceGroupName", "capacityReservationGroupName", "capacityReservationName", "zones", "sku.name"),
    checks=(fits("capacityReservationName", *_NAME),),
    admissions=(
        ref.group_exists,
        refuse_missing_group,
        ref.not_taken(_MEMBER),
        refuse_unsupported_size,
        refuse_without_machines,
    ),
    fills=True,
    gone=refuse_associated,
    rate=_rate,
    seconds=60.0,
)
