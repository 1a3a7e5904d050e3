"""The AKS cluster: what a changed default, a wrong identity or an inline pool would break."""

import ipaddress

import pytest
from pulumi.runtime import rpc

from tests.azure.stack import RESERVED, TARGETED, THEIR_SUBNET, control_plane, only, program

NETWORK_CONTRIBUTOR = "4d97b98b-1d4f-4787-a291-c67834d212e7"


def test_the_identity_is_one_that_can_use_a_reservation() -> None:
    mocks = program()
    assert control_plane(mocks)["identity"] == {
        "type": "UserAssigned",
        "userAssignedIdentities": ["cluster-identity-id"],
    }


def test_the_identity_may_use_the_subnet_before_the_cluster_exists() -> None:
    mocks = program(THEIR_SUBNET)
    right = only(mocks.of("RoleAssignment"), "cluster-network").inputs
    assert right["roleDefinitionId"].endswith(NETWORK_CONTRIBUTOR)
    assert right["scope"].endswith("/virtualNetworks/hub/subnets/aks")
    assert "cluster-network" in mocks.before(only(mocks.of("ManagedCluster")))


@pytest.mark.parametrize("changes", [{}, RESERVED, TARGETED])
def test_every_role_says_that_it_is_a_service_principals(changes: dict[str, object]) -> None:
    # The SDK's default is User; with it Entra doesn't find an identity that was made a moment ago.
    found = program(changes).of("RoleAssignment")
    assert len(found) >= 3
    assert {each.inputs["principalType"] for each in found} == {"ServicePrincipal"}


def test_pods_can_have_identities() -> None:
    inputs = control_plane(program())
    assert inputs["oidcIssuerProfile"] == {"enabled": True}
    assert inputs["securityProfile"]["workloadIdentity"] == {"enabled": True}


def test_nodes_are_never_taken_away_by_an_upgrade_that_nobody_asked_for() -> None:
    upgrades = control_plane(program())["autoUpgradeProfile"]
    assert upgrades == {"upgradeChannel": "none", "nodeOSUpgradeChannel": "None"}


def test_the_version_is_one_whose_ubuntu_starts_a_gb300() -> None:
    # From 1.35 on "Ubuntu" is 24.04 (AKS release notes, 2026-01-04); the SDK's API has no Ubuntu2404.
    inputs = control_plane(program())
    assert inputs["kubernetesVersion"] == "1.35"
    assert control_plane(program({"cluster": {"version": "1.36"}}))["kubernetesVersion"] == "1.36"


def test_the_control_plane_has_an_uptime_agreement() -> None:
    assert control_plane(program())["sku"] == {"name": "Base", "tier": "Standard"}


def test_only_the_cpu_nodes_are_inline_and_changes_of_them_are_ignored() -> None:
    # AKS lists all pools there: with the GPU pool in it, one change rescales every pool (pulumi-azure-native #4264).
    mocks = program()
    (pool,) = control_plane(mocks)["agentPoolProfiles"]
    assert (pool["name"], pool["mode"], pool["count"], pool["vmSize"]) == ("system", "System", 2, "Standard_D8s_v5")
    assert "nodeTaints" not in pool
    assert list(mocks.request(only(mocks.of("ManagedCluster"))).ignoreChanges) == ["agentPoolProfiles"]


def test_no_key_is_made_up_that_would_replace_the_cluster_with_the_next_one() -> None:
    assert "linuxProfile" not in control_plane(program())


def test_the_dns_service_is_in_the_range_of_the_services() -> None:
    # The SDK's own default is 10.0.0.10, in whatever range.
    for ranges in ("172.30.0.0/16", "192.168.0.0/20"):
        network = control_plane(program({"network": {"serviceCidr": ranges}}))["networkProfile"]
        assert network["serviceCidr"] == ranges
        assert ipaddress.IPv4Address(network["dnsServiceIP"]) == ipaddress.IPv4Network(ranges)[10]


def test_pods_have_addresses_of_their_own_and_policies_are_kept() -> None:
    network = control_plane(program())["networkProfile"]
    plugin = [network[f"network{part}"] for part in ("Plugin", "PluginMode", "Dataplane", "Policy")]
    assert plugin == ["azure", "overlay", "cilium", "cilium"]


def test_the_api_server_is_open_to_named_ranges_or_to_the_network_alone() -> None:
    assert control_plane(program())["apiServerAccessProfile"] == {
        "authorizedIPRanges": ["203.0.113.0/24"],
        "enablePrivateCluster": False,
    }
    private = control_plane(program({"cluster": {"publicAccessRanges": []}}))["apiServerAccessProfile"]
    assert private == {"enablePrivateCluster": True}


def test_entras_groups_administer_the_cluster_where_they_are_named() -> None:
    group = "00000000-0000-0000-0000-000000000001"
    assert "aadProfile" not in control_plane(program())
    profile = control_plane(program({"cluster": {"admins": [group]}}))["aadProfile"]
    assert (profile["managed"], profile["adminGroupObjectIDs"]) == (True, [group])


def test_the_kubeconfig_is_the_administrators_and_runs_no_command() -> None:
    # That of Entra's users runs kubelogin on each machine.
    mocks = program()
    provider = only([each for each in mocks.resources if each.type == "pulumi:providers:kubernetes"])
    # An envelope: the state keeps it encrypted.
    assert provider.inputs["kubeconfig"] == {rpc._special_sig_key: rpc._special_secret_sig, "value": "kind: Config"}


def test_the_cluster_is_the_same_to_kubernetes_whatever_its_kubeconfig_says() -> None:
    provider = only([each for each in program().resources if each.type == "pulumi:providers:kubernetes"])
    assert provider.inputs["clusterIdentifier"] == "kimi-k3-existing"


def test_a_network_of_the_persons_own_is_used_as_it_is() -> None:
    mocks = program(THEIR_SUBNET)
    assert mocks.of("VirtualNetwork") == []
    (pool,) = control_plane(mocks)["agentPoolProfiles"]
    gpu = only(mocks.of("AgentPool")).inputs
    assert pool["vnetSubnetID"] == gpu["vnetSubnetID"]
    assert pool["vnetSubnetID"].endswith("/virtualNetworks/hub/subnets/aks")


def test_our_network_has_a_free_way_to_the_storage_account() -> None:
    (subnet,) = only(program().of("VirtualNetwork")).inputs["subnets"]
    assert [each["service"] for each in subnet["serviceEndpoints"]] == ["Microsoft.Storage"]
    assert subnet["addressPrefix"] == "10.20.0.0/17"


def test_the_way_out_stays_open_for_half_an_hour_of_silence() -> None:
    profile = control_plane(program())["networkProfile"]["loadBalancerProfile"]
    assert profile["idleTimeoutInMinutes"] == 30
