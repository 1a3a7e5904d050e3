"""The AWS stack in full depth: machines of a node group on the real scheduler, groups by the real controller."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rehearsal.control_plane.control_plane import ControlPlane
from rehearsal.full_depth import listed, stage_on
from rehearsal.workspace import Workspace
from tests.rehearsed_stack import RehearsedStack, config_of, rehearsed
from toolchain import kubernetes_provider

pytestmark = pytest.mark.cluster

PODS = "/api/v1/namespaces/kimi-k3/pods"
GROUP = "leaderworkerset.sigs.k8s.io/name=kimi-k3"
PAIR = {"machine": "p6-b200.48xlarge", "serving": {"image": "registry.example.com/vllm-efa:0.33.0"}}
"""Two nodes of 8 x B200 a replica, which talk over EFA."""
Deploy = Callable[..., RehearsedStack]


@pytest.fixture
def deploy(empty_plane: ControlPlane, tmp_path: Path) -> Iterator[Deploy]:
    """Sets up the AWS stack with changes on a control plane without nodes; it is destroyed when the test is over."""
    stacks: list[RehearsedStack] = []

    def set_up(**changes: Any) -> RehearsedStack:
        serving = {"readyTimeoutMinutes": 3, **changes.pop("serving", {})}
        config = config_of("aws", serving=serving, **changes)
        Workspace(tmp_path).create()
        stage = stage_on(empty_plane, kubernetes_provider.ensure(), config, tmp_path / "kubeconfig")
        stacks.append(rehearsed("aws", config, stage, tmp_path))
        return stacks[-1]

    yield set_up
    for stack in stacks:
        stack.engine.destroy()


@pytest.mark.parametrize(
    ("changes", "want"),
    [
        ({}, {"instance": "p6-b300.48xlarge", "nodes": 1, "efa": None, "pages": None}),
        # EFA on each of the 8 cards, and the huge pages that its driver wants: 5,128 of 2 MiB.
        (PAIR, {"instance": "p6-b200.48xlarge", "nodes": 2, "efa": "8", "pages": str(5128 * 2 * 1024 * 1024)}),
    ],
    ids=["one p6-b300", "two p6-b200"],
)
def test_groups_run_on_machines_of_the_node_group(
    deploy: Deploy, empty_plane: ControlPlane, changes: dict[str, Any], want: dict[str, Any]
) -> None:
    stack = deploy(**changes)
    step = stack.engine.up()
    assert step.ok, step.text

    nodes = {node["metadata"]["name"]: node for node in empty_plane.api.items("/api/v1/nodes")}
    gpus = {name: each for name, each in nodes.items() if "nvidia.com/gpu" in each["status"]["allocatable"]}
    assert len(gpus) == want["nodes"]
    for node in gpus.values():
        assert node["metadata"]["labels"]["node.kubernetes.io/instance-type"] == want["instance"]
        assert node["status"]["allocatable"]["nvidia.com/gpu"] == "8"
        assert node["status"]["allocatable"].get("vpc.amazonaws.com/efa") == want["efa"]
        pages = node["status"]["allocatable"].get("hugepages-2Mi")
        assert (pages and _bytes(pages)) == (want["pages"] and int(want["pages"]))
        assert [taint["key"] for taint in node["spec"]["taints"]] == ["nvidia.com/gpu"]

    pods = empty_plane.api.items(PODS, GROUP)
    assert sorted(pod["spec"]["nodeName"] for pod in pods) == sorted(gpus)

    again = stack.engine.up(expect_no_changes=True)
    assert again.ok, again.text
    destroyed = stack.engine.destroy()
    assert destroyed.ok, destroyed.text
    assert [each.kind for each in stack.stage.existing()] == ["Bucket", "CapacityBlock"]
    assert empty_plane.api.items("/api/v1/nodes") == []
    assert listed(empty_plane.api) == []


def _bytes(quantity: str) -> int:
    """Huge pages as the API server writes them: whole binary units."""
    units = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
    return int(quantity[:-2]) * units[quantity[-2:]] if quantity[-2:] in units else int(quantity)
