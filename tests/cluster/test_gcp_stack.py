"""The GCP stack in full depth: taints, huge pages and claims of its machines on the real scheduler."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rehearsal.control_plane.control_plane import ControlPlane
from rehearsal.full_depth import listed, stage_on
from rehearsal.workspace import Workspace
from tests.gcp.stack import A4
from tests.rehearsed_stack import RehearsedStack, config_of, rehearsed
from toolchain import kubernetes_provider

pytestmark = pytest.mark.cluster

NODES = "/api/v1/nodes"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/kimi-k3/resourceclaims"
GROUP = "leaderworkerset.sigs.k8s.io/name=kimi-k3"
Deploy = Callable[..., RehearsedStack]


@pytest.fixture
def deploy(empty_plane: ControlPlane, tmp_path: Path) -> Iterator[Deploy]:
    """Sets up the GCP stack with changes on a control plane without nodes; it is destroyed when the test is over."""
    stacks: list[RehearsedStack] = []

    def set_up(**changes: Any) -> RehearsedStack:
        config = config_of("gcp", serving={"readyTimeoutMinutes": 3}, **changes)
        Workspace(tmp_path).create()
        stage = stage_on(empty_plane, kubernetes_provider.ensure(), config, tmp_path / "kubeconfig")
        stacks.append(rehearsed("gcp", config, stage, tmp_path))
        return stacks[-1]

    yield set_up
    for stack in stacks:
        stack.engine.destroy()


def _gpu_nodes(plane: ControlPlane) -> dict[str, Any]:
    found = {node["metadata"]["name"]: node for node in plane.api.items(NODES)}
    return {name: each for name, each in found.items() if "nvidia.com/gpu" in each["status"]["allocatable"]}


def _placed(plane: ControlPlane, path: str, selector: str) -> list[str]:
    return sorted(pod["spec"]["nodeName"] for pod in plane.api.items(path, selector))


def _devices(plane: ControlPlane) -> list[tuple[str, int]]:
    """The driver of each allocated claim, and how many of its devices the claim has."""
    claims = plane.api.items(CLAIMS)
    results = [claim["status"]["allocation"]["devices"]["results"] for claim in claims]
    return sorted((found[0]["driver"], len(found)) for found in results)


def test_a_rack_of_arm_machines_takes_the_group_and_the_program_of_its_adapters(
    deploy: Deploy, empty_plane: ControlPlane
) -> None:
    stack = deploy()
    step = stack.engine.up()
    assert step.ok, step.text
    gpus = _gpu_nodes(empty_plane)
    assert len(gpus) == 2
    for node in gpus.values():
        labels, offered = node["metadata"]["labels"], node["status"]["allocatable"]
        assert labels["kubernetes.io/arch"] == "arm64"
        assert labels["gke.networks.io/accelerator-network-profile"] == "auto"
        # 4096 x 2 MiB.
        assert (offered["nvidia.com/gpu"], offered["hugepages-2Mi"]) == ("4", str(4096 * 2 * 1024 * 1024))
        assert sorted(taint["key"] for taint in node["spec"]["taints"]) == ["kubernetes.io/arch", "nvidia.com/gpu"]
    pods = "/api/v1/namespaces/kimi-k3/pods"
    assert _placed(empty_plane, pods, GROUP) == sorted(gpus)
    assert _placed(empty_plane, "/api/v1/namespaces/kube-system/pods", "k8s-app=asapd-lite") == sorted(gpus)
    assert _devices(empty_plane) == [("compute-domain.nvidia.com", 1)] * 2

    again = stack.engine.up(expect_no_changes=True)
    assert again.ok, again.text
    destroyed = stack.engine.destroy()
    assert destroyed.ok, destroyed.text
    assert [each.kind for each in stack.stage.existing()] == ["Bucket", "Reservation"]
    assert empty_plane.api.items(NODES) == []
    assert listed(empty_plane.api) == []


def test_machines_that_talk_over_rdma_hand_all_their_adapters_to_one_pod(
    deploy: Deploy, empty_plane: ControlPlane
) -> None:
    # The committed file's sub-block is a rack's; these machines have none.
    capacity = {"mode": "existing", "zone": "us-central1-b", "reservation": "kimi-k3"}
    stack = deploy(machine=A4["machine"], capacity={**capacity, "block": "b1", "subBlock": "s1"})
    step = stack.engine.up()
    assert step.ok, step.text
    gpus = _gpu_nodes(empty_plane)
    assert [node["status"]["allocatable"]["nvidia.com/gpu"] for node in gpus.values()] == ["8", "8"]
    assert _placed(empty_plane, "/api/v1/namespaces/kimi-k3/pods", GROUP) == sorted(gpus)
    assert _placed(empty_plane, "/api/v1/namespaces/kube-system/pods", "k8s-app=nccl-plugin") == sorted(gpus)
    assert _devices(empty_plane) == [("dra.net", 8)] * 2
    destroyed = stack.engine.destroy()
    assert destroyed.ok, destroyed.text
    assert empty_plane.api.items("/apis/resource.k8s.io/v1/resourceslices") == []
