"""Who can call: nobody by default, the VPC by a passthrough load balancer, named ranges, or GKE's Inference Gateway."""

import pytest

from tests.gcp.stack import GATEWAY, PUBLIC, Changes, engine_pod, only, program

PARTS = {"HealthCheckPolicy", "GCPBackendPolicy", "Gateway", "HTTPRoute"}


def test_by_default_there_is_no_load_balancer() -> None:
    service = only(program().of("Service")).inputs["spec"]
    assert (service["type"], service.get("loadBalancerClass")) == ("ClusterIP", None)


@pytest.mark.parametrize(
    ("changes", "kind", "ranges"),
    [
        ({"exposure": {"mode": "internal"}}, "internal", ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"]),
        (
            {"exposure": {"mode": "internal", "allowedRanges": ["10.20.0.0/16"]}},
            "internal",
            ["10.20.0.0/16"],
        ),
        (PUBLIC, "external", ["203.0.113.0/24", "198.51.100.7/32"]),
    ],
)
def test_a_load_balancer_is_of_its_class_from_the_start_and_open_to_its_ranges_alone(
    changes: Changes, kind: str, ranges: list[str]
) -> None:
    service = only(program(changes).of("Service")).inputs["spec"]
    # A Service without a class gets a public address, and a class can't be changed.
    assert service["loadBalancerClass"] == f"networking.gke.io/l4-regional-{kind}"
    assert service["loadBalancerSourceRanges"] == ranges
    # The callers' own addresses, which the policy of the API matches.
    assert service["externalTrafficPolicy"] == "Local"
    assert service["selector"] == {
        "leaderworkerset.sigs.k8s.io/name": "kimi-k3",
        "leaderworkerset.sigs.k8s.io/worker-index": "0",
    }


def test_a_persons_annotation_lets_other_regions_in() -> None:
    ours = {"networking.gke.io/internal-load-balancer-allow-global-access": "true"}
    service = only(program({"exposure": {"mode": "internal", "annotations": ours}}).of("Service")).inputs
    assert ours.items() <= service["metadata"]["annotations"].items()


def test_the_gateway_is_private_and_forwards_to_leaders_alone_what_needs_a_key() -> None:
    mocks = program(GATEWAY)
    gateway = only(mocks.of("Gateway")).inputs["spec"]
    # The global classes know no InferencePool, and an external one would be public.
    assert gateway["gatewayClassName"] == "gke-l7-rilb"
    assert gateway["addresses"] == [{"type": "NamedAddress", "value": "kimi-k3-existing-gateway"}]
    (rule,) = only(mocks.of("HTTPRoute")).inputs["spec"]["rules"]
    assert rule["matches"] == [
        {"path": {"type": "PathPrefix", "value": "/v1"}},
        {"path": {"type": "Exact", "value": "/health"}},
    ]
    (backend,) = rule["backendRefs"]
    assert (backend["kind"], backend["group"]) == ("InferencePool", "inference.networking.k8s.io")
    values = only(mocks.of("Release"), "gateway-inferencepool").inputs["values"]
    labels = values["inferencePool"]["modelServers"]["matchLabels"]
    assert labels == {"leaderworkerset.sigs.k8s.io/worker-index": "0", "kimi-k3/role": "leader"}
    (group,) = mocks.of("LeaderWorkerSet")
    template = group.inputs["spec"]["leaderWorkerTemplate"]
    assert template["leaderTemplate"]["metadata"]["labels"]["kimi-k3/role"] == "leader"
    assert template["workerTemplate"]["metadata"]["labels"]["kimi-k3/role"] == "worker"


def test_an_answer_that_thinks_for_an_hour_is_not_cut() -> None:
    mocks = program(GATEWAY)
    policy = only(mocks.of("GCPBackendPolicy")).inputs["spec"]
    # The chart's own policy says 300 and can't be told otherwise; two for one pool contradict each other.
    assert policy["default"] == {"timeoutSec": 3600}
    assert only(mocks.of("Release"), "gateway-inferencepool").inputs["values"]["provider"] == {"name": "none"}
    # And the route has no timeout of its own, which GKE refuses.
    assert "timeouts" not in str(only(mocks.of("HTTPRoute")).inputs["spec"])


def test_health_is_asked_where_the_engine_answers() -> None:
    policy = only(program(GATEWAY).of("HealthCheckPolicy")).inputs["spec"]
    config = {"type": "HTTP", "httpHealthCheck": {"requestPath": "/health", "port": 8000}}
    assert policy["default"] == {"config": config}


def test_every_policy_and_the_route_mean_the_charts_own_pool() -> None:
    mocks = program(GATEWAY)
    release = only(mocks.of("Release"), "gateway-inferencepool").inputs
    assert (release["name"], release["version"], release["namespace"]) == ("inferencepool", "v1.5.0", "kimi-k3")
    for kind in ("HealthCheckPolicy", "GCPBackendPolicy"):
        assert only(mocks.of(kind)).inputs["spec"]["targetRef"]["name"] == "inferencepool"
    (rule,) = only(mocks.of("HTTPRoute")).inputs["spec"]["rules"]
    assert rule["backendRefs"][0]["name"] == "inferencepool"


def test_proxies_and_health_checks_are_let_in_beside_the_clusters_pods() -> None:
    (policy,) = [each for each in program(GATEWAY).of("NetworkPolicy") if each.name == "gateway-proxies"]
    (rule,) = policy.inputs["spec"]["ingress"]
    assert [peer["ipBlock"]["cidr"] for peer in rule["from"]] == ["10.20.192.0/22", "35.191.0.0/16", "130.211.0.0/22"]
    assert rule["ports"] == [{"port": 8000, "protocol": "TCP"}]


def test_gkes_own_kinds_are_left_to_gke() -> None:
    mocks = program(GATEWAY)
    assert {each.type.split(":")[-1] for each in mocks.resources} >= PARTS
    assert mocks.of("CustomResourceDefinition") == []
    assert [each.type for each in mocks.resources if "ConfigFile" in each.type] == []


def test_the_route_goes_before_its_gateway_and_the_address_last() -> None:
    mocks = program(GATEWAY)
    route = mocks.before(only(mocks.of("HTTPRoute")))
    assert {"gateway-gateway", "gateway-inferencepool", "gateway-address", "network-proxies", "cluster-system"} <= route


@pytest.mark.parametrize("changes", [{}, {"replicas": 2}])
def test_there_is_no_gateway_unless_it_is_asked_for(changes: Changes) -> None:
    found = {each.type.split(":")[-1] for each in program(changes).resources}
    assert found & {*PARTS, "Address", "InferenceGateway"} == set()
    assert engine_pod(program(changes))
