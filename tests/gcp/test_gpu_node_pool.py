"""The GPU nodes: each machine type as GKE wants it, in the reservation and nowhere else, never in each other's way."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.gcp.answers import GcpAnswers
from tests.gcp.stack import A4, FLEX, GB200, H100, H200, Changes, engine_pod, gpu_node, gpu_nodes, only, program

SUB_BLOCK = (
    "projects/my-project/reservations/kimi-k3/reservationBlocks/kimi-k3-block-0001"
    "/reservationSubBlocks/kimi-k3-block-0001-subblock-0001"
)
RDMA_RACKS: Changes = {
    "topology": {"interconnect": "rdma"},
    "capacity": {"subBlock": None},
    "serving": {"image": "registry.example.com/vllm-doca:0.33.0"},
}
"""Two nodes wherever in the block they are."""


# Machine, nodes, GPUs a node, GKE's name of the GPU and local disks: facts of Google's pages of the A4X Max, A4X, A4
# and A3 machines (compute/docs/gpus, 2026-04) and cluster-toolkit's definitions, counted by hand for one replica:
# 2 x 4 GB300, 4 x 4 GB200 (TP16), 2 x 8 B200, 2 x 8 H200, 4 x 8 H100.
@pytest.mark.parametrize(
    ("changes", "machine", "nodes", "gpus", "accelerator", "disks"),
    [
        ({}, "a4x-maxgpu-4g-metal", 2, 4, "nvidia-gb300", 4),
        (GB200, "a4x-highgpu-4g", 4, 4, "nvidia-gb200", 4),
        (A4, "a4-highgpu-8g", 2, 8, "nvidia-b200", 32),
        (H200, "a3-ultragpu-8g", 2, 8, "nvidia-h200-141gb", 32),
        (H100, "a3-megagpu-8g", 4, 8, "nvidia-h100-mega-80gb", 16),
    ],
)
def test_a_pool_is_exactly_the_plans_machines_with_all_disks_as_node_storage(
    changes: Changes, machine: str, nodes: int, gpus: int, accelerator: str, disks: int
) -> None:
    mocks = program(changes)
    node = gpu_node(mocks)
    assert (node["machineType"], gpu_nodes(mocks)["nodeCount"]) == (machine, nodes)
    (card,) = node["guestAccelerators"]
    # CUDA 13 needs driver 580; "latest" in small letters is gcloud's own and fails.
    driver = {"gpuDriverVersion": "LATEST"}
    assert card == {"type": accelerator, "count": gpus, "gpuDriverInstallationConfig": driver}
    # Not left to GKE's default: raw disks would be of no use to anybody.
    assert node["ephemeralStorageLocalSsdConfig"] == {"localSsdCount": disks}
    assert node["imageType"] == "COS_CONTAINERD"


def test_bare_metal_sets_aside_the_huge_pages_without_which_its_gpu_network_never_comes_up() -> None:
    # 4096 x 2 MiB = 8 GiB, what asapd-lite asks for (field case: 20 hours of Pending).
    assert gpu_node(program())["linuxNodeConfig"] == {"hugepagesConfig": {"hugepageSize2m": 4096}}
    assert [gpu_node(program(each)).get("linuxNodeConfig") for each in (GB200, A4, H200, H100)] == [None] * 4


def test_the_reservation_is_named_by_its_whole_path_and_nothing_else_is_used() -> None:
    assert gpu_node(program())["reservationAffinity"] == {
        "consumeReservationType": "SPECIFIC_RESERVATION",
        "key": "compute.googleapis.com/reservation-name",
        "values": [SUB_BLOCK],
    }


def test_a_shared_reservation_is_found_in_its_owners_project() -> None:
    mocks = program({"capacity": {"reservationProject": "gpu-pool"}})
    assert gpu_node(mocks)["reservationAffinity"]["values"] == [SUB_BLOCK.replace("my-project", "gpu-pool")]


@pytest.mark.parametrize("changes", [{}, GB200, A4, H200, H100, FLEX])
def test_no_update_needs_a_node_more_than_there_are(changes: Changes) -> None:
    pool = gpu_nodes(program(changes))
    assert pool["upgradeSettings"] == {"strategy": "SURGE", "maxSurge": 0, "maxUnavailable": 1}
    # A single zone, said again here: without it GKE puts nodes into every zone of the region.
    assert pool["nodeLocations"] == ["us-central1-b"]


def test_a_replaced_pool_goes_before_the_new_one_comes_and_gkes_own_labels_are_left_alone() -> None:
    mocks = program()
    request = mocks.request(only(mocks.of("NodePool"), "gpu-nodes"))
    assert request.deleteBeforeReplace
    assert list(request.ignoreChanges) == ["nodeConfig.labels"]
    # And no initial count, whose change would replace the pool.
    assert "initialNodeCount" not in gpu_nodes(mocks)


@pytest.mark.parametrize(("changes", "racks"), [({}, 1), (GB200, 1), (A4, 0), (H200, 0), (H100, 0), (RDMA_RACKS, 0)])
def test_nodes_that_share_nvlink_are_put_into_one_rack_and_others_are_not(changes: Changes, racks: int) -> None:
    mocks = program(changes)
    policies = mocks.of("ResourcePolicy")
    assert [each.inputs["workloadPolicy"] for each in policies] == [
        {"type": "HIGH_THROUGHPUT", "acceleratorTopology": "1x72"}
    ] * racks
    # COMPACT even for a workload policy; the name must be there, or the placement is silently nobody's.
    placement = {"type": "COMPACT", "policyName": "kimi-k3-existing-rack"} if racks else None
    assert gpu_nodes(mocks).get("placementPolicy") == placement


@pytest.mark.parametrize(("changes", "network"), [({}, True), (GB200, True), (A4, True), (H200, True), (H100, False)])
def test_the_gpu_network_is_one_profile_and_one_label_and_pods_name_it_too(changes: Changes, network: bool) -> None:
    mocks = program(changes)
    assert gpu_nodes(mocks)["networkConfig"].get("acceleratorNetworkProfile") == ("auto" if network else None)
    # No further networks: the profile and they exclude each other.
    assert "additionalNodeNetworkConfigs" not in gpu_nodes(mocks)["networkConfig"]
    labels = {
        "cloud.google.com/gke-networking-dra-driver": "true",
        "cloud.google.com/gke-dpv2-unified-cni": "cni-migration",
    }
    # On every pool: its labels are never changed, not even in the pool that replaces one without a network.
    assert gpu_node(mocks)["labels"] == labels
    profile = {"gke.networks.io/accelerator-network-profile": "auto"}
    assert (profile.items() <= engine_pod(mocks)["nodeSelector"].items()) == network


@pytest.mark.parametrize(("changes", "arm"), [({}, True), (GB200, True), (A4, False), (H100, False)])
def test_pods_tolerate_both_taints_of_their_nodes(changes: Changes, arm: bool) -> None:
    mocks = program(changes)
    assert gpu_node(mocks)["taints"] == [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}]
    assert gpu_node(mocks).get("taintConfig") == ({"architectureTaintBehavior": "ARM"} if arm else None)
    gpu = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
    arch = {"key": "kubernetes.io/arch", "operator": "Equal", "value": "arm64", "effect": "NoSchedule"}
    for role in ("leader", "worker"):
        assert engine_pod(mocks, role)["tolerations"] == ([gpu, arch] if arm else [gpu])


def test_pods_go_to_the_machines_gpu_and_a_group_stays_in_one_sub_block() -> None:
    pod = engine_pod(program())
    assert pod["nodeSelector"]["cloud.google.com/gke-accelerator"] == "nvidia-gb300"
    assert pod["nodeSelector"]["kubernetes.io/arch"] == "arm64"
    # GKE has no feature discovery of NVIDIA's, and so no nvidia.com/gpu.clique before the first claim.
    (together,) = pod["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert together["topologyKey"] == "cloud.google.com/gce-topology-subblock"


@pytest.mark.parametrize(
    ("cluster", "repair", "version"),
    [({}, False, None), ({"gpuAutoRepair": True, "gpuNodeVersion": "1.35.1-gke.9"}, True, "1.35.1-gke.9")],
)
def test_gke_swaps_no_gpu_node_unless_told_and_takes_the_version_that_is_pinned(
    cluster: Mapping[str, Any], repair: bool, version: str | None
) -> None:
    pool = gpu_nodes(program({"cluster": cluster}))
    assert pool["management"] == {"autoRepair": repair, "autoUpgrade": True}
    assert pool.get("version") == version


def test_flex_start_takes_nodes_as_they_come_and_says_that_they_go_after_seven_days(
    caplog: pytest.LogCaptureFixture,
) -> None:
    mocks = program(FLEX)
    pool, node = gpu_nodes(mocks), gpu_node(mocks)
    # 7 x 24 x 3600.
    assert (node["flexStart"], node["maxRunDuration"]) == (True, "604800s")
    assert node["reservationAffinity"] == {"consumeReservationType": "NO_RESERVATION"}
    assert pool["autoscaling"] == {"totalMinNodeCount": 0, "totalMaxNodeCount": 2, "locationPolicy": "ANY"}
    assert ("nodeCount" in pool, pool["management"]["autoRepair"]) == (False, False)
    assert "Google takes the nodes away after 168 hours" in caplog.text


def test_a_shorter_flex_start_ends_when_it_was_told_to() -> None:
    changes = {**FLEX, "capacity": {**FLEX["capacity"], "maxRunHours": 24}}  # pyright: ignore[reportGeneralTypeIssues]
    assert gpu_node(program(changes))["maxRunDuration"] == "86400s"


def test_a_pod_on_a_gpu_node_takes_its_own_identity_and_not_the_nodes() -> None:
    node = gpu_node(program())
    assert node["workloadMetadataConfig"] == {"mode": "GKE_METADATA"}
    assert node["serviceAccount"] == "kimi-k3-existing@my-project.iam.gserviceaccount.com"


def test_two_replicas_are_two_times_the_nodes() -> None:
    mocks = program({"replicas": 2}, GcpAnswers(healthy=4))
    assert gpu_nodes(mocks)["nodeCount"] == 4
