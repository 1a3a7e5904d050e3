"""Terway's filter: one key is merged into its settings, and nothing is done twice."""

import io
import json
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from components.alicloud.gpu_drivers import SCRIPT
from tests.alicloud.stack import ERDMA, only, program

SETTINGS = "/api/v1/namespaces/kube-system/configmaps/eni-config"
TERWAY = "/apis/apps/v1/namespaces/kube-system/daemonsets/terway-eniip"


def run(conf: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Any]:
    """Run the script against an API server with these settings, and return what it patches by path."""
    patched: dict[str, Any] = {}

    def urlopen(request: urllib.request.Request, **_: object) -> io.BytesIO:
        assert request.get_header("Authorization") == "Bearer token"
        path = request.full_url.removeprefix("https://10.0.0.1:443")
        if request.get_method() == "PATCH":
            assert isinstance(request.data, bytes)
            patched[path] = json.loads(request.data)
        return io.BytesIO(json.dumps({"data": {"eni_conf": json.dumps(conf)}}).encode())

    (tmp_path / "token").write_text("token")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    monkeypatch.setattr("urllib.request.urlopen", urlopen)
    monkeypatch.setattr("ssl.create_default_context", lambda **_: None)
    exec(SCRIPT.replace("/var/run/secrets/kubernetes.io/serviceaccount", str(tmp_path)), {})  # noqa: S102 - as the pod
    return patched


def test_what_terway_had_is_kept_and_it_starts_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    patched = run({"ip_stack": "ipv4", "vswitch_selection_policy": "ordered"}, monkeypatch, tmp_path)
    want = {"ip_stack": "ipv4", "vswitch_selection_policy": "ordered", "eni_tag_filter": {"creator": "terway"}}
    assert json.loads(patched[SETTINGS]["data"]["eni_conf"]) == want
    annotations = patched[TERWAY]["spec"]["template"]["metadata"]["annotations"]
    assert list(annotations) == ["kubectl.kubernetes.io/restartedAt"]


def test_a_second_run_changes_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert run({"eni_tag_filter": {"creator": "terway"}}, monkeypatch, tmp_path) == {}


def test_it_may_change_these_two_objects_and_nothing_else() -> None:
    rules = only(program(ERDMA).of("Role"), "drivers-terway-role").inputs["rules"]
    assert [(each["resources"], each["resourceNames"], each["verbs"]) for each in rules] == [
        (["configmaps"], ["eni-config"], ["get", "patch"]),
        (["daemonsets"], ["terway-eniip"], ["get", "patch"]),
    ]
