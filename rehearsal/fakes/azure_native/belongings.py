"""What somebody has in the subscription before the program comes."""

from typing import Final

from rehearsal.fakes.account import Ledger, Thing
from rehearsal.fakes.azure_native import references as ref
from rehearsal.fakes.values import Properties

_BEFORE: Final = "it was there before"


def reservation(ledger: Ledger, group: str, *, machine: str, count: int, zone: str | None = None) -> Thing:
    """Put a capacity reservation group into the subscription, with one reservation.

    Args:
        ledger: The account.
        group: The group's id.
        machine: Size of the machines.
        count: How many.
        zone: Their availability zone; None for a reservation of the region.
    """
    zones = [zone] if zone else []
    place: Properties = {"location": ref.region(ledger), "zones": zones}
    _put(ledger, ref.RESERVATION_GROUP, group, place)
    held: Properties = {**place, "sku": {"name": machine, "capacity": count}}
    because = f"{_BEFORE}, and bills until somebody deletes it"
    return _put(ledger, ref.RESERVATION, f"{group}/capacityReservations/{machine}", held, because)


def subnet(ledger: Ledger, identity: str) -> None:
    """Put a network with one subnet into the subscription, which reaches storage accounts."""
    network, _, name = identity.partition("/subnets/")
    member = {"name": name, "addressPrefix": "10.64.0.0/16", "serviceEndpoints": [{"service": "Microsoft.Storage"}]}
    _put(ledger, ref.NETWORK, network, {"location": ref.region(ledger), "subnets": [member]})


def container(ledger: Ledger, account: str, name: str) -> None:
    """Put a storage account with an empty container into the subscription; it lets everybody in who has a role."""
    _put(ledger, ref.ACCOUNT, account, {"accountName": ref.last(account), "location": ref.region(ledger)})
    identity = f"{account}/blobServices/default/containers/{name}"
    _put(ledger, ref.CONTAINER, identity, {"accountName": ref.last(account), "containerName": name})


def _put(ledger: Ledger, kind: str, identity: str, described: Properties, because: str = _BEFORE) -> Thing:
    thing = Thing(kind, identity, identity, described, dict(described), left_because=because)
    ledger.things.append(thing)
    return thing
