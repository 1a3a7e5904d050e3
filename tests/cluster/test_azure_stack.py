"""The Azure stack in full depth: arm64 machines of an agent pool, and groups that stay in one NVLink domain."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from components.plan.hardware import CATALOGUE
from rehearsal.control_plane import compute_domain, nodes
from rehearsal.control_plane.control_plane import ControlPlane
from rehearsal.fakes.account import Account
from rehearsal.full_depth import listed, stage_on
from rehearsal.workspace import Workspace
from tests.rehearsed_stack import RehearsedStack, config_of, rehearsed
from toolchain import kubernetes_provider

pytestmark = pytest.mark.cluster

PODS = "/api/v1/namespaces/kimi-k3/pods"
GROUP = "leaderworkerset.sigs.k8s.io/name=kimi-k3"
SIZE = "Standard_ND128isr_GB300_v6"
Deploy = Callable[..., RehearsedStack]


@pytest.fixture
def deploy(empty_plane: ControlPlane, tmp_path: Path) -> Iterator[Deploy]:
    """Sets up the Azure stack with changes on a control plane without nodes; it is destroyed when the test is over."""
    stacks: list[RehearsedStack] = []

    def set_up(**changes: Any) -> RehearsedStack:
        config = config_of("azure", serving={"readyTimeoutMinutes": 3}, **changes)
        Workspace(tmp_path).create()
        stage = stage_on(empty_plane, kubernetes_provider.ensure(), config, tmp_path / "kubeconfig")
        stacks.append(rehearsed("azure", config, stage, tmp_path))
        return stacks[-1]

    yield set_up
    for stack in stacks:
        stack.engine.destroy()


def by_name(items: list[Any]) -> dict[str, Any]:
    """Return objects by their names."""
    return {each["metadata"]["name"]: each for each in items}


@pytest.mark.parametrize(
    ("changes", "size", "arch", "gpus"),
    [
        ({}, SIZE, "arm64", "4"),
        ({"machine": "Standard_ND96isr_H200_v5"}, "Standard_ND96isr_H200_v5", "amd64", "8"),
    ],
    ids=["two GB300", "two H200"],
)
def test_a_group_runs_on_the_machines_of_its_pool(
    deploy: Deploy, empty_plane: ControlPlane, changes: dict[str, Any], size: str, arch: str, gpus: str
) -> None:
    stack = deploy(**changes)
    step = stack.engine.up()
    assert step.ok, step.text

    found = by_name(empty_plane.api.items("/api/v1/nodes"))
    machines = {name: each for name, each in found.items() if "nvidia.com/gpu" in each["status"]["allocatable"]}
    assert (len(machines), len(found)) == (2, 4)
    for node in machines.values():
        labels = node["metadata"]["labels"]
        assert (labels["node.kubernetes.io/instance-type"], labels["kubernetes.io/arch"]) == (size, arch)
        assert node["status"]["allocatable"]["nvidia.com/gpu"] == gpus
        assert [taint["key"] for taint in node["spec"]["taints"]] == ["nvidia.com/gpu"]
    assert len({each["metadata"]["labels"].get("nvidia.com/gpu.clique") for each in machines.values()}) == 1

    pods = by_name(empty_plane.api.items(PODS, GROUP))
    assert sorted(pods) == ["kimi-k3-0", "kimi-k3-0-1"]
    assert sorted(pod["spec"]["nodeName"] for pod in pods.values()) == sorted(machines)
    again = stack.engine.up(expect_no_changes=True)
    assert again.ok, again.text

    destroyed = stack.engine.destroy()
    assert destroyed.ok, destroyed.text
    assert [each.kind for each in stack.stage.existing()] == ["ResourceGroup", "StorageAccount"]
    assert empty_plane.api.items("/api/v1/nodes") == []
    assert listed(empty_plane.api) == []


def spare(domain: str) -> dict[str, Any]:
    """Return one more GPU node in an NVLink domain, as the pool would have it."""
    machine = CATALOGUE[SIZE]
    shape = nodes.Machine(
        architecture=machine.architecture,
        cpu=machine.vcpus,
        memory_gb=int(machine.ram_gb),
        ephemeral_storage_gb=256,
        labels={"kimi-k3/pool": "gpu", compute_domain.CLIQUE_LABEL: domain},
        taints=[nodes.Taint(key="nvidia.com/gpu", value="present")],
    )
    return nodes.gpu_node("spare", shape, gpus=machine.gpus)


def test_a_group_is_never_split_over_two_racks(deploy: Deploy, empty_plane: ControlPlane) -> None:
    # Two groups of two on five machines: three in one rack, two in the other. The third of the larger rack stays free,
    # though one of its machines and one of the other rack are two as well.
    stack = deploy(replicas=2)
    Account(stack.engine.workspace.account).configure(cliques=["rack.a", "rack.a", "rack.a", "rack.b"])
    empty_plane.add_nodes([spare("rack.b")])
    step = stack.engine.up()
    assert step.ok, step.text

    found = by_name(empty_plane.api.items("/api/v1/nodes"))
    domains = {name: each["metadata"]["labels"].get("nvidia.com/gpu.clique") for name, each in found.items()}
    assert sorted(filter(None, domains.values())) == ["rack.a"] * 3 + ["rack.b"] * 2
    pods = by_name(empty_plane.api.items(PODS, GROUP))
    where = {name: domains[pod["spec"]["nodeName"]] for name, pod in pods.items()}
    assert where["kimi-k3-0"] == where["kimi-k3-0-1"]
    assert where["kimi-k3-1"] == where["kimi-k3-1-1"]
    assert where["kimi-k3-0"] != where["kimi-k3-1"]
    claims = empty_plane.api.items("/apis/resource.k8s.io/v1/namespaces/kimi-k3/resourceclaims")
    assert len([claim for claim in claims if claim["status"].get("reservedFor")]) == 4
