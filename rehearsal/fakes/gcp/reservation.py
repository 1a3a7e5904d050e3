"""Reserved machines: a reservation, its blocks and their sub-blocks, and what of each is free."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from rehearsal.fakes.account import Ledger, Thing
from rehearsal.fakes.clock import parsed
from rehearsal.fakes.gcp import references as ref
from rehearsal.fakes.gcp.naming import fits, project
from rehearsal.fakes.paths import number_at, text_at, texts_at
from rehearsal.fakes.resource_kind import ResourceKind
from rehearsal.fakes.rules import Failure, Resource
from rehearsal.fakes.values import Properties

_PATH: Final = re.compile(
    r"projects/(?P<project>[^/]+)/reservations/(?P<name>[^/]+)"
    r"(/reservationBlocks/(?P<block>[^/]+)(/reservationSubBlocks/(?P<sub_block>[^/]+))?)?"
)
"""The one form that the API takes; gcloud makes it of shorter ones (cluster-toolkit PR #5043)."""


@dataclass(frozen=True)
class Part:
    """A reservation, or a block or sub-block of it."""

    thing: Thing
    total: int
    """Hosts."""
    healthy: int
    used: int

    @property
    def free(self) -> int:
        """Hosts that can still be launched on."""
        return self.healthy - self.used


def part(path: str, ledger: Ledger) -> Part | None:
    """What a whole path means; None for a short form, and for nothing."""
    match = _PATH.fullmatch(path)
    if match is None:
        return None
    for thing in ledger.of_type(ref.RESERVATION):
        facts = thing.outputs
        names = {"project": text_at(facts, "owner"), "name": text_at(facts, "name")}
        names |= {key: text_at(facts, key) for key in ("block", "sub_block") if match[key] is not None}
        if all(match[key] == value for key, value in names.items()):
            narrow = match["sub_block"] is not None
            total = number_at(facts, "sub_block_hosts" if narrow else "hosts")
            return Part(thing, total, total - number_at(facts, "degraded"), _used(thing, ledger))
    return None


def reserved(name: str, owner: str, ledger: Ledger) -> Thing | None:
    """The reservation of a name in a project."""
    for thing in ledger.of_type(ref.RESERVATION):
        if (text_at(thing.outputs, "name"), text_at(thing.outputs, "owner")) == (name, owner or project(ledger)):
            return thing
    return None


def _used(thing: Thing, ledger: Ledger) -> int:
    running = ledger.of_type(ref.INSTANCE)
    return sum(text_at(each.inputs, "reservation") == thing.id for each in running)


def request_failures(inputs: Properties) -> Iterator[Failure]:
    """What a request for a future reservation must say (compute.v1, FutureReservation)."""
    if text_at(inputs, "reservationMode") == "CALENDAR" and not texts_at(inputs, "timeWindow.duration.seconds"):
        yield Failure("timeWindow", "a request in calendar mode has a duration")
    for mode in texts_at(inputs, "deploymentType"):
        if mode != "DENSE":
            yield Failure("deploymentType", f"'{mode}': the API of version 1 has DENSE alone")


def refuse_past(resource: Resource, ledger: Ledger) -> None:
    """A window begins later (Compute Engine, calendar mode)."""
    start = text_at(resource.inputs, "timeWindow.startTime")
    if start and parsed(start) <= ledger.clock.moment:
        raise ref.refused(resource.name, f"Error 400: start time {start} is in the past, invalid")


def refuse_taken_request(resource: Resource, ledger: Ledger) -> None:
    """A name is taken once, so that a request isn't made twice (Google's APIs, `alreadyExists`)."""
    ref.not_taken(resource, _request(resource, ledger), ledger)


def _request(resource: Resource, ledger: Ledger) -> str:
    inputs = resource.inputs
    return f"projects/{project(ledger)}/zones/{inputs.get('zone')}/futureReservations/{inputs.get('name')}"


FUTURE: Final = ResourceKind(
    type=ref.FUTURE_RESERVATION,
    identity=_request,
    name="name",
    replaced_by=("zone",),
    checks=(
        fits("name", r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", "1 to 63 lower-case letters, digits and -"),
        request_failures,
    ),
    admissions=(refuse_taken_request, refuse_past),
    seconds=30.0,
)
