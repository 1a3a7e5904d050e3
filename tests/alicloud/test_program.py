"""The whole program on Alibaba Cloud: previews and updates alike, what stands on what, parking, tags, secrets."""

from collections.abc import Mapping

import pytest

from tests.alicloud.answers import AlicloudAnswers
from tests.alicloud.stack import (
    BY_THE_HOUR,
    DISK,
    ERDMA,
    EXISTING_NETWORK,
    FOUR,
    FOUR_NODES,
    INTERNAL,
    KEYS,
    LINGJUN,
    LINGJUN_RDMA,
    MAINLAND,
    MAINLAND_ANSWERS,
    PUBLIC,
    RESERVE,
    STREAM,
    SWITCHES,
    Changes,
    gpu_nodes,
    only,
    program,
)
from tests.conftest import Mocks, run_program
from tests.stacks import values

Variant = tuple[Changes, AlicloudAnswers]
VARIANTS: Mapping[str, Variant] = {
    "default": ({}, AlicloudAnswers()),
    "four nodes": (FOUR, AlicloudAnswers(pools=FOUR_NODES)),
    "reserve": (RESERVE, AlicloudAnswers()),
    "by the hour": (BY_THE_HOUR, AlicloudAnswers()),
    "lingjun": (LINGJUN, AlicloudAnswers()),
    "lingjun over rdma": (LINGJUN_RDMA, AlicloudAnswers()),
    "internal": (INTERNAL, AlicloudAnswers()),
    "public": (PUBLIC, AlicloudAnswers()),
    "disk": (DISK, AlicloudAnswers()),
    "stream": (STREAM, AlicloudAnswers()),
    "erdma": (ERDMA, AlicloudAnswers()),
    "mainland": (MAINLAND, AlicloudAnswers(**MAINLAND_ANSWERS)),
    "existing network": (EXISTING_NETWORK, AlicloudAnswers(switches=SWITCHES)),
}
every_variant = pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)


def run(variant: Variant, *, unknown: bool = False) -> Mocks:
    changes, answers = variant
    return program(changes, answers, unknown=unknown, secrets=KEYS if changes is STREAM else None)


@every_variant
def test_previews_and_updates_make_the_same_resources(variant: Variant) -> None:
    known, unknown = (run(variant, unknown=flag) for flag in (False, True))
    assert len(known.resources) > 30
    assert sorted((each.type, each.name) for each in known.resources) == sorted(
        (each.type, each.name) for each in unknown.resources
    )


@every_variant
def test_every_resource_has_an_explicit_provider(variant: Variant) -> None:
    mocks = run(variant)
    made = [each for each in mocks.requests.values() if each.custom and not each.type.startswith("pulumi:providers:")]
    assert [request.name for request in made if not request.provider] == []
    found = {(request.type.split(":")[0], request.provider.split("::")[-2]) for request in made}
    assert found == {("alicloud", "alicloud"), ("kubernetes", "cluster-kubernetes")}


@every_variant
def test_no_output_is_printed_into_an_input(variant: Variant) -> None:
    assert "Calling __str__" not in str([each.inputs for each in run(variant).resources])


@every_variant
def test_nothing_is_a_subscription(variant: Variant) -> None:
    # Whatever is prepaid outlives `destroy`, and bills.
    mocks = run(variant)
    kinds = {each.type.split(":")[-1] for each in mocks.resources}
    assert kinds & {"ElasticityAssurance", "Node", "HyperNode", "RegistryEnterpriseInstance"} == set()
    said = str([each.inputs for each in mocks.resources])
    assert [word for word in ("PrePaid", "Subscription", "'period'", "autoRenew") if word in said] == []


@pytest.mark.parametrize("changes", [{"serve": False}, {"replicas": 0}, {**RESERVE, "serve": False}])
def test_a_parked_stack_has_its_weights_and_nothing_that_bills_by_the_gpu(changes: Changes) -> None:
    mocks = program(changes)
    assert [pool.name for pool in mocks.of("NodePool")] == ["cluster-system"]
    assert len(mocks.of("Job")) == 1
    assert mocks.of("LeaderWorkerSet") == []
    assert [
        each.name for each in mocks.resources if each.type == "alicloud:ecs/capacityReservation:CapacityReservation"
    ] == []
    assert [each.name for each in mocks.resources if each.name.startswith(("gpu", "private-pool"))] == []


@pytest.mark.parametrize("unknown", [False, True])
@pytest.mark.parametrize("changes", [{}, RESERVE, DISK, ERDMA, LINGJUN], ids=str)
def test_no_gpu_node_is_there_before_the_weights_are_complete(changes: Changes, unknown: bool) -> None:
    mocks = program({**changes, **INTERNAL}, unknown=unknown)
    before = mocks.before(gpu_nodes(mocks))
    assert {"weights-model-job", "weights-reader-attachment", "cluster-pod-identity", "cluster-system"} <= before
    assert "kimi-k3-group" not in before


