"""The whole program on GCP: equal previews and updates, what stands on what, parking, labels, secrets."""

import json

import pytest

from tests.conftest import Mocks, run_program
from tests.gcp.answers import GcpAnswers
from tests.gcp.stack import (
    A4,
    EXISTING_NETWORK,
    FLEX,
    GATEWAY,
    GB200,
    H100,
    H200,
    PUBLIC,
    Changes,
    control_plane,
    only,
    program,
)
from tests.stacks import values

VARIANTS: dict[str, Changes] = {
    "default": {},
    "GB200": GB200,
    "B200": A4,
    "H200": H200,
    "H100": H100,
    "flex-start": FLEX,
    "public": PUBLIC,
    "gateway": GATEWAY,
    "existing network": EXISTING_NETWORK,
    "internal, streamed and deleted": {
        "exposure": {"mode": "internal"},
        "weights": {"delivery": "stream", "keep": False},
    },
    "mounted, private, by token": {
        "weights": {"delivery": "mount"},
        "cluster": {"publicAccessRanges": [], "kubeconfig": "token"},
    },
    "a bucket of theirs": {"weights": {"bucket": "my-models", "source": "gs://others/kimi-k3"}},
}
CASES = [pytest.param(changes, id=name) for name, changes in VARIANTS.items()]


@pytest.mark.parametrize("changes", CASES)
def test_previews_and_updates_make_the_same_resources(changes: Changes) -> None:
    known, unknown = (program(changes, unknown=flag) for flag in (False, True))
    assert len(known.resources) > 30
    assert sorted((each.type, each.name) for each in known.resources) == sorted(
        (each.type, each.name) for each in unknown.resources
    )


@pytest.mark.parametrize("changes", CASES)
def test_every_resource_has_an_explicit_provider(changes: Changes) -> None:
    mocks = program(changes)
    made = [request for request in mocks.requests.values() if request.custom]
    made = [request for request in made if not request.type.startswith("pulumi:providers:")]
    assert [request.name for request in made if not request.provider] == []
    found = {(request.type.split(":")[0], request.provider.split("::")[-2]) for request in made}
    assert found == {("gcp", "gcp"), ("kubernetes", "cluster-kubernetes")}


@pytest.mark.parametrize("changes", CASES)
def test_no_output_is_printed_into_an_input(changes: Changes) -> None:
    assert "Calling __str__" not in str([each.inputs for each in program(changes).resources])


@pytest.mark.parametrize("changes", CASES)
def test_a_stack_that_serves_asks_for_no_reservation(changes: Changes) -> None:
    assert [
        each.type for each in program(changes).resources if "eservation:" in each.type and "gcp:compute" in each.type
    ] == []


@pytest.mark.parametrize("changes", [{"serve": False}, {"replicas": 0}])
def test_a_parked_stack_has_its_weights_and_no_gpu_node(changes: Changes) -> None:
    mocks = program(changes)
    assert [pool.name for pool in mocks.of("NodePool")] == ["cluster-system"]
    assert len(mocks.of("Job")) == 1
    assert (mocks.of("ResourcePolicy"), mocks.of("LeaderWorkerSet"), mocks.of("DaemonSet")) == ([], [], [])


@pytest.mark.parametrize("known", [True, False])
def test_no_gpu_node_is_there_before_the_weights_are_complete(known: bool) -> None:
    mocks = program(unknown=not known)
    before = mocks.before(only(mocks.of("NodePool"), "gpu-nodes"))
    assert {"weights-model-job", "weights-reader-role", "kimi-k3-account"} <= before
    # And whatever else can fail is there too, before the first dollar.
    assert {
        "drivers-dra-driver-nvidia-gpu",
        "drivers-quota",
        "drivers-asapd-lite",
        "gpu-rack",
        "cluster-system",
    } <= before


def test_the_draft_model_is_there_before_the_gpu_nodes_too() -> None:
    mocks = program({"serving": {"speculativeDecoding": True}})
    assert {"weights-model-job", "weights-draft-job"} <= mocks.before(only(mocks.of("NodePool"), "gpu-nodes"))


def test_the_gateway_is_there_before_the_gpu_nodes_and_goes_after_the_workload() -> None:
    mocks = program(GATEWAY)
    parts = {"gateway-inferencepool", "gateway-gateway", "gateway-httproute", "gateway-gcpbackendpolicy"}
    assert parts <= mocks.before(only(mocks.of("NodePool"), "gpu-nodes"))


