"""Components that live in a provider: what the engine asks for, and how their children are registered.

`pulumi_eks.Cluster` is one: the program sees one resource, and the provider registers a dozen others through the
engine's own resource monitor. The names of the requests are those of the protocol (`pulumirpc.ResourceMonitor`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final

import grpc
from pulumi.runtime import rpc
from pulumi.runtime.proto import provider_pb2, resource_pb2, resource_pb2_grpc

from rehearsal.fakes.values import UNKNOWN, Properties, from_struct, mapping, to_struct

# How a resource stands in a map of properties: rpc.py of the SDK.
_SIGNATURE: Final = (rpc._special_sig_key, rpc._special_resource_sig)  # noqa: SLF001 - the SDK exports no other name


@dataclass(frozen=True)
class Registered:
    """A resource that was registered; in a preview its id is empty and its outputs may lack what isn't known yet."""

    urn: str
    id: str = ""
    outputs: Properties = field(default_factory=dict)

    def output(self, name: str) -> object:
        """Return an output, or `UNKNOWN` while the thing doesn't exist."""
        missing = None if self.id else UNKNOWN
        return (self.id or UNKNOWN) if name == "id" else self.outputs.get(name, missing)

    @property
    def reference(self) -> Properties:
        """The resource as a property of another one."""
        key, signature = _SIGNATURE
        return {key: signature, "urn": self.urn, "id": self.id or UNKNOWN}


@dataclass(frozen=True)
class Constructed:
    """What a component hands back: itself, its outputs, and the resources that these depend on."""

    component: Registered
    outputs: Properties
    depends_on: Sequence[Registered] = ()


class Construction:
    """The engine's wish for one component, and its resource monitor while the component is made.

    Args:
        request: As the protocol has it.
    """

    def __init__(self, request: provider_pb2.ConstructRequest) -> None:
        self._request = request
        self._channel = grpc.insecure_channel(request.monitorEndpoint)
        self._monitor = resource_pb2_grpc.ResourceMonitorStub(self._channel)
        self.type = request.type
        self.name = request.name
        self.inputs = from_struct(request.inputs)

    def __enter__(self) -> "Construction":
        """Keep the channel to the engine open."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the channel."""
        self._channel.close()

    def component(self, kind: str, name: str, parent: Registered | None = None) -> Registered:
        """Register a component; without a parent, the one that was asked for."""
        request = self._request
        response = self._monitor.RegisterResource(
            resource_pb2.RegisterResourceRequest(
                type=kind,
                name=name,
                parent=parent.urn if parent else request.parent,
                custom=False,
                object=to_struct({} if parent else self.inputs),
                dependencies=[] if parent else request.dependencies,
                providers=request.providers,
                protect=request.protect,
                aliases=[] if parent else request.aliases,
                acceptSecrets=True,
                acceptResources=True,
            )
        )
        return Registered(response.urn)

    def resource(
        self,
        kind: str,
        name: str,
        inputs: Mapping[str, object],
        parent: Registered,
        *,
        depends_on: Sequence[Registered] = (),
        ignore_changes: Sequence[str] = (),
        version: str = "",
    ) -> Registered:
        """Register a child; what is None in its inputs is left out. It is made, or planned, when this returns.

        Args:
            kind: Its type token.
            name: Its logical name.
            inputs: By their names on the wire.
            parent: A component of this construction.
            depends_on: What must exist before.
            ignore_changes: Paths of inputs whose changes don't count.
            version: Of the plugin; only a provider must name it, or the engine finds a change each time.
        """
        given = {key: value for key, value in inputs.items() if value is not None}
        response = self._monitor.RegisterResource(
            resource_pb2.RegisterResourceRequest(
                type=kind,
                name=name,
                parent=parent.urn,
                custom=True,
                object=to_struct(given),
                provider=self._provider_of(kind),
                dependencies=sorted({each.urn for each in depends_on} | set(self._request.dependencies)),
                ignoreChanges=ignore_changes,
                version=version,
                acceptSecrets=True,
                supportsPartialValues=True,
            )
        )
        return Registered(response.urn, response.id, from_struct(response.object))

    def invoke(self, token: str, arguments: Properties, parent: Registered) -> Properties:
        """Ask another provider."""
        response = self._monitor.Invoke(
            resource_pb2.ResourceInvokeRequest(
                tok=token,
                args=to_struct(arguments),
                provider=self._provider_of(token),
                parent=parent.urn,
            )
        )
        return mapping(from_struct(getattr(response, "return")))

    def _provider_of(self, token: str) -> str:
        """The explicit provider of a token's package; empty for the default one, and for providers themselves."""
        return self._request.providers.get(token.partition(":")[0], "")

    def outputs(self, component: Registered, outputs: Properties) -> None:
        """Say what a component has come out as."""
        self._monitor.RegisterResourceOutputs(
            resource_pb2.RegisterResourceOutputsRequest(urn=component.urn, outputs=to_struct(outputs))
        )

    def response(self, constructed: Constructed) -> provider_pb2.ConstructResponse:
        """Return what the engine is told at the end."""
        urns = sorted({each.urn for each in constructed.depends_on})
        dependencies = {
            name: provider_pb2.ConstructResponse.PropertyDependencies(urns=urns) for name in constructed.outputs
        }
        return provider_pb2.ConstructResponse(
            urn=constructed.component.urn, state=to_struct(constructed.outputs), stateDependencies=dependencies
        )


Component = Callable[[Construction], Constructed]
"""Makes a component.

Raises:
    rehearsal.fakes.rules.RefusedError: The arguments are wrong, or something that it needs is missing.
"""
