"""Small objects for the tests of the stand-in for Kubernetes."""

from collections.abc import Sequence
from pathlib import Path

import yaml

from rehearsal.fakes.kubernetes.kinds import RELEASE, kind_of
from rehearsal.fakes.rules import Resource
from rehearsal.fakes.values import Properties

WIDGET_DEFINITION: Properties = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"kind": "Widget", "plural": "widgets"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "required": ["spec"],
                        "properties": {
                            "spec": {
                                "type": "object",
                                "required": ["size", "policy"],
                                "properties": {
                                    "size": {"type": "integer", "minimum": 1},
                                    "policy": {"type": "string", "enum": ["Keep", "Drop"], "default": "Keep"},
                                    "port": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "string"}]},
                                    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                                    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                                    "note": {"type": "string", "nullable": True},
                                    "template": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                                    "parts": {
                                        "type": "array",
                                        "items": {"type": "object", "properties": {"id": {"type": "string"}}},
                                    },
                                },
                            }
                        },
                    }
                },
            }
        ],
    },
}


def manifest(api_version: str, kind: str, name: str = "a", namespace: str = "", **rest: object) -> Properties:
    """An object's manifest; without a namespace it is in the default one."""
    metadata: Properties = {"name": name} if name else {}
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": metadata | ({"namespace": namespace} if namespace else {}),
        **rest,
    }


def widget(name: str = "a", namespace: str = "", **spec: object) -> Properties:
    """An object of the custom kind."""
    return manifest("example.com/v1", "Widget", name, namespace, spec={"size": 1, **spec})


def pod(**container: object) -> Properties:
    """A pod with one container."""
    return manifest("v1", "Pod", spec={"containers": [{"name": "main", "image": "pause:3", **container}]})


def asked(inputs: Properties, name: str = "logical") -> Resource:
    """An object as the program asks for it."""
    token = kind_of("kubernetes::", inputs).token
    urn = f"urn:pulumi:dev::project::{token}::{name}"
    return Resource(urn=urn, type=token, name=name, inputs=inputs, seed=b"seed")


def release(**inputs: object) -> Resource:
    """A Helm release as the program asks for it."""
    urn = f"urn:pulumi:dev::project::{RELEASE}::chart"
    return Resource(urn=urn, type=RELEASE, name="chart", inputs=inputs, seed=b"seed")


def write_definitions(folder: Path, definitions: Sequence[Properties] = (WIDGET_DEFINITION,)) -> Path:
    """Put CustomResourceDefinitions into a folder, as a release of their operator ships them."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, definition in enumerate(definitions):
        (folder / f"{number}.yaml").write_text(yaml.safe_dump(definition))
    return folder


def write_chart(folder: Path, name: str = "lws", version: str = "0.9.0") -> Path:
    """Make a chart that holds nothing but its Chart.yaml."""
    folder.mkdir(parents=True)
    (folder / "Chart.yaml").write_text(yaml.safe_dump({"apiVersion": "v2", "name": name, "version": version}))
    return folder
