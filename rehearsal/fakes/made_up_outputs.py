"""Outputs of resources that a stand-in has no rules for: what the SDK says is always there, made up by its type."""

import inspect
import typing
from typing import Final

import pulumi
from pulumi import _types

from rehearsal.fakes import schema
from rehearsal.fakes.values import Properties

_NAME: Final = "_pulumi_name"
_NOT_THE_CLOUDS: Final = frozenset({"id", "urn", "pulumi_resource_name", "pulumi_resource_type"})
_EMPTY: Final = {bool: False, int: 0, float: 0.0}


def made_up_outputs(package: str, token: str, identity: str) -> Properties:
    """Return a value for each output of a type that isn't optional.

    Args:
        package: Python package of the SDK, such as `pulumi_aws`.
        token: The type of the resource.
        identity: Its id; made-up texts begin with it, so that nobody takes them for the cloud's.
    """
    found = _members(schema.resource_class(package, token), identity)
    # Azure's ids are paths that end in the name.
    return {**found, "name": identity.rpartition("/")[2]} if "name" in found else found


def _members(class_: type, identity: str) -> Properties:
    found: Properties = {}
    for attribute, getter in inspect.getmembers_static(class_, lambda member: isinstance(member, property)):
        hint = typing.get_type_hints(getter.fget).get("return")
        if typing.get_origin(hint) is pulumi.Output:
            (hint,) = typing.get_args(hint)
        name = getattr(getter.fget, _NAME, attribute)
        if attribute not in _NOT_THE_CLOUDS and not _types._is_optional_type(hint):  # noqa: SLF001 - no other name
            found[name] = _made_up(hint, f"{identity}/{name}")
    return found


def _made_up(hint: object, path: str) -> object:
    if hint is str:
        return path
    if isinstance(hint, type):
        return _members(hint, path) if _types.is_output_type(hint) else _EMPTY.get(hint)
    return [] if str(hint).startswith(("typing.Sequence", "collections.abc.Sequence")) else {}
