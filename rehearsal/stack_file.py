"""A copy of the user's stack file that a rehearsal may change; the file itself is only ever read."""

import copy
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, cast

import yaml

Contents = dict[str, object]
"""A parsed stack file, or a part of one."""

PLACEHOLDER: Final = "rehearsal-placeholder"
"""What stands in place of the user's encrypted values, which a rehearsal can't read and doesn't want."""

# How the user's values are encrypted: the copy gets a passphrase of its own.
_ENCRYPTION_KEYS: Final = ("secretsprovider", "encryptedkey", "encryptionsalt", "environment")


class NoSuchStackError(Exception):
    """There is no stack file of this name; the message lists those that there are."""


def read(project: Path, stack: str) -> Contents:
    """The stack file of a project, parsed.

    Raises:
        NoSuchStackError: The file isn't there.
    """
    file = project / f"Pulumi.{stack}.yaml"
    if not file.is_file():
        names = sorted(path.name.split(".")[1] for path in project.glob("Pulumi.*.yaml"))
        raise NoSuchStackError(f"There is no {file.name}. Stacks with a file: {', '.join(names) or 'none'}.")
    return as_contents(yaml.safe_load(file.read_text()))


def merged(config: Contents, overrides: Mapping[str, object]) -> Contents:
    """The configuration with the overrides laid over it, mapping by mapping; neither argument is changed."""
    result = copy.deepcopy(config)
    for key, value in overrides.items():
        old = result.get(key)
        if isinstance(old, dict) and isinstance(value, Mapping):
            result[key] = merged(as_contents(old), cast("Mapping[str, object]", value))
        else:
            result[key] = copy.deepcopy(value)
    return result


def paths(value: object, path: str = "") -> list[str]:
    """Where values stand, as paths that `pulumi config set --path` takes."""
    if not isinstance(value, dict):
        return [path]
    return [found for key, item in as_contents(value).items() for found in paths(item, _joined(path, key))]


def encrypted_paths(value: object, path: str = "") -> Iterator[str]:
    """Where the configuration holds an encrypted value, as paths that `pulumi config set --path` takes."""
    if isinstance(value, dict):
        contents = as_contents(value)
        if set(contents) == {"secure"}:
            yield path
            return
        for key, item in contents.items():
            yield from encrypted_paths(item, _joined(path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from encrypted_paths(item, f"{path}[{index}]")


def without_encryption(contents: Contents) -> Contents:
    """The stack file with a placeholder in place of each encrypted value, and without the user's key."""
    kept = {key: value for key, value in contents.items() if key not in _ENCRYPTION_KEYS}
    return as_contents(_opened(kept))


def as_contents(value: object) -> Contents:
    """The value if it is a mapping, else an empty one."""
    return cast("Contents", value) if isinstance(value, dict) else {}


def _opened(value: object) -> object:
    if isinstance(value, dict):
        contents = as_contents(value)
        return PLACEHOLDER if set(contents) == {"secure"} else {k: _opened(v) for k, v in contents.items()}
    return [_opened(item) for item in value] if isinstance(value, list) else value


def _joined(path: str, key: str) -> str:
    if not path:
        return key
    return f"{path}.{key}" if key.isidentifier() else f'{path}["{key}"]'
