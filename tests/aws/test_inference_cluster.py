"""Several nodes a replica: what their pods ask for and say, so that NCCL talks over EFA and not over TCP."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.aws.answers import AwsAnswers
from tests.aws.stack import PAIR, PAIR_BLOCK, Changes, gpu_nodes, only, program
from tests.conftest import Mocks

ROLES = ("leaderTemplate", "workerTemplate")
EFA = "vpc.amazonaws.com/efa"
H200: Changes = {**PAIR, "machine": "p5en.48xlarge"}
H200_BLOCK: Mapping[str, Any] = {**PAIR_BLOCK, "instanceType": "p5en.48xlarge"}
H100: Changes = {**PAIR, "machine": "p5.48xlarge"}
H100_BLOCK: Mapping[str, Any] = {"instanceType": "p5.48xlarge", "instanceCount": 4}
B300_PAIR: Changes = {**PAIR, "machine": "p6-b300.48xlarge", "topology": {"pipelineParallel": 2, "tensorParallel": 8}}
B300_BLOCK: Mapping[str, Any] = {"instanceCount": 2}
SETS = [
    pytest.param(PAIR, PAIR_BLOCK, 2, 8, id="p6-b200"),
    pytest.param(H200, H200_BLOCK, 2, 16, id="p5en"),
    pytest.param(B300_PAIR, B300_BLOCK, 2, 16, id="p6-b300"),
    pytest.param(H100, H100_BLOCK, 4, 32, id="p5"),
]


def containers(mocks: Mocks) -> list[Mapping[str, Any]]:
    """Return the engine's container of leader and worker."""
    pods = only(mocks.of("LeaderWorkerSet")).inputs["spec"]["leaderWorkerTemplate"]
    return [pods[role]["spec"]["containers"][0] for role in ROLES]


def variables(container: Mapping[str, Any]) -> dict[str, str]:
    """Return the variables that have a value of their own."""
    return {entry["name"]: entry["value"] for entry in container["env"] if "value" in entry}


def flag(container: Mapping[str, Any], name: str) -> str:
    """Return what follows a flag."""
    return container["args"][container["args"].index(name) + 1]


@pytest.mark.parametrize(("changes", "block", "nodes", "adapters"), SETS)
def test_tensor_parallelism_stays_in_a_node_and_stages_are_nodes(
    changes: Changes, block: Mapping[str, Any], nodes: int, adapters: int
) -> None:
    del adapters
    mocks = program(changes, AwsAnswers(block=block))
    group = only(mocks.of("LeaderWorkerSet")).inputs["spec"]["leaderWorkerTemplate"]
    assert group["size"] == nodes
    assert gpu_nodes(mocks).inputs["scalingConfig"]["desiredSize"] == nodes
    for container in containers(mocks):
        sizes = [flag(container, name) for name in ("--tensor-parallel-size", "--pipeline-parallel-size", "--nnodes")]
        assert sizes == ["8", str(nodes), str(nodes)]


@pytest.mark.parametrize(("changes", "block", "nodes", "adapters"), SETS)
def test_every_rank_asks_for_all_adapters_of_its_node_and_for_huge_pages(
    changes: Changes, block: Mapping[str, Any], nodes: int, adapters: int
) -> None:
    del nodes
    mocks = program(changes, AwsAnswers(block=block))
    launched = only(mocks.of("LaunchTemplate")).inputs["networkInterfaces"]
    assert len([each for each in launched if each["interfaceType"] == "efa-only"]) == adapters
    for container in containers(mocks):
        # Kubernetes takes both only where request and limit are the same.
        for side in ("requests", "limits"):
            resources = container["resources"][side]
            assert (resources[EFA], resources["hugepages-2Mi"]) == (str(adapters), "5120Mi")


def test_both_ranks_talk_over_efa_and_their_log_says_so() -> None:
    for container in containers(program(PAIR, AwsAnswers(block=PAIR_BLOCK))):
        given = variables(container)
        assert (given["FI_PROVIDER"], given["FI_EFA_USE_DEVICE_RDMA"]) == ("efa", "1")
        # "NET/OFI" in the log is EFA, "NET/Socket" the TCP that NCCL falls back to without a word.
        assert (given["NCCL_DEBUG"], given["NCCL_DEBUG_SUBSYS"]) == ("INFO", "INIT,NET")
        # Among many adapters neither may guess which one has the address.
        assert (given["GLOO_SOCKET_IFNAME"], given["NCCL_SOCKET_IFNAME"]) == ("eth0", "eth0")


def test_on_p6_b300_nccl_is_kept_from_the_two_devices_that_are_not_efa() -> None:
    for container in containers(program(B300_PAIR, AwsAnswers(block=B300_BLOCK))):
        assert variables(container)["NCCL_IB_HCA"] == "rdmap"
    for container in containers(program(PAIR, AwsAnswers(block=PAIR_BLOCK))):
        assert "NCCL_IB_HCA" not in variables(container)


def test_a_node_alone_asks_for_no_adapter_and_no_huge_page() -> None:
    for container in containers(program()):
        assert not {EFA, "hugepages-2Mi"} & set(container["resources"]["limits"])
        assert "FI_PROVIDER" not in variables(container)


def test_an_image_of_the_persons_own_is_what_all_ranks_run() -> None:
    for container in containers(program(PAIR, AwsAnswers(block=PAIR_BLOCK))):
        assert container["image"] == "registry.example.com/vllm-efa:0.33.0"


def test_memory_is_locked_where_adapters_read_it_and_nowhere_else() -> None:
    over_efa = containers(program(PAIR, AwsAnswers(block=PAIR_BLOCK)))
    assert [each["securityContext"]["capabilities"].get("add") for each in over_efa] == [["IPC_LOCK"]] * 2
    assert [each["securityContext"]["capabilities"].get("add") for each in containers(program())] == [None] * 2


def test_a_groups_pods_are_on_nodes_of_their_own() -> None:
    mocks = program(PAIR, AwsAnswers(block=PAIR_BLOCK))
    pods = only(mocks.of("LeaderWorkerSet")).inputs["spec"]["leaderWorkerTemplate"]
    for role in ROLES:
        (term,) = pods[role]["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        assert term["topologyKey"] == "kubernetes.io/hostname"
