"""The GPU nodes: the plan's machines out of the private pools, with a driver that CUDA 13 runs on, left alone."""

import pytest

from tests.alicloud.answers import AlicloudAnswers
from tests.alicloud.stack import (
    BY_THE_HOUR,
    DISK,
    ERDMA,
    FOUR,
    FOUR_NODES,
    LINGJUN,
    LINGJUN_RDMA,
    RESERVE,
    Changes,
    gpu_nodes,
    only,
    program,
)


def labels(changes: Changes | None = None) -> dict[str, str]:
    return {each["key"]: each["value"] for each in gpu_nodes(program(changes)).inputs["labels"]}


@pytest.mark.parametrize(("changes", "size"), [({}, "3"), (FOUR, "4")])
def test_there_are_exactly_the_plans_nodes_and_no_autoscaler(changes: Changes, size: str) -> None:
    found = gpu_nodes(program(changes, AlicloudAnswers(pools=FOUR_NODES))).inputs
    assert (found["desiredSize"], found["instanceTypes"]) == (size, ["ecs.ebmgn8v.48xlarge"])
    # A scaling configuration would take nodes away, and can't be switched off (TFP #3254, #3822).
    assert {"scalingConfig", "nodeCount", "instances", "spotStrategy"} & set(found) == set()


def test_nodes_come_from_the_private_pool_and_never_from_beside_it() -> None:
    found = gpu_nodes(program()).inputs
    pools = {"strategy": "PrivatePoolOnly", "privatePoolIds": ["crp-bp67acfmxazb4ph0abcd"]}
    assert found["resourcePoolOptions"] == pools
    # The older way of the same excludes it.
    assert "privatePoolOptions" not in found


def test_a_pool_of_our_own_is_for_exactly_these_nodes_in_their_zone_and_ends() -> None:
    mocks = program(RESERVE)
    reservation = only(mocks.of("CapacityReservation"), "private-pool-reservation").inputs
    # Open, the default, would let any instance of the account take the places.
    assert (reservation["matchCriteria"], reservation["instanceAmount"]) == ("Target", 3)
    assert (reservation["zoneIds"], reservation["instanceType"]) == (["ap-southeast-1a"], "ecs.ebmgn8v.48xlarge")
    assert (reservation["endTimeType"], reservation["endTime"]) == ("Limited", "2099-01-31T16:00:00Z")
    pools = gpu_nodes(mocks).inputs["resourcePoolOptions"]
    assert pools == {"strategy": "PrivatePoolOnly", "privatePoolIds": ["private-pool-reservation-id"]}


def test_by_the_hour_no_private_pool_is_named() -> None:
    mocks = program(BY_THE_HOUR)
    assert "resourcePoolOptions" not in gpu_nodes(mocks).inputs
    assert [each.name for each in mocks.of("CapacityReservation")] == ["capacity"]


def test_the_driver_is_a_label_of_the_pool_from_its_creation() -> None:
    # ACK reads it while a node is made; a label put on a node changes nothing, and its own default is 550 or 570.
    assert labels()["ack.aliyun.com/nvidia-driver-version"] == "580.126.09"
    assert labels({"cluster": {"gpuDriver": "590.44.01"}})["ack.aliyun.com/nvidia-driver-version"] == "590.44.01"


def test_acks_own_device_plugin_is_not_doubled() -> None:
    assert [each.name for each in program().of("Release")] == ["kimi-k3-lws-release"]


def test_the_nodes_run_an_image_that_ack_takes() -> None:
    # Plain AliyunLinux3 has no cgroup v2.
    assert {each.inputs["imageType"] for each in program().of("NodePool")} == {"AliyunLinux3ContainerOptimized"}


def test_nobody_repairs_or_updates_a_gpu_node() -> None:
    assert set(gpu_nodes(program()).inputs["management"].values()) == {False}


