"""Which properties differ between what a resource was given before and what it is given now."""

import enum
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from rehearsal.fakes.values import UNKNOWN, Secret, mapping, sequence

Key = TypeVar("Key", str, int)

_PLAIN_KEY = re.compile(r"[A-Za-z_$][\w$-]*")


class Kind(enum.Enum):
    """What happened to a property."""

    ADD = "add"
    DELETE = "delete"
    UPDATE = "update"


@dataclass(frozen=True)
class Change:
    """One property that differs; `path` as the engine writes it, such as `spec.ports[0]["a.b"]`."""

    path: str
    kind: Kind


def changes(old: object, new: object, path: str = "") -> Iterator[Change]:
    """Yield the leaves that differ, in the order of the keys.

    Secrets are compared by what they hold; a value that isn't known yet differs from any that is.
    """
    old, new = _opened(old), _opened(new)
    if isinstance(old, dict) and isinstance(new, dict):
        yield from _members(path, mapping(old), mapping(new))
    elif isinstance(old, list) and isinstance(new, list):
        before, after = dict(enumerate(sequence(old))), dict(enumerate(sequence(new)))
        for index in sorted(before.keys() | after.keys()):
            yield from _entry(f"{path}[{index}]", index, before, after)
    elif new is UNKNOWN or type(old) is not type(new) or old != new:
        yield Change(path, Kind.UPDATE)


def touches(path: str, prefixes: Iterable[str]) -> bool:
    """Whether a changed path lies at, below or above one of the prefixes."""
    return any(_below(path, prefix) or _below(prefix, path) for prefix in prefixes)


def _members(path: str, old: dict[str, object], new: dict[str, object]) -> Iterator[Change]:
    for key in sorted(old.keys() | new.keys()):
        yield from _entry(_joined(path, key), key, old, new)


def _entry(path: str, key: Key, old: dict[Key, object], new: dict[Key, object]) -> Iterator[Change]:
    if key not in old:
        yield Change(path, Kind.ADD)
    elif key not in new:
        yield Change(path, Kind.DELETE)
    else:
        yield from changes(old[key], new[key], path)


def _joined(path: str, key: str) -> str:
    if not _PLAIN_KEY.fullmatch(key):
        return f'{path}["{key}"]'
    return f"{path}.{key}" if path else key


def _opened(value: object) -> object:
    return value.value if isinstance(value, Secret) else value


def _below(path: str, prefix: str) -> bool:
    return path == prefix or path.startswith((f"{prefix}.", f"{prefix}["))
