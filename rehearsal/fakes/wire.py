"""The wire: the engine's provider protocol on one side, the life cycle of the stand-in on the other.

Method names are those of the protocol (`pulumirpc.ResourceProvider`, served by the SDK's own classes).
"""
# ruff: noqa: N802 — see above

import os
import signal
import sys
import threading
from collections.abc import Iterable
from concurrent import futures
from typing import NoReturn

import grpc
from google.protobuf import empty_pb2
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc, status_pb2

from rehearsal.fakes.construction import Construction
from rehearsal.fakes.life_cycle import Difference, LifeCycle
from rehearsal.fakes.property_diff import Kind
from rehearsal.fakes.rules import Failure, RefusedError, Resource, UnreadyError
from rehearsal.fakes.values import from_struct, to_struct

_THREADS = 16
_LIFE_SIGN_SECONDS = 2.0
# Manifests with embedded CRDs pass gRPC's 4 MiB; the engine itself allows 400 MiB.
_MESSAGE_BYTES = 400 * 1024 * 1024


class Servicer(provider_pb2_grpc.ResourceProviderServicer):
    """Answers the engine for one stand-in.

    Args:
        life_cycle: What is done with the resources, by whose rules.
    """

    def __init__(self, life_cycle: LifeCycle) -> None:
        self._life = life_cycle
        self._rules = life_cycle.rules

    def Handshake(
        self, request: provider_pb2.ProviderHandshakeRequest, context: grpc.ServicerContext
    ) -> provider_pb2.ProviderHandshakeResponse:
        """Say what this provider can read: secrets, but neither resource references nor output values."""
        del request, context
        return provider_pb2.ProviderHandshakeResponse(accept_secrets=True)

    def GetPluginInfo(self, request: empty_pb2.Empty, context: grpc.ServicerContext) -> plugin_pb2.PluginInfo:
        """Name the version of the SDK that this provider stands in for."""
        del request, context
        return plugin_pb2.PluginInfo(version=self._rules.version)

    def GetSchema(
        self, request: provider_pb2.GetSchemaRequest, context: grpc.ServicerContext
    ) -> provider_pb2.GetSchemaResponse:
        """Say nothing: the SDK's own types are what inputs are checked against."""
        del request, context
        return provider_pb2.GetSchemaResponse(schema="{}")

    def CheckConfig(
        self, request: provider_pb2.CheckRequest, context: grpc.ServicerContext
    ) -> provider_pb2.CheckResponse:
        """Check the arguments of the explicit provider."""
        del context
        failures = self._rules.check_config(from_struct(request.news))
        return provider_pb2.CheckResponse(inputs=request.news, failures=_failures(failures))

    def DiffConfig(self, request: provider_pb2.DiffRequest, context: grpc.ServicerContext) -> provider_pb2.DiffResponse:
        """Say whether a changed provider points at another account."""
        del context
        old = from_struct(request.old_inputs if request.HasField("old_inputs") else request.olds)
        new = from_struct(request.news)
        kinds = provider_pb2.DiffResponse
        changed = sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))
        return provider_pb2.DiffResponse(
            changes=kinds.DIFF_SOME if changed else kinds.DIFF_NONE,
            diffs=changed,
            replaces=self._rules.moves_account(old, new),
        )

    def Configure(
        self, request: provider_pb2.ConfigureRequest, context: grpc.ServicerContext
    ) -> provider_pb2.ConfigureResponse:
        """Hand the arguments, which were checked before, to the rules."""
        del context
        self._rules.configure(from_struct(request.args))
        return provider_pb2.ConfigureResponse(acceptSecrets=True, supportsPreview=True)

    def Check(self, request: provider_pb2.CheckRequest, context: grpc.ServicerContext) -> provider_pb2.CheckResponse:
        """Complete the inputs, and refuse them if they are wrong."""
        del context
        resource = _resource(request, from_struct(request.news), request.randomSeed)
        old = from_struct(request.olds) if request.olds.fields else None
        inputs, failures = self._life.check(resource, old)
        return provider_pb2.CheckResponse(inputs=to_struct(inputs), failures=_failures(failures))

    def Diff(self, request: provider_pb2.DiffRequest, context: grpc.ServicerContext) -> provider_pb2.DiffResponse:
        """Compare the new inputs with those of the last deployment."""
        del context
        resource = _resource(request, from_struct(request.news))
        return _diff_response(self._life.diff(resource, from_struct(request.old_inputs)))

    def Create(self, request: provider_pb2.CreateRequest, context: grpc.ServicerContext) -> provider_pb2.CreateResponse:
        """Make a thing; in a preview, say what is known of it and nothing else."""
        resource = _resource(request, from_struct(request.properties))
        if request.preview:
            return provider_pb2.CreateResponse(properties=to_struct(self._life.preview(resource)))
        try:
            thing = self._life.create(resource, request.timeout)
        except RefusedError as refusal:
            _refuse(context, str(refusal))
        except UnreadyError as late:
            _report_unready(context, late)
        return provider_pb2.CreateResponse(id=thing.id, properties=to_struct(thing.outputs))

    def Read(self, request: provider_pb2.ReadRequest, context: grpc.ServicerContext) -> provider_pb2.ReadResponse:
        """Say what a thing looks like now; an empty answer means that it is gone."""
        del context
        kind = request.type or _type_of(request.urn)
        known = (from_struct(request.inputs), from_struct(request.properties))
        thing = self._life.read(kind, request.id, known)
        if thing is None:
            return provider_pb2.ReadResponse()
        inputs, outputs = to_struct(thing.inputs), to_struct(thing.outputs)
        return provider_pb2.ReadResponse(id=thing.id, inputs=inputs, properties=outputs)

    def Update(self, request: provider_pb2.UpdateRequest, context: grpc.ServicerContext) -> provider_pb2.UpdateResponse:
        """Change a thing in place; in a preview, say what is known of the result."""
        resource = _resource(request, from_struct(request.news))
        if request.preview:
            return provider_pb2.UpdateResponse(properties=to_struct(self._life.preview(resource)))
        try:
            outputs = self._life.update(resource, request.id)
        except RefusedError as refusal:
            _refuse(context, str(refusal))
        return provider_pb2.UpdateResponse(properties=to_struct(outputs))

    def Delete(self, request: provider_pb2.DeleteRequest, context: grpc.ServicerContext) -> empty_pb2.Empty:
        """Take a thing away."""
        try:
            self._life.delete(request.type or _type_of(request.urn), request.id)
        except RefusedError as refusal:
            _refuse(context, str(refusal))
        return empty_pb2.Empty()

    def Invoke(self, request: provider_pb2.InvokeRequest, context: grpc.ServicerContext) -> provider_pb2.InvokeResponse:
        """Answer a look-up."""
        try:
            answer = self._life.invoke(request.tok, from_struct(request.args))
        except RefusedError as refusal:
            _refuse(context, str(refusal))
        response = provider_pb2.InvokeResponse()
        getattr(response, "return").CopyFrom(to_struct(answer))
        return response

    def Construct(
        self, request: provider_pb2.ConstructRequest, context: grpc.ServicerContext
    ) -> provider_pb2.ConstructResponse:
        """Make a component that lives in the provider, and its children."""
        component = self._rules.components.get(request.type)
        if component is None:
            _refuse(context, f"the stand-in for {self._rules.package} doesn't play the component {request.type}")
        with Construction(request) as construction:
            try:
                return construction.response(component(construction))
            except RefusedError as refusal:
                _refuse(context, str(refusal))
            except grpc.RpcError as error:
                # The engine has said already which child went wrong; this names the component.
                _refuse(context, _details(error))

    def Cancel(self, request: empty_pb2.Empty, context: grpc.ServicerContext) -> empty_pb2.Empty:
        """Agree: no operation here takes long enough to be cut short."""
        del request, context
        return empty_pb2.Empty()


