"""One recording stand-in of the engine for every test, and no sockets where none belong."""

import json
import runpy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pulumi
import pytest
import pytest_socket
from pulumi.runtime import rpc

PROJECT = Path(__file__).resolve().parent.parent
STACK = "existing"


@pytest.fixture(autouse=True)
def _no_sockets(request: pytest.FixtureRequest) -> Iterator[None]:
    """Close the network to every test but those of the engine, the servers of the weights and the cluster."""
    if {mark.name for mark in request.node.iter_markers()} & {"engine", "servers", "cluster"}:
        yield
        return
    # The event loop wakes itself through a pair of Unix sockets.
    pytest_socket.disable_socket(allow_unix_socket=True)
    yield
    pytest_socket.enable_socket()


@dataclass(frozen=True)
class Registered:
    """One resource as the engine would have got it."""

    type: str
    name: str
    inputs: Mapping[str, Any]
    provider: str


class CloudAnswers(Protocol):
    """What a cloud answers under mocks."""

    def computed(self, kind: str, name: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the cloud adds to a resource's inputs."""
        ...

    def look_up(self, token: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a look-up, or raise what the cloud says."""
        ...


class NoCloud:
    """A cluster alone: nothing is computed, and nothing can be looked up."""

    def computed(self, kind: str, name: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Add nothing."""
        del kind, name, inputs
        return {}

    def look_up(self, token: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """Refuse look-ups: this cloud makes none."""
        del args
        raise AssertionError(f"unexpected look-up {token}")


@dataclass
class Mocks(pulumi.runtime.Mocks):
    """Records resources and answers with their inputs, or with nothing known at all."""

    unknown: bool = False
    cloud: CloudAnswers = field(default_factory=NoCloud)
    resources: list[Registered] = field(default_factory=list)

    def new_resource(self, args: pulumi.runtime.MockResourceArgs) -> tuple[str, dict[str, Any]]:
        """Record one resource."""
        self.resources.append(Registered(args.typ, args.name, args.inputs, args.provider or ""))
        state = {**args.inputs, **self.cloud.computed(args.typ, args.name, args.inputs)}
        state = dict.fromkeys(state, rpc.UNKNOWN) if self.unknown else state
        return f"{args.name}-id", {**state, "status": rpc.UNKNOWN} if self.unknown else state

    def call(self, args: pulumi.runtime.MockCallArgs) -> tuple[dict[str, Any], list[tuple[str, str]] | None]:
        """Answer as the cloud does."""
        return self.cloud.look_up(args.token, args.args), []

    def of(self, type_: str) -> list[Registered]:
        """Return the resources of a type whose last part is given."""
        return [resource for resource in self.resources if resource.type.split(":")[-1] == type_]


def run_program(
    values: Mapping[str, object],
    *,
    unknown: bool = False,
    secrets: Mapping[str, str] | None = None,
    cloud: CloudAnswers | None = None,
) -> Mocks:
    """Run the real `__main__.py` and return what it registered.

    Args:
        values: The stack file's values.
        unknown: Whether every output is unknown, as in a first preview.
        secrets: Encrypted values.
        cloud: What the cloud answers; none: a cluster alone.
    """
    mocks = Mocks(unknown=unknown, cloud=cloud or NoCloud())
    pulumi.runtime.set_mocks(mocks, project="kimi-k3", stack=STACK, preview=unknown)
    raw = {f"kimi-k3:{key}": entry if isinstance(entry, str) else json.dumps(entry) for key, entry in values.items()}
    hidden = {f"kimi-k3:{key}": entry for key, entry in (secrets or {}).items()}
    pulumi.runtime.set_all_config({**raw, **hidden}, list(hidden))

    @pulumi.runtime.test
    def program() -> None:
        runpy.run_path(str(PROJECT / "__main__.py"), run_name="__main__")

    program()
    return mocks
