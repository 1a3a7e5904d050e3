"""The whole program on AWS: the same resources in previews and updates, what stands on what, parking, tags, secrets."""

import json

import pytest

from tests.aws.answers import AwsAnswers
from tests.aws.stack import (
    EXISTING_NETWORK,
    PAIR,
    PAIR_BLOCK,
    PUBLIC,
    SCHEDULED,
    SUBNETS,
    Changes,
    gpu_nodes,
    only,
    program,
)
from tests.conftest import Mocks, run_program
from tests.stacks import values

VARIANTS: list[tuple[Changes, AwsAnswers]] = [
    ({}, AwsAnswers()),
    ({"exposure": {"mode": "internal"}, "weights": {"delivery": "stream", "keep": False}}, AwsAnswers()),
    (PUBLIC, AwsAnswers()),
    (PAIR, AwsAnswers(block=PAIR_BLOCK)),
    ({}, AwsAnswers(block=SCHEDULED)),
    ({"capacity": {"mode": "none", "id": None, "zone": "us-west-2c"}}, AwsAnswers()),
    (EXISTING_NETWORK, AwsAnswers(subnets=SUBNETS)),
    ({"cluster": {"admins": ["arn:aws:iam::111122223333:role/platform"], "publicAccessRanges": []}}, AwsAnswers()),
]
IDS = ["default", "internal and stream", "public", "two nodes", "scheduled", "on demand", "existing network", "private"]


@pytest.mark.parametrize(("changes", "answers"), VARIANTS, ids=IDS)
def test_previews_and_updates_make_the_same_resources(changes: Changes, answers: AwsAnswers) -> None:
    known, unknown = (program(changes, answers, unknown=flag) for flag in (False, True))
    assert len(known.resources) > 30
    assert sorted((each.type, each.name) for each in known.resources) == sorted(
        (each.type, each.name) for each in unknown.resources
    )


@pytest.mark.parametrize(("changes", "answers"), VARIANTS, ids=IDS)
def test_every_resource_has_an_explicit_provider(changes: Changes, answers: AwsAnswers) -> None:
    mocks = program(changes, answers)
    # A component of a package, such as the EKS cluster, needs a provider like any resource (pulumi/pulumi #13071).
    made = [request for request in mocks.requests.values() if request.custom or request.remote]
    made = [request for request in made if not request.type.startswith("pulumi:providers:")]
    found = {(request.type.split(":")[0], request.provider.split("::")[-2]) for request in made if request.provider}
    assert [request.name for request in made if not request.provider] == []
    assert found == {("aws", "aws"), ("kubernetes", "cluster-kubernetes"), ("eks", "cluster-eks-provider")}
    eks = mocks.request(only(mocks.of("Cluster"), "cluster-eks"))
    assert eks.providers["aws"].split("::")[-2] == "aws"


@pytest.mark.parametrize(("changes", "answers"), VARIANTS, ids=IDS)
def test_no_output_is_printed_into_an_input(changes: Changes, answers: AwsAnswers) -> None:
    mocks = program(changes, answers)
    assert "Calling __str__" not in str([each.inputs for each in mocks.resources])


@pytest.mark.parametrize(("changes", "answers"), VARIANTS, ids=IDS)
def test_nothing_is_bought_by_a_stack_that_serves(changes: Changes, answers: AwsAnswers) -> None:
    mocks = program(changes, answers)
    assert [
        each.type for each in mocks.resources if "apacityBlock" in each.type or "ec2/capacityRes" in each.type
    ] == []
    assert "getCapacityBlockOffering" not in [question for question, _ in answers.asked]


@pytest.mark.parametrize("changes", [{"serve": False}, {"replicas": 0}])
def test_a_parked_stack_has_its_weights_and_no_gpu_node(changes: Changes) -> None:
    mocks = program(changes)
    assert [group.name for group in mocks.of("NodeGroup")] == ["cluster-system"]
    assert len(mocks.of("Job")) == 1
    assert (mocks.of("LaunchTemplate"), mocks.of("LeaderWorkerSet")) == ([], [])


def served(*, unknown: bool = False) -> Mocks:
    return program({"exposure": {"mode": "internal"}}, unknown=unknown)


@pytest.mark.parametrize("known", [True, False])
def test_no_gpu_node_is_there_before_the_weights_are_complete(known: bool) -> None:
    mocks = served(unknown=not known)
    before = mocks.before(gpu_nodes(mocks))
    assert {"weights-model-job", "weights-reader-policy", "weights-reader-association"} <= before
    # And whatever else can fail is there too, before the first dollar.
    assert {"drivers-nvidia-device-plugin", "load-balancers-release", "cluster-coredns", "cluster-system"} <= before


