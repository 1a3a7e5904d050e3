"""The command: every step shown and marked, and an exit code that tells whether all went well."""

import io
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from rehearsal.__main__ import PROJECT, main, rehearse
from rehearsal.depths import Light
from rehearsal.report import Report

pytestmark = pytest.mark.engine

_HEAD = """
import pulumi
import pulumi_kubernetes as k8s
cluster = pulumi.Config().require_object("cluster")
provider = k8s.Provider("cluster", kubeconfig=cluster["kubeconfig"], context=cluster["context"])
there = pulumi.ResourceOptions(provider=provider)
kept = pulumi.ResourceOptions(provider=provider, retain_on_delete=True)
pulumi.info("Plan: two nodes")
k8s.core.v1.ConfigMap("first", metadata={"name": "first"}, opts=there)
"""


@dataclass
class Rehearsed:
    """What a rehearsal printed and returned."""

    exit_code: int
    text: str

    @property
    def headings(self) -> list[str]:
        """The sections, in order."""
        return [line.split("==")[1].strip() for line in self.text.splitlines() if " == " in line]


def _rehearse(project: Path, stack: str) -> Rehearsed:
    stream = io.StringIO()
    depth = Light()
    code = rehearse(project, stack, depth, Report(stream, depth.name, depth.touches), keep=False)
    return Rehearsed(code, stream.getvalue())


def _project(folder: Path, body: str) -> Path:
    (folder / "Pulumi.yaml").write_text("name: kimi-k3\nruntime: python\n")
    config = {"kimi-k3:cluster": {"context": "gpu", "kubeconfig": "/home/me/.kube/config"}}
    (folder / "Pulumi.dev.yaml").write_text(yaml.safe_dump({"config": config}))
    (folder / "__main__.py").write_text(_HEAD + body)
    return folder


def test_a_stack_from_preview_to_nothing(tmp_path: Path) -> None:
    got = _rehearse(_project(tmp_path, 'pulumi.export("key", pulumi.Output.secret("hush"))'), "dev")
    assert got.exit_code == 0, got.text
    assert got.headings == [
        "Preview",
        "Plan and cost",
        "Up",
        "What exists",
        "Outputs (plan and cost: see above)",
        "A second up changes nothing",
        "Destroy",
        "What is left",
        "What it would have cost, by the account's own clock",
        "What a rehearsal can't show",
        "Result",
    ]
    assert all(line.startswith("rehearsal |") for line in got.text.splitlines())
    assert "info: Plan: two nodes" in got.text
    assert "hush" not in got.text
    assert list((tmp_path / ".rehearsal").iterdir()) == []


@pytest.mark.parametrize(
    ("body", "want"),
    [
        ('k8s.core.v1.ConfigMap("bad", data={"a": 1}, opts=there)', "1 is not of type 'string'"),
        ('k8s.core.v1.ConfigMap("bad", metadata={"namespace": "gone"}, opts=there)', 'namespaces "gone" not found'),
        ('import time; k8s.core.v1.ConfigMap("bad", data={"a": str(time.time())}, opts=there)', "FAILED: pulumi up"),
        (
            'k8s.core.v1.ConfigMap("bad", metadata={"name": "stays"}, opts=kept)',
            "ConfigMap default/stays: NOBODY MEANT TO LEAVE IT",
        ),
    ],
    ids=["preview", "up", "second up", "left"],
)
def test_what_goes_wrong_is_shown_and_the_rest_destroyed(tmp_path: Path, body: str, want: str) -> None:
    got = _rehearse(_project(tmp_path, body), "dev")
    assert got.exit_code == 1
    assert want in got.text
    assert "ConfigMap default/first:" not in got.text  # it isn't among what is left
    assert "FAILED, see above" in got.text


@pytest.mark.parametrize("stack", ["existing", "aws", "aws-capacity", "azure", "gcp", "gcp-capacity", "alicloud"])
def test_the_projects_own_stacks(stack: str) -> None:
    got = _rehearse(PROJECT, stack)
    assert got.exit_code == 0, got.text


def test_a_stack_that_does_not_exist(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nowhere"]) == 2
    said = capsys.readouterr().out
    assert "There is no Pulumi.nowhere.yaml. Stacks with a file: " in said
    assert "existing" in said
