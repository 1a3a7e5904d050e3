"""What the API server checks beyond the schemas: names, labels, quantities, ports, references inside a pod.

Texts are those of k8s.io/apimachinery `util/validation` and k8s.io/kubernetes `pkg/apis/core/validation`.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final

from rehearsal.fakes.kubernetes.kinds import name_of
from rehearsal.fakes.rules import Failure
from rehearsal.fakes.values import Properties, mapping, sequence

_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL_VALUE: Final = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_QUANTITY: Final = re.compile(r"[+-]?(\d+|\d+\.\d*|\.\d+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?")
_PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
_LONGEST_NAME: Final = 253
_LONGEST_LABEL: Final = 63
_HIGHEST_PORT: Final = 65535


def object_name(manifest: Properties) -> Iterator[Failure]:
    """A name is a DNS subdomain of at most 253 characters."""
    name = name_of(manifest)
    if len(name) > _LONGEST_NAME:
        yield Failure("metadata.name", f"must be no more than {_LONGEST_NAME} characters")
    if name and not _SUBDOMAIN.fullmatch(name):
        yield Failure("metadata.name", f'Invalid value: "{name}": a lowercase RFC 1123 subdomain is wanted')


def label_values(manifest: Properties) -> Iterator[Failure]:
    """A label's value has at most 63 characters of a few kinds; it is a text, not a number."""
    for path, metadata in _found(manifest, "metadata"):
        for key, value in mapping(metadata.get("labels")).items():
            where = f'{path}.labels["{key}"]'
            if isinstance(value, str) and len(value) > _LONGEST_LABEL:
                yield Failure(where, f'"{value}" must be no more than {_LONGEST_LABEL} characters')
            elif isinstance(value, str) and not _LABEL_VALUE.fullmatch(value):
                yield Failure(
                    where, f'"{value}" must consist of alphanumeric characters, "-", "_" or ".", not at its ends'
                )


def quantities(manifest: Properties) -> Iterator[Failure]:
    """Requests and limits are quantities: `64Gi`, not `64GB`."""
    for path, resources in _found(manifest, "resources"):
        amounts = [(side, *item) for side in ("requests", "limits") for item in mapping(resources.get(side)).items()]
        for side, key, value in amounts:
            if isinstance(value, str) and not _QUANTITY.fullmatch(value):
                where = f'{path}.{side}["{key}"]'
                yield Failure(where, f'"{value}": quantities must look like 64Gi, 500m or 2')


def requests_within_limits(manifest: Properties) -> Iterator[Failure]:
    """GPUs and other extended resources can't be overcommitted: request and limit are the same."""
    for path, resources in _found(manifest, "resources"):
        requests, limits = mapping(resources.get("requests")), mapping(resources.get("limits"))
        for key in sorted(key for key in requests if "/" in key):
            if key not in limits:
                yield Failure(f'{path}.limits["{key}"]', "Limit must be set for non overcommitable resources")
            elif str(requests[key]) != str(limits[key]):
                yield Failure(f'{path}.requests["{key}"]', f"must be equal to {key} limit of {limits[key]}")


def ports(manifest: Properties) -> Iterator[Failure]:
    """Ports are between 1 and 65535."""
    for name in ("containerPort", "hostPort", "port"):
        for path, value in _leaves(manifest, name):
            if isinstance(value, int) and not 1 <= value <= _HIGHEST_PORT:
                yield Failure(path, f"Invalid value: {value}: must be between 1 and 65535, inclusive")


def pull_policies(manifest: Properties) -> Iterator[Failure]:
    """An image is pulled always, never, or if it isn't there."""
    for path, value in _leaves(manifest, "imagePullPolicy"):
        if isinstance(value, str) and value not in _PULL_POLICIES:
            supported = ", ".join(f'"{policy}"' for policy in _PULL_POLICIES)
            yield Failure(path, f'Unsupported value: "{value}": supported values: {supported}')


def mounted_volumes(manifest: Properties) -> Iterator[Failure]:
    """What a container mounts is a volume of its pod."""
    for pod_path, pod in _pod_specs(manifest):
        volumes = {mapping(volume).get("name") for volume in sequence(pod.get("volumes"))}
        for path, container in _containers(pod_path, pod):
            for number, mount in enumerate(sequence(container.get("volumeMounts"))):
                name = mapping(mount).get("name")
                if isinstance(name, str) and name not in volumes:
                    yield Failure(f"{path}.volumeMounts[{number}].name", f'Not found: "{name}"')


def container_names(manifest: Properties) -> Iterator[Failure]:
    """No two containers of a pod have the same name."""
    for pod_path, pod in _pod_specs(manifest):
        seen: set[object] = set()
        for path, container in _containers(pod_path, pod):
            if container.get("name") in seen:
                yield Failure(f"{path}.name", f'Duplicate value: "{container.get("name")}"')
            seen.add(container.get("name"))


RULES: Final[tuple[Callable[[Properties], Iterator[Failure]], ...]] = (
    object_name,
    label_values,
    quantities,
    requests_within_limits,
    ports,
    pull_policies,
    mounted_volumes,
    container_names,
)
"""Every check of this module, for one manifest each."""


def pod_templates(manifest: Properties) -> Iterator[tuple[str, Properties]]:
    """Every pod template in a manifest, with its path; a template is what has a spec with containers."""
    for path, value in _walk(manifest, ""):
        inner = mapping(value)
        if path and isinstance(mapping(inner.get("spec")).get("containers"), list):
            yield path, inner


def _pod_specs(manifest: Properties) -> Iterator[tuple[str, Properties]]:
    for path, value in _walk(manifest, ""):
        if isinstance(mapping(value).get("containers"), list):
            yield path, mapping(value)


def _containers(path: str, pod: Properties) -> Iterator[tuple[str, Properties]]:
    for group in ("containers", "initContainers"):
        for index, container in enumerate(sequence(pod.get(group))):
            yield f"{path}.{group}[{index}]", mapping(container)


def _found(manifest: Properties, key: str) -> Iterator[tuple[str, Properties]]:
    return ((path, mapping(value)) for path, value in _leaves(manifest, key))


def _leaves(manifest: Properties, key: str) -> Iterator[tuple[str, object]]:
    for path, value in _walk(manifest, ""):
        if path == key or path.endswith(f".{key}"):
            yield path, value


def _walk(value: object, path: str) -> Iterator[tuple[str, object]]:
    yield path, value
    if isinstance(value, dict):
        for key, item in mapping(value).items():
            yield from _walk(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for index, item in enumerate(sequence(value)):
            yield from _walk(item, f"{path}[{index}]")
