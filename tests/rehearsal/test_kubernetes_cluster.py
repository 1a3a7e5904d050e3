"""What the stand-in's cluster does when objects come, change and go."""

from pathlib import Path

import pytest

from rehearsal.fakes.account import Account, Ledger
from rehearsal.fakes.kubernetes.provider import KubernetesRules
from rehearsal.fakes.life_cycle import LifeCycle
from rehearsal.fakes.rules import RefusedError
from rehearsal.fakes.values import UNKNOWN, Properties, Secret, mapping
from tests.rehearsal.kubernetes_objects import (
    WIDGET_DEFINITION,
    asked,
    manifest,
    release,
    widget,
    write_chart,
    write_definitions,
)

_RULES = KubernetesRules()


@pytest.fixture
def account(tmp_path: Path) -> Account:
    return Account(tmp_path / "account.json")


@pytest.fixture
def life(account: Account) -> LifeCycle:
    return LifeCycle(_RULES, account)


def _names(account: Account) -> list[str]:
    return [thing.id for thing in account.ledger().things if not thing.left_because]


def test_a_name_is_generated_once_and_kept() -> None:
    unnamed = asked(manifest("v1", "ConfigMap", name=""), name="settings")
    first = _RULES.completed(unnamed, None)
    metadata = mapping(first["metadata"])
    assert str(metadata["name"]).startswith("settings-")
    assert len(str(metadata["name"])) == len("settings-") + 8
    assert metadata["annotations"] == {"pulumi.com/autonamed": "true"}
    assert _RULES.completed(unnamed, first) == first


def test_a_name_that_the_program_chose_stays() -> None:
    named = asked(manifest("v1", "ConfigMap", name="mine"))
    assert _RULES.completed(named, None) == named.inputs


@pytest.mark.parametrize("field", ["data", "stringData"])
def test_what_a_secret_holds_is_secret_even_if_the_program_did_not_say_so(field: str) -> None:
    completed = _RULES.completed(asked(manifest("v1", "Secret") | {field: {"k": "v"}}), None)
    assert completed[field] == Secret({"k": "v"})


@pytest.mark.parametrize("namespace", ["", "kube-system", "there"])
def test_a_namespace_that_is_there_takes_objects(life: LifeCycle, namespace: str) -> None:
    life.create(asked(manifest("v1", "Namespace", "there")), timeout=0)
    thing = life.create(asked(manifest("v1", "ConfigMap", namespace=namespace)), timeout=0)
    assert thing.id == f"{namespace or 'default'}/a"


def test_an_object_without_its_namespace_is_refused(life: LifeCycle) -> None:
    with pytest.raises(RefusedError, match='API server: namespaces "gone" not found'):
        life.create(asked(manifest("v1", "ConfigMap", namespace="gone")), timeout=0)


@pytest.mark.parametrize(
    ("inputs", "want"),
    [
        (manifest("v1", "Namespace"), 'namespaces "a" already exists'),
        (manifest("apps/v1", "Deployment"), 'deployments.apps "a" already exists'),
    ],
)
def test_a_name_that_is_taken_is_refused(life: LifeCycle, inputs: Properties, want: str) -> None:
    life.create(asked(inputs), timeout=0)
    with pytest.raises(RefusedError, match=want):
        life.create(asked(inputs, name="other"), timeout=0)


def test_the_same_name_in_another_namespace_or_kind_is_fine(account: Account, life: LifeCycle) -> None:
    for inputs in (
        manifest("v1", "ConfigMap"),
        manifest("v1", "ConfigMap", namespace="kube-system"),
        manifest("v1", "Secret"),
    ):
        life.create(asked(inputs), timeout=0)
    assert _names(account) == ["default/a", "kube-system/a", "default/a"]


def test_with_a_namespace_goes_all_that_is_in_it(account: Account, life: LifeCycle) -> None:
    for inputs in (
        manifest("v1", "Namespace", "kimi"),
        manifest("v1", "ConfigMap", namespace="kimi"),
        manifest("v1", "ConfigMap", namespace="kube-system"),
    ):
        life.create(asked(inputs), timeout=0)
    life.delete("kubernetes:core/v1:Namespace", "kimi")
    assert _names(account) == ["kube-system/a"]
    assert account.ledger().events[-2].text == "went with Namespace kimi"


def test_a_custom_object_before_its_definition_is_refused(life: LifeCycle) -> None:
    want = r'with kind example.com/v1/Widget failed.*no matches for kind "Widget" in version "example.com/v1"'
    with pytest.raises(RefusedError, match=want):
        life.create(asked(widget()), timeout=0)


def test_a_definition_brings_its_kind_and_takes_it_along(account: Account, life: LifeCycle) -> None:
    life.create(asked(WIDGET_DEFINITION), timeout=0)
    life.create(asked(widget()), timeout=0)
    life.delete("kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition", "widgets.example.com")
    assert _names(account) == []


def test_a_cluster_can_have_definitions_from_the_start(account: Account, life: LifeCycle) -> None:
    account.configure(served=["widgets.example.com"])
    assert life.create(asked(widget()), timeout=0).id == "default/a"


def test_a_load_balancer_gets_an_address_for_documentation(life: LifeCycle) -> None:
    service = manifest("v1", "Service", spec={"type": "LoadBalancer", "ports": [{"port": 80}]})
    outputs = life.create(asked(service), timeout=0).outputs
    status = mapping(mapping(outputs["status"])["loadBalancer"])
    assert str(status["ingress"]).startswith("[{'ip': '192.0.2.")


