"""What `process.py` promises, with shells in place of servers: no binaries needed."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rehearsal.control_plane import process


def start(tmp_path: Path, script: str, healthy: Callable[[], bool] = lambda: False) -> process.Process:
    return process.Process(
        "the-server",
        ["/bin/sh", "-c", script],
        log=tmp_path / "log" / "the-server.log",
        healthy=healthy,
        environment={"PATH": os.defpath},
    )


def is_gone(pid: int, seconds: float = 5) -> bool:
    """Whether a process ends in time; one that only waits for its parent to ask (a zombie) has ended."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


def test_early_death_shows_the_code_and_the_end_of_the_log(tmp_path: Path) -> None:
    server = start(tmp_path, "seq 100; echo no such flag >&2; exit 3")
    with pytest.raises(process.ProcessFailedError) as error:
        server.wait_until_healthy()
    lines = str(error.value).splitlines()
    assert lines[0] == f"the-server ended with code 3. The end of {server.log}:"
    assert lines[1:] == [*map(str, range(82, 101)), "no such flag"]
    assert not error.value.port_taken


def test_a_taken_port_is_told_apart(tmp_path: Path) -> None:
    server = start(tmp_path, "echo listen tcp 127.0.0.1:1: bind: address already in use; exit 1")
    with pytest.raises(process.ProcessFailedError) as error:
        server.wait_until_healthy()
    assert error.value.port_taken


def test_a_server_that_never_gets_healthy_is_given_up(tmp_path: Path) -> None:
    server = start(tmp_path, "exec sleep 60")
    with pytest.raises(process.ProcessFailedError, match="was not healthy within 0 s"):
        server.wait_until_healthy(seconds=0.2)
    process.stop([server])


def test_whoever_ignores_the_request_to_end_is_killed_with_its_children(tmp_path: Path) -> None:
    child_file = tmp_path / "child"
    server = start(tmp_path, f"trap '' TERM; sleep 60 & echo $! > {child_file}; wait; sleep 60", child_file.exists)
    server.wait_until_healthy()
    process.stop([server], seconds=0.2)
    assert not server.is_running
    assert is_gone(int(child_file.read_text()))


def test_the_thread_that_started_a_process_may_end_before_it(tmp_path: Path) -> None:
    started: list[process.Process] = []
    thread = threading.Thread(target=lambda: started.append(start(tmp_path, "exec sleep 60", lambda: True)))
    thread.start()
    thread.join()
    time.sleep(0.2)
    assert started[0].is_running
    process.stop(started)


def test_a_killed_parent_leaves_no_process(tmp_path: Path) -> None:
    program = (
        "import pathlib, sys, time; from tests.cluster import test_process\n"
        "print(test_process.start(pathlib.Path(sys.argv[1]), 'exec sleep 60').pid, flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as parent:  # noqa: S603
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert not is_gone(pid, seconds=0.2)
        parent.send_signal(signal.SIGKILL)
    assert is_gone(pid)
