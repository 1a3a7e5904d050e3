"""Manifests of built-in kinds, against the strict schemas of one Kubernetes version.

The schemas are those of the package `kubernetes-validate`. They know names and types of fields; what the API server
checks beyond them is in `admission.py`.
"""

import functools
import importlib.resources
import json
from importlib.resources.abc import Traversable

from jsonschema.validators import Draft202012Validator
from referencing import Registry, Resource

from rehearsal.fakes.kubernetes.kinds import Kind
from rehearsal.fakes.kubernetes.schema_errors import schema_failures
from rehearsal.fakes.rules import Failure
from rehearsal.fakes.values import Properties, masked

NEWEST_KUBERNETES = "1.35"
"""The Kubernetes version of a cluster whose account names none."""


def built_in_failures(kind: Kind, manifest: Properties, version: str) -> list[Failure]:
    """What in the manifest of a built-in kind the API server of this version would refuse.

    Text of an unknown kind: `no matches for kind "X" in version "Y"` (apimachinery, `meta.NoKindMatchError`).
    """
    validator = _validator(kind, version)
    if validator is None:
        return [Failure("kind", f'no matches for kind "{kind.name}" in version "{kind.api_version}"')]
    return schema_failures(validator, masked(manifest))


def pod_failures(template: Properties, version: str, path: str) -> list[Failure]:
    """What in a pod template would be refused once a controller makes pods of it."""
    validator = _validator(Kind("", "v1", "Pod"), version)
    pod = masked({"apiVersion": "v1", "kind": "Pod", **template})
    return schema_failures(validator, pod, path) if validator else []


def _validator(kind: Kind, version: str) -> Draft202012Validator | None:
    group = kind.group.split(".")[0]
    file = f"{kind.name.lower()}-{group}-{kind.version}.json" if group else f"{kind.name.lower()}-{kind.version}.json"
    return _load(file, version)


@functools.cache
def _load(file: str, version: str) -> Draft202012Validator | None:
    path = _folder(version) / file
    if not path.is_file():
        return None
    schema = Resource.from_contents(json.loads(path.read_text()))
    return Draft202012Validator(schema.contents, registry=schema @ _definitions(version))


@functools.cache
def _definitions(version: str) -> Registry:
    contents = json.loads((_folder(version) / "_definitions.json").read_text())
    return Resource.from_contents(contents) @ Registry()


def _folder(version: str) -> Traversable:
    schemas = importlib.resources.files("kubernetes_validate") / "kubernetes-json-schema"
    folder = schemas / f"v{version}.0-local-strict"
    if not folder.is_dir():
        there = sorted(name.removeprefix("v")[:4] for name in _strict(schemas))
        raise ValueError(f"no schemas for Kubernetes {version}; there are: {', '.join(there)}")
    return folder


def _strict(schemas: Traversable) -> list[str]:
    return [entry.name for entry in schemas.iterdir() if entry.name.endswith("-strict")]
