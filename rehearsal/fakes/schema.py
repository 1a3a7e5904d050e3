"""Inputs against the Python SDK's own types: unknown property, missing property, wrong type.

The types of an SDK are generated from the schema of its provider, so they say what the provider takes. They are
read from the `…Args` classes, nested ones too.
"""

import difflib
import enum
import functools
import importlib
import importlib.util
import inspect
import json
import re
import types
import typing
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Union, cast

from pulumi import _types

from rehearsal.fakes.rules import Failure
from rehearsal.fakes.values import UNKNOWN, Properties, Secret, mapping, sequence

_MODULES: Final = re.compile(r'resource_modules="""(.*?)"""', re.DOTALL)
# Each `…Args` class stands in a union with a plain dict, which says nothing about its keys.
_NOT_ON_THE_WIRE: Final = (type(None), dict)
_WORDS: Final = {str: "text", bool: "true or false", int: "an integer", float: "a number"}


class NoSuchTypeError(Exception):
    """The SDK has no such resource."""


def args_class(package: str, token: str) -> type:
    """The class of a resource's arguments, by its type token.

    Args:
        package: Python package of the SDK, such as `pulumi_aws`.
        token: Such as `aws:s3/bucket:Bucket`, or `pulumi:providers:aws`.

    Raises:
        NoSuchTypeError: The SDK doesn't register the token.
    """
    if token.startswith("pulumi:providers:"):
        return getattr(importlib.import_module(f"{package}.provider"), "ProviderArgs")  # noqa: B009 — untyped
    class_ = resource_class(package, token)
    module = importlib.import_module(class_.__module__)
    # `InitArgs` where a nested type took the shorter name.
    return getattr(module, f"{class_.__name__}InitArgs", None) or getattr(module, f"{class_.__name__}Args")


def resource_class(package: str, token: str) -> type:
    """The class of a resource, by its type token.

    Raises:
        NoSuchTypeError: The SDK doesn't register the token.
    """
    entry = _classes(package).get(token)
    if entry is None:
        near = difflib.get_close_matches(token, _classes(package), n=1)
        raise NoSuchTypeError(f"{package} has no {token}" + (f"; did you mean {near[0]}?" if near else ""))
    return getattr(importlib.import_module(entry[0]), entry[1])


def input_failures(args: type, inputs: Properties, open_enums: Collection[str] = ()) -> list[Failure]:
    """What in a resource's inputs doesn't fit its arguments.

    Args:
        args: The class of the arguments.
        inputs: Under the names that the wire uses (`instanceType`, not `instance_type`).
        open_enums: Names of enumerations that lag behind the cloud, so that other texts pass too.
    """
    return list(_Walk(frozenset(open_enums)).members(args, inputs, ""))


def property_names(args: type) -> Collection[str]:
    """The names on the wire of the properties of a resource's arguments."""
    return _shape(args)[0].keys()


@dataclass(frozen=True)
class _Walk:
    open_enums: frozenset[str]

    def members(self, args: type, inputs: Properties, path: str) -> Iterator[Failure]:
        """Check the properties of one object."""
        hints, required = _shape(args)
        for name in sorted(required - inputs.keys()):
            yield Failure(_joined(path, name), f"missing required property '{name}'")
        for name, value in inputs.items():
            where = _joined(path, name)
            if name in hints:
                yield from self.value(hints[name], value, where)
            elif not name.startswith("__"):  # the engine's and the bridge's own
                near = difflib.get_close_matches(name, hints, n=1)
                hint = f"; did you mean '{near[0]}'?" if near else ""
                yield Failure(where, f"unknown property '{name}'{hint}")

    def value(self, hint: object, value: object, path: str) -> Iterator[Failure]:
        """Check one value against the alternatives of its type; the nearest one is complained about."""
        inner = value.value if isinstance(value, Secret) else value
        alternatives = list(_alternatives(hint))
        if inner is UNKNOWN or inner is None or Any in alternatives:
            return
        enums = [option for option in alternatives if _is_enum(option) and option.__name__ not in self.open_enums]
        if isinstance(inner, str) and enums:
            # The SDKs take any text beside the enumeration; the cloud doesn't.
            yield from _enum_failures(enums, inner, path)
            return
        tries = [list(self._option(option, inner, path)) for option in alternatives]
        if tries and all(tries):
            yield from min(tries, key=len)

    def _option(self, option: object, value: object, path: str) -> Iterator[Failure]:
        origin = typing.get_origin(option)
        if _is_a(origin, Mapping) and isinstance(value, dict):
            (_, item_hint) = typing.get_args(option)
            for key, item in mapping(value).items():
                yield from self.value(item_hint, item, _joined(path, key))
        elif _is_a(origin, Sequence) and isinstance(value, list):
            (item_hint,) = typing.get_args(option)
            for index, item in enumerate(sequence(value)):
                yield from self.value(item_hint, item, f"{path}[{index}]")
        elif isinstance(option, type) and _types.is_input_type(option) and isinstance(value, dict):
            yield from self.members(option, mapping(value), path)
        elif not _is_scalar(option, value):
            yield Failure(path, f"{_described(value)} is not {_wanted(option)}")