def test_destroy_ends_the_service_then_the_workload_then_the_gpu_nodes_then_the_rest() -> None:
    mocks = program({"exposure": {"mode": "internal"}})
    # What stands on a thing is deleted before it.
    assert "kimi-k3-group" in mocks.before(only(mocks.of("Service")))
    assert {"gpu-nodes", "kimi-k3-compute-domain"} <= mocks.before(only(mocks.of("LeaderWorkerSet")))
    nodes = mocks.before(only(mocks.of("NodePool"), "gpu-nodes"))
    rest = {each.name for each in mocks.resources if each.type.split(":")[0] == "gcp"}
    assert rest - nodes == {"gpu-nodes"}


def test_the_network_outlives_the_cluster_whose_leftovers_hold_it() -> None:
    mocks = program()
    network = {each.name for each in mocks.resources if each.name.startswith("network-")}
    assert network == {"network-vpc", "network-subnet", "network-router", "network-nat"}
    assert network <= mocks.before(only(mocks.of("Cluster"), "cluster-gke"))
    # GKE takes endpoint groups and firewall rules away some time after the cluster (provider #5948, #7637).
    for kind, name in (("Network", "network-vpc"), ("Subnetwork", "network-subnet")):
        assert mocks.request(only(mocks.of(kind), name)).customTimeouts.delete == "40m"


def test_the_load_balancers_finalizer_has_a_cluster_to_run_in() -> None:
    mocks = program({"exposure": {"mode": "internal"}})
    assert {"cluster-gke", "cluster-system", "network-subnet"} <= mocks.before(only(mocks.of("Service")))


def test_pods_have_their_rights_before_they_run() -> None:
    mocks = program()
    job = mocks.before(only(mocks.of("Job")))
    assert {"weights-writer-role", "weights-account", "weights-bucket", "namespace", "cluster-system"} <= job
    assert "weights-reader-role" in mocks.before(only(mocks.of("LeaderWorkerSet")))


def test_a_role_is_given_early_enough_to_be_known_everywhere_when_pods_run() -> None:
    mocks = program()
    role = mocks.before(only(mocks.of("BucketIAMMember"), "weights-writer-role"))
    # The pool of identities comes with the cluster; the CPU nodes take minutes more, which the role doesn't wait for.
    assert "cluster-gke" in role
    assert "cluster-system" not in role


def test_the_controller_of_the_groups_has_nodes_to_run_on() -> None:
    mocks = program()
    assert "cluster-system" in mocks.before(only(mocks.of("Release"), "kimi-k3-lws-release"))


def provider_inputs(mocks: Mocks) -> dict[str, str]:
    """Return the provider's inputs."""
    return dict(only([each for each in mocks.resources if each.type == "pulumi:providers:gcp"]).inputs)


def test_everything_carries_the_labels_of_project_stack_owner_and_the_persons_own() -> None:
    mocks = program({"tags": {"team": "Inference & Co."}})
    labels = json.loads(provider_inputs(mocks)["defaultLabels"])
    want = {
        "project": "kimi-k3",
        "stack": "existing",
        # Google takes small letters, digits, _ and - alone.
        "owner": "team_example_com",
        "team": "inference___co_",
        "part-of": "kimi-k3",
        "managed-by": "pulumi",
    }
    assert labels == want
    # The machines are made by GKE, which the provider's own labels don't reach.
    for pool in mocks.of("NodePool"):
        assert pool.inputs["nodeConfig"]["resourceLabels"] == want
    assert control_plane(mocks)["resourceLabels"] == want


def test_our_own_labels_win() -> None:
    labels = json.loads(provider_inputs(program({"tags": {"owner": "nobody"}}))["defaultLabels"])
    assert labels["owner"] == "team_example_com"


def test_an_environments_policy_cannot_make_destroy_forget_what_bills() -> None:
    # ABANDON from GOOGLE_DELETION_POLICY or the like would leave everything running.
    assert provider_inputs(program())["deletionPolicy"] == "DELETE"


def test_no_secret_is_in_an_input() -> None:
    secrets = {"apiKey": "sentinel-of-the-api", "hubToken": "sentinel-of-the-hub"}
    mocks = run_program(values("gcp"), secrets=secrets, cloud=GcpAnswers())
    holders = {each.type.split(":")[-1] for each in mocks.resources if "sentinel" in str(each.inputs)}
    assert holders == {"Secret"}


def test_the_cluster_is_the_same_to_kubernetes_whatever_its_kubeconfig_says() -> None:
    provider = only([each for each in program().resources if each.type == "pulumi:providers:kubernetes"])
    assert provider.inputs["clusterIdentifier"] == "kimi-k3-existing"
