"""The provider protocol, without an engine: messages in, messages out."""

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import grpc
import pytest
from google.protobuf import empty_pb2, struct_pb2
from pulumi.runtime import rpc
from pulumi.runtime.proto import provider_pb2, status_pb2

from rehearsal.fakes.account import Account, Verb
from rehearsal.fakes.life_cycle import LifeCycle
from rehearsal.fakes.values import UNKNOWN, Secret, from_struct, to_struct
from rehearsal.fakes.wire import Servicer
from tests.rehearsal.made_up_rules import NODE, MadeUpRules

_URN = f"urn:pulumi:dev::project::my:Parent${NODE}::a"


class AbortedError(Exception):
    """The servicer ended a call with an error."""


class Context:
    """The part of a gRPC context that the servicer uses."""

    def __init__(self) -> None:
        self.metadata: Sequence[tuple[str, bytes]] = ()

    def abort(self, code: grpc.StatusCode, details: str) -> None:
        raise AbortedError(f"{code.name}: {details}")

    def set_trailing_metadata(self, metadata: Sequence[tuple[str, bytes]]) -> None:
        self.metadata = metadata


@pytest.fixture
def account(tmp_path: Path) -> Account:
    return Account(tmp_path / "account.json")


@pytest.fixture
def servicer(account: Account) -> Servicer:
    return Servicer(LifeCycle(MadeUpRules(), account))


@pytest.fixture
def context() -> grpc.ServicerContext:
    return cast("grpc.ServicerContext", Context())


def _struct(**inputs: object) -> struct_pb2.Struct:
    return to_struct(inputs)


def _create(servicer: Servicer, context: grpc.ServicerContext, *, preview: bool = False) -> provider_pb2.CreateResponse:
    properties = _struct(name="a", size=8, key=Secret("hush"))
    return servicer.Create(provider_pb2.CreateRequest(urn=_URN, properties=properties, preview=preview), context)


def test_introduces_itself(servicer: Servicer, context: grpc.ServicerContext) -> None:
    assert servicer.GetPluginInfo(empty_pb2.Empty(), context).version == "1.2.3"
    assert servicer.Handshake(provider_pb2.ProviderHandshakeRequest(), context).accept_secrets
    assert servicer.Configure(provider_pb2.ConfigureRequest(), context).supportsPreview
    assert servicer.GetSchema(provider_pb2.GetSchemaRequest(), context).schema == "{}"
    assert servicer.Cancel(empty_pb2.Empty(), context) == empty_pb2.Empty()


def test_a_wrong_provider_argument_is_named(servicer: Servicer, context: grpc.ServicerContext) -> None:
    response = servicer.CheckConfig(provider_pb2.CheckRequest(news=_struct()), context)
    assert [(f.property, f.reason) for f in response.failures] == [("region", "which one?")]


@pytest.mark.parametrize(("region", "replaces"), [("here", []), ("there", ["region"])])
def test_another_account_replaces_everything(
    servicer: Servicer, context: grpc.ServicerContext, region: str, replaces: list[str]
) -> None:
    request = provider_pb2.DiffRequest(old_inputs=_struct(region="here"), news=_struct(region=region))
    response = servicer.DiffConfig(request, context)
    assert list(response.replaces) == replaces
    assert response.changes == (provider_pb2.DiffResponse.DIFF_SOME if replaces else response.DIFF_NONE)


def test_check_completes_inputs_and_leaves_sentinels_alone(servicer: Servicer, context: grpc.ServicerContext) -> None:
    news = _struct(size=UNKNOWN, key=Secret("hush"))
    request = provider_pb2.CheckRequest(urn=_URN, news=news, randomSeed=b"\x01")
    response = servicer.Check(request, context)
    assert from_struct(response.inputs) == {"name": "a-01", "size": UNKNOWN, "key": Secret("hush")}
    assert not response.failures


def test_a_preview_knows_no_more_than_the_inputs(
    account: Account, servicer: Servicer, context: grpc.ServicerContext
) -> None:
    response = _create(servicer, context, preview=True)
    assert (response.id, set(from_struct(response.properties))) == ("", {"name", "size", "key"})
    assert account.ledger().things == []


