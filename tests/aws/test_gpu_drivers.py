"""The device plugins: GPUs are seen on every node, EFA adapters only where there are any."""

from collections.abc import Mapping
from typing import Any

from components.aws.gpu_drivers import device_plugin_values, efa_plugin_values
from components.settings import Mirror
from tests.aws.answers import AwsAnswers
from tests.aws.stack import PAIR, PAIR_BLOCK, Changes, only, program

TCP: Changes = {"machine": "p6-b200.48xlarge", "topology": {"interconnect": "tcp"}}


def plugins(changes: Changes | None = None, block: Mapping[str, Any] | None = None) -> dict[str, Mapping[str, Any]]:
    """Return the releases of the plugins by chart."""
    mocks = program(changes, AwsAnswers(block=block or {}))
    return {each.inputs["chart"]: each.inputs for each in mocks.of("Release") if each.name.startswith("drivers-")}


def test_a_node_alone_has_no_efa_plugin() -> None:
    # It dies where there is no adapter, and Helm would wait for it.
    assert set(plugins()) == {"nvidia-device-plugin"}


def test_several_nodes_over_efa_have_both() -> None:
    found = plugins(PAIR, PAIR_BLOCK)
    assert set(found) == {"nvidia-device-plugin", "aws-efa-k8s-device-plugin"}
    # Old versions don't know P6 (terraform-aws-eks-data-addons #53); this one names its machines (eks-charts).
    assert found["aws-efa-k8s-device-plugin"]["version"] == "v0.5.30"


def test_several_nodes_over_tcp_have_no_efa_plugin_and_no_adapter() -> None:
    assert set(plugins(TCP, PAIR_BLOCK)) == {"nvidia-device-plugin"}
    mocks = program(TCP, AwsAnswers(block=PAIR_BLOCK))
    assert "networkInterfaces" not in only(mocks.of("LaunchTemplate")).inputs


def test_the_efa_plugin_tolerates_our_taint_and_keeps_its_own_toleration() -> None:
    # The chart's list is replaced, not extended: without the first the plugin would lose what it had.
    assert efa_plugin_values(Mirror())["tolerations"] == [
        {"key": "CriticalAddonsOnly", "operator": "Exists"},
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
    ]


def test_no_plugin_is_there_while_the_stack_is_parked() -> None:
    assert plugins({"serve": False}) == {}


def test_images_can_come_from_a_mirror() -> None:
    mirror = Mirror(images="registry.example.com/mirror")
    plugin = {"repository": "registry.example.com/mirror/nvcr.io/nvidia/k8s-device-plugin"}
    assert device_plugin_values(mirror) == {"image": plugin}
    image = efa_plugin_values(mirror)["image"]
    assert isinstance(image, dict)
    assert image["repository"].startswith("registry.example.com/mirror/")
    assert image["repository"].endswith("/eks/aws-efa-k8s-device-plugin")


def test_charts_are_pinned_and_waited_for() -> None:
    # A Release waits for its pods by default; helm.v4's Chart would differ on each render of the controller's.
    for release in plugins(PAIR, PAIR_BLOCK).values():
        assert release["skipAwait"] is False
        assert release["version"].strip("v")[0].isdigit()
