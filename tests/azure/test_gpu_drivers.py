"""NVIDIA's operators: the values without which nodes stay NotReady, pods Pending, or NCCL on TCP."""

import json
from typing import Any

import pytest

from tests.azure.stack import GB200, H200, OVER_TCP, RACK_OVER_INFINIBAND, Changes, engine, engine_pod, only, program
from tests.conftest import Mocks

MIRROR: Changes = {"mirror": {"images": "registry.example.com/mirror", "charts": "oci://registry.example.com/charts"}}
TAINT = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}


def values(mocks: Mocks, chart: str) -> dict[str, Any]:
    """Return a release's values."""
    return only(mocks.of("Release"), f"drivers-{chart}").inputs["values"]


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({}, {"gpu-operator", "dra-driver-nvidia-gpu"}),
        (GB200, {"gpu-operator", "dra-driver-nvidia-gpu"}),
        (RACK_OVER_INFINIBAND, {"gpu-operator", "network-operator", "nic-cluster-policy"}),
        (H200, {"gpu-operator", "network-operator", "nic-cluster-policy"}),
        (OVER_TCP, {"gpu-operator"}),
    ],
)
def test_each_layout_has_its_own_parts(changes: Changes, parts: set[str]) -> None:
    mocks = program(changes)
    found = {each.name.removeprefix("drivers-") for each in mocks.resources if each.name.startswith("drivers-")}
    assert found == {*parts, "namespace"}


def test_versions_are_pinned() -> None:
    pinned = {
        each.inputs["name"]: each.inputs["version"]
        for changes in ({}, H200)
        for each in program(changes).of("Release")
        if each.name.startswith("drivers-")
    }
    assert pinned == {"gpu-operator": "v26.7.0", "dra-driver-nvidia-gpu": "0.5.0", "network-operator": "26.1.1"}


def test_the_toolkit_does_not_write_what_aks_containerd_cannot_read() -> None:
    # Else containerd stops and no GPU node is ready any more (NVIDIA/gpu-operator #2646).
    toolkit = values(program(), "gpu-operator")["toolkit"]
    assert toolkit["env"] == [{"name": "RUNTIME_CONFIG_SOURCE", "value": "file"}]


def test_the_driver_has_blackwells_module_and_is_never_changed_under_a_model() -> None:
    driver = values(program(), "gpu-operator")["driver"]
    assert driver["kernelModuleType"] == "open"
    # nvidia-peermem doesn't load here; RDMA goes through dma-buf.
    assert driver["rdma"] == {"enabled": False}
    assert driver["upgradePolicy"] == {"autoUpgrade": False}


def test_the_operators_own_defaults_that_we_stand_on_are_left_alone() -> None:
    found = values(program(), "gpu-operator")
    # The device plugin gives nvidia.com/gpu, GFD the label of the NVLink domain; the GPUCluster mode has neither.
    assert not {"devicePlugin", "gfd", "gpuCluster", "nfd", "daemonsets"} & set(found)


def test_the_dra_driver_finds_the_operators_driver_and_leaves_the_gpus_to_the_device_plugin() -> None:
    found = values(program(), "dra-driver-nvidia-gpu")
    assert found["nvidiaDriverRoot"] == "/run/nvidia/driver"
    # With its own default the chart refuses to be installed.
    assert found["resources"] == {"gpus": {"enabled": False}, "computeDomains": {"enabled": True}}
    assert found["kubeletPlugin"]["tolerations"] == [TAINT]


def test_what_needs_the_labels_of_nodes_comes_after_what_sets_them_and_goes_before() -> None:
    mocks = program()
    assert "drivers-gpu-operator" in mocks.before(only(mocks.of("Release"), "drivers-dra-driver-nvidia-gpu"))
    infiniband = program(H200)
    policy = infiniband.before(only(infiniband.of("NicClusterPolicy")))
    assert {"drivers-gpu-operator", "drivers-network-operator"} <= policy


def test_privileged_pods_are_let_into_their_namespace() -> None:
    namespace = only(program().of("Namespace"), "drivers-namespace").inputs["metadata"]
    assert namespace["name"] == "gpu-operator"
    assert namespace["labels"]["pod-security.kubernetes.io/enforce"] == "privileged"


