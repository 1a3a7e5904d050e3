"""Regions and Availability Zones of the rehearsed account."""

from collections.abc import Iterator
from typing import Final

from rehearsal.fakes.account import Ledger
from rehearsal.fakes.aws.naming import region
from rehearsal.fakes.paths import texts_at
from rehearsal.fakes.rules import RefusedError, Resource

_LETTERS: Final = "abcd"


def zones(ledger: Ledger) -> list[str]:
    """The zones of the region that need no opting in."""
    return [f"{region(ledger)}{letter}" for letter in _LETTERS]


def zone_id(zone: str) -> str:
    """The id that is the same in all accounts: `usw2-az1` of us-west-2a, in this account."""
    area, direction, number = zone[:-1].split("-")[:3]
    return f"{area}{direction[0]}{number}-az{_LETTERS.find(zone[-1]) + 1}"


def refuse_foreign_zone(resource: Resource, ledger: Ledger) -> None:
    """Refuse a zone that the region hasn't (EC2, `InvalidParameterValue` of CreateSubnet)."""
    for zone in _unknown(resource, ledger):
        there = ", ".join(zones(ledger))
        raise RefusedError(
            f"creating {resource.name}: api error InvalidParameterValue: Value ({zone}) for parameter "
            f"availabilityZone is invalid. It can currently only be created in: {there}."
        )


def _unknown(resource: Resource, ledger: Ledger) -> Iterator[str]:
    there = zones(ledger)
    yield from (zone for zone in texts_at(resource.inputs, "availabilityZone") if zone not in there)
