"""When something is built, when not, and what a failure says; `go` is a stand-in."""

import dataclasses
import fcntl
import threading
from pathlib import Path

import pytest

from tests.toolchain.conftest import Machine
from toolchain import go_build, tool


@pytest.fixture
def command(tmp_path: Path) -> go_build.GoCommand:
    module = tmp_path / "module"
    module.mkdir()
    for file in ("go.mod", "go.sum", "main.go"):
        (module / file).write_text(file)
    return go_build.GoCommand(name="etcd", package="etcd.io/etcd", module=module, ldflags="-s -w", minutes=2)


def test_a_build_says_what_it_makes_and_how_long_it_may_take(machine: Machine, command: go_build.GoCommand) -> None:
    machine.put_go()
    said: list[str] = []
    assert go_build.build([command], machine.tools, said.append) == [machine.tools / "etcd"]
    assert (machine.tools / "etcd").read_text() == "built\n"
    assert said == ["Building etcd: about 2 min on two cores the first time, seconds when Go's build cache is warm."]


def test_what_is_current_is_not_built_again(machine: Machine, command: go_build.GoCommand) -> None:
    machine.put_go()
    said: list[str] = []
    for _ in range(2):
        go_build.build([command], machine.tools, said.append)
    assert machine.builds == ["etcd.io/etcd"]
    assert len(said) == 1


@pytest.mark.parametrize("file", ["go.mod", "go.sum", "main.go"])
def test_a_changed_module_is_built_again(machine: Machine, command: go_build.GoCommand, file: str) -> None:
    machine.put_go()
    go_build.build([command], machine.tools)
    (command.module / file).write_text("changed")
    go_build.build([command], machine.tools)
    assert len(machine.builds) == 2


def test_other_flags_are_built_again(machine: Machine, command: go_build.GoCommand) -> None:
    machine.put_go()
    go_build.build([command], machine.tools)
    go_build.build([dataclasses.replace(command, ldflags="")], machine.tools)
    assert len(machine.builds) == 2


def test_another_go_builds_again(machine: Machine, command: go_build.GoCommand) -> None:
    for version in ("go1.26.8", "go1.27.0"):
        machine.put_go(version)
        go_build.build([command], machine.tools)
    assert len(machine.builds) == 2


def test_a_deleted_executable_is_built_again(machine: Machine, command: go_build.GoCommand) -> None:
    machine.put_go()
    go_build.build([command], machine.tools)
    (machine.tools / "etcd").unlink()
    go_build.build([command], machine.tools)
    assert len(machine.builds) == 2


def test_a_failed_build_shows_the_compilers_words(machine: Machine, command: go_build.GoCommand) -> None:
    machine.put_go(before="echo undefined: foo; exit 1")
    with pytest.raises(tool.ToolMissingError, match=r"`go build etcd\.io/etcd` failed in .*/module:\nundefined: foo"):
        go_build.build([command], machine.tools)
    assert not (machine.tools / "etcd").exists()


def test_a_failed_build_is_tried_again(machine: Machine, command: go_build.GoCommand) -> None:
    machine.put_go(before="exit 1")
    with pytest.raises(tool.ToolMissingError):
        go_build.build([command], machine.tools)
    machine.put_go()
    go_build.build([command], machine.tools)
    assert (machine.tools / "etcd").exists()


def test_without_go_the_message_says_what_was_wanted(machine: Machine, command: go_build.GoCommand) -> None:
    with pytest.raises(tool.ToolMissingError) as error:
        go_build.build([command], machine.tools)
    assert str(error.value) == (
        "etcd would be built from source, but there is no `go`: put Go 1.26 or newer on PATH (https://go.dev/dl)."
    )


def test_a_long_build_shows_that_it_is_alive(
    machine: Machine, command: go_build.GoCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(go_build, "REPORT_SECONDS", 0.05)
    machine.put_go(before="/bin/sleep 0.2")
    said: list[str] = []
    go_build.build([command], machine.tools, said.append)
    assert said[1] == "Building etcd: 0 s so far."


def test_two_builds_wait_for_each_other(machine: Machine, command: go_build.GoCommand) -> None:
    machine.put_go()
    waiting = threading.Event()
    machine.tools.mkdir()
    with (machine.tools / "go-build.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        second = threading.Thread(target=go_build.build, args=([command], machine.tools, lambda line: waiting.set()))
        second.start()
        assert waiting.wait(timeout=5)
        assert machine.builds == []
    second.join()
    assert machine.builds == ["etcd.io/etcd"]