def test_a_private_pool_of_our_own_bills_no_earlier_and_no_longer_than_its_nodes() -> None:
    mocks = program({**RESERVE, **INTERNAL})
    reservation = only(mocks.of("CapacityReservation"), "private-pool-reservation")
    assert "weights-model-job" in mocks.before(reservation)
    # Destroyed after the nodes: none of them goes on by the hour beside it.
    assert "private-pool-reservation" in mocks.before(gpu_nodes(mocks))


def test_destroy_ends_the_service_then_the_workload_then_the_gpu_nodes_then_the_rest() -> None:
    mocks = program(INTERNAL)
    service, workload = only(mocks.of("Service")), only(mocks.of("LeaderWorkerSet"))
    assert "kimi-k3-group" in mocks.before(service)
    assert "gpu-nodes" in mocks.before(workload)
    rest = {each.name for each in mocks.resources if each.type.startswith("alicloud:")}
    others = rest - mocks.before(gpu_nodes(mocks))
    # The load balancer's rules stand on the network alone, and the Service on them.
    callers = {f"load-balancer-callers-{index}" for index in range(3)}
    assert others == {"gpu-nodes", "load-balancer-group", *callers}
    assert others - {"gpu-nodes"} <= mocks.before(service)


def test_the_load_balancer_goes_while_its_controller_can_still_take_it_away() -> None:
    for changes in (INTERNAL, PUBLIC):
        mocks = program(changes)
        before = mocks.before(only(mocks.of("Service")))
        assert {"cluster-ack", "cluster-system", "network-nat", "network-way-out"} <= before


def test_whatever_runs_in_the_cluster_outlives_nothing_of_the_network() -> None:
    mocks = program()
    network = {each.name for each in mocks.resources if each.name.startswith("network-")}
    assert len(network) == 15
    for each in (only(mocks.of("ManagedKubernetes")), only(mocks.of("NodePool"), "cluster-system")):
        assert network - mocks.before(each) == set()


def test_pods_get_their_role_while_the_webhook_runs() -> None:
    mocks = program()
    job = mocks.before(only(mocks.of("Job")))
    assert {"cluster-pod-identity", "weights-writer-attachment", "weights-bucket", "weights-closed", "namespace"} <= job
    assert (
        only(mocks.of("Namespace"), "namespace").inputs["metadata"]["labels"]["pod-identity.alibabacloud.com/injection"]
        == "on"
    )


def test_the_controller_of_the_groups_has_nodes_to_run_on() -> None:
    mocks = program()
    assert "cluster-system" in mocks.before(only(mocks.of("Release"), "kimi-k3-lws-release"))


def test_everything_that_takes_tags_carries_project_stack_owner_and_the_persons_own() -> None:
    mocks = program({"tags": {"team": "inference"}, **PUBLIC, **RESERVE})
    want = {"project": "kimi-k3", "stack": "existing", "owner": "team@example.com", "team": "inference"}
    takes = {"Network", "Switch", "NatGateway", "EipAddress", "ManagedKubernetes", "NodePool", "Bucket", "Role"}
    takes |= {"Policy", "SecurityGroup"}
    made = [each for each in mocks.resources if each.type.startswith("alicloud:") and each.type.split(":")[-1] in takes]
    made.append(only(mocks.of("CapacityReservation"), "private-pool-reservation"))
    assert {each.type.split(":")[-1] for each in made} == {*takes, "CapacityReservation"}
    assert [each.name for each in made if not want.items() <= each.inputs["tags"].items()] == []
    assert only(mocks.of("Bucket")).inputs["tags"].keys() == {*want, "part-of", "managed-by"}


def test_our_own_tags_win() -> None:
    mocks = program({"tags": {"owner": "nobody@example.com"}})
    assert only(mocks.of("Bucket")).inputs["tags"]["owner"] == "team@example.com"


def test_no_secret_is_in_an_input_that_is_not_one() -> None:
    secrets = {"apiKey": "sentinel-of-the-api", "hubToken": "sentinel-of-the-hub", **KEYS}
    mocks = run_program(values("alicloud", **STREAM), secrets=secrets, cloud=AlicloudAnswers())
    holders = {each.type.split(":")[-1] for each in mocks.resources if "sentinel" in str(each.inputs)}
    assert holders == {"Secret", "kubernetes"}


def test_region_and_profile_are_the_providers() -> None:
    mocks = program({"profile": "inference"})
    provider = only([each for each in mocks.resources if each.type == "pulumi:providers:alicloud"])
    assert (provider.inputs["region"], provider.inputs["profile"]) == ("ap-southeast-1", "inference")
