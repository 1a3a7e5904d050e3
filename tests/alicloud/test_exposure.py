"""Who reaches the API: nobody from outside, the VPC, or named ranges of the internet with TLS."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.alicloud.answers import AlicloudAnswers
from tests.alicloud.stack import EXISTING_NETWORK, INTERNAL, PUBLIC, SWITCHES, Changes, only, program
from tests.conftest import Mocks

PREFIX = "service.beta.kubernetes.io/alibaba-cloud-loadbalancer-"


def annotations(mocks: Mocks) -> dict[str, str]:
    found: Mapping[str, str] = only(mocks.of("Service")).inputs["metadata"]["annotations"]
    return {key.removeprefix(PREFIX): value for key, value in found.items() if key.startswith(PREFIX)}


def allowed(mocks: Mocks) -> dict[str, str]:
    rules = [each.inputs for each in mocks.of("SecurityGroupRule")]
    assert {(each["type"], each["ipProtocol"], each["policy"]) for each in rules} == {("ingress", "tcp", "accept")}
    return {each["cidrIp"]: each["portRange"] for each in rules}


def sources(mocks: Mocks) -> list[str]:
    spec: Mapping[str, Any] = only(mocks.of("NetworkPolicy"), "kimi-k3-api").inputs["spec"]
    return [peer["ipBlock"]["cidr"] for peer in spec["ingress"][0]["from"]]


def test_by_itself_the_api_has_no_address_outside() -> None:
    mocks = program()
    assert only(mocks.of("Service")).inputs["spec"]["type"] == "ClusterIP"
    assert (annotations(mocks), mocks.of("SecurityGroup")) == ({}, [])


@pytest.mark.parametrize(("changes", "kind"), [(INTERNAL, "intranet"), (PUBLIC, "internet")])
def test_the_address_is_private_unless_the_file_says_public(changes: Changes, kind: str) -> None:
    # Its default is the internet.
    assert annotations(program(changes))["address-type"] == kind


@pytest.mark.parametrize("changes", [INTERNAL, PUBLIC])
def test_it_is_a_network_load_balancer_in_two_zones(changes: Changes) -> None:
    mocks = program(changes)
    assert only(mocks.of("Service")).inputs["spec"]["loadBalancerClass"] == "alibabacloud.com/nlb"
    assert annotations(mocks)["zone-maps"] == (
        "ap-southeast-1a:network-nodes-ap-southeast-1a-id,ap-southeast-1b:network-nodes-ap-southeast-1b-id"
    )


def test_in_a_network_that_was_there_it_stands_in_the_switches_of_the_nodes() -> None:
    mocks = program({**INTERNAL, **EXISTING_NETWORK}, AlicloudAnswers(switches=SWITCHES))
    assert annotations(mocks)["zone-maps"] == "ap-southeast-1a:vsw-t4nabcdefgi,ap-southeast-1b:vsw-t4nabcdefgh"


def test_a_request_that_thinks_for_a_quarter_of_an_hour_is_not_cut() -> None:
    found = annotations(program(INTERNAL))
    # 900 is the most that a listener takes.
    assert (found["idle-timeout"], found["connection-drain"]) == ("900", "on")


def test_a_security_group_keeps_the_ranges_since_the_pods_see_the_load_balancer_alone() -> None:
    mocks = program(PUBLIC)
    assert allowed(mocks) == {"203.0.113.0/24": "8000/8000", "198.51.100.7/32": "8000/8000"}
    assert annotations(mocks)["security-group-ids"] == "load-balancer-group-id"
    assert only(mocks.of("SecurityGroup")).inputs["vpcId"] == "network-vpc-id"
    assert sources(mocks) == ["10.20.0.0/16"]


def test_an_internal_one_is_open_to_private_ranges_or_to_the_named_ones() -> None:
    assert set(allowed(program(INTERNAL))) == {"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"}
    narrow = program({"exposure": {"mode": "internal", "allowedRanges": ["10.9.0.0/16"]}})
    assert set(allowed(narrow)) == {"10.9.0.0/16"}


def test_a_public_one_ends_tls_with_the_persons_certificate() -> None:
    mocks = program(PUBLIC)
    found = annotations(mocks)
    assert (found["protocol-port"], found["cert-id"]) == ("tcpssl:8000", "1234567-ap-southeast-1")
    # Doesn't go with TLS: the listener would not be made.
    assert "preserve-client-ip" not in found
    assert "protocol-port" not in annotations(program(INTERNAL))


def test_it_goes_with_its_service_and_says_whose_it_is() -> None:
    found = annotations(program(INTERNAL))
    assert "preserve-lb-on-delete" not in found
    tags = dict(tag.split("=", 1) for tag in found["additional-resource-tags"].split(","))
    assert (tags["owner"], tags["stack"]) == ("team@example.com", "existing")


def test_the_service_finds_leaders_alone() -> None:
    selector = only(program(INTERNAL).of("Service")).inputs["spec"]["selector"]
    assert selector["leaderworkerset.sigs.k8s.io/worker-index"] == "0"
