"""One planned resource as the rules see it, and how a value is reached in its properties."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Planned:
    """A resource that the engine is about to make."""

    type: str
    """Pulumi's type, for example `aws:s3/bucket:Bucket`."""
    props: Mapping[str, Any]
    """Its inputs; an unknown one is absent or something that isn't a plain value."""
    parents: tuple[str, ...] = ()
    """The types of the components around it, outermost first."""

    @property
    def kind(self) -> str:
        """The last part of the type: `Bucket`."""
        return self.type.rpartition(":")[2]


def parents(urn: str) -> tuple[str, ...]:
    """Return the types of the components in a URN: `urn:pulumi:stack::project::outer$inner$type::name`."""
    return tuple(urn.split("::")[2].split("$")[:-1])


def at(value: object, *path: str) -> Any:  # noqa: ANN401 - properties are whatever a provider takes
    """Return what lies at a path of keys; None where it isn't there."""
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def items(value: object) -> list[Any]:
    """Return a list as it is, and nothing for anything else."""
    return list(value) if isinstance(value, list | tuple) else []


def pod_specs(value: object) -> Iterator[Mapping[str, Any]]:
    """Yield each pod's specification in a Kubernetes object, at whatever depth its template lies."""
    if isinstance(value, Mapping):
        if isinstance(value.get("containers"), list | tuple):
            yield value
        for each in value.values():
            yield from pod_specs(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from pod_specs(each)


def containers(spec: Mapping[str, Any]) -> list[Any]:
    """Return all containers of a pod: those that start it, its own and those for debugging."""
    return [each for key in ("initContainers", "containers", "ephemeralContainers") for each in items(spec.get(key))]