def test_create_read_update_delete(servicer: Servicer, context: grpc.ServicerContext) -> None:
    created = _create(servicer, context)
    assert (created.id, from_struct(created.properties)["key"]) == ("a", Secret("hush"))
    inputs, outputs = _struct(key=Secret("hush")), created.properties
    read = servicer.Read(provider_pb2.ReadRequest(id="a", urn=_URN, inputs=inputs, properties=outputs), context)
    assert read.properties == created.properties
    update = provider_pb2.UpdateRequest(id="a", urn=_URN, news=_struct(name="a", size=9))
    assert from_struct(servicer.Update(update, context).properties)["size"] == 9
    update.preview = True
    assert "address" not in from_struct(servicer.Update(update, context).properties)
    servicer.Delete(provider_pb2.DeleteRequest(id="a", urn=_URN), context)
    assert servicer.Read(provider_pb2.ReadRequest(id="a", urn=_URN), context).id == ""


def test_a_difference_says_what_is_replaced(servicer: Servicer, context: grpc.ServicerContext) -> None:
    old, new = _struct(name="a", size=8, zone="a"), _struct(name="b", size=9, zone="b")
    response = servicer.Diff(provider_pb2.DiffRequest(urn=_URN, old_inputs=old, news=new), context)
    kinds = {path: provider_pb2.PropertyDiff.Kind.Name(diff.kind) for path, diff in response.detailedDiff.items()}
    assert kinds == {"name": "UPDATE", "size": "UPDATE", "zone": "UPDATE_REPLACE"}
    assert (list(response.replaces), response.deleteBeforeReplace) == (["zone"], False)


def test_no_difference(servicer: Servicer, context: grpc.ServicerContext) -> None:
    same = _struct(name="a")
    response = servicer.Diff(provider_pb2.DiffRequest(urn=_URN, old_inputs=same, news=same), context)
    assert response.changes == provider_pb2.DiffResponse.DIFF_NONE


@pytest.mark.parametrize("verb", ["create", "update", "delete"])
def test_a_refusal_is_the_clouds_own_text(
    account: Account, servicer: Servicer, context: grpc.ServicerContext, verb: Verb
) -> None:
    _create(servicer, context)
    account.fail_next(NODE, "No capacity in zone b", verb)
    new = _struct(name="b")
    calls = {
        "create": lambda: servicer.Create(provider_pb2.CreateRequest(urn=_URN, properties=new), context),
        "update": lambda: servicer.Update(provider_pb2.UpdateRequest(urn=_URN, id="a", news=new), context),
        "delete": lambda: servicer.Delete(provider_pb2.DeleteRequest(urn=_URN, id="a"), context),
    }
    with pytest.raises(AbortedError, match=r"UNKNOWN: No capacity in zone b"):
        calls[verb]()


def test_the_engine_is_told_of_a_thing_that_is_late(
    account: Account, servicer: Servicer, context: grpc.ServicerContext
) -> None:
    account.slow(NODE, 10_000)
    with pytest.raises(AbortedError, match="timed out"):
        _create(servicer, context)
    ((key, value),) = cast("Context", context).metadata
    detail = provider_pb2.ErrorResourceInitFailed()
    assert status_pb2.Status.FromString(value).details[0].Unpack(detail)
    assert (key, detail.id) == ("grpc-status-details-bin", "a")
    assert from_struct(detail.inputs)["key"] == Secret("hush")


def test_look_ups_and_components(servicer: Servicer, context: grpc.ServicerContext) -> None:
    response = servicer.Invoke(provider_pb2.InvokeRequest(tok="made:up:count"), context)
    assert from_struct(getattr(response, "return")) == {"count": 0}
    with pytest.raises(AbortedError, match="doesn't play the component made:up:Cluster"):
        servicer.Construct(provider_pb2.ConstructRequest(type="made:up:Cluster"), context)


def test_what_is_not_marked_unknown_is_text() -> None:
    assert from_struct(_struct(a=rpc.UNKNOWN)) == {"a": UNKNOWN}
