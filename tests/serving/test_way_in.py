"""Who can reach the API and with what key."""

import base64
from collections.abc import Mapping
from typing import Any

import kubernetes_validate
import pytest

from tests.conftest import Mocks, run_program
from tests.serving.test_workload import LWS_NAME, WORKER_INDEX, group, whole_numbers
from tests.stacks import values

CLOSED: dict[str, object] = {
    "exposure": {"mode": "public", "allowedRanges": ["203.0.113.0/24"], "certificateSecret": "tls"},
    "cluster": {"createNamespace": False},
}


def service(mocks: Mocks) -> Mapping[str, Any]:
    """Return the one Service's spec."""
    (found,) = mocks.of("Service")
    return found.inputs["spec"]


def policy(mocks: Mocks, purpose: str) -> Mapping[str, Any]:
    """Return the spec of one of the policies."""
    (found,) = [entry for entry in mocks.of("NetworkPolicy") if entry.name.endswith(purpose)]
    return found.inputs["spec"]


@pytest.mark.parametrize("changes", [{}, {"exposure": {"mode": "internal"}}, CLOSED])
def test_the_service_selects_leaders_alone(changes: dict[str, object]) -> None:
    assert service(run_program(values(**changes)))["selector"] == {LWS_NAME: "kimi-k3", WORKER_INDEX: "0"}


def test_the_service_doesnt_take_the_name_of_the_controllers_own() -> None:
    mocks = run_program(values())
    names = [entry.inputs["metadata"]["name"] for entry in mocks.of("Service")]
    assert group(mocks).inputs["metadata"]["name"] not in names


def test_by_default_no_load_balancer_is_made() -> None:
    assert service(run_program(values()))["type"] == "ClusterIP"


def test_an_internal_balancer_takes_private_ranges_alone() -> None:
    spec = service(run_program(values(exposure={"mode": "internal"})))
    assert spec["type"] == "LoadBalancer"
    assert spec["loadBalancerSourceRanges"] == ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"]
    assert spec["externalTrafficPolicy"] == "Local"


def test_a_public_balancer_takes_the_given_ranges_and_speaks_tls() -> None:
    mocks = run_program(values(**CLOSED))
    assert service(mocks)["loadBalancerSourceRanges"] == ["203.0.113.0/24"]
    leader = group(mocks).inputs["spec"]["leaderWorkerTemplate"]["leaderTemplate"]["spec"]["containers"][0]
    assert "/etc/vllm/tls/tls.key" in leader["args"]
    assert leader["startupProbe"]["httpGet"]["scheme"] == "HTTPS"


def test_inside_the_group_every_port_is_open() -> None:
    (rule,) = policy(run_program(values()), "group")["ingress"]
    assert rule == {"from": [{"podSelector": {"matchLabels": {LWS_NAME: "kimi-k3"}}}]}


def test_the_api_is_open_to_the_allowed_ranges_and_the_monitoring_namespace() -> None:
    rules = policy(run_program(values(**CLOSED)), "api")["ingress"]
    assert [rule["from"] for rule in rules] == [
        [{"ipBlock": {"cidr": "203.0.113.0/24"}}],
        [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}],
    ]
    assert all(rule["ports"] == [{"port": 8000, "protocol": "TCP"}] for rule in rules)


def test_without_metrics_the_monitoring_namespace_has_no_rule() -> None:
    rules = policy(run_program(values(**{**CLOSED, "serving": {"metrics": False}})), "api")["ingress"]
    assert len(rules) == 1


def test_another_monitoring_namespace_is_named() -> None:
    rules = policy(run_program(values(serving={"monitoringNamespace": "prometheus"})), "api")["ingress"]
    assert rules[1]["from"][0]["namespaceSelector"]["matchLabels"] == {"kubernetes.io/metadata.name": "prometheus"}


def secret(mocks: Mocks) -> Mapping[str, Any]:
    """Return what the key's Secret holds, unwrapped from the protocol's secret marker."""
    (found,) = mocks.of("Secret")
    wrapped = found.inputs["data"]
    # The wire's signature for a secret: without it the state would hold the key in clear text.
    assert wrapped["4dabf18193072939515e22adb298388d"] == "1b47061264138c4ac30d75fd1eb44270"
    return {name: base64.b64decode(value).decode() for name, value in wrapped["value"].items()}


def test_a_key_is_generated_and_marked_secret() -> None:
    first, second = (secret(run_program(values()))["api-key"] for _ in range(2))
    assert len(first) >= 32
    assert first != second


def test_a_given_key_is_used_and_stays_out_of_the_workload() -> None:
    mocks = run_program(values(), secrets={"apiKey": "sentinel-of-the-test"})
    assert secret(mocks)["api-key"] == "sentinel-of-the-test"
    assert "sentinel-of-the-test" not in str(group(mocks).inputs)


def test_a_new_key_restarts_the_leader() -> None:
    def digest(key: str) -> str:
        template = group(run_program(values(), secrets={"apiKey": key})).inputs["spec"]["leaderWorkerTemplate"]
        return template["leaderTemplate"]["metadata"]["annotations"]["kimi-k3/api-key-digest"]

    assert digest("one") != digest("two")
    assert digest("one") == digest("one")


@pytest.mark.parametrize("changes", [{}, {"exposure": {"mode": "internal"}}, CLOSED])
def test_built_in_objects_pass_the_kubernetes_schema(changes: dict[str, object]) -> None:
    mocks = run_program(values(**changes))
    for kind in ("Service", "NetworkPolicy", "Namespace"):
        for found in mocks.of(kind):
            kubernetes_validate.validate(whole_numbers(found.inputs), "1.35", strict=True)
