"""The storage account and who may use it: private, without keys, kept or deleted as told; and the ways to the GPUs."""

import re
from collections.abc import Mapping
from typing import Any

import pytest

from tests.azure.answers import ACCOUNT, ISSUER
from tests.azure.stack import THEIR_ACCOUNT, Changes, engine, engine_pod, environment, only, program
from tests.conftest import Mocks

REVISION = "9f62e4e9fffbd0a83ddd60e1c209d828994b3569"
FOLDER = f"moonshotai/Kimi-K3/{REVISION}"
STREAM: Changes = {"weights": {"delivery": "stream"}}
# https://learn.microsoft.com/azure/role-based-access-control/built-in-roles/storage
READ = "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1"
WRITE = "ba92f5b4-2d11-453d-a403-e96b0029c9fe"


def account(mocks: Mocks) -> Mapping[str, Any]:
    """Return the storage account's inputs."""
    return only(mocks.of("StorageAccount")).inputs


def role(mocks: Mocks, name: str) -> Mapping[str, Any]:
    """Return a role assignment's inputs."""
    return only(mocks.of("RoleAssignment"), name).inputs


def flag(container: Mapping[str, Any], name: str) -> str:
    """Return what follows a flag."""
    return container["args"][container["args"].index(name) + 1]


def copy_pod(mocks: Mocks) -> Mapping[str, Any]:
    """Return the pod template of the copy into the container."""
    return only(mocks.of("Job")).inputs["spec"]["template"]


def test_nobody_reads_or_writes_with_a_key_or_without_a_name() -> None:
    found = account(program())
    assert (found["allowSharedKeyAccess"], found["allowBlobPublicAccess"]) == (False, False)
    assert (found["enableHttpsTrafficOnly"], found["minimumTlsVersion"]) == (True, "TLS1_2")
    assert only(program().of("BlobContainer")).inputs["publicAccess"] == "None"


def test_only_the_nodes_subnet_reaches_the_account() -> None:
    mocks = program()
    rules = account(mocks)["networkRuleSet"]
    assert rules["defaultAction"] == "Deny"
    assert [each["virtualNetworkResourceId"] for each in rules["virtualNetworkRules"]] == [
        "network-vnet-id/subnets/nodes"
    ]


def test_no_blob_is_uploaded_by_the_provider_which_would_need_a_key() -> None:
    assert program().of("Blob") == []


def test_the_accounts_name_is_valid_the_same_in_previews_and_its_own_in_the_world() -> None:
    name = account(program())["accountName"]
    assert re.fullmatch("[a-z0-9]{3,24}", name)
    assert name.startswith("kimik3existing")
    assert account(program(unknown=True))["accountName"] == name
    assert account(program({"region": "westus3"}))["accountName"] != name


def test_the_weights_are_in_a_resource_group_of_their_own() -> None:
    # A resource group that is deleted takes everything in it along, whatever the stack wants to keep.
    mocks = program()
    groups = {each.name: each.inputs["resourceGroupName"] for each in mocks.of("ResourceGroup")}
    assert groups == {"group": "kimi-k3-existing", "weights-group": "kimi-k3-existing-weights"}
    assert account(mocks)["resourceGroupName"] == groups["weights-group"]
    others = {
        each.inputs["resourceGroupName"]
        for kind in ("ManagedCluster", "AgentPool", "VirtualNetwork", "UserAssignedIdentity")
        for each in mocks.of(kind)
    }
    assert others == {groups["group"]}


@pytest.mark.parametrize("keep", [True, False])
def test_group_account_and_container_are_kept_together_or_not_at_all(keep: bool) -> None:
    mocks = program({"weights": {"keep": keep}})
    parts = [only(mocks.of("ResourceGroup"), "weights-group"), *mocks.of("StorageAccount"), *mocks.of("BlobContainer")]
    assert [mocks.request(each).retainOnDelete for each in parts] == [keep] * 3
    assert not mocks.request(only(mocks.of("ResourceGroup"), "group")).retainOnDelete
    # Protected, it would stop `destroy` half way, with the nodes still billing.
    assert not mocks.request(parts[1]).protect


