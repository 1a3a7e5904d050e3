"""Writes the program that ours is measured against: the same registrations with the SDK alone.

It is what somebody would get who typed the manifests by hand: one import, one call a resource, literal values, no
settings, no plan, no checks, no dependencies but the provider.
"""

import pprint
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

_HEAD: Final = """import pulumi
import pulumi_kubernetes as kubernetes
"""
_PROVIDER: Final = "pulumi:providers:kubernetes"
# Groups for which the SDK has classes; whatever else a cluster serves is a CustomResource.
_MODULES: Final = {"core": "core", "apps": "apps", "batch": "batch", "networking.k8s.io": "networking"}
_HELM_RELEASE: Final = "kubernetes:helm.sh/v3:Release"
_KIND: Final = re.compile(r"kubernetes:(?P<group>.+)/(?P<version>\w+):(?P<kind>\w+)")
_SECRET: Final = "4dabf18193072939515e22adb298388d"  # noqa: S105 - the key that marks a secret on the wire
# The SDK gives these to a resource itself.
_GIVEN: Final = frozenset({"apiVersion", "kind", "compat"})


@dataclass(frozen=True)
class Registration:
    """One resource as our program registered it."""

    type: str
    """The type's token, such as `kubernetes:core/v1:Namespace`."""
    name: str
    inputs: Mapping[str, object]


def source(registrations: Sequence[Registration]) -> str:
    """Return a program that registers as many resources with manifests of the same size."""
    first = [each for each in registrations if each.type == _PROVIDER]
    others = [each for each in registrations if each.type != _PROVIDER]
    return _HEAD + "\n".join(map(_call, [*first, *others]))


def plain(value: object) -> object:
    """Return a recorded value without the wrapping of its secrets."""
    if isinstance(value, Mapping):
        return plain(value["value"]) if _SECRET in value else _plain_items(value)
    return [plain(item) for item in value] if isinstance(value, list) else value


def _plain_items(inputs: Mapping[str, object]) -> dict[str, object]:
    return {key: plain(item) for key, item in inputs.items()}


def _call(registration: Registration) -> str:
    name, inputs = repr(registration.name), _plain_items(registration.inputs)
    if registration.type == _PROVIDER:
        inputs["enableServerSideApply"] = True
        return f"there = pulumi.ResourceOptions(provider=kubernetes.Provider({name}, {_keywords(inputs)}))\n"
    if registration.type == _HELM_RELEASE:
        return f"kubernetes.helm.v3.Release({name}, {_keywords(inputs)}, opts=there)\n"
    match = _KIND.fullmatch(registration.type)
    if match is None:
        return f"pulumi.ComponentResource({registration.type!r}, {name}, {_literal(inputs)})\n"
    if match["group"] in _MODULES:
        path = f"{_MODULES[match['group']]}.{match['version']}.{match['kind']}"
        return f"kubernetes.{path}({name}, {_keywords(inputs)}, opts=there)\n"
    kind = f"api_version={inputs['apiVersion']!r}, kind={match['kind']!r}"
    return f"kubernetes.apiextensions.CustomResource({name}, {kind}, {_keywords(inputs)}, opts=there)\n"


def _keywords(inputs: Mapping[str, object]) -> str:
    kept = {_snake_case(key): value for key, value in inputs.items() if key not in _GIVEN}
    return f"**{_literal(kept)}"


def _snake_case(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def _literal(value: object) -> str:
    return pprint.pformat(value, width=120)
