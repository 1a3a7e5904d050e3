"""The network: private nodes, one NAT gateway, a free way to Cloud Storage; or one that was there."""

import ipaddress

from hypothesis import given
from hypothesis import strategies as st

from components.gcp import address_ranges
from tests.gcp.stack import EXISTING_NETWORK, GATEWAY, control_plane, only, program


def test_the_parts_of_a_range_are_those_that_gke_needs() -> None:
    # By hand: 10.20.0.0/16 = 10.20.0.0/17 for pods; the rest in four /19, the third of which begins with the /22 of
    # the proxies.
    assert address_ranges.cut("10.20.0.0/16") == address_ranges.Ranges(
        pods="10.20.0.0/17", nodes="10.20.128.0/19", services="10.20.160.0/19", proxies="10.20.192.0/22"
    )


@given(st.integers(13, 18), st.integers(0, 255))
def test_no_part_of_a_range_overlaps_another_and_each_is_wide_enough(length: int, second: int) -> None:
    whole = ipaddress.IPv4Network((f"10.{second}.0.0", length), strict=False)
    parts = [ipaddress.IPv4Network(part) for part in vars(address_ranges.cut(str(whole))).values()]
    assert [(a, b) for a in parts for b in parts if a != b and a.overlaps(b)] == []
    assert all(part.subnet_of(whole) for part in parts)
    pods, nodes, services, proxies = parts
    # GKE's widest range of Services is a /16; a proxy-only subnet has 64 addresses at least (Load Balancing, 2026).
    assert (pods.prefixlen <= 19, nodes.prefixlen <= 21, services.prefixlen >= 16, proxies.prefixlen <= 26) == (
        True,
    ) * 4


def test_private_nodes_reach_cloud_storage_without_the_nat_gateway() -> None:
    subnet = only(program().of("Subnetwork")).inputs
    assert subnet["privateIpGoogleAccess"] is True
    assert [part["rangeName"] for part in subnet["secondaryIpRanges"]] == ["pods", "services"]
    assert control_plane(program())["privateClusterConfig"]["enablePrivateNodes"] is True


def test_the_nat_gateway_has_ports_enough_for_a_copy() -> None:
    nat = only(program().of("RouterNat")).inputs
    # 64 ports a machine, the default, are 64 connections to one address of the hub.
    assert (nat["enableDynamicPortAllocation"], nat["minPortsPerVm"]) == (True, 512)
    # Google refuses both together.
    assert nat["enableEndpointIndependentMapping"] is False


def test_the_gateways_proxies_have_a_subnet_of_their_own_and_nobody_else_has_one() -> None:
    (proxies,) = [each for each in program(GATEWAY).of("Subnetwork") if each.name == "network-proxies"]
    assert {"purpose": "REGIONAL_MANAGED_PROXY", "role": "ACTIVE", "ipCidrRange": "10.20.192.0/22"}.items() <= (
        proxies.inputs.items()
    )
    assert len(program().of("Subnetwork")) == 1


def test_a_network_that_was_there_is_used_and_nothing_is_made_in_it() -> None:
    mocks = program(EXISTING_NETWORK)
    assert [
        each.type
        for each in mocks.resources
        if each.type.startswith("gcp:compute/") and "esourcePolicy" not in each.type
    ] == []
    cluster = control_plane(mocks)
    assert (cluster["network"], cluster["subnetwork"]) == ("shared", "gke")
    assert cluster["ipAllocationPolicy"] == {
        "clusterSecondaryRangeName": "pods",
        "servicesSecondaryRangeName": "services",
    }
