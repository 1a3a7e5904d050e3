"""The whole program on Azure: equal previews and updates, what stands on what, parking, tags, secrets."""

import pytest

from tests.azure.answers import AzureAnswers
from tests.azure.stack import (
    GB200,
    H200,
    OVER_TCP,
    PUBLIC,
    RACK_OVER_INFINIBAND,
    RESERVED,
    TARGETED,
    THEIR_ACCOUNT,
    THEIR_SUBNET,
    Changes,
    gpu_nodes,
    only,
    program,
    registered,
)
from tests.conftest import Mocks, run_program
from tests.stacks import values

VARIANTS: dict[str, Changes] = {
    "default": {},
    "InfiniBand": RACK_OVER_INFINIBAND,
    "TCP": OVER_TCP,
    "GB200": GB200,
    "H200": H200,
    "reserved": RESERVED,
    "targeted": TARGETED,
    "public": PUBLIC,
    "their subnet": THEIR_SUBNET,
    "their account": THEIR_ACCOUNT,
    "internal, streamed and deleted": {
        "exposure": {"mode": "internal"},
        "weights": {"delivery": "stream", "keep": False},
        "cluster": {"publicAccessRanges": []},
    },
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
    assert found == {("azure-native", "azure"), ("kubernetes", "cluster-kubernetes")}


@pytest.mark.parametrize("changes", CASES)
def test_no_output_is_printed_into_an_input(changes: Changes) -> None:
    assert "Calling __str__" not in str([each.inputs for each in program(changes).resources])


@pytest.mark.parametrize("changes", [{"serve": False}, {"replicas": 0}])
def test_a_parked_stack_has_its_weights_and_no_gpu_node(changes: Changes) -> None:
    mocks = program(changes)
    assert (mocks.of("AgentPool"), mocks.of("LeaderWorkerSet"), mocks.of("GpuDrivers")) == ([], [], [])
    assert len(mocks.of("Job")) == 1


@pytest.mark.parametrize("known", [True, False])
def test_no_gpu_node_is_there_before_the_weights_are_complete(known: bool) -> None:
    mocks = program(unknown=not known)
    before = mocks.before(gpu_nodes(mocks))
    assert {"weights-model-job", "weights-reader-role", "weights-reader-trust"} <= before
    # And whatever else can fail is there too, before the first dollar.
    assert {"drivers-gpu-operator", "drivers-dra-driver-nvidia-gpu", "node-disks", "cluster-aks"} <= before


def test_the_draft_model_is_there_too_where_it_is_used() -> None:
    mocks = program({"serving": {"speculativeDecoding": True}})
    assert {"weights-model-job", "weights-draft-job"} <= mocks.before(gpu_nodes(mocks))


def test_destroy_ends_the_service_then_the_workload_then_the_gpu_nodes_then_the_rest() -> None:
    mocks = program({**TARGETED, "exposure": {"mode": "internal"}})
    # What stands on a thing is deleted before it.
    assert "kimi-k3-group" in mocks.before(only(mocks.of("Service")))
    # A pool that is drained with the model's pods on it fails at a PodDrainFailure (terraform-provider-azurerm #10411).
    assert {"gpu-pool", "kimi-k3-compute-domain"} <= mocks.before(only(mocks.of("LeaderWorkerSet")))
    # The pool leaves its reservation, that its group, and both the cluster whose identity used them.
    nodes = mocks.before(gpu_nodes(mocks))
    rest = {each.name for each in mocks.resources if each.type.split(":")[0] == "azure-native"}
    assert rest - nodes == {"gpu-pool"}
    assert {"capacity-group"} <= mocks.before(only(mocks.of("CapacityReservation"), "gpu-reservation"))


def test_everything_of_ours_goes_before_its_resource_group() -> None:
    mocks = program(TARGETED)
    for each in mocks.resources:
        if each.type.split(":")[0] == "azure-native" and each.inputs.get("resourceGroupName") == "kimi-k3-existing":
            assert each.name == "group" or "group" in mocks.before(each), each.name


def test_the_cluster_outlives_what_is_in_it() -> None:
    mocks = program()
    inside = [each for each in mocks.resources if each.type.startswith("kubernetes:")]
    assert len(inside) > 15
    assert [each.name for each in inside if "cluster-aks" not in mocks.before(each)] == []


def test_the_controller_of_the_groups_has_nodes_to_run_on() -> None:
    mocks = program()
    assert "cluster-aks" in mocks.before(only(mocks.of("Release"), "kimi-k3-lws-release"))


def tagged(mocks: Mocks) -> dict[str, dict[str, str]]:
    """Return the tags of everything that can have some, by name."""
    untaggable = ("RoleAssignment", "FederatedIdentityCredential", "BlobContainer")
    return {
        each.name: each.inputs.get("tags", {})
        for each in mocks.resources
        if each.type.startswith("azure-native:") and each.type.split(":")[-1] not in untaggable
    }


def test_everything_carries_the_tags_of_project_stack_owner_and_the_persons_own() -> None:
    found = tagged(program({**TARGETED, "tags": {"team": "inference"}}))
    want = {"project": "kimi-k3", "stack": "existing", "owner": "team@example.com", "team": "inference"}
    assert len(found) >= 9
    assert [name for name, tags in found.items() if not want.items() <= tags.items()] == []


def test_our_own_tags_win_and_no_name_has_what_azure_refuses() -> None:
    found = tagged(program({"tags": {"owner": "nobody", "example.com/team": "x"}}))
    assert found["group"]["owner"] == "team@example.com"
    assert found["group"]["example.com-team"] == "x"
    # https://learn.microsoft.com/azure/azure-resource-manager/management/tag-resources
    assert not [name for tags in found.values() for name in tags if set(name) & set("<>%&\\?/")]


def test_no_secret_is_in_an_input() -> None:
    secrets = {"apiKey": "sentinel-of-the-api", "hubToken": "sentinel-of-the-hub"}
    mocks = run_program(values("azure"), secrets=secrets, cloud=AzureAnswers())
    holders = {each.type.split(":")[-1] for each in mocks.resources if "sentinel" in str(each.inputs)}
    assert holders == {"Secret"}


def test_the_subscription_is_the_providers() -> None:
    chosen = "99999999-2222-3333-4444-555555555555"
    mocks = program({"subscription": chosen}, registered({}))
    provider = only([each for each in mocks.resources if each.type == "pulumi:providers:azure-native"])
    assert provider.inputs["subscriptionId"] == chosen
    roles = {each.inputs["roleDefinitionId"].split("/")[2] for each in mocks.of("RoleAssignment")}
    assert roles == {chosen}
