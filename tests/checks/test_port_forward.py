"""The way to an endpoint: by its address, or through the Kubernetes API where that can't be."""

import json
from pathlib import Path
from typing import Any

import pytest

from checks import smoke
from checks.port_forward import Cluster, NoLeaderError, in_cluster, is_public, leader_selector, way
from checks.stack_outputs import NothingServedError, outputs
from tests.checks.fake_kubernetes import api_server, pod
from tests.checks.fake_vllm import KEY, FakeVllm
from tests.conftest import run_program
from tests.stacks import values
from tests.weights.loopback import free_port

LABELS = leader_selector("aws")
INSIDE = "http://kimi-k3-api.kimi-k3.svc:8000/v1"


@pytest.mark.parametrize(
    ("endpoint", "inside", "public"),
    [
        (INSIDE, True, False),
        ("http://10.1.2.3:8000/v1", False, False),
        ("http://[fd00::1]:8000/v1", False, False),
        ("https://8.8.8.8/v1", False, True),
    ],
)
@pytest.mark.servers
def test_where_an_endpoint_is(endpoint: str, inside: bool, public: bool) -> None:
    assert in_cluster(endpoint) is inside
    assert is_public(endpoint) is public


def test_the_leaders_are_found_by_labels_that_the_program_gives_them() -> None:
    (group,) = run_program(values()).of("LeaderWorkerSet")
    template: dict[str, Any] = group.inputs["spec"]["leaderWorkerTemplate"]["leaderTemplate"]
    # The worker index comes from LeaderWorkerSet itself.
    (instance, name), _ = leader_selector("existing").items()
    assert template["metadata"]["labels"][instance] == name
    assert template["spec"]["containers"][0]["readinessProbe"]["httpGet"]["port"] == 8000


@pytest.mark.servers
def test_what_answers_at_its_address_needs_no_cluster() -> None:
    with FakeVllm().running() as fake, way(fake.url, Cluster(stack="aws")) as found:
        assert (found.url, found.says, found.server_name) == (fake.url, "by its address", None)


@pytest.mark.servers
def test_an_endpoint_of_the_cluster_is_verified_through_its_api(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    served = outputs({"endpoint": INSIDE, "apiKey": KEY, "model": "Kimi-K3"})
    monkeypatch.setattr(smoke, "read", {"aws": served}.__getitem__)
    with FakeVllm().running() as fake:
        port = int(fake.url.rsplit(":", 1)[1].removesuffix("/v1"))
        pods = [
            pod("kimi-k3-0", LABELS, free_port(), ready=False),
            pod("kimi-k3-1", LABELS, port),
            pod("another", {**LABELS, "app.kubernetes.io/instance": "kimi-k3-gcp"}, free_port()),
        ]
        with api_server(pods, tmp_path / "kubeconfig"):
            code = smoke.main(["aws", "--json", "--skip", "load", "--context", "4000"])
    out, err = capsys.readouterr()
    assert err == ""
    said = json.loads(out)
    assert (code, said["failed"]) == (0, [])
    assert said["reached"] == "through the Kubernetes API to kimi-k3-1 (its name is the cluster's own)"


@pytest.mark.servers
@pytest.mark.parametrize("pods", [[], [pod("kimi-k3-0", LABELS, 8000, ready=False)]], ids=["none", "not ready"])
def test_without_a_ready_leader_the_context_is_named(
    pods: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    with (
        api_server(pods, tmp_path / "kubeconfig"),
        pytest.raises(NoLeaderError, match=rf"{len(pods)} leaders of the stack 'aws'.*--kube-context"),
        way(INSIDE, Cluster(stack="aws")),
    ):
        pass


def test_a_stack_that_serves_nothing_says_why() -> None:
    with pytest.raises(NothingServedError, match="parked"):
        outputs({"status": "parked: no GPU node runs"})
    with pytest.raises(NothingServedError, match="address"):
        outputs({"endpoint": "http://address-pending:8000/v1"})


def test_the_key_is_in_no_text_of_the_outputs() -> None:
    assert KEY not in repr(outputs({"endpoint": INSIDE, "apiKey": KEY}))
