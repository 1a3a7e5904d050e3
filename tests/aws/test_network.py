"""The network: two zones, one NAT gateway beside the GPU nodes, a free way to S3; or one that was there."""

import ipaddress

import pytest

from components.aws.network import subnet_ranges
from tests.aws.answers import AwsAnswers
from tests.aws.stack import EXISTING_NETWORK, SUBNETS, gpu_nodes, only, program


def test_the_gpu_nodes_are_in_a_private_subnet_of_the_reservations_zone_and_in_no_other() -> None:
    mocks = program()
    subnets = {f"{each.name}-id": each.inputs["availabilityZone"] for each in mocks.of("Subnet")}
    assert [subnets[subnet] for subnet in gpu_nodes(mocks).inputs["subnetIds"]] == ["us-west-2b"]
    assert gpu_nodes(mocks).inputs["subnetIds"] == ["network-private-us-west-2b-id"]


def test_the_way_out_is_in_the_zone_of_the_gpu_nodes() -> None:
    # Traffic between zones costs 0.01 USD a GB in each direction (EC2 price page).
    nat = only(program().of("NatGateway")).inputs
    assert nat == {"allocationId": "network-nat-address-id", "subnetId": "network-public-us-west-2b-id"}


def test_every_subnet_has_one_route_table_and_private_ones_go_through_the_nat_gateway() -> None:
    mocks = program()
    tables = {f"{each.name}-id": each.inputs["routes"] for each in mocks.of("RouteTable")}
    routes = {
        each.inputs["subnetId"]: tables[each.inputs["routeTableId"]] for each in mocks.of("RouteTableAssociation")
    }
    assert set(routes) == {f"{each.name}-id" for each in mocks.of("Subnet")}
    private = {"cidrBlock": "0.0.0.0/0", "natGatewayId": "network-nat-id"}
    public = {"cidrBlock": "0.0.0.0/0", "gatewayId": "network-internet-id"}
    for subnet, found in routes.items():
        assert found == [private if "private" in subnet else public], subnet


def test_the_free_way_to_s3_is_in_every_private_route_table() -> None:
    mocks = program()
    endpoint = only(mocks.of("VpcEndpoint")).inputs
    private = {
        each.inputs["routeTableId"]
        for each in mocks.of("RouteTableAssociation")
        if "private" in each.inputs["subnetId"]
    }
    assert set(endpoint["routeTableIds"]) == private
    assert (endpoint["serviceName"], endpoint["vpcEndpointType"]) == ("com.amazonaws.us-west-2.s3", "Gateway")


def test_no_subnet_gives_its_machines_a_public_address() -> None:
    assert [each.name for each in program().of("Subnet") if each.inputs.get("mapPublicIpOnLaunch")] == []


def test_load_balancers_find_their_subnets_by_the_roles() -> None:
    roles = {each.name: {*each.inputs["tags"]} - {"Name"} for each in program().of("Subnet")}
    for name, role in roles.items():
        assert role == {f"kubernetes.io/role/{'internal-elb' if 'private' in name else 'elb'}"}, name


@pytest.mark.parametrize("cidr", ["10.20.0.0/16", "10.20.16.0/20", "192.168.64.0/18"])
def test_the_subnets_lie_apart_within_the_vpc(cidr: str) -> None:
    private, public = (list(map(ipaddress.IPv4Network, ranges)) for ranges in subnet_ranges(cidr))
    every = [*private, *public]
    assert all(subnet.subnet_of(ipaddress.IPv4Network(cidr)) for subnet in every)
    assert not any(a.overlaps(b) for a in every for b in every if a is not b)
    # EKS wants 16 addresses for itself in each, and a load balancer 8.
    assert min(subnet.num_addresses for subnet in every) >= 256


def test_the_ranges_are_a_quarter_and_a_sixteenth_each() -> None:
    assert subnet_ranges("10.20.0.0/16") == (["10.20.0.0/18", "10.20.64.0/18"], ["10.20.128.0/20", "10.20.144.0/20"])


@pytest.mark.parametrize(
    "zones",
    [
        ("us-west-2a", "us-west-2b", "us-west-2c"),
        ("us-west-2c", "us-west-2b", "us-west-2a"),
        # One that comes later in the alphabet moves nothing.
        ("us-west-2d", "us-west-2b", "us-west-2a"),
    ],
)
def test_the_second_zone_is_the_same_in_each_run(zones: tuple[str, ...]) -> None:
    mocks = program({}, AwsAnswers(zones=zones))
    assert {each.inputs["availabilityZone"] for each in mocks.of("Subnet")} == {"us-west-2b", "us-west-2a"}


def test_the_second_zone_is_one_that_eks_takes() -> None:
    answers = AwsAnswers()
    program({}, answers)
    (asked,) = [args for question, args in answers.asked if question == "getAvailabilityZones"]
    # https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html: no control plane in these; nor in Local Zones.
    assert asked["excludeZoneIds"] == ["use1-az3", "usw1-az2", "cac1-az3"]
    assert asked["filters"] == [{"name": "opt-in-status", "values": ["opt-in-not-required"]}]


def test_a_network_that_was_there_is_used_and_left_alone() -> None:
    mocks = program(EXISTING_NETWORK, AwsAnswers(subnets=SUBNETS))
    assert [each.type for each in mocks.resources if each.type.startswith("aws:ec2/")] == [
        "aws:ec2/launchTemplate:LaunchTemplate"
    ]
    cluster = only(mocks.of("Cluster"), "cluster-eks").inputs
    assert cluster["vpcId"] == "vpc-0123456789abcdef0"
    assert cluster["privateSubnetIds"] == list(SUBNETS)
    assert "publicSubnetIds" not in cluster
    # The reservation's zone alone, although the VPC has three.
    assert gpu_nodes(mocks).inputs["subnetIds"] == ["subnet-0123456789abcdef1"]


def test_all_subnets_of_the_reservations_zone_are_used() -> None:
    both = {**SUBNETS, "subnet-0123456789abcdef2": SUBNETS["subnet-0123456789abcdef1"]}
    mocks = program(EXISTING_NETWORK, AwsAnswers(subnets=both))
    assert gpu_nodes(mocks).inputs["subnetIds"] == ["subnet-0123456789abcdef1", "subnet-0123456789abcdef2"]
