"""Who can call: nobody by default, the network by Azure's load balancer, or named ranges."""

import pytest

from tests.azure.stack import PUBLIC, Changes, only, program

PREFIX = "service.beta.kubernetes.io/azure"
PRIVATE = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"]


def test_by_default_there_is_no_load_balancer() -> None:
    service = only(program().of("Service")).inputs
    assert service["spec"]["type"] == "ClusterIP"
    assert not [key for key in service["metadata"]["annotations"] if key.startswith(PREFIX)]


@pytest.mark.parametrize(
    ("changes", "internal", "ranges"),
    [
        ({"exposure": {"mode": "internal"}}, "true", PRIVATE),
        ({"exposure": {"mode": "internal", "allowedRanges": ["10.20.0.0/16"]}}, "true", ["10.20.0.0/16"]),
        (PUBLIC, None, ["203.0.113.0/24", "198.51.100.7/32"]),
    ],
)
def test_a_load_balancer_is_private_or_open_to_named_ranges(
    changes: Changes, internal: str | None, ranges: list[str]
) -> None:
    service = only(program(changes).of("Service")).inputs
    assert service["spec"]["type"] == "LoadBalancer"
    assert service["metadata"]["annotations"].get(f"{PREFIX}-load-balancer-internal") == internal
    assert service["spec"]["loadBalancerSourceRanges"] == ranges
    # The callers' own addresses, which the policy of the API matches.
    assert service["spec"]["externalTrafficPolicy"] == "Local"


@pytest.mark.parametrize("changes", [{"exposure": {"mode": "internal"}}, PUBLIC])
def test_a_request_that_thinks_for_minutes_is_not_cut(changes: Changes) -> None:
    # Azure's default is 4 minutes of silence; AKS documents 30 as the most.
    annotations = only(program(changes).of("Service")).inputs["metadata"]["annotations"]
    assert annotations[f"{PREFIX}-load-balancer-tcp-idle-timeout"] == "30"


@pytest.mark.parametrize("changes", [{"exposure": {"mode": "internal"}}, PUBLIC])
def test_nothing_asks_the_engine_for_a_page_that_it_does_not_have(changes: Changes) -> None:
    # With appProtocol http Azure's probe asks for "/", gets 404 and takes the node out.
    service = only(program(changes).of("Service")).inputs
    assert [each.get("appProtocol") for each in service["spec"]["ports"]] == [None]
    assert not [key for key in service["metadata"]["annotations"] if "health-probe" in key]


@pytest.mark.parametrize("changes", [{"exposure": {"mode": "internal"}}, PUBLIC])
def test_ranges_are_said_once(changes: Changes) -> None:
    # The annotation and loadBalancerSourceRanges together are refused (cloud-provider-azure).
    annotations = only(program(changes).of("Service")).inputs["metadata"]["annotations"]
    assert not {f"{PREFIX}-allowed-ip-ranges", f"{PREFIX}-allowed-service-tags"} & set(annotations)
    assert all(isinstance(value, str) for value in annotations.values())


def test_callers_from_elsewhere_meet_a_closed_door_in_the_cluster_too() -> None:
    policy = only(program(PUBLIC).of("NetworkPolicy"), "kimi-k3-api").inputs["spec"]
    rule = policy["ingress"][0]
    assert [peer["ipBlock"]["cidr"] for peer in rule["from"]] == ["203.0.113.0/24", "198.51.100.7/32"]


def test_a_persons_subnet_for_the_load_balancer_is_an_annotation() -> None:
    ours = {f"{PREFIX}-load-balancer-internal-subnet": "apps"}
    service = only(program({"exposure": {"mode": "internal", "annotations": ours}}).of("Service")).inputs
    assert ours.items() <= service["metadata"]["annotations"].items()


def test_the_load_balancer_goes_while_the_cluster_can_still_take_it_away() -> None:
    mocks = program({"exposure": {"mode": "internal"}})
    assert {"cluster-aks", "cluster-network", "network-vnet"} <= mocks.before(only(mocks.of("Service")))
