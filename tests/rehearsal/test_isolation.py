"""What of the caller's machine reaches the engine: next to nothing."""

import os
from pathlib import Path

import pytest

from rehearsal import engine
from rehearsal.engine import EngineError, Step, environment
from rehearsal.workspace import Plugin, Workspace

_CREDENTIALS = {
    "AWS_PROFILE": "prod",
    "AWS_SECRET_ACCESS_KEY": "sentinel",
    "ARM_CLIENT_SECRET": "sentinel",
    "AZURE_CLIENT_SECRET": "sentinel",
    "GOOGLE_APPLICATION_CREDENTIALS": "/home/me/key.json",
    "ALICLOUD_SECRET_KEY": "sentinel",
    "HF_TOKEN": "sentinel",
    "KUBECONFIG": "/home/me/.kube/config",
    "PULUMI_ACCESS_TOKEN": "sentinel",
    "PULUMI_BACKEND_URL": "https://api.pulumi.com",
    "PYTHONPATH": "/home/me/elsewhere",
    "SSH_AUTH_SOCK": "/run/agent",
    "HOME": "/home/me",
    "PATH": "/home/me/.pulumi/bin",
}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = Workspace(tmp_path)
    made.create()
    return made


def test_only_harmless_variables_are_taken_from_the_caller(workspace: Workspace) -> None:
    got = environment(workspace, {**_CREDENTIALS, "LANG": "C.UTF-8"})
    assert got["LANG"] == "C.UTF-8"
    assert not set(_CREDENTIALS.values()) & set(got.values())
    assert "/home/me" not in " ".join(got.values())


@pytest.mark.parametrize("name", ["HOME", "PULUMI_HOME", "PULUMI_BACKEND_URL"])
def test_what_is_written_lands_in_the_workspace(workspace: Workspace, name: str) -> None:
    assert str(workspace.root) in environment(workspace, {})[name]


def test_our_plugins_come_first_and_none_is_downloaded(workspace: Workspace) -> None:
    got = environment(workspace, {})
    assert got["PATH"].split(os.pathsep)[0] == str(workspace.plugins)
    assert got["PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION"] == "true"


def test_a_real_plugin_in_a_system_folder_stops_the_rehearsal(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "system").mkdir()
    (tmp_path / "system" / "pulumi-resource-aws").touch()
    monkeypatch.setattr(engine, "_SYSTEM_PATH", (str(tmp_path / "system"),))
    with pytest.raises(EngineError, match="a real provider plugin would be found"):
        environment(workspace, {})


def test_a_plugin_is_a_script_with_its_own_environment(workspace: Workspace) -> None:
    workspace.write_plugin("aws", Plugin(["/python", "-m", "a module"], {"ACCOUNT": "/a file"}))
    script = workspace.plugins / "pulumi-resource-aws"
    want = "#!/bin/sh\nexport ACCOUNT='/a file'\nexec /python -m 'a module' \"$@\"\n"
    assert script.read_text() == want
    assert os.access(script, os.X_OK)


def test_a_link_puts_one_executable_on_the_path(workspace: Workspace, tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    tool.touch()
    workspace.link(tool)
    workspace.link(tool)
    assert (workspace.plugins / "tool").resolve() == tool


@pytest.mark.parametrize(
    ("text", "want"),
    [
        (
            "Previewing\nDiagnostics:\n  stack:\n    error: no\n\n    more\n\nResources:\n  1",
            "  stack:\n    error: no\n\n    more",
        ),
        ("Previewing\nResources:\n  1", ""),
    ],
)
def test_diagnostics_of_a_step(text: str, want: str) -> None:
    assert Step("preview", 1, text, 0.1).diagnostics == want
