"""What a cloud knows of one type of resource: its name, its checks, what it computes and what hangs on it.

A cloud's stand-in is a table of these, one file a noun; `cloud.py` makes rules of the table.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from rehearsal.fakes.account import Ledger, Rate, Thing
from rehearsal.fakes.rules import Failure, Resource
from rehearsal.fakes.values import Properties

Check = Callable[[Properties], Iterable[Failure]]
"""Looks at inputs alone, in a preview too; values that aren't known yet are never wrong."""
Admission = Callable[[Resource, Ledger], None]
"""Looks at what exists before a creation; raises `RefusedError`."""
Identity = Callable[[Resource, Ledger], str]
Computation = Callable[[Resource, str, Ledger], Properties]
"""What the cloud says of a thing beside its inputs, by resource and id."""
Consequence = Callable[[Thing, Ledger], None]
"""What else happens with a thing; before a deletion it may raise `RefusedError`, after a creation `UnreadyError`."""


def free(inputs: Properties) -> Rate:
    """Cost nothing."""
    del inputs
    return Rate()


def by_the_hour(usd: float) -> Callable[[Properties], Rate]:
    """Cost so much an hour, whatever the inputs are."""
    return lambda _: Rate(usd_per_hour=usd)


def nothing_computed(resource: Resource, identity: str, ledger: Ledger) -> Properties:
    """Compute nothing."""
    del resource, identity, ledger
    return {}


def nothing_else(thing: Thing, ledger: Ledger) -> None:
    """Let nothing else happen."""
    del thing, ledger


def digest(*parts: object, length: int = 17) -> str:
    """Return so many hexadecimal digits, the same for the same parts."""
    return hashlib.sha256("/".join(map(str, parts)).encode()).hexdigest()[:length]


def generated(prefix: str, length: int = 17) -> Identity:
    """Return ids of a cloud that makes them up: `vpc-0123456789abcdef0`, another one with each creation."""
    return lambda resource, ledger: f"{prefix}-{digest(resource.urn, len(ledger.events), length=length)}"


def named(*properties: str, separator: str = ":") -> Identity:
    """Return ids that are the values of some properties."""
    return lambda resource, _: separator.join(str(resource.inputs.get(name)) for name in properties)


def fits(path: str, pattern: str, rule: str) -> Check:
    """A check that a name fits a pattern.

    Args:
        path: The property with the name.
        pattern: A regular expression for the whole name, from the service's API model.
        rule: The same in words.
    """

    def check(inputs: Properties) -> Iterator[Failure]:
        name = inputs.get(path)
        if isinstance(name, str) and not re.fullmatch(pattern, name):
            yield Failure(path, f'"{name}" ({len(name)} characters) is no valid name: {rule}')

    return check


@dataclass(frozen=True, kw_only=True)
class ResourceKind:
    """One type of resource; what is left at its default behaves like a type of which nothing is known."""

    type: str
    """The type token of the provider, such as `aws:ec2/vpc:Vpc`."""
    identity: Identity
    name: str = ""
    """The property with the physical name, which is generated where the program gives none; empty if it has none."""
    replaced_by: Sequence[str] = ()
    """Paths of the properties whose change means a new thing, beside the name."""
    checks: Sequence[Check] = ()
    admissions: Sequence[Admission] = ()
    computed: Computation = nothing_computed
    fills: bool = False
    """Whether outputs that the SDK says are always there, and that nobody computes, are made up by their types."""
    rate: Callable[[Properties], Rate] = free
    """What it costs, by its inputs."""
    made: Consequence = nothing_else
    changed: Consequence = nothing_else
    gone: Consequence = nothing_else
    seconds: float = 2.0
    """How long a creation takes."""
    patience: float = 1200.0
    """How long the provider waits for it, where the program says nothing."""
