"""What the program promises on every cloud: order, explicit providers, no GPU before its weights, no secret out."""

import base64
from collections.abc import Mapping
from typing import Any

import pulumi
import pytest
from google.protobuf import json_format

from tests.clouds.clouds import ANSWERS, VARIANTS, program
from tests.conftest import Mocks, Registered

SECRETS = {"apiKey": "sentinel-of-the-api", "hubToken": "sentinel-of-the-hub"}
MARK = "4dabf18193072939515e22adb298388d"
"""The wire's signature of a secret value."""
CASES = [pytest.param(cloud, changes, id=f"{cloud}-{name}") for cloud in ANSWERS for name, changes in VARIANTS.items()]


def inside(mocks: Mocks, component: str) -> list[Registered]:
    """Return the resources that a component and its parts make."""
    made = {
        (request.type, request.name)
        for urn, request in mocks.requests.items()
        if request.custom and component in urn.split("::")[2].split("$")
    }
    return [each for each in mocks.resources if (each.type, each.name) in made]


def names(found: list[Registered]) -> set[str]:
    """Return the resources' names."""
    return {each.name for each in found}


def only(found: list[Registered]) -> Registered:
    """Return the one resource."""
    (resource,) = found
    return resource


def unmarked(value: Any) -> str:
    """Return the text of everything that isn't marked as a secret."""
    if isinstance(value, Mapping):
        return "" if MARK in value else "".join(f"{key}{unmarked(each)}" for key, each in value.items())
    if isinstance(value, list):
        return "".join(map(unmarked, value))
    return f"{value}"


@pytest.mark.parametrize(("cloud", "changes"), CASES)
def test_previews_and_updates_make_the_same_resources(cloud: str, changes: Mapping[str, object]) -> None:
    known, unknown = (program(cloud, changes, unknown=flag) for flag in (False, True))
    assert sorted((each.type, each.name) for each in known.resources) == sorted(
        (each.type, each.name) for each in unknown.resources
    )


@pytest.mark.parametrize(("cloud", "changes"), CASES)
def test_every_resource_has_an_explicit_provider(cloud: str, changes: Mapping[str, object]) -> None:
    made = [request for request in program(cloud, changes).requests.values() if request.custom or request.remote]
    own = [request for request in made if not request.type.startswith("pulumi:providers:")]
    assert [request.name for request in own if not request.provider] == []
    assert len({request.provider for request in own}) > 1


@pytest.mark.parametrize(("cloud", "changes"), CASES)
def test_no_output_is_printed_into_an_input(cloud: str, changes: Mapping[str, object]) -> None:
    assert "Calling __str__" not in str([each.inputs for each in program(cloud, changes).resources])


@pytest.mark.parametrize("unknown", [False, True])
@pytest.mark.parametrize("cloud", ANSWERS)
def test_no_gpu_node_is_there_before_the_weights_are_complete(cloud: str, unknown: bool) -> None:
    mocks = program(cloud, unknown=unknown)
    pool = inside(mocks, f"kimi:{cloud}:GpuNodePool")
    assert pool
    for each in pool:
        assert "weights-model-job" in mocks.before(each), each.name


@pytest.mark.parametrize("cloud", ANSWERS)
def test_destroy_ends_the_workload_before_its_nodes_and_the_nodes_before_the_rest(cloud: str) -> None:
    mocks = program(cloud, {"exposure": {"mode": "internal"}})
    pool = names(inside(mocks, f"kimi:{cloud}:GpuNodePool"))
    # What stands on a thing is deleted before it.
    assert "kimi-k3-group" in mocks.before(only(mocks.of("Service")))
    assert pool <= mocks.before(only(mocks.of("LeaderWorkerSet")))
    for piece in ("Network", "Cluster", "WeightBucket"):
        for each in inside(mocks, f"kimi:{cloud}:{piece}"):
            assert not pool & mocks.before(each), each.name


@pytest.mark.parametrize("cloud", ANSWERS)
def test_a_parked_stack_has_no_gpu_node(cloud: str) -> None:
    for changes in ({"serve": False}, {"replicas": 0}):
        mocks = program(cloud, changes)
        assert inside(mocks, f"kimi:{cloud}:GpuNodePool") == []
        assert mocks.of("LeaderWorkerSet") == []


@pytest.mark.parametrize("cloud", ANSWERS)
def test_a_kept_bucket_is_left_and_nothing_is_protected(cloud: str) -> None:
    # A protected resource ends `destroy` half way, while nodes bill.
    for keep in (True, False):
        mocks = program(cloud, {"weights": {"keep": keep}})
        assert [request.name for request in mocks.requests.values() if request.protect] == []
        kept = {request.name for request in mocks.requests.values() if request.retainOnDelete}
        assert bool(kept) is keep
        assert kept <= names(inside(mocks, f"kimi:{cloud}:WeightBucket"))


@pytest.mark.parametrize("cloud", ANSWERS)
def test_no_hook_is_left_for_destroy_which_runs_no_program(cloud: str) -> None:
    for request in program(cloud).requests.values():
        assert not [*request.hooks.before_delete, *request.hooks.after_delete], request.name


@pytest.mark.parametrize("cloud", ANSWERS)
def test_secrets_are_in_the_clusters_secrets_and_in_no_other_input(cloud: str) -> None:
    mocks = program(cloud, secrets=SECRETS)
    for sentinel in SECRETS.values():
        # A Secret's data are in base64.
        forms = (sentinel, base64.b64encode(sentinel.encode()).decode())
        holders = [each.type for each in mocks.resources if any(form in str(each.inputs) for form in forms)]
        assert holders == ["kubernetes:core/v1:Secret"], sentinel
        plain = "".join(unmarked(each.inputs) for each in mocks.resources)
        assert not [form for form in forms if form in plain], sentinel


@pytest.mark.parametrize("cloud", ANSWERS)
def test_secrets_leave_the_stack_and_its_components_marked_or_not_at_all(
    cloud: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    exported: dict[str, pulumi.Input[object]] = {}
    monkeypatch.setattr(pulumi, "export", exported.__setitem__)
    mocks = program(cloud, {"exposure": {"mode": "internal"}}, secrets=SECRETS)
    handed_out = [json_format.MessageToDict(each.outputs) for each in mocks.outputs.values()]
    assert "sentinel" not in "".join(map(unmarked, handed_out))
    marked: dict[str, bool] = {}
    texts: list[str] = []

    async def read() -> None:
        for name, value in exported.items():
            output = pulumi.Output.from_input(value)
            marked[name] = await output.is_secret()
            texts.extend([] if marked[name] else [str(await output.future())])

    @pulumi.runtime.test
    def outputs() -> Any:
        return read()

    outputs()
    assert marked["apiKey"]
    assert {"endpoint", "plan", "cost", "next"} <= set(marked)
    assert "sentinel" not in "".join(texts)
