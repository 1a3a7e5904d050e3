"""Which CLI and which language host are taken, in which order, and what is said when there is none."""

import os
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from pulumi import automation

from tests.toolchain.conftest import Machine
from toolchain import __main__ as command_line
from toolchain import control_plane_binaries, go_build, language_host, pulumi_cli, search_path, tool, versions

NO_GO = "pulumi would be built from source, but there is no `go`: put Go 1.26 or newer on PATH (https://go.dev/dl)."


@pytest.fixture(autouse=True)
def no_internet(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise urllib.error.URLError("no route to host")

    monkeypatch.setattr(urllib.request, "urlopen", refuse)


def test_a_fitting_cli_on_path_is_taken_before_all_others(machine: Machine) -> None:
    machine.put_cli(machine.tools / "bin", "v3.274.1")
    want = machine.put_cli(machine.on_path, "v3.272.0")
    assert pulumi_cli.ensure() == want


@pytest.mark.parametrize("version", ["v3.271.9", "v2.300.0", "v4.0.0", "", "v3"])
def test_a_cli_that_does_not_fit_the_sdk_is_passed_over(machine: Machine, version: str) -> None:
    machine.put_cli(machine.on_path, version)
    want = machine.put_cli(machine.tools / "bin", "v3.274.1")
    assert pulumi_cli.ensure() == want


@pytest.mark.parametrize("version", ["v3.272.0", "3.300.1", "v3.280.0-alpha.1"])
def test_the_sdks_minor_version_or_a_newer_one_fits(machine: Machine, version: str) -> None:
    want = machine.put_cli(machine.on_path, version)
    assert pulumi_cli.ensure() == want


def test_an_unfit_build_does_not_hide_a_fitting_installation(machine: Machine) -> None:
    machine.put_cli(machine.tools / "bin", "v3.100.0")
    want = machine.put_cli(machine.tools / "pulumi" / "bin", "v3.274.1")
    assert pulumi_cli.ensure() == want


def test_the_official_installer_comes_before_a_build(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.put_go()

    def install(*, version: object, root: str) -> None:
        machine.put_cli(Path(root) / "bin", f"v{version}")

    monkeypatch.setattr(urllib.request, "urlopen", lambda *_, **__: open(os.devnull))  # noqa: PTH123, SIM115
    monkeypatch.setattr(automation.PulumiCommand, "install", install)
    assert pulumi_cli.ensure() == machine.tools / "pulumi" / "bin" / "pulumi"
    assert machine.builds == []


def test_without_internet_the_cli_is_built(machine: Machine) -> None:
    machine.put_go()
    assert pulumi_cli.ensure() == machine.tools / "bin" / "pulumi"
    assert machine.builds == ["github.com/pulumi/pulumi/pkg/v3/cmd/pulumi"]


def test_when_no_way_works_the_message_names_each_with_its_reason(machine: Machine) -> None:
    old = machine.put_cli(machine.on_path, "v3.100.0")
    with pytest.raises(tool.ToolMissingError) as error:
        pulumi_cli.ensure()
    assert str(error.value).splitlines() == [
        "No Pulumi CLI that fits the Python SDK 3.272.0 could be had. Tried:",
        f"  one on PATH: {old} says version v3.100.0, wanted 3.272+",
        "  one built before: there is none",
        "  one installed before: there is none",
        "  the official installer: get.pulumi.com can't be used: <urlopen error no route to host>",
        f"  a build with Go: {NO_GO}",
    ]


def test_the_language_host_beside_an_installed_cli_is_taken(machine: Machine) -> None:
    machine.put_cli(machine.on_path, "v3.274.1")
    real = machine.put(machine.on_path / language_host.NAME, "#!/bin/sh\n")
    assert language_host.ensure() == real


def test_a_language_host_elsewhere_on_path_is_taken(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.put_cli(machine.tools / "bin", "v3.274.1")
    real = machine.put(machine.on_path / language_host.NAME, "#!/bin/sh\n")
    assert language_host.ensure() == real


def test_a_built_cli_gets_a_language_host_beside_it(machine: Machine) -> None:
    cli = machine.put_cli(machine.tools / "bin", "v3.274.1")
    assert language_host.ensure() == cli.with_name(language_host.NAME)


def test_a_users_cli_without_one_gets_it_in_a_folder_of_ours(machine: Machine) -> None:
    machine.put_cli(machine.on_path, "v3.274.1")
    assert language_host.ensure() == machine.tools / "language-host" / language_host.NAME


def test_the_stand_in_runs_with_the_interpreter_of_now(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.put_cli(machine.tools / "bin", "v3.274.1")
    language_host.ensure()
    monkeypatch.setattr(sys, "executable", "/moved here/bin/python")
    last_line = language_host.ensure().read_text().splitlines()[-1]
    assert last_line.endswith("exec '/moved here/bin/python' -m toolchain.language_server \"$@\"")


def test_the_stand_in_prints_its_port_and_ends_quietly_on_ctrl_c(machine: Machine) -> None:
    machine.put_cli(machine.tools / "bin", "v3.274.1")
    command = [language_host.ensure(), "127.0.0.1:1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as host:  # noqa: S603
        assert host.stdout is not None
        assert int(host.stdout.readline()) > 0
        host.send_signal(signal.SIGINT)
        rest, errors = host.communicate(timeout=10)
    assert (host.returncode, rest, errors) == (0, b"", b"")


def test_the_search_path_gains_the_folder_of_a_built_cli(machine: Machine) -> None:
    machine.put_cli(machine.tools / "bin", "v3.274.1")
    got = search_path.environment()["PATH"]
    assert got == f"{machine.tools / 'bin'}{os.pathsep}{machine.on_path}"
    assert shutil.which("pulumi", path=got) == str(machine.tools / "bin" / "pulumi")


def test_the_search_path_of_a_complete_installation_stays_as_it_is(machine: Machine) -> None:
    machine.put_cli(machine.on_path, "v3.274.1")
    machine.put(machine.on_path / language_host.NAME, "#!/bin/sh\n")
    assert search_path.environment() == {"PATH": str(machine.on_path)}


@pytest.mark.parametrize(
    ("module", "required", "version"),
    [
        ("pulumi", "github.com/pulumi/pulumi/pkg/v3", versions.PULUMI),
        ("control_plane", "k8s.io/kubernetes", versions.KUBERNETES),
        ("control_plane", "sigs.k8s.io/lws", versions.LWS),
        ("control_plane", "sigs.k8s.io/kwok", versions.KWOK),
        ("etcd", "go.etcd.io/etcd/server/v3", versions.ETCD),
        ("versitygw", "github.com/versity/versitygw", versions.VERSITYGW),
    ],
)
def test_the_go_modules_pin_the_same_versions(module: str, required: str, version: str) -> None:
    words = [line.split() for line in (tool.MODULES / module / "go.mod").read_text().splitlines()]
    assert [required, f"v{version}"] in [line[:2] for line in words if "=>" not in line] + [
        line[1:3] for line in words if line[:1] == ["require"]
    ]


def test_kubernetes_binaries_tell_their_version() -> None:
    flags = control_plane_binaries.commands()[0].ldflags
    assert f"-X k8s.io/component-base/version.gitVersion=v{versions.KUBERNETES} " in flags


def test_the_command_line_ends_with_the_path(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.put_go()
    monkeypatch.setattr(sys, "argv", ["toolchain", "control-plane"])
    assert command_line.main() == 0
    assert capsys.readouterr().out.splitlines()[-1] == str(machine.tools / "bin")


def test_the_command_line_fails_with_the_reason(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["toolchain", "kubernetes-provider"])
    assert command_line.main() == 1
    assert capsys.readouterr().err.startswith("pulumi-resource-kubernetes would be built from source")


def test_the_provider_has_the_version_of_the_sdk_and_a_folder_of_its_own(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags: list[str] = []

    def build(commands: list[go_build.GoCommand], folder: Path, say: tool.Say) -> list[Path]:
        flags.extend(command.ldflags for command in commands)
        return [folder / command.name for command in commands]

    monkeypatch.setattr(versions, "kubernetes_provider", lambda: "4.34.2")
    monkeypatch.setattr(go_build, "build", build)
    got = command_line.TOOLS["kubernetes-provider"]()
    assert got == machine.tools / "providers" / "kubernetes" / "pulumi-resource-kubernetes"
    assert flags == ["-s -w -X main.version=4.34.2"]
