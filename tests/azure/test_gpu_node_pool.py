"""The GPU nodes: exactly the plan's machines, without AKS' driver, and never one machine more than there is."""

import pytest

from tests.azure.stack import GB200, H200, OVER_TCP, RACK_OVER_INFINIBAND, Changes, engine_pod, gpu_nodes, only, program

LAYOUTS = [{}, RACK_OVER_INFINIBAND, OVER_TCP, GB200, H200]


@pytest.mark.parametrize(
    ("changes", "size", "nodes", "gpus", "arch"),
    [
        ({}, "Standard_ND128isr_GB300_v6", 2, "4", "arm64"),
        (RACK_OVER_INFINIBAND, "Standard_ND128isr_GB300_v6", 2, "4", "arm64"),
        (GB200, "Standard_ND128isr_NDR_GB200_v6", 4, "4", "arm64"),
        (H200, "Standard_ND96isr_H200_v5", 2, "8", "amd64"),
        ({"replicas": 2}, "Standard_ND128isr_GB300_v6", 4, "4", "arm64"),
    ],
)
def test_a_pool_is_exactly_the_plans_machines(changes: Changes, size: str, nodes: int, gpus: str, arch: str) -> None:
    mocks = program(changes)
    pool = gpu_nodes(mocks).inputs
    assert (pool["vmSize"], pool["count"]) == (size, nodes)
    for role in ("leader", "worker"):
        pod = engine_pod(mocks, role)["spec"]
        assert pod["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == gpus
        # AKS puts no taint on arm64 nodes: only the selector keeps the pods where their image runs.
        assert pod["nodeSelector"] == {"kimi-k3/pool": "gpu", "kubernetes.io/arch": arch}


@pytest.mark.parametrize("changes", LAYOUTS)
def test_the_driver_is_the_operators_and_not_aks_own(changes: Changes) -> None:
    # The flag and the tag of old are retired (Azure/AKS #4925); AKS has no driver for these sizes.
    pool = gpu_nodes(program(changes)).inputs
    assert pool["gpuProfile"] == {"driver": "None"}
    assert not [each for each in pool["tags"] if "skip" in each.lower()]


def test_the_image_is_the_clusters_ubuntu() -> None:
    pool = gpu_nodes(program()).inputs
    assert (pool["osType"], pool["osSKU"], pool["mode"]) == ("Linux", "Ubuntu", "User")


def test_an_upgrade_never_asks_for_a_machine_more() -> None:
    pool = gpu_nodes(program()).inputs
    assert pool["upgradeSettings"] == {"maxSurge": "0", "maxUnavailable": "1"}
    assert not {"enableAutoScaling", "minCount", "maxCount"} & set(pool)


def test_a_reservation_can_be_used_by_this_kind_of_pool() -> None:
    pool = gpu_nodes(program()).inputs
    # Pools of single machines take none (Azure/AKS #5943), nor does a placement group or a spot machine.
    assert pool["type"] == "VirtualMachineScaleSets"
    assert not {"proximityPlacementGroupID", "scaleSetPriority"} & set(pool)


def test_machines_that_are_taken_out_are_gone_and_not_switched_off() -> None:
    # A switched-off one bills for its disk, and keeps the reservation from being deleted.
    assert gpu_nodes(program()).inputs["scaleDownMode"] == "Delete"


def test_no_zone_is_asked_for_that_nobody_named() -> None:
    # A zone without the size fails at the creation (Azure/AKS #1444).
    assert "availabilityZones" not in gpu_nodes(program()).inputs
    assert gpu_nodes(program({"capacity": {"mode": "none", "zone": "3"}})).inputs["availabilityZones"] == ["3"]


def test_only_pods_of_gpus_come_onto_the_nodes() -> None:
    mocks = program()
    assert gpu_nodes(mocks).inputs["nodeTaints"] == ["nvidia.com/gpu=present:NoSchedule"]
    for role in ("leader", "worker"):
        tolerations = engine_pod(mocks, role)["spec"]["tolerations"]
        assert {"key": "nvidia.com/gpu", "operator": "Exists"} in tolerations


def test_the_pools_name_is_its_own_and_never_gets_a_suffix() -> None:
    # At most 12 lower-case letters and digits; another name each time would break the label `agentpool`.
    assert gpu_nodes(program()).inputs["agentPoolName"] == "gpu"


def test_what_aks_refuses_to_change_makes_a_new_pool_after_the_old_one_is_gone() -> None:
    mocks = program()
    request = mocks.request(gpu_nodes(mocks))
    assert request.deleteBeforeReplace
    assert set(request.replaceOnChanges) == {
        "gpuProfile",
        "capacityReservationGroupID",
        "availabilityZones",
        "osDiskType",
        "osDiskSizeGB",
        "vnetSubnetID",
    }


def test_a_right_that_takes_an_hour_to_be_known_does_not_end_the_update() -> None:
    mocks = program()
    timeouts = mocks.request(gpu_nodes(mocks)).customTimeouts
    assert (timeouts.create, timeouts.delete) == ("90m", "60m")


def test_local_disks_become_one_file_system_before_the_weights_are_copied() -> None:
    mocks = program()
    pod = only(mocks.of("DaemonSet"), "node-disks").inputs["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {"kimi-k3/pool": "gpu"}
    assert {"key": "nvidia.com/gpu", "operator": "Exists"} in pod["tolerations"]
    (container,) = pod["containers"]
    # What Azure calls the disks inside the machine: a remote one on the same controller must not be formatted.
    assert "/Microsoft NVMe Direct Disk/" in container["command"][-1]
    (volume,) = [each for each in engine_pod(mocks)["spec"]["volumes"] if each["name"] == "weights"]
    # Directory, not DirectoryOrCreate: without the disks the pod waits, instead of filling the system's.
    assert volume["hostPath"] == {"path": "/mnt/nvme/kimi-k3", "type": "Directory"}
    assert "/mnt/nvme/kimi-k3 is ready" in container["command"][-1]
    assert "node-disks" in mocks.before(gpu_nodes(mocks))


def test_a_streaming_stack_leaves_the_disks_alone() -> None:
    mocks = program({"weights": {"delivery": "stream"}})
    assert [each for each in mocks.of("DaemonSet") if each.name == "node-disks"] == []
