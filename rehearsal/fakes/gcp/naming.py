"""How Google names things: paths below a project, and the refusals of a name that breaks its service's limits."""

import re
from collections.abc import Iterator
from typing import Final

from rehearsal.fakes.account import Ledger
from rehearsal.fakes.resource_kind import Check, Identity
from rehearsal.fakes.rules import Failure, Resource
from rehearsal.fakes.values import Properties

NUMBER: Final = "123456789012"
"""Of the rehearsed project."""
RFC1035: Final = r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?"
"""Names of Compute Engine (compute.v1, patterns)."""
_API: Final = "https://www.googleapis.com/compute/v1/"


def project(ledger: Ledger) -> str:
    """The rehearsed project's id."""
    return str(ledger.settings.get("project") or "my-project")


def region(ledger: Ledger) -> str:
    """The region of what names none."""
    return str(ledger.settings.get("region") or "us-central1")


def path_of(collection: str) -> Identity:
    """Return ids that are paths below the project.

    Args:
        collection: Such as `global/networks`, or `regions/{}/routers` with the region in it.
    """

    def identity(resource: Resource, ledger: Ledger) -> str:
        place = str(resource.inputs.get("region") or region(ledger))
        return f"projects/{project(ledger)}/{collection.format(place)}/{resource.inputs.get('name')}"

    return identity


def link(path: str) -> str:
    """The whole URL of a path, which look-ups answer with."""
    return f"{_API}{path}"


def last(path: str) -> str:
    """The name at the end of a path."""
    return path.rpartition("/")[2]


def fits(path: str, pattern: str, rule: str) -> Check:
    """A check that a name fits a pattern.

    Args:
        path: The property with the name.
        pattern: A regular expression for the whole name, from the API's discovery document.
        rule: The same in words.
    """

    def check(inputs: Properties) -> Iterator[Failure]:
        name = inputs.get(path)
        if isinstance(name, str) and not re.fullmatch(pattern, name):
            yield Failure(path, f'"{name}" ({len(name)} characters) must be {rule}')

    return check
