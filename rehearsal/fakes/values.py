"""What travels between the engine and a provider, as plain Python values.

The engine sends protobuf structs in which a secret and a value that isn't known yet are marked by sentinels.
Here they become `Secret(value)` and `UNKNOWN`: no rule can mistake a sentinel for a text, or print a secret.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, cast

from google.protobuf import json_format, struct_pb2
from pulumi.runtime import rpc

Properties = dict[str, object]
"""Inputs or outputs of one resource; leaves are text, numbers, booleans, None, `Secret` or `UNKNOWN`."""

HIDDEN: Final = "[secret]"
"""What stands in a text in place of a secret."""


class Unknown:
    """The type of `UNKNOWN`: an output of a resource that doesn't exist yet."""

    def __repr__(self) -> str:
        return "<unknown>"


UNKNOWN: Final = Unknown()


@dataclass(frozen=True)
class Secret:
    """A value that must not be shown, stored or logged in clear; its representation hides it."""

    value: object = field(repr=False)


def from_struct(struct: struct_pb2.Struct) -> Properties:
    """The Python form of a protobuf struct that came from the engine."""
    return {key: _from_value(value) for key, value in struct.fields.items()}


def to_struct(properties: Mapping[str, object]) -> struct_pb2.Struct:
    """The protobuf form of properties, ready to be sent to the engine."""
    return json_format.ParseDict(mapping(_wired(dict(properties))), struct_pb2.Struct())


def mapping(value: object) -> Properties:
    """The value if it is a mapping, else an empty one; looks into a secret."""
    inner = value.value if isinstance(value, Secret) else value
    return cast("Properties", inner) if isinstance(inner, dict) else {}


def sequence(value: object) -> list[object]:
    """The value if it is a list, else an empty one; looks into a secret."""
    inner = value.value if isinstance(value, Secret) else value
    return cast("list[object]", inner) if isinstance(inner, list) else []


def plain(value: object) -> object:
    """The value with all `Secret` wrappers taken off; for comparing, never for printing."""
    return transform(value, secret=plain)


def masked(value: object) -> object:
    """The value with the texts of its secrets replaced by `[secret]` and their numbers by 0; keys stay."""
    return transform(value, secret=_hidden)


def contains_unknown(value: object) -> bool:
    """Whether anything in the value isn't known yet."""
    match value:
        case Secret(value=inner):
            return contains_unknown(inner)
        case dict():
            return any(contains_unknown(item) for item in mapping(value).values())
        case list():
            return any(contains_unknown(item) for item in sequence(value))
        case _:
            return value is UNKNOWN


def transform(value: object, *, secret: Callable[[object], object]) -> object:
    """A copy of the value in which each `Secret` is replaced by `secret(what it holds)`."""
    match value:
        case Secret(value=inner):
            return secret(inner)
        case dict():
            return {key: transform(item, secret=secret) for key, item in mapping(value).items()}
        case list():
            return [transform(item, secret=secret) for item in sequence(value)]
        case _:
            return value


def _hidden(value: object) -> object:
    match value:
        case Secret(value=inner):
            return _hidden(inner)
        case dict():
            return {key: _hidden(item) for key, item in mapping(value).items()}
        case list():
            return [_hidden(item) for item in sequence(value)]
        case str():
            return HIDDEN
        case _:
            return 0 if isinstance(value, int | float) and not isinstance(value, bool) else value


def _wired(value: object) -> object:
    match value:
        case Secret(value=inner):
            return rpc.wrap_rpc_secret(_wired(inner))
        case Unknown():
            return rpc.UNKNOWN
        case dict():
            return {key: _wired(item) for key, item in mapping(value).items()}
        case list():
            return [_wired(item) for item in sequence(value)]
        case _:
            return value


def _from_value(value: struct_pb2.Value) -> object:
    match value.WhichOneof("kind"):
        case "struct_value":
            items = from_struct(value.struct_value)
            return Secret(rpc.unwrap_rpc_secret(items)) if rpc.is_rpc_secret(items) else items
        case "list_value":
            return [_from_value(item) for item in value.list_value.values]
        case "string_value":
            return UNKNOWN if value.string_value == rpc.UNKNOWN else value.string_value
        case "number_value":
            number = value.number_value
            # Protobuf knows only doubles; schemas tell integers from numbers.
            return int(number) if number.is_integer() else number
        case "bool_value":
            return value.bool_value
        case _:
            return None
