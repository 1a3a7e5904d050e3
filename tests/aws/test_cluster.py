"""The EKS cluster: who may use it, what it costs, what is pinned, and the CPU nodes that come first."""

import json
from typing import Any

import pytest

from components.aws.provider import partition
from tests.aws.stack import Changes, only, program

ROLE = "arn:aws:iam::111122223333:role/platform"
USER = "arn:aws:iam::111122223333:user/somebody.with.a.very.long.name@example.com"


def cluster(changes: Changes | None = None) -> dict[str, Any]:
    """Return what the EKS component is given."""
    return dict(only(program(changes).of("Cluster"), "cluster-eks").inputs)


def test_access_is_by_eks_own_api_and_not_by_the_config_map() -> None:
    given = cluster()
    assert given["authenticationMode"] == "API"
    # Each of them would need the ConfigMap.
    assert not {"roleMappings", "userMappings", "instanceRoles", "instanceRole"} & set(given)


def test_the_control_plane_never_slides_into_extended_support() -> None:
    assert cluster()["upgradePolicy"] == {"supportType": "STANDARD"}
    assert cluster()["version"] == "1.35"


def test_what_the_component_makes_by_default_is_left_out() -> None:
    given = cluster()
    assert given["skipDefaultNodeGroup"] is True
    assert given["skipDefaultSecurityGroups"] is True
    assert given["createOidcProvider"] is False


def test_addons_are_pinned_and_can_be_changed() -> None:
    given = cluster()
    assert given["vpcCniOptions"]["addonVersion"] == "v1.21.1-eksbuild.7"
    assert given["kubeProxyAddonOptions"]["version"] == "v1.35.3-eksbuild.2"
    changed = cluster({"cluster": {"addonVersions": {"vpc-cni": "v1.22.0-eksbuild.1"}}})
    assert changed["vpcCniOptions"]["addonVersion"] == "v1.22.0-eksbuild.1"
    assert changed["kubeProxyAddonOptions"]["version"] == "v1.35.3-eksbuild.2"


def test_the_policies_of_the_engine_are_enforced_by_the_network_plugin() -> None:
    assert cluster()["vpcCniOptions"]["enableNetworkPolicy"] is True


def test_the_api_server_is_open_to_the_given_ranges_alone() -> None:
    given = cluster()
    assert (given["endpointPrivateAccess"], given["endpointPublicAccess"]) == (True, True)
    assert given["publicAccessCidrs"] == ["203.0.113.0/24"]


def test_without_ranges_the_api_server_is_in_the_vpc_alone() -> None:
    given = cluster({"cluster": {"publicAccessRanges": []}})
    assert (given["endpointPrivateAccess"], given["endpointPublicAccess"]) == (True, False)
    assert "publicAccessCidrs" not in given


def test_people_administer_the_cluster_although_a_pipeline_made_it() -> None:
    entries = cluster({"cluster": {"admins": [ROLE, USER]}})["accessEntries"]
    assert sorted(entry["principalArn"] for entry in entries.values()) == [ROLE, USER]
    for entry in entries.values():
        assert entry["accessPolicies"] == {
            "admin": {
                "policyArn": "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy",
                "accessScope": {"type": "cluster"},
            }
        }


def test_coredns_comes_once_there_is_a_node_that_takes_it() -> None:
    mocks = program()
    # The component's own would stay degraded for 20 minutes on a cluster without nodes (pulumi-eks #1819).
    assert only(mocks.of("Cluster"), "cluster-eks").inputs["corednsAddonOptions"]["enabled"] is False
    addons = {each.inputs["addonName"]: each for each in mocks.of("Addon")}
    assert set(addons) == {"coredns", "eks-pod-identity-agent"}
    for addon in addons.values():
        assert "cluster-system" in mocks.before(addon)
        assert addon.inputs["resolveConflictsOnCreate"] == "OVERWRITE"
    assert addons["coredns"].inputs["addonVersion"] == "v1.13.2-eksbuild.4"


def test_the_cpu_nodes_are_in_both_zones_and_keep_their_number() -> None:
    system = only(program().of("NodeGroup"), "cluster-system").inputs
    assert system["scalingConfig"] == {"minSize": 2, "desiredSize": 2, "maxSize": 2}
    assert len(system["subnetIds"]) == 2
    assert (system["instanceTypes"], system["amiType"]) == (["m7i.2xlarge"], "AL2023_x86_64_STANDARD")
    # Controllers, cluster DNS and the copy of the weights run here: nothing keeps them away.
    assert "taints" not in system


def test_the_cpu_nodes_can_be_changed() -> None:
    changed = {"cluster": {"systemNodes": {"type": "m7i.4xlarge", "count": 3}}}
    system = only(program(changed).of("NodeGroup"), "cluster-system").inputs
    assert (system["instanceTypes"], system["scalingConfig"]["desiredSize"]) == (["m7i.4xlarge"], 3)


def test_nodes_may_join_pull_images_and_get_addresses_and_nothing_else() -> None:
    mocks = program()
    given = {each.inputs["policyArn"] for each in mocks.of("RolePolicyAttachment")}
    assert given == {
        f"arn:aws:iam::aws:policy/{policy}"
        for policy in ("AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly", "AmazonEKS_CNI_Policy")
    }
    role = json.loads(only(mocks.of("Role"), "cluster-node").inputs["assumeRolePolicy"])
    assert role["Statement"][0]["Principal"] == {"Service": "ec2.amazonaws.com"}
    # All of it before a node asks for it.
    attached = {each.name for each in mocks.of("RolePolicyAttachment")}
    for group in mocks.of("NodeGroup"):
        assert attached <= mocks.before(group), group.name


@pytest.mark.parametrize(
    ("region", "want"), [("us-west-2", "aws"), ("us-gov-east-1", "aws-us-gov"), ("cn-north-1", "aws-cn")]
)
def test_arns_begin_as_the_regions_do(region: str, want: str) -> None:
    assert partition(region) == want