def test_a_preview_knows_no_status_and_no_uid() -> None:
    planned = _RULES.planned(asked(manifest("v1", "Service", spec={"type": "LoadBalancer"})))
    assert "status" not in planned
    assert set(mapping(planned["metadata"])) == {"name"}


def test_a_replacement_keeps_no_identity_but_an_update_does(life: LifeCycle) -> None:
    first = life.create(asked(manifest("v1", "ConfigMap", data={"a": "1"})), timeout=0).outputs
    second = life.update(asked(manifest("v1", "ConfigMap", data={"a": "2"})), "default/a")
    assert mapping(first["metadata"])["uid"] == mapping(second["metadata"])["uid"]


@pytest.mark.parametrize(
    ("kind", "api_version", "path", "replaces"),
    [
        ("ConfigMap", "v1", "data.a", True),
        ("ConfigMap", "v1", "metadata.labels.a", False),
        ("ConfigMap", "v1", "metadata.namespace", True),
        ("Job", "batch/v1", "spec.template.spec.containers[0].image", True),
        ("Deployment", "apps/v1", "spec.template.spec.containers[0].image", False),
        ("Deployment", "apps/v1", "spec.selector.matchLabels.app", True),
        ("LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", "spec.leaderWorkerTemplate.size", False),
        ("Service", "v1", "spec.ports[0].port", False),
    ],
)
def test_what_means_a_new_object(kind: str, api_version: str, path: str, replaces: bool) -> None:
    assert _RULES.replaces(asked(manifest(api_version, kind)), path) is replaces


def test_a_chosen_name_makes_a_replacement_delete_first() -> None:
    named, unnamed = manifest("v1", "ConfigMap"), asked(manifest("v1", "ConfigMap", name=""))
    generated = asked(_RULES.completed(unnamed, None))
    assert _RULES.deletes_first(asked(named), named)
    assert not _RULES.deletes_first(generated, generated.inputs)
    assert not _RULES.deletes_first(asked(named), manifest("v1", "ConfigMap", name="other"))


@pytest.mark.parametrize(
    ("inputs", "want"),
    [
        ({"chart": "lws", "version": "0.9.0"}, []),
        ({"chart": "oci://registry.k8s.io/lws/charts/lws", "version": "0.9.0"}, []),
        ({"chart": UNKNOWN, "version": UNKNOWN}, []),
        ({"chart": "{good}", "version": "v1.2.3-rc.1+build"}, []),
        ({"version": "0.9.0"}, ["chart is required; check"]),
        ({"chart": "/nowhere/lws", "version": "0.9.0"}, ['path "/nowhere/lws" not found; check']),
        ({"chart": "{empty}", "version": "0.9.0"}, ["Chart.yaml file is missing in"]),
        ({"chart": "lws"}, ["none is not an exact version"]),
        ({"chart": "lws", "version": ">= 0.9"}, [">= 0.9 is not an exact version"]),
    ],
)
def test_what_a_release_needs(inputs: Properties, want: list[str], tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    folders = {"{good}": str(write_chart(tmp_path / "lws")), "{empty}": str(tmp_path / "empty")}
    named = {key: folders.get(str(value), value) for key, value in inputs.items()}
    failures = _RULES.check(release(**named), {})
    assert len(failures) == len(want)
    assert all(f.reason.startswith(text) for f, text in zip(failures, want, strict=True))


def test_a_release_brings_its_charts_kinds_and_leaves_them(account: Account, life: LifeCycle, tmp_path: Path) -> None:
    chart = write_chart(tmp_path / "widgets", "widgets")
    write_definitions(chart / "crds")
    inputs = {"chart": str(chart), "version": "0.9.0", "namespace": "ops", "name": "w", "createNamespace": True}
    thing = life.create(release(**inputs), timeout=0)
    life.create(asked(widget(namespace="ops")), timeout=0)
    assert mapping(thing.outputs["status"])["version"] == "0.9.0"
    life.delete("kubernetes:example.com/v1:Widget", "ops/a")
    life.delete("kubernetes:helm.sh/v3:Release", thing.id)
    left = {thing.id: thing.left_because for thing in account.ledger().things}
    assert sorted(left) == ["ops", "widgets.example.com"]
    assert all(left.values())


def test_the_leader_worker_set_chart_is_known_wherever_it_comes_from(account: Account, life: LifeCycle) -> None:
    life.create(release(chart="oci://registry.k8s.io/lws/charts/lws", version="0.9.0", name="lws"), timeout=0)
    assert account.ledger().find(
        "kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition",
        "leaderworkersets.leaderworkerset.x-k8s.io",
    )


@pytest.mark.parametrize(
    ("inputs", "want"),
    [
        ({"namespace": "gone"}, 'namespaces "gone" not found'),
        ({}, "cannot re-use a name that is still in use"),
    ],
)
def test_releases_that_helm_refuses(life: LifeCycle, inputs: Properties, want: str) -> None:
    chart: Properties = {"chart": "lws", "version": "0.9.0", "name": "lws"}
    life.create(release(**chart), timeout=0)
    with pytest.raises(RefusedError, match=want):
        life.create(release(**chart, **inputs), timeout=0)


def test_a_release_gets_a_name_and_keeps_it() -> None:
    completed = _RULES.completed(release(chart="lws"), None)
    assert str(completed["name"]).startswith("chart-")
    assert _RULES.completed(release(chart="lws"), completed) == completed
    assert _RULES.replaces(release(), "namespace")
    assert not _RULES.replaces(release(), "values.replicaCount")


def test_functions_of_the_provider_are_not_played() -> None:
    with pytest.raises(RefusedError, match="helm:template"):
        _RULES.invoke("kubernetes:helm:template", {}, Ledger())
