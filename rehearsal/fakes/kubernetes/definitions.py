"""CustomResourceDefinitions: which custom kinds there are, and what fits them."""

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import yaml
from jsonschema.validators import Draft202012Validator

from rehearsal.fakes.kubernetes.kinds import Kind
from rehearsal.fakes.kubernetes.schema_errors import schema_failures
from rehearsal.fakes.rules import Failure
from rehearsal.fakes.values import Properties, mapping, masked, sequence

_INT_OR_STRING: Properties = {"type": ["integer", "string"]}


@dataclass(frozen=True)
class Definition:
    """What a CustomResourceDefinition says about one version of its kind."""

    kind: Kind
    plural: str
    namespaced: bool
    schema: Properties

    @property
    def name(self) -> str:
        """The definition's own name, such as `leaderworkersets.leaderworkerset.x-k8s.io`."""
        return f"{self.plural}.{self.kind.group}"

    def failures(self, manifest: Properties) -> list[Failure]:
        """What in a manifest the API server would refuse."""
        return schema_failures(Draft202012Validator(_strict(self.schema, root=True)), masked(manifest))


def definitions_in(folders: Iterable[Path]) -> dict[Kind, Definition]:
    """The definitions in the YAML files of some folders, by kind; a folder that doesn't exist holds none."""
    found: dict[Kind, Definition] = {}
    for folder in folders:
        for file in sorted(folder.glob("*.yaml")):
            for definition in _definitions_of_file(file):
                found[definition.kind] = definition
    return found


def definitions_of(manifest: Properties) -> list[Definition]:
    """What a CustomResourceDefinition's manifest defines, one for each version that is served."""
    spec = mapping(manifest.get("spec"))
    names = mapping(spec.get("names"))
    return [
        Definition(
            kind=Kind(str(spec.get("group")), str(version.get("name")), str(names.get("kind"))),
            plural=str(names.get("plural")),
            namespaced=spec.get("scope") == "Namespaced",
            schema=mapping(mapping(version.get("schema")).get("openAPIV3Schema")),
        )
        for version in map(mapping, sequence(spec.get("versions")))
        if version.get("served", True)
    ]


@functools.cache
def _definitions_of_file(file: Path) -> list[Definition]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # LeaderWorkerSet's is 1.3 MB
    documents = yaml.load_all(file.read_text(), loader)
    found = map(mapping, documents)
    return [d for m in found if m.get("kind") == "CustomResourceDefinition" for d in definitions_of(m)]


def _strict(schema: Properties, *, root: bool = False) -> Properties:
    """A JSON schema that refuses what the API server refuses with strict field validation.

    Structural schemas differ from JSON schema in what is said at
    https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/:
    fields that aren't listed are unknown, a field with a default is never missing, int-or-string has no type.
    """
    if schema.get("x-kubernetes-int-or-string"):
        return _INT_OR_STRING
    strict = {key: value for key, value in schema.items() if not key.startswith("x-kubernetes-")}
    # Either can be true or false instead of a schema.
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            strict[key] = _strict(mapping(schema[key]))
    strict |= _members(schema, root=root)
    return {"anyOf": [{"type": "null"}, strict]} if schema.get("nullable") else strict


def _members(schema: Properties, *, root: bool) -> Properties:
    """What is said about an object's fields; nothing if the schema lists none."""
    properties = {key: _strict(mapping(value)) for key, value in mapping(schema.get("properties")).items()}
    if root or schema.get("x-kubernetes-embedded-resource"):
        # The API server checks these itself, so definitions leave them out or nearly empty.
        properties = {"apiVersion": {}, "kind": {}, "metadata": {}, **properties}
    if not properties:
        return {}
    members: Properties = {"properties": properties, "required": _required(schema)}
    is_open = "additionalProperties" in schema or schema.get("x-kubernetes-preserve-unknown-fields")
    return members if is_open else {**members, "additionalProperties": False}


def _required(schema: Properties) -> list[object]:
    properties = mapping(schema.get("properties"))
    return [key for key in sequence(schema.get("required")) if "default" not in mapping(properties.get(str(key)))]