def test_destroy_ends_the_service_then_the_workload_then_the_gpu_nodes_then_the_rest() -> None:
    mocks = served()
    service = mocks.before(only(mocks.of("Service")))
    workload = mocks.before(only(mocks.of("LeaderWorkerSet")))
    nodes = mocks.before(gpu_nodes(mocks))
    # What stands on a thing is deleted before it.
    assert "kimi-k3-group" in service
    assert "gpu-nodes" in workload
    rest = {each.name for each in mocks.resources if each.type.split(":")[0] in ("aws", "eks")}
    assert rest - nodes == {"gpu-nodes"}


def test_the_load_balancer_goes_while_its_controller_can_still_take_it_away() -> None:
    for changes in ({"exposure": {"mode": "internal"}}, PUBLIC):
        mocks = program(changes)
        entrance = only(mocks.of("Ingress" if changes is PUBLIC else "Service"))
        before = mocks.before(entrance)
        assert {"load-balancers-release", "load-balancers-policy", "load-balancers-association"} <= before
        # Nor can it without a way to AWS' API.
        assert {"network-nat", "network-private-routes", "network-private-routes-0", "cluster-system"} <= before


def test_whatever_runs_in_the_cluster_outlives_nothing_of_the_network() -> None:
    mocks = served()
    network = {each.name for each in mocks.resources if each.name.startswith("network-")}
    assert len(network) == 15
    for each in (only(mocks.of("Cluster"), "cluster-eks"), only(mocks.of("NodeGroup"), "cluster-system")):
        assert network - mocks.before(each) == set()


def test_pods_get_their_identity_while_its_agent_runs() -> None:
    mocks = program()
    job = mocks.before(only(mocks.of("Job")))
    assert {"cluster-eks-pod-identity-agent", "weights-writer-policy", "weights-writer-association"} <= job
    assert {"weights-bucket", "weights-closed", "namespace"} <= job
    workload = mocks.before(only(mocks.of("LeaderWorkerSet")))
    assert {"cluster-eks-pod-identity-agent", "weights-reader-policy", "weights-reader-association"} <= workload


def test_the_controller_of_the_groups_has_nodes_to_run_on() -> None:
    mocks = program()
    assert "cluster-system" in mocks.before(only(mocks.of("Release"), "kimi-k3-lws-release"))


def test_everything_carries_the_tags_of_project_stack_owner_and_the_persons_own() -> None:
    mocks = program({"tags": {"team": "inference"}})
    want = {"project": "kimi-k3", "stack": "existing", "owner": "team@example.com", "team": "inference"}
    provider = only([each for each in mocks.resources if each.type == "pulumi:providers:aws"])
    tags = json.loads(provider.inputs["defaultTags"])["tags"]
    assert want.items() <= tags.items()
    # The nodes are made by Auto Scaling, which a provider's default tags don't reach.
    (template,) = mocks.of("LaunchTemplate")
    launched = {each["resourceType"]: each["tags"] for each in template.inputs["tagSpecifications"]}
    assert launched == dict.fromkeys(("instance", "volume", "network-interface"), tags)


def test_the_tags_are_the_same_in_each_run() -> None:
    first, second = (
        only([each for each in program().resources if each.type == "pulumi:providers:aws"]).inputs for _ in range(2)
    )
    assert first == second
    assert set(json.loads(first["defaultTags"])["tags"]) == {"project", "stack", "owner", "part-of", "managed-by"}


def test_our_own_tags_win() -> None:
    mocks = program({"tags": {"owner": "nobody@example.com"}})
    provider = only([each for each in mocks.resources if each.type == "pulumi:providers:aws"])
    assert json.loads(provider.inputs["defaultTags"])["tags"]["owner"] == "team@example.com"


def test_no_secret_is_in_an_input() -> None:
    secrets = {"apiKey": "sentinel-of-the-api", "hubToken": "sentinel-of-the-hub"}
    mocks = run_program(values("aws"), secrets=secrets, cloud=AwsAnswers())
    holders = {each.type.split(":")[-1] for each in mocks.resources if "sentinel" in str(each.inputs)}
    assert holders == {"Secret"}


def test_the_profile_is_the_providers_and_the_kubeconfigs() -> None:
    mocks = program({"profile": "inference"})
    provider = only([each for each in mocks.resources if each.type == "pulumi:providers:aws"])
    assert provider.inputs["profile"] == "inference"
    eks = only(mocks.of("Cluster"), "cluster-eks")
    assert eks.inputs["providerCredentialOpts"] == {"profileName": "inference"}


def test_the_cluster_is_the_same_to_kubernetes_whatever_its_kubeconfig_says() -> None:
    provider = only([each for each in program().resources if each.type == "pulumi:providers:kubernetes"])
    assert provider.inputs["clusterIdentifier"] == "kimi-k3-existing"
