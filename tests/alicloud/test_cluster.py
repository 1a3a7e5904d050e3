"""The ACK cluster: what is fixed at creation, add-ons that match, CPU nodes first, a kubeconfig that is a secret."""

import json

from tests.alicloud.answers import AlicloudAnswers
from tests.alicloud.stack import ERDMA, LINGJUN_RDMA, only, program
from tests.conftest import Mocks


def control_plane(mocks: Mocks) -> dict[str, object]:
    return dict(only(mocks.of("ManagedKubernetes")).inputs)


def addons(mocks: Mocks) -> dict[str, dict[str, object]]:
    return {each["name"]: each for each in only(mocks.of("ManagedKubernetes")).inputs["addons"]}


def test_pods_have_addresses_of_the_vpc_and_no_range_beside_them() -> None:
    found = control_plane(program())
    assert found["podVswitchIds"] == ["network-pods-ap-southeast-1a-id", "network-pods-ap-southeast-1b-id"]
    # Exactly one of the two; and the switches of the control plane are no longer given through zones or workers.
    assert {"podCidr", "zoneIds", "workerVswitchIds", "loadBalancerSpec"} & set(found) == set()


def test_destroy_needs_nobody_to_lift_a_protection_or_to_delete_what_ack_made() -> None:
    found = control_plane(program())
    assert found["deletionProtection"] is False
    # ACK leaves ALB and SLS behind by itself.
    assert found["deleteOptions"] == [
        {"resourceType": kind, "deleteMode": "delete"} for kind in ("ALB", "SLB", "SLS_ControlPlane", "SLS_Data")
    ]


def test_service_accounts_can_take_roles() -> None:
    found = control_plane(program())
    assert (found["enableRrsa"], found["clusterSpec"]) == (True, "ack.pro.small")


def test_the_halves_of_terway_come_together_and_keep_network_policies() -> None:
    found = addons(program())
    assert {"terway-controlplane", "terway-eniip"} <= set(found)
    assert [found[name].get("version") for name in ("terway-controlplane", "terway-eniip")] == [None, None]
    assert json.loads(str(found["terway-eniip"]["config"]))["NetworkPolicy"] == "true"
    pinned = {"terway-eniip": "v1.17.5", "terway-controlplane": "v1.17.5"}
    found = addons(program({"cluster": {"addonVersions": pinned}}))
    assert {name: found[name]["version"] for name in pinned} == pinned


def test_no_public_ingress_and_no_file_system_of_acks_own_is_made() -> None:
    found = addons(program())
    assert found["nginx-ingress-controller"]["disabled"] is True
    # It makes the file system cnfs-nas, which stays after the cluster and blocks the vSwitch.
    assert "storage-operator" not in found


def test_the_api_server_is_public_only_where_the_file_says_so() -> None:
    assert control_plane(program())["slbInternetEnabled"] is True
    assert control_plane(program({"cluster": {"publicEndpoint": False}}))["slbInternetEnabled"] is False


def test_later_add_ons_have_nodes_to_run_on_and_time() -> None:
    for changes in (ERDMA, LINGJUN_RDMA):
        mocks = program(changes)
        for addon in mocks.of("KubernetesAddon"):
            assert "cluster-system" in mocks.before(addon), addon.name
            # The provider's own ten minutes are less than a first image pull takes (TFP #5854).
            assert mocks.request(addon).customTimeouts.create == "30m"


def test_the_kubeconfig_is_a_secret_and_the_same_in_every_preview() -> None:
    answers = AlicloudAnswers()
    mocks = program({}, answers)
    (asked,) = [args for question, args in answers.asked if question == "getClusterCredential"]
    # A short-lived one would be another one in each preview.
    assert asked == {"clusterId": "cluster-ack-id"}
    provider = only([each for each in mocks.resources if each.type == "pulumi:providers:kubernetes"])
    assert provider.inputs["clusterIdentifier"] == "kimi-k3-existing"
    holders = {each.type for each in mocks.resources if "sentinel-of-the-kubeconfig" in str(each.inputs)}
    assert holders == {"pulumi:providers:kubernetes"}
    request = mocks.request(provider)
    # The mark of a secret in the engine's protocol.
    assert "4dabf18193072939515e22adb298388d" in str(request.object["kubeconfig"])
