"""The whole program under recorded registrations: providers, order, unknowns, parking, secrets and errors."""

import json
import subprocess
import sys

import pulumi
import pytest

from components.serving import leader_worker_set_controller as controller
from components.settings import Mirror
from tests.conftest import PROJECT, run_program
from tests.stacks import values


def test_every_kubernetes_object_has_the_explicit_provider() -> None:
    for unknown in (False, True):
        mocks = run_program(values(machine="4xGB300", cluster={"nodes": 2}), unknown=unknown)
        ours = [entry for entry in mocks.resources if entry.type.startswith("kubernetes:")]
        assert len(ours) == 9
        assert {entry.provider.split("::")[-2] for entry in ours} == {"cluster"}


def test_the_provider_survives_another_kubeconfig_for_the_same_cluster() -> None:
    (provider,) = [entry for entry in run_program(values()).resources if entry.name == "cluster"]
    assert provider.inputs["clusterIdentifier"] == "kimi-k3-existing-gpu-cluster"
    assert provider.inputs["context"] == "gpu-cluster"


@pytest.mark.parametrize(
    "changes", [{}, {"exposure": {"mode": "internal"}}, {"machine": "4xGB300", "cluster": {"nodes": 2}}]
)
def test_nothing_is_made_inside_an_apply(changes: dict[str, object]) -> None:
    known, unknown = (run_program(values(**changes), unknown=flag) for flag in (False, True))
    assert sorted((entry.type, entry.name) for entry in known.resources) == sorted(
        (entry.type, entry.name) for entry in unknown.resources
    )


def test_owner_and_tags_are_on_everything_that_we_make() -> None:
    mocks = run_program(values(tags={"team": "inference (night)"}))
    ours = [entry.inputs["metadata"] for entry in mocks.resources if "metadata" in entry.inputs]
    # All but the controller's namespace, which is the chart's.
    mine = [metadata for metadata in ours if metadata["name"] != "lws-system"]
    assert len(mine) == 6
    assert {metadata["labels"]["team"] for metadata in mine} == {"inference--night"}
    assert {metadata["annotations"]["kimi-k3/owner"] for metadata in mine} == {"team@example.com"}


def test_no_output_is_printed_into_a_manifest() -> None:
    mocks = run_program(values())
    assert "Calling __str__" not in str([entry.inputs for entry in mocks.resources])


@pytest.mark.parametrize("changes", [{"serve": False}, {"replicas": 0}])
def test_a_parked_stack_makes_no_workload(changes: dict[str, object]) -> None:
    mocks = run_program(values(**changes))
    assert {entry.type.split(":")[-1] for entry in mocks.resources} == {"kubernetes", "Namespace"}


def test_a_namespace_that_was_there_is_left_alone() -> None:
    mocks = run_program(values(cluster={"createNamespace": False}))
    assert [entry.name for entry in mocks.of("Namespace")] == ["kimi-k3-lws-namespace"]


def test_a_controller_that_was_there_is_left_alone() -> None:
    assert run_program(values(cluster={"leaderWorkerSet": "present"})).of("Release") == []


def test_the_controllers_chart_is_pinned_and_can_come_from_a_mirror() -> None:
    (release,) = run_program(values()).of("Release")
    assert release.inputs["chart"] == "oci://registry.k8s.io/lws/charts/lws"
    assert release.inputs["version"] == "0.9.0"
    assert release.inputs["values"]["image"]["manager"]["tag"] == "v0.9.0"
    mirror = {"charts": "oci://registry.example.com/charts/", "images": "registry.example.com/mirror"}
    mocks = run_program(values(mirror=mirror))
    (release,) = mocks.of("Release")
    assert release.inputs["chart"] == "oci://registry.example.com/charts/lws"
    assert (
        release.inputs["values"]["image"]["manager"]["repository"]
        == "registry.example.com/mirror/registry.k8s.io/lws/lws"
    )
    (group,) = mocks.of("LeaderWorkerSet")
    assert '"registry.example.com/mirror/vllm/vllm-openai:v0.33.0"' in json.dumps(group.inputs)


def test_the_charts_values_are_keys_that_the_real_chart_has() -> None:
    # The keys of charts/lws/values.yaml in sigs.k8s.io/lws v0.9.0; Helm takes unknown ones without a word.
    known = {
        "image": {"manager": {"repository", "tag", "pullPolicy"}},
        "replicaCount": None,
        "resources": {"requests": {"cpu", "memory"}},
    }
    given = controller.values(Mirror())
    assert set(given) <= set(known)
    image, resources = given["image"], given["resources"]
    assert isinstance(image, dict)
    assert isinstance(resources, dict)
    assert set(image["manager"]) <= {"repository", "tag", "pullPolicy"}
    assert set(resources["requests"]) <= {"cpu", "memory"}


def test_a_faulty_stack_file_is_one_error_with_all_faults() -> None:
    with pytest.raises(pulumi.RunError) as caught:
        run_program(values(machine="8xB30", replicas=-1, owner=""))
    assert str(caught.value).startswith("3 faults in the stack's configuration; nothing was created:")


def test_a_secret_in_plain_text_is_refused_without_being_printed() -> None:
    with pytest.raises(pulumi.RunError) as caught:
        run_program(values(apiKey="sentinel-of-the-test", owner=""))
    assert "pulumi config set --secret kimi-k3:apiKey" in str(caught.value)
    assert "2 faults" in str(caught.value)
    assert "sentinel-of-the-test" not in str(caught.value)


def test_a_plain_key_that_was_encrypted_is_refused_without_being_printed() -> None:
    with pytest.raises(pulumi.RunError) as caught:
        run_program(values(), secrets={"owner": "sentinel-of-the-test"})
    assert "kimi-k3:owner" in str(caught.value)
    assert "sentinel-of-the-test" not in str(caught.value)


def test_no_cloud_sdk_is_loaded_for_an_existing_cluster() -> None:
    code = (
        "import sys, json; from tests.conftest import run_program; from tests.stacks import values; "
        "run_program(values()); print(json.dumps([m for m in sys.modules if m.startswith('pulumi_')]))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, check=True)  # noqa: S603
    loaded = {name.split(".")[0] for name in json.loads(done.stdout.splitlines()[-1])}
    assert loaded == {"pulumi_kubernetes"}
