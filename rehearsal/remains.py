"""What exists in the rehearsed cloud at a moment, and whether anybody said that it stays."""

import fnmatch
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final

from rehearsal.fakes.account import Account, Thing

_AFTER_DESTROY: Final = "after destroy"


@dataclass(frozen=True, order=True)
class Remains:
    """Something that exists in the rehearsed cloud or cluster."""

    kind: str
    namespace: str
    """Empty for what lives outside namespaces."""
    name: str
    left_because: str = ""
    """Why the real tool leaves it behind on destroy; empty for what should go."""


def listed(account: Account, hidden: Collection[str] = ()) -> list[Remains]:
    """Return what exists in an account, sorted.

    Args:
        account: The account.
        hidden: Patterns of types that are mere parts of something else.
    """
    return sorted(
        Remains(thing.type.rsplit(":", 1)[-1], *_place(thing), thing.left_because)
        for thing in account.ledger().things
        if not any(fnmatch.fnmatchcase(thing.type, pattern) for pattern in hidden)
    )


def announcements(preview: str) -> list[str]:
    """Return what a preview has said of what goes on billing after `destroy`: rows of its cost that begin so."""
    rows = (line.strip() for line in preview.splitlines())
    return [row.removeprefix(_AFTER_DESTROY).strip() for row in rows if row.startswith(_AFTER_DESTROY)]


def announced_by(said: Sequence[str]) -> Callable[[Remains], str]:
    """Return what finds the announcement of something that is left, by its kind or its name; empty if there is none.

    Args:
        said: The announcements.
    """

    def announcement(left: Remains) -> str:
        words = (left.kind.lower(), left.name)
        # A StorageAccount is announced as a storage account.
        plain = {text: text.lower().replace(" ", "") for text in said}
        return next((f"announced: {text}" for text in said if any(word in plain[text] for word in words)), "")

    return announcement


def _place(thing: Thing) -> tuple[str, str]:
    """Namespace and name of an object of Kubernetes; of anything else the id."""
    if not thing.type.startswith("kubernetes:"):
        return "", thing.id
    namespace, _, name = thing.id.rpartition("/")
    return namespace, name
