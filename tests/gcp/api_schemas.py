"""Google's own descriptions of what its APIs take, cut down to what this program sends, and a check against them.

The table beside it was made from the discovery documents that `google-api-python-client` 2.202.0 carries (container.v1
of 2026-10-27, compute.v1 of 2026-11-06). To make it anew: pip install that package somewhere, and
`python -m tests.gcp.api_schemas <its folder>/discovery_cache/documents`.
"""

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

TABLE: Final = Path(__file__).with_suffix(".json")
Schema = Mapping[str, Any]

ROOTS: Final = {
    "container.v1": ("NodePool",),
    "compute.v1": ("FutureReservation", "Network", "ResourcePolicyWorkloadPolicy", "RouterNat", "Subnetwork"),
}
_CLUSTER: Final = (
    "addonsConfig",
    "enableK8sBetaApis",
    "initialNodeCount",
    "ipAllocationPolicy",
    "location",
    "locations",
    "maintenancePolicy",
    "masterAuthorizedNetworksConfig",
    "name",
    "network",
    "networkConfig",
    "nodeConfig",
    "privateClusterConfig",
    "releaseChannel",
    "resourceLabels",
    "shieldedNodes",
    "subnetwork",
    "workloadIdentityConfig",
)
"""Of the cluster's fields, those that have something to do with ours."""

RENAMED: Final[Mapping[str, Mapping[str, str | None]]] = {
    # Terraform's names, which Pulumi's provider has, to those of the API; None is a path or an option of the provider.
    "NodePool": {
        "cluster": None,
        "nodeConfig": "config",
        "nodeCount": "initialNodeCount",
        "nodeLocations": "locations",
    },
    "NodeConfig": {"guestAccelerators": "accelerators"},
    "LinuxNodeConfig": {"hugepagesConfig": "hugepages"},
    "AcceleratorConfig": {"count": "acceleratorCount", "type": "acceleratorType"},
    "FutureReservation": {"deletionPolicy": None},
    "RouterNat": {"region": None, "router": None},
}


def faults(name: str, value: object, path: str) -> list[str]:
    """Return every field that the API doesn't know, and every value that it doesn't take.

    Args:
        name: Of the API's schema.
        value: A resource's inputs, or a part of them.
        path: Where the part is, for the message.
    """
    return _check(json.loads(TABLE.read_text()), {"$ref": name}, value, path)


def _check(table: Schema, schema: Schema, value: object, path: str) -> list[str]:
    if "$ref" in schema:
        assert isinstance(value, dict), path
        return _object(table, schema["$ref"], value, path)
    if "items" in schema:
        assert isinstance(value, list), path
        found = [_check(table, schema["items"], each, f"{path}[{index}]") for index, each in enumerate(value)]
        return [fault for faults_ in found for fault in faults_]
    if "enum" in schema and value not in schema["enum"]:
        return [f"{path}: {value!r} is none of {schema['enum']}"]
    if "pattern" in schema and not re.fullmatch(schema["pattern"], str(value)):
        return [f"{path}: {value!r} isn't {schema['pattern']}"]
    return []


def _object(table: Schema, name: str, value: Mapping[str, object], path: str) -> list[str]:
    found: list[str] = []
    for given, part in value.items():
        field = RENAMED.get(name, {}).get(given, given)
        if field is None:
            continue
        if field not in table[name]:
            found.append(f"{path}.{given}: {name} has no such field")
            continue
        found += _check(table, table[name][field], part, f"{path}.{given}")
    return found


def _trimmed(schema: Schema) -> dict[str, Any]:
    """Return a field's type without its prose."""
    kept = {key: schema[key] for key in ("$ref", "enum", "pattern") if key in schema}
    return {**kept, "items": _trimmed(schema["items"])} if "items" in schema else kept


def _references(schema: Schema) -> list[str]:
    return [schema["$ref"]] if "$ref" in schema else _references(schema["items"]) if "items" in schema else []


def make(documents: Path) -> dict[str, dict[str, Any]]:
    """Return the table.

    Args:
        documents: Folder of the discovery documents.
    """
    found: dict[str, dict[str, Any]] = {}
    for document, roots in ROOTS.items():
        schemas = json.loads((documents / f"{document}.json").read_text())["schemas"]
        rest = list(roots)
        if document == "container.v1":
            fields = {field: _trimmed(schemas["Cluster"]["properties"][field]) for field in _CLUSTER}
            found["Cluster"] = fields
            rest += [name for field in fields.values() for name in _references(field)]
        while rest:
            name = rest.pop()
            if name in found:
                continue
            properties = schemas[name].get("properties", {})
            found[name] = {field: _trimmed(schema) for field, schema in properties.items()}
            rest += [reference for schema in found[name].values() for reference in _references(schema)]
    return found


if __name__ == "__main__":
    TABLE.write_text(json.dumps(make(Path(sys.argv[1])), separators=(",", ":"), sort_keys=True) + "\n")
