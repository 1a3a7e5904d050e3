"""The plugin as a process: it prints its port and nothing else, and ends quietly."""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rehearsal.__main__ import PROJECT

pytestmark = pytest.mark.engine

_COMMAND = [sys.executable, "-m", "rehearsal.fakes.kubernetes"]
# Plays an engine that is killed: starts the plugin, reads its port, names its process and is gone.
_ENGINE = f"""
import subprocess
plugin = subprocess.Popen({_COMMAND!r}, stdout=subprocess.PIPE, text=True)
plugin.stdout.readline()
print(plugin.pid)
"""


def _start(command: list[str], account: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "REHEARSAL_ACCOUNT": account}
    pipe = subprocess.PIPE
    return subprocess.Popen(  # noqa: S603 — our own command
        command, cwd=PROJECT, env=environment, stdout=pipe, stderr=pipe, text=True
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_ends_quietly_when_told_to(tmp_path: Path, number: signal.Signals) -> None:
    with _start(_COMMAND, str(tmp_path / "account.json")) as process:
        assert process.stdout is not None
        port = process.stdout.readline()
        process.send_signal(number)
        rest, errors = process.communicate(timeout=20)
    assert port.strip().isdecimal()
    assert (rest, errors, process.returncode) == ("", "", 0)


def test_ends_when_the_engine_is_gone(tmp_path: Path) -> None:
    with _start([sys.executable, "-c", _ENGINE], str(tmp_path / "account.json")) as engine:
        assert engine.stdout is not None
        plugin = os.pidfd_open(int(engine.stdout.readline()))
        engine.wait(timeout=20)
    ended, _, _ = select.select([plugin], [], [], 20)
    os.close(plugin)
    assert ended


def test_without_a_rehearsal_it_does_not_start() -> None:
    with _start(_COMMAND, "") as process:
        output, errors = process.communicate(timeout=20)
    assert (output, process.returncode) == ("", 1)
    assert "stand-ins run in a rehearsal only" in errors