def serve(life_cycle: LifeCycle) -> None:
    """Serve on a free local port until a signal comes or the engine is gone; the port is the only output."""
    options = [
        ("grpc.max_receive_message_length", _MESSAGE_BYTES),
        ("grpc.max_send_message_length", _MESSAGE_BYTES),
    ]
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=_THREADS), options=options)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(Servicer(life_cycle), server)
    port = server.add_insecure_port("127.0.0.1:0")
    stop, engine = threading.Event(), os.getppid()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    server.start()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    # An engine that was killed sends no signal; its orphans are adopted by another process.
    while not stop.wait(_LIFE_SIGN_SECONDS) and os.getppid() == engine:
        pass
    server.stop(grace=None)


def _resource(
    request: provider_pb2.CheckRequest
    | provider_pb2.DiffRequest
    | provider_pb2.CreateRequest
    | provider_pb2.UpdateRequest,
    inputs: dict[str, object],
    seed: bytes = b"",
) -> Resource:
    kind = request.type or _type_of(request.urn)
    name = request.name or request.urn.rsplit("::", 1)[-1]
    return Resource(urn=request.urn, type=kind, name=name, inputs=inputs, seed=seed)


def _type_of(urn: str) -> str:
    """The last type of `urn:pulumi:stack::project::parent$type::name`."""
    return urn.split("::")[2].rsplit("$", 1)[-1]


def _failures(failures: Iterable[Failure]) -> list[provider_pb2.CheckFailure]:
    return [provider_pb2.CheckFailure(property=f.property, reason=f.reason) for f in failures]


def _diff_response(difference: Difference) -> provider_pb2.DiffResponse:
    kinds = provider_pb2.PropertyDiff
    names = {
        Kind.ADD: (kinds.ADD, kinds.ADD_REPLACE),
        Kind.DELETE: (kinds.DELETE, kinds.DELETE_REPLACE),
        Kind.UPDATE: (kinds.UPDATE, kinds.UPDATE_REPLACE),
    }
    detailed = {
        change.path: kinds(kind=names[change.kind][change.path in difference.replaces], inputDiff=True)
        for change in difference.changed
    }
    some = provider_pb2.DiffResponse.DIFF_SOME if detailed else provider_pb2.DiffResponse.DIFF_NONE
    return provider_pb2.DiffResponse(
        changes=some,
        replaces=difference.replaces,
        deleteBeforeReplace=difference.deletes_first,
        detailedDiff=detailed,
        hasDetailedDiff=True,
    )


def _refuse(context: grpc.ServicerContext, text: str) -> NoReturn:
    context.abort(grpc.StatusCode.UNKNOWN, text)
    raise AssertionError(text)


def _details(error: grpc.RpcError) -> str:
    return error.details() or str(error) if isinstance(error, grpc.Call) else str(error)


def _report_unready(context: grpc.ServicerContext, late: UnreadyError) -> NoReturn:
    """Tell the engine that the thing exists, so that it lands in the state and is deleted some day."""
    detail = provider_pb2.ErrorResourceInitFailed(
        id=late.thing.id,
        properties=to_struct(late.thing.outputs),
        inputs=to_struct(late.thing.inputs),
        reasons=[str(late)],
    )
    status = status_pb2.Status(code=grpc.StatusCode.UNKNOWN.value[0], message=str(late))
    status.details.add().Pack(detail)
    context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
    _refuse(context, str(late))
