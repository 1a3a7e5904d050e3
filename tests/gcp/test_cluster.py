"""The GKE cluster: what can't be changed later, what destroy reads from the state, and how one signs in."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.conftest import Mocks
from tests.gcp.stack import A4, GATEWAY, GB200, Changes, control_plane, only, program


def kubeconfig(mocks: Mocks) -> tuple[Mapping[str, Any], bool]:
    """Return the kubeconfig, and whether it is a secret."""
    provider = only([each for each in mocks.resources if each.type == "pulumi:providers:kubernetes"])
    raw = provider.inputs["kubeconfig"]
    secret = isinstance(raw, dict)
    return json.loads(raw["value"] if secret else raw), secret


@pytest.mark.parametrize(("changes", "protected"), [({}, False), ({"cluster": {"deletionProtection": True}}, True)])
def test_destroy_is_not_refused_for_a_flag_that_nobody_set(changes: Changes, protected: bool) -> None:
    # The provider's default is true, and destroy reads what the last `up` wrote (pulumi-gcp #1394, #1253).
    assert control_plane(program(changes))["deletionProtection"] is protected


def test_what_can_never_be_changed_is_there_from_the_start() -> None:
    cluster = control_plane(program())
    assert (cluster["datapathProvider"], cluster["networkingMode"]) == ("ADVANCED_DATAPATH", "VPC_NATIVE")
    # Not supported on these machines, and not to be mixed with the claims of a GPU network.
    assert "enableMultiNetworking" not in cluster


@pytest.mark.parametrize(("changes", "shielded"), [({}, False), (GB200, True), (A4, True)])
def test_bare_metal_nodes_need_a_cluster_without_shielded_nodes(changes: Changes, shielded: bool) -> None:
    assert control_plane(program(changes))["enableShieldedNodes"] is shielded


def test_a_regional_cluster_has_its_nodes_in_one_zone_or_they_would_be_three_times_as_many() -> None:
    mocks = program()
    assert (control_plane(mocks)["location"], control_plane(mocks)["nodeLocations"]) == (
        "us-central1",
        ["us-central1-b"],
    )
    system = only(mocks.of("NodePool"), "cluster-system").inputs
    assert (system["nodeLocations"], system["nodeCount"]) == (["us-central1-b"], 2)
    assert system["nodeConfig"]["machineType"] == "e2-standard-8"


def test_no_node_is_upgraded_by_google() -> None:
    policy = control_plane(program())["maintenancePolicy"]
    (exclusion,) = policy["maintenanceExclusions"]
    assert exclusion["exclusionOptions"] == {
        "scope": "NO_MINOR_OR_NODE_UPGRADES",
        "endTimeBehavior": "UNTIL_END_OF_SUPPORT",
    }
    # GKE takes exclusions with a window alone.
    assert policy["dailyMaintenanceWindow"] == {"startTime": "03:00"}
    assert control_plane(program())["releaseChannel"] == {"channel": "REGULAR"}


def test_the_first_pool_is_removed_and_never_uses_the_projects_default_account() -> None:
    mocks = program()
    cluster = control_plane(mocks)
    assert (cluster["removeDefaultNodePool"], cluster["initialNodeCount"]) == (True, 1)
    assert cluster["nodeConfig"]["serviceAccount"] == "kimi-k3-existing@my-project.iam.gserviceaccount.com"
    assert list(mocks.request(only(mocks.of("Cluster"), "cluster-gke")).ignoreChanges) == ["nodeConfig"]
    # Pools inline and pools of their own would fight (pulumi-gcp #88).
    assert "nodePools" not in cluster


def test_the_nodes_account_has_one_role_before_a_node_uses_it() -> None:
    mocks = program()
    (role,) = mocks.of("IAMMember")
    assert role.inputs == {
        "project": "my-project",
        "role": "roles/container.defaultNodeServiceAccount",
        "member": "serviceAccount:kimi-k3-existing@my-project.iam.gserviceaccount.com",
    }
    assert "cluster-nodes-role" in mocks.before(only(mocks.of("Cluster"), "cluster-gke"))


def test_an_account_of_theirs_is_used_and_given_nothing() -> None:
    email = "gke-nodes@my-project.iam.gserviceaccount.com"
    mocks = program({"cluster": {"nodeServiceAccount": email}})
    assert (mocks.of("Account"), mocks.of("IAMMember")) == ([], [])
    assert {pool.inputs["nodeConfig"]["serviceAccount"] for pool in mocks.of("NodePool")} == {email}


@pytest.mark.parametrize(
    ("ranges", "blocks", "private"),
    [(["203.0.113.0/24"], [{"cidrBlock": "203.0.113.0/24"}], False), ([], [], True)],
)
def test_the_api_server_is_reached_from_the_named_ranges_or_from_the_vpc_alone(
    ranges: list[str], blocks: list[dict[str, str]], private: bool
) -> None:
    cluster = control_plane(program({"cluster": {"publicAccessRanges": ranges}}))
    assert cluster["privateClusterConfig"] == {"enablePrivateNodes": True, "enablePrivateEndpoint": private}
    authorized = cluster["masterAuthorizedNetworksConfig"]
    assert (authorized.get("cidrBlocks", []), authorized["gcpPublicCidrsAccessEnabled"]) == (blocks, False)


def test_the_plugin_signs_in_and_no_credential_is_kept() -> None:
    config, secret = kubeconfig(program())
    (user,) = config["users"]
    assert user["user"]["exec"]["command"] == "gke-gcloud-auth-plugin"
    assert config["clusters"][0]["cluster"] == {
        "server": "https://203.0.113.9",
        "certificate-authority-data": "Q0E=",
    }
    assert (config["current-context"], secret) == ("kimi-k3-existing", False)


def test_a_token_is_a_secret() -> None:
    mocks = program({"cluster": {"kubeconfig": "token"}})
    (provider,) = [each for each in mocks.requests.values() if each.type == "pulumi:providers:kubernetes"]
    given: Any = provider.object["kubeconfig"]
    # The engine's own sign of a secret.
    assert given["4dabf18193072939515e22adb298388d"] == "1b47061264138c4ac30d75fd1eb44270"
    assert "ya29.token" in given["value"]


@pytest.mark.parametrize(("changes", "channel"), [({}, None), (GATEWAY, {"channel": "CHANNEL_STANDARD"})])
def test_gke_brings_its_gateway_controller_where_it_is_used(
    changes: Changes, channel: Mapping[str, str] | None
) -> None:
    assert control_plane(program(changes)).get("gatewayApiConfig") == channel


def test_pods_can_have_identities_and_mount_buckets() -> None:
    cluster = control_plane(program())
    assert cluster["workloadIdentityConfig"] == {"workloadPool": "my-project.svc.id.goog"}
    assert cluster["addonsConfig"] == {"gcsFuseCsiDriverConfig": {"enabled": True}}
    # Google's internal load balancers of many nodes; can't be turned off again.
    assert cluster["enableL4IlbSubsetting"] is True
