"""The network: nodes and pods in two zones, one NAT gateway wide enough for the weights; or one that was there."""

import ipaddress

import pytest

from components.alicloud.network import switch_ranges
from tests.alicloud.answers import AlicloudAnswers
from tests.alicloud.stack import EXISTING_NETWORK, SWITCHES, VPC, gpu_nodes, only, program


def test_the_gpu_nodes_are_in_the_zone_of_the_private_pool_and_in_no_other() -> None:
    mocks = program()
    zones = {f"{each.name}-id": each.inputs["zoneId"] for each in mocks.of("Switch")}
    assert [zones[switch] for switch in gpu_nodes(mocks).inputs["vswitchIds"]] == ["ap-southeast-1a"]


def test_nodes_and_pods_have_switches_of_their_own_in_two_zones() -> None:
    mocks = program()
    found = {each.name: (each.inputs["zoneId"], each.inputs["cidrBlock"]) for each in mocks.of("Switch")}
    assert found == {
        "network-nodes-ap-southeast-1a": ("ap-southeast-1a", "10.20.128.0/20"),
        "network-nodes-ap-southeast-1b": ("ap-southeast-1b", "10.20.144.0/20"),
        "network-pods-ap-southeast-1a": ("ap-southeast-1a", "10.20.0.0/18"),
        "network-pods-ap-southeast-1b": ("ap-southeast-1b", "10.20.64.0/18"),
    }


@pytest.mark.parametrize("cidr", ["10.20.0.0/16", "192.168.0.0/17"])
def test_pods_have_room_and_no_two_ranges_overlap(cidr: str) -> None:
    nodes, pods = switch_ranges(cidr)
    # ACK wants /19 or larger for pods (CreateCluster, pod_vswitch_ids).
    assert all(ipaddress.ip_network(range_).prefixlen <= 19 for range_ in pods)
    every = [ipaddress.ip_network(range_) for range_ in (*nodes, *pods)]
    assert not [1 for index, one in enumerate(every) for other in every[index + 1 :] if one.overlaps(other)]


def test_the_way_out_is_as_wide_as_its_addresses_and_all_of_them_are_used() -> None:
    mocks = program()
    addresses = mocks.of("EipAddress")
    # The default of 5 Mbit/s would bring 1.56 TB in 29 days; 200 is the most that an address by traffic takes.
    assert [each.inputs["bandwidth"] for each in addresses] == ["200"] * 4
    rule = only(mocks.of("SnatEntry")).inputs
    assert rule["snatIp"] == "203.0.113.0,203.0.113.1,203.0.113.2,203.0.113.3"
    assert rule["sourceCidr"] == "10.20.0.0/16"
    bound = {(each.inputs["instanceId"], each.inputs["instanceType"]) for each in mocks.of("EipAssociation")}
    assert bound == {("network-nat-id", "Nat")}


def test_the_rule_comes_after_the_addresses_are_bound_and_goes_before_them() -> None:
    mocks = program()
    assert {f"network-binding-{index}" for index in range(4)} <= mocks.before(only(mocks.of("SnatEntry")))


def test_no_node_is_there_before_the_way_out() -> None:
    # Else it stays in Initializing (terraform-provider-alicloud #3255).
    mocks = program()
    for pool in mocks.of("NodePool"):
        assert {"network-way-out", "network-nat"} <= mocks.before(pool), pool.name


def test_ack_makes_no_second_nat_gateway() -> None:
    # InstanceRouterExist, or one that nobody deletes (alibaba/terraform-provider #723).
    assert only(program().of("ManagedKubernetes")).inputs["newNatGateway"] is False


def test_a_network_that_was_there_is_used_and_nothing_is_made_in_it() -> None:
    mocks = program(EXISTING_NETWORK, AlicloudAnswers(switches=SWITCHES))
    assert [each.name for each in mocks.resources if each.type.startswith("alicloud:vpc/")] == []
    assert gpu_nodes(mocks).inputs["vswitchIds"] == ["vsw-t4nabcdefgi"]
    cluster = only(mocks.of("ManagedKubernetes")).inputs
    # The GPU nodes' own zone first, whatever the order in the file is.
    assert cluster["vswitchIds"] == ["vsw-t4nabcdefgi", "vsw-t4nabcdefgh"]
    assert cluster["podVswitchIds"] == ["vsw-t4nabcdefgj", "vsw-t4nabcdefgk"]
    assert VPC == "vpc-t4nabcdefgh"