@functools.cache
def _shape(args: type) -> tuple[Mapping[str, object], frozenset[str]]:
    """The types of an object's properties, and the names of those that it must have."""
    names = _types.input_type_py_to_pulumi_names(args)
    parameters = inspect.signature(args.__init__).parameters.values()
    required = {names[p.name] for p in parameters if p.name in names and p.default is inspect.Parameter.empty}
    return _types.input_type_types(args), frozenset(required)


@functools.cache
def _classes(package: str) -> dict[str, tuple[str, str]]:
    """Module and class of each resource, as the SDK registers them when it is imported."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise NoSuchTypeError(f"{package} is not installed")
    match = _MODULES.search(Path(spec.origin).read_text())
    modules = json.loads(match[1]) if match else []
    return {token: (m["fqn"], name) for m in modules for token, name in m["classes"].items()}


def _alternatives(hint: object) -> Iterator[object]:
    """The members of a union that a value on the wire can be: no outputs, no awaitables, no typed dicts."""
    origin = typing.get_origin(hint)
    if origin in {Union, types.UnionType}:
        for member in typing.get_args(hint):
            yield from _alternatives(member)
    elif origin is not None:
        if _is_a(origin, Mapping) or _is_a(origin, Sequence):
            yield hint
    elif hint is Any or (hint not in _NOT_ON_THE_WIRE and not typing.is_typeddict(hint)):
        yield hint


def _enum_failures(enums: list[type[enum.Enum]], value: str, path: str) -> Iterator[Failure]:
    allowed = [str(member.value) for option in enums for member in option]
    if value not in allowed:
        near = difflib.get_close_matches(value, allowed, n=1)
        listed = f"did you mean '{near[0]}'?" if near else f"allowed: {', '.join(allowed[:10])}"
        yield Failure(path, f"'{value}' is none of {enums[0].__name__}; {listed}")


def _is_enum(option: object) -> typing.TypeGuard[type[enum.Enum]]:
    return isinstance(option, type) and issubclass(option, enum.Enum)


def _is_a(origin: object, base: type) -> bool:
    return isinstance(origin, type) and issubclass(origin, base)


def _is_scalar(option: object, value: object) -> bool:
    if option is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if option is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if option in {str, bool}:
        return isinstance(value, cast("type", option))
    # Assets, archives and references to resources: a mapping or an id on the wire, nothing to look into.
    return isinstance(option, type) and not _types.is_input_type(option) and isinstance(value, str | dict)


def _wanted(option: object) -> str:
    if _is_a(typing.get_origin(option), Mapping):
        return "a mapping"
    if _is_a(typing.get_origin(option), Sequence):
        return "a list"
    return _WORDS.get(cast("type", option), getattr(option, "__name__", str(option)))


def _described(value: object) -> str:
    """The kind of a value; never the value, which may be secret."""
    return {dict: "a mapping", list: "a list", **_WORDS}.get(type(value), type(value).__name__)


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