def test_only_pods_that_want_gpus_run_there_and_the_engines_do() -> None:
    mocks = program()
    assert gpu_nodes(mocks).inputs["taints"] == [{"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}]
    assert "taints" not in only(mocks.of("NodePool"), "cluster-system").inputs
    group = only(mocks.of("LeaderWorkerSet")).inputs["spec"]["leaderWorkerTemplate"]
    for role in ("leaderTemplate", "workerTemplate"):
        pod = group[role]["spec"]
        assert {"key": "nvidia.com/gpu", "operator": "Exists"} in pod["tolerations"]
        assert pod["nodeSelector"]["kimi-k3/pool"] == labels()["kimi-k3/pool"]


def test_every_pool_has_the_name_that_the_provider_takes() -> None:
    # `name` is deprecated, and Pulumi's own would land there.
    for pool in program().of("NodePool"):
        assert "name" not in pool.inputs
        assert pool.inputs["nodePoolName"].startswith("kimi-k3-existing-")


def test_the_image_has_room_on_the_system_disk() -> None:
    assert gpu_nodes(program()).inputs["systemDiskSize"] == 500


def test_a_copy_of_the_weights_has_a_disk_of_its_own_that_the_pods_wait_for() -> None:
    mocks = program(DISK)
    (disk,) = gpu_nodes(mocks).inputs["dataDisks"]
    # 2,000 GiB = 2,147 GB for 1,561 GB; PL3 starts at 1,261 GiB.
    assert (disk["size"], disk["category"], disk["performanceLevel"]) == (2000, "cloud_essd", "PL3")
    assert (disk["mountTarget"], disk["autoFormat"], disk["fileSystem"]) == ("/mnt/kimi-k3", "true", "ext4")
    pod = only(mocks.of("LeaderWorkerSet")).inputs["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]
    (volume,) = [each for each in pod["volumes"] if "hostPath" in each]
    # Not made where it isn't: without the disk 1.56 TB would fill the system disk.
    assert volume["hostPath"] == {"path": "/mnt/kimi-k3", "type": "Directory"}
    assert "dataDisks" not in gpu_nodes(program()).inputs


def test_another_machine_or_driver_makes_the_nodes_anew_the_old_ones_first() -> None:
    mocks = program()
    request = mocks.request(gpu_nodes(mocks))
    assert request.deleteBeforeReplace
    # The provider changes these in the pool alone, and nodes that run would keep the old.
    assert {"instanceTypes", "labels", "dataDisks", "resourcePoolOptions"} <= set(request.replaceOnChanges)


def test_lingjuns_nodes_are_added_to_a_pool_of_their_group_and_none_is_made() -> None:
    found = gpu_nodes(program(LINGJUN)).inputs
    group = {"clusterId": "i114444141733395242745", "groupId": "i121824791737080429819"}
    assert (found["type"], found["efloNodeGroup"]) == ("lingjun", group)
    assert {"desiredSize", "instanceTypes", "instanceChargeType", "systemDiskSize"} & set(found) == set()
    assert labels(LINGJUN)["ack.aliyun.com/nvidia-driver-version"] == "580.126.09"


def test_over_tcp_nothing_is_asked_of_an_rdma_network() -> None:
    mocks = program()
    assert [each.inputs["name"] for each in mocks.of("KubernetesAddon")] == ["ack-pod-identity-webhook"]
    assert "erdma" not in str(only(mocks.of("LeaderWorkerSet")).inputs)


def test_erdma_has_its_order() -> None:
    mocks = program(ERDMA)
    addon = only(mocks.of("KubernetesAddon"), "drivers-erdma")
    filtered = only(mocks.of("Job"), "drivers-terway-filter")
    assert addon.inputs["name"] == "ack-erdma-controller"
    assert addon.inputs["config"] == '{"agent": {"preferDriver": "ofed", "allocateAllDevices": true}}'
    assert "cluster-system" in mocks.before(addon)
    # Terway would take the controller's interfaces, and gives none back.
    assert "drivers-erdma" in mocks.before(filtered)
    assert "drivers-terway-filter" in mocks.before(gpu_nodes(mocks))


def test_erdmas_pods_ask_for_it_on_the_nodes_own_network_and_say_what_they_use() -> None:
    template = only(program(ERDMA).of("LeaderWorkerSet")).inputs["spec"]["leaderWorkerTemplate"]
    for role in ("leaderTemplate", "workerTemplate"):
        pod = template[role]["spec"]
        (engine,) = pod["containers"]
        assert engine["resources"]["limits"]["aliyun/erdma"] == "1"
        assert engine["securityContext"]["capabilities"]["add"] == ["IPC_LOCK"]
        assert (pod["hostNetwork"], pod["dnsPolicy"]) == (True, "ClusterFirstWithHostNet")
        variables = {each["name"]: each.get("value") for each in engine["env"]}
        # Without the libraries NCCL takes TCP and doesn't say so: only its log does.
        assert (variables["NCCL_IB_GID_INDEX"], variables["NCCL_DEBUG"]) == ("1", "INFO")


def test_lingjuns_rdma_has_a_plugin_of_its_own() -> None:
    mocks = program(LINGJUN_RDMA)
    addon = only(mocks.of("KubernetesAddon"), "drivers-roce")
    assert (addon.inputs["name"], "config" in addon.inputs) == ("ack-rdma-device-plugin", False)
    template = only(mocks.of("LeaderWorkerSet")).inputs["spec"]["leaderWorkerTemplate"]["workerTemplate"]
    (engine,) = template["spec"]["containers"]
    assert engine["resources"]["limits"]["rdma/hca"] == "1"
    assert [each.name for each in mocks.of("Job")] == ["weights-model-job"]