def test_pods_of_a_rack_share_an_nvlink_domain_and_claim_their_channel() -> None:
    mocks = program()
    domain = only(mocks.of("ComputeDomain")).inputs["spec"]
    # A number is deprecated, and a wrong one never gets ready (dra-driver-nvidia-gpu #767).
    assert domain["numNodes"] == 0
    claim = domain["channel"]["resourceClaimTemplate"]["name"]
    for role in ("leader", "worker"):
        pod = engine_pod(mocks, role)["spec"]
        assert pod["resourceClaims"] == [{"name": "imex", "resourceClaimTemplateName": claim}]
        assert pod["containers"][0]["resources"]["claims"] == [{"name": "imex"}]
        # A compute domain places nothing: pods of one group could lie in two racks (#804).
        (term,) = pod["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        assert term["topologyKey"] == "nvidia.com/gpu.clique"
        assert term["matchLabelKeys"] == ["leaderworkerset.sigs.k8s.io/group-index"]


def test_a_compute_domain_goes_while_its_driver_can_still_take_it_away() -> None:
    # Its finalizer waits for the controller for ever otherwise.
    mocks = program()
    before = mocks.before(only(mocks.of("ComputeDomain")))
    assert {"drivers-dra-driver-nvidia-gpu", "gpu-pool"} <= before


def variables(mocks: Mocks, role: str) -> dict[str, str]:
    """Return the literal variables of a role's engine."""
    return {entry["name"]: entry["value"] for entry in engine(mocks, role)["env"] if "value" in entry}


@pytest.mark.parametrize("role", ["leader", "worker"])
def test_tensor_parallelism_over_two_machines_is_told_to_use_nvlink(role: str) -> None:
    told = variables(program(), role)
    assert (told["NCCL_MNNVL_ENABLE"], told["VLLM_FLASHINFER_ALLREDUCE_BACKEND"]) == ("1", "mnnvl")
    # On TCP the pods find each other by the one interface that they have.
    assert (told["NCCL_SOCKET_IFNAME"], told["GLOO_SOCKET_IFNAME"]) == ("eth0", "eth0")


@pytest.mark.parametrize("changes", [RACK_OVER_INFINIBAND, OVER_TCP])
def test_without_a_compute_domain_nvlink_between_machines_is_off(changes: Changes) -> None:
    mocks = program(changes)
    assert mocks.of("ComputeDomain") == []
    for role in ("leader", "worker"):
        assert variables(mocks, role)["NCCL_MNNVL_ENABLE"] == "0"
        pod = engine_pod(mocks, role)["spec"]
        assert "resourceClaims" not in pod
        assert "podAffinity" not in pod.get("affinity", {})


@pytest.mark.parametrize("changes", [RACK_OVER_INFINIBAND, H200])
def test_over_infiniband_each_pod_has_the_adapters_may_pin_memory_and_its_log_says_so(changes: Changes) -> None:
    mocks = program(changes)
    for role in ("leader", "worker"):
        container = engine(mocks, role)
        # Without the request NCCL is on TCP, silently (NVIDIA/aicr #2276).
        assert container["resources"]["limits"]["rdma/shared_ib"] == "1"
        assert container["resources"]["requests"]["rdma/shared_ib"] == "1"
        assert container["securityContext"]["capabilities"]["add"] == ["IPC_LOCK"]
        assert variables(mocks, role)["NCCL_DEBUG_SUBSYS"] == "INIT,NET"


@pytest.mark.parametrize("changes", [{}, GB200, OVER_TCP])
def test_layouts_without_infiniband_ask_for_no_adapter(changes: Changes) -> None:
    mocks = program(changes)
    assert "rdma/shared_ib" not in engine(mocks)["resources"]["limits"]


def test_the_adapters_plugin_hands_out_what_the_pods_ask_for() -> None:
    policy = only(program(H200).of("NicClusterPolicy")).inputs
    # Another name is ignored by the operator.
    assert policy["metadata"]["name"] == "nic-cluster-policy"
    (config,) = json.loads(policy["spec"]["rdmaSharedDevicePlugin"]["config"])["configList"]
    assert f"rdma/{config['resourceName']}" == "rdma/shared_ib"
    assert config["selectors"]["linkTypes"] == ["infiniband"]
    assert policy["spec"]["tolerations"] == [TAINT]
    # One feature discovery is enough: two relabel each other's nodes.
    assert values(program(H200), "network-operator")["nfd"]["enabled"] is False


def test_the_adapters_driver_is_one_that_builds_on_arm64() -> None:
    driver = only(program(RACK_OVER_INFINIBAND).of("NicClusterPolicy")).inputs["spec"]["ofedDriver"]
    assert driver["version"] == "doca3.3.0-26.01-1.0.0.0-0"
    assert driver["upgradePolicy"] == {"autoUpgrade": False}
    # Its image is for x86 alone.
    assert "docaTelemetryService" not in str(only(program(RACK_OVER_INFINIBAND).of("NicClusterPolicy")).inputs)


@pytest.mark.parametrize("changes", [{}, H200])
def test_a_closed_network_gets_every_chart_and_image_from_its_mirror(changes: Changes) -> None:
    mocks = program({**changes, **MIRROR})
    assert all(each.inputs["chart"].startswith("oci://registry.example.com/charts/") for each in mocks.of("Release"))
    told = json.dumps([each.inputs for each in [*mocks.of("Release"), *mocks.of("NicClusterPolicy")]])
    repositories = [part.split('"')[0] for part in told.split('"repository": "')[1:]]
    assert len(repositories) >= 9
    assert [each for each in repositories if not each.startswith("registry.example.com/mirror/")] == []
