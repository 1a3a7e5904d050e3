"""What the stand-in for Kubernetes refuses of a manifest before anything is made."""

from pathlib import Path

import pytest

from rehearsal.fakes.kubernetes.definitions import definitions_in
from rehearsal.fakes.kubernetes.kinds import Kind, kind_of
from rehearsal.fakes.kubernetes.provider import KubernetesRules
from rehearsal.fakes.rules import Failure
from rehearsal.fakes.values import UNKNOWN, Properties, Secret
from tests.rehearsal.kubernetes_objects import asked, manifest, pod, widget, write_definitions

_RULES = KubernetesRules()
_GPU = "nvidia.com/gpu"
_MOUNT = {"volumeMounts": [{"name": "cache", "mountPath": "/c"}]}


def _failures(inputs: Properties, **settings: object) -> list[Failure]:
    return _RULES.check(asked(inputs), settings)


@pytest.mark.parametrize(
    "inputs",
    [
        manifest("v1", "Namespace"),
        manifest("v1", "ConfigMap", data={"a": "b"}),
        manifest("v1", "Secret", stringData=Secret({"k": "v"})),
        manifest("v1", "Service", spec={"type": "LoadBalancer", "ports": [{"port": 80, "targetPort": "http"}]}),
        manifest("v1", "Service", spec={"ports": [{"port": UNKNOWN}], "selector": UNKNOWN}),
        manifest("rbac.authorization.k8s.io/v1", "Role", rules=[]),
        manifest("batch/v1", "Job", spec={"template": {"spec": {"containers": [{"name": "a", "image": UNKNOWN}]}}}),
        pod(resources={"requests": {_GPU: "8"}, "limits": {_GPU: 8}}, imagePullPolicy="IfNotPresent"),
        pod(resources={"requests": {"cpu": "500m", "memory": "1.5Gi", "ephemeral-storage": "1e3"}}),
        widget(),
        widget(port="http", policy="Drop", free={"any": 1}, labels={"a": "b"}, note=None, parts=[{"id": "x"}]),
        widget(size=UNKNOWN, parts=UNKNOWN),
        widget(template={"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "a"}]}}),
    ],
)
def test_accepts(inputs: Properties, tmp_path: Path) -> None:
    assert _failures(inputs, definitions=[str(write_definitions(tmp_path))]) == []


@pytest.mark.parametrize(
    ("inputs", "path", "reason"),
    [
        (manifest("v1", "Service", spec={"prots": []}), "spec", "unknown field 'prots': did you mean 'ports'?"),
        (manifest("v1", "Service", spec={"ports": [{"port": "x"}]}), "spec.ports[0].port", "'x' is not of type"),
        (manifest("v1", "ConfigMap", data={"a": 1}), "data.a", "1 is not of type 'string'"),
        (manifest("v1", "Servize"), "kind", 'no matches for kind "Servize" in version "v1"'),
        (manifest("apps/v1beta1", "Deployment"), "kind", 'no matches for kind "Deployment" in version "apps/v1beta1"'),
        (manifest("v1", "PodList"), "", "list resources exist for compatibility"),
        (manifest("v1", "Secret", stringData=Secret({"k": 5})), "stringData.k", "0 is not of type 'string'"),
        (manifest("v1", "Secret", stringData=Secret(["hush"])), "stringData", "['[secret]'] is not of type"),
        (manifest("v1", "Namespace", name="Kimi_K3"), "metadata.name", 'Invalid value: "Kimi_K3"'),
        (manifest("v1", "ConfigMap", name="a" * 254), "metadata.name", "must be no more than 253 characters"),
        (pod(imagePullPolicy="Sometimes"), "spec.containers[0].imagePullPolicy", 'Unsupported value: "Sometimes"'),
        (pod(ports=[{"containerPort": 99999}]), "spec.containers[0].ports[0].containerPort", "Invalid value: 99999"),
        (
            pod(resources={"requests": {"memory": "64GB"}}),
            'spec.containers[0].resources.requests["memory"]',
            '"64GB": quantities must',
        ),
        (
            pod(resources={"requests": {_GPU: 8}}),
            f'spec.containers[0].resources.limits["{_GPU}"]',
            "Limit must be set for non overcommitable resources",
        ),
        (
            pod(resources={"requests": {_GPU: 4}, "limits": {_GPU: 8}}),
            f'spec.containers[0].resources.requests["{_GPU}"]',
            f"must be equal to {_GPU} limit of 8",
        ),
        (pod(**_MOUNT), "spec.containers[0].volumeMounts[0].name", 'Not found: "cache"'),
        (
            manifest("v1", "Pod", spec={"containers": [{"name": "a"}, {"name": "a"}]}),
            "spec.containers[1].name",
            'Duplicate value: "a"',
        ),
        (widget(size=0), "spec.size", "0 is less than the minimum of 1"),
        (widget(policy="Kept"), "spec.policy", "'Kept' is not one of ['Keep', 'Drop']"),
        (widget(sise=1), "spec", "unknown field 'sise': did you mean 'size'?"),
        (widget(parts=[{"ID": "x"}]), "spec.parts[0]", "unknown field 'ID': known: id"),
        (widget(port=[1]), "spec.port", "[1] is not of type"),
        (manifest("example.com/v1", "Widget"), "", "'spec' is a required property"),
        (
            widget(template={"spec": {"containers": [{"name": "a", "imagge": "x"}]}}),
            "spec.template.spec.containers[0]",
            "unknown field 'imagge': did you mean 'image'?",
        ),
    ],
)
def test_refuses_in_one_line(inputs: Properties, path: str, reason: str, tmp_path: Path) -> None:
    (failure,) = _failures(inputs, definitions=[str(write_definitions(tmp_path))])
    assert failure.property == path
    assert failure.reason.startswith(reason)
    assert len(failure.reason) < 250
    assert "\n" not in failure.reason


@pytest.mark.parametrize(("value", "fine"), [("a" * 63, True), ("a" * 64, False), ("-a", False), ("", True)])
def test_label_values(value: str, fine: bool) -> None:
    inputs = manifest("v1", "ConfigMap")
    inputs["metadata"] = {"name": "a", "labels": {"app": value}}
    assert (_failures(inputs) == []) is fine


def test_the_version_of_the_cluster_decides() -> None:
    claim = manifest("resource.k8s.io/v1", "ResourceClaim", spec={})
    assert _failures(claim, kubernetes_version="1.35") == []
    assert _failures(claim, kubernetes_version="1.30")[0].reason.startswith('no matches for kind "ResourceClaim"')


def test_a_version_without_schemas_names_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"no schemas for Kubernetes 1.5; there are: 1.25, 1.26"):
        _failures(manifest("v1", "Namespace"), kubernetes_version="1.5")


def test_a_patch_of_something_else_is_not_played() -> None:
    resource = asked(manifest("v1", "Namespace"))
    patch = type(resource)(**{**vars(resource), "type": "kubernetes:core/v1:NamespacePatch"})
    assert "NamespacePatch" in _RULES.check(patch, {})[0].reason


def test_definitions_come_from_a_variable_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _failures(widget(sise=1)) == []  # an unknown kind passes until it is created, like the real provider
    monkeypatch.setenv("REHEARSAL_DEFINITIONS", f"{tmp_path / 'nowhere'}:{write_definitions(tmp_path / 'crds')}")
    assert _failures(widget(sise=1)) != []


def test_definitions_know_their_scope_and_name(tmp_path: Path) -> None:
    (definition,) = definitions_in([write_definitions(tmp_path)]).values()
    assert (definition.name, definition.namespaced) == ("widgets.example.com", True)


@pytest.mark.parametrize(
    ("token", "inputs", "want"),
    [
        ("kubernetes:core/v1:Service", {}, Kind("", "v1", "Service")),
        ("kubernetes:apps/v1:Deployment", {}, Kind("apps", "v1", "Deployment")),
        ("kubernetes:x.io/v1:Thing", {"apiVersion": "x.io/v2", "kind": "Other"}, Kind("x.io", "v2", "Other")),
    ],
)
def test_kind_of(token: str, inputs: Properties, want: Kind) -> None:
    assert kind_of(token, inputs) == want


@pytest.mark.parametrize(
    ("kind", "want"),
    [
        (Kind("", "v1", "Namespace"), "namespaces"),
        (Kind("apps", "v1", "Deployment"), "deployments.apps"),
        (Kind("networking.k8s.io", "v1", "NetworkPolicy"), "networkpolicies.networking.k8s.io"),
        (Kind("networking.k8s.io", "v1", "Ingress"), "ingresses.networking.k8s.io"),
        (Kind("", "v1", "Endpoints"), "endpoints"),
        (Kind("gateway.networking.k8s.io", "v1", "Gateway"), "gateways.gateway.networking.k8s.io"),
    ],
)
def test_resource_names(kind: Kind, want: str) -> None:
    assert kind.resource == want


@pytest.mark.parametrize(
    ("group", "custom"),
    [("", False), ("apps", False), ("networking.k8s.io", False), ("leaderworkerset.x-k8s.io", True)],
)
def test_custom_groups(group: str, custom: bool) -> None:
    assert Kind(group, "v1", "Any").custom is custom