@pytest.mark.parametrize(
    ("name", "guid", "subject"), [("reader", READ, "kimi-k3:kimi-k3"), ("writer", WRITE, "kimi-k3:weights")]
)
def test_each_service_account_has_one_identity_with_one_right(name: str, guid: str, subject: str) -> None:
    mocks = program()
    right = role(mocks, f"weights-{name}-role")
    assert right["roleDefinitionId"].endswith(f"/roleDefinitions/{guid}")
    assert right["principalId"] == f"weights-{name}-identity-principal"
    # The container's, not the account's: whatever else will be in it is nobody's business here.
    assert right["scope"].endswith("/blobServices/default/containers/models")
    trust = only(mocks.of("FederatedIdentityCredential"), f"weights-{name}-trust").inputs
    assert trust["subject"] == f"system:serviceaccount:{subject}"
    assert (trust["issuer"], trust["audiences"]) == (ISSUER, ["api://AzureADTokenExchange"])
    # Entra refuses two that are written to one identity at once: each is alone on its own.
    assert trust["resourceName"] == f"weights-{name}"


def test_the_service_accounts_name_their_identities() -> None:
    mocks = program()
    found = {
        each.inputs["metadata"]["name"]: each.inputs["metadata"]["annotations"] for each in mocks.of("ServiceAccount")
    }
    assert found["kimi-k3"] == {"azure.workload.identity/client-id": "weights-reader-identity-client"}
    assert found["weights"] == {"azure.workload.identity/client-id": "weights-writer-identity-client"}


def test_every_pod_that_needs_a_token_has_the_label_without_which_it_silently_gets_none() -> None:
    mocks = program()
    for metadata in (
        engine_pod(mocks, "leader")["metadata"],
        engine_pod(mocks, "worker")["metadata"],
        copy_pod(mocks)["metadata"],
    ):
        assert metadata["labels"]["azure.workload.identity/use"] == "true"
    assert engine_pod(mocks, "worker")["spec"]["serviceAccountName"] == "kimi-k3"
    assert copy_pod(mocks)["spec"]["serviceAccountName"] == "weights"


def test_pods_have_their_rights_before_they_run() -> None:
    mocks = program()
    assert {"weights-writer-role", "weights-writer-trust", "weights-container"} <= mocks.before(only(mocks.of("Job")))
    group = mocks.before(only(mocks.of("LeaderWorkerSet")))
    assert {"weights-reader-role", "weights-reader-trust"} <= group


def test_the_copy_runs_on_the_cpu_nodes_alone() -> None:
    pod = copy_pod(program())["spec"]
    assert pod["nodeSelector"] == {"kubernetes.io/arch": "amd64"}
    assert "tolerations" not in pod
    (container,) = pod["containers"]
    assert flag(container, "--to") == f"az://models/{FOLDER}"
    variables = {entry["name"]: entry.get("value") for entry in container["env"]}
    assert variables["AZURE_STORAGE_ACCOUNT_NAME"] == account(program())["accountName"]


def test_by_default_each_rank_copies_the_weights_onto_its_nodes_disks() -> None:
    mocks = program()
    for part in ("leader", "worker"):
        (fetch,) = [each for each in engine_pod(mocks, part)["spec"]["initContainers"] if "fetch" in each["name"]]
        assert (flag(fetch, "--from"), flag(fetch, "--to")) == (f"az://models/{FOLDER}", f"/models/{FOLDER}")
        variables = {entry["name"]: entry.get("value") for entry in fetch["env"]}
        assert variables["AZURE_STORAGE_ACCOUNT_NAME"] == account(mocks)["accountName"]
        assert engine(mocks, part)["args"][0] == f"/models/{FOLDER}"
        assert flag(engine(mocks, part), "--load-format") == "fastsafetensors"


@pytest.mark.parametrize("part", ["leader", "worker"])
def test_streaming_replaces_the_loader_of_files(part: str) -> None:
    mocks = program(STREAM)
    # fastsafetensors knows no az://, and an URL doesn't name the account.
    assert engine(mocks, part)["args"][0] == f"az://models/{FOLDER}"
    assert flag(engine(mocks, part), "--load-format") == "runai_streamer"
    assert environment(mocks)["AZURE_STORAGE_ACCOUNT_NAME"] == account(mocks)["accountName"]


def test_an_account_of_the_persons_own_is_filled_and_not_managed() -> None:
    mocks = program(THEIR_ACCOUNT)
    assert [each.name for each in mocks.resources if "storage" in each.type] == []
    assert [each.name for each in mocks.of("ResourceGroup")] == ["group"]
    assert role(mocks, "weights-writer-role")["scope"] == f"{ACCOUNT}/blobServices/default/containers/models"
    (container,) = copy_pod(mocks)["spec"]["containers"]
    assert {"name": "AZURE_STORAGE_ACCOUNT_NAME", "value": "mymodels"} in container["env"]
