"""Values in nested properties, by a path such as `networkInterfaces.securityGroups` that goes through lists."""

from collections.abc import Iterator

from rehearsal.fakes.values import UNKNOWN, Properties, Secret, mapping, sequence


def values_at(properties: Properties, path: str) -> Iterator[object]:
    """Yield what stands at a path, each member of a list by itself; None is nothing, secrets are opened."""
    yield from _found(properties, path.split(".") if path else [])


def texts_at(properties: Properties, path: str) -> list[str]:
    """Return the texts at a path, without what isn't known yet."""
    return [value for value in values_at(properties, path) if isinstance(value, str)]


def text_at(properties: Properties, path: str) -> str:
    """Return the first text at a path; empty if there is none."""
    return next(iter(texts_at(properties, path)), "")


def number_at(properties: Properties, path: str, default: int = 0) -> int:
    """Return the first number at a path, or the default while there is none or it isn't known."""
    numbers = (value for value in values_at(properties, path) if isinstance(value, int | float))
    return int(next(numbers, default))


def known(*values: object) -> bool:
    """Whether none of the values is unknown."""
    return all(value is not UNKNOWN for value in values)


def _found(value: object, path: list[str]) -> Iterator[object]:
    inner = value.value if isinstance(value, Secret) else value
    if isinstance(inner, list):
        for item in sequence(inner):
            yield from _found(item, path)
    elif not path:
        if inner is not None:
            yield inner
    elif isinstance(inner, dict):
        yield from _found(mapping(inner).get(path[0]), path[1:])
