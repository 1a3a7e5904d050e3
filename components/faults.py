"""Faults are values: what is wrong, what is allowed and what to type instead, all of them at once.

Settings, plan, preflight and the other checks all return the same type, so that a person who made five mistakes
reads five lines, not one line five times.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One thing that a person has to change before anything is created."""

    key: str
    """Where: the path below the project's namespace, such as `serving.maxModelLen`."""
    given: object
    """What stands there now; `None` prints as "not set". Never a secret's value."""
    allowed: str
    """The rule, with the arithmetic when it is one."""
    instead: str
    """What to type."""

    def __str__(self) -> str:
        """One line: the key, the value, the rule, the way out."""
        given = "not set" if self.given is None else repr(self.given)
        return f"kimi-k3:{self.key} is {given}: {self.allowed}. Instead: {self.instead}"


class Faulty(Exception):  # noqa: N818 - it is not an error of the program but the news of the file's faults
    """Raised with every fault of a stack file, never with the first one alone."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults: tuple[Fault, ...] = tuple(faults)
        super().__init__(str(self))

    def __str__(self) -> str:
        """The number of faults, then one line each."""
        count = len(self.faults)
        head = "1 fault" if count == 1 else f"{count} faults"
        return "\n".join([f"{head} in the stack's configuration; nothing was created:", *map(_bullet, self.faults)])


def nearest(word: str, known: Sequence[str]) -> str | None:
    """Return the known word that was probably meant, or None when nothing is near."""
    lowered = {name.lower(): name for name in known}
    close = get_close_matches(word.lower(), list(lowered), n=1, cutoff=0.6)
    return lowered[close[0]] if close else None


def _bullet(fault: Fault) -> str:
    return f"  - {fault}"
