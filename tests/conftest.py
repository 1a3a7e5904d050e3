"""One recording stand-in of the engine for every test, and no sockets where none belong."""

import json
import runpy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import grpc
import pulumi
import pytest
import pytest_socket
from google.protobuf import empty_pb2
from pulumi.runtime import rpc
from pulumi.runtime.mocks import MockMonitor
from pulumi.runtime.proto import resource_pb2

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


class Refused(grpc.RpcError):
    """What the engine passes on when a provider refuses a look-up; any other error would end the program."""

    def code(self) -> grpc.StatusCode:
        """Return the code of whatever a provider says."""
        return grpc.StatusCode.UNKNOWN

    def details(self) -> str:
        """Return what it says."""
        return str(self.args[0])


class CloudAnswers(Protocol):
    """What a cloud answers under mocks."""

    def computed(self, kind: str, name: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the cloud adds to a resource's inputs."""
        ...

    def look_up(self, token: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a look-up, or raise `Refused` with what the cloud says."""
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
    requests: dict[str, resource_pb2.RegisterResourceRequest] = field(default_factory=dict)
    """By URN."""
    outputs: dict[str, resource_pb2.RegisterResourceOutputsRequest] = field(default_factory=dict)
    """What components hand out, by URN."""

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

    def request(self, resource: Registered) -> resource_pb2.RegisterResourceRequest:
        """Return what the engine is told of a resource: protect, retainOnDelete, ignoreChanges and the like."""
        known = (resource.type, resource.name)
        (found,) = [each for each in self.requests.values() if (each.type, each.name) == known]
        return found

    def before(self, resource: Registered) -> set[str]:
        """Return the names of all that is made before a resource and deleted after it: what it stands on."""
        found: set[str] = set()
        rest = [self.request(resource)]
        while rest:
            request = rest.pop()
            urns = {*request.dependencies, request.provider.rpartition("::")[0]} - found - {""}
            found |= urns
            rest += [self.requests[urn] for urn in urns]
        return {urn.rpartition("::")[2] for urn in found}


class Recorder(MockMonitor):
    """Keeps the whole request of each registration; `Mocks` is told the inputs alone."""

    def __init__(self, mocks: Mocks) -> None:
        super().__init__(mocks)
        self._requests = mocks.requests
        self._outputs = mocks.outputs

    def RegisterResource(  # noqa: N802 - gRPC's name
        self, request: resource_pb2.RegisterResourceRequest
    ) -> resource_pb2.RegisterResourceResponse:
        """Record one request."""
        self._requests[self.make_urn(request.parent, request.type, request.name)] = request
        return super().RegisterResource(request)

    def RegisterResourceOutputs(  # noqa: N802 - gRPC's name
        self, request: resource_pb2.RegisterResourceOutputsRequest
    ) -> empty_pb2.Empty:
        """Record what a component hands out."""
        self._outputs[request.urn] = request
        return super().RegisterResourceOutputs(request)


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
    pulumi.runtime.set_mocks(mocks, project="kimi-k3", stack=STACK, preview=unknown, monitor=Recorder(mocks))
    raw = {f"kimi-k3:{key}": entry if isinstance(entry, str) else json.dumps(entry) for key, entry in values.items()}
    hidden = {f"kimi-k3:{key}": entry for key, entry in (secrets or {}).items()}
    pulumi.runtime.set_all_config({**raw, **hidden}, list(hidden))

    @pulumi.runtime.test
    def program() -> None:
        runpy.run_path(str(PROJECT / "__main__.py"), run_name="__main__")

    program()
    return mocks
