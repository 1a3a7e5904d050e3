"""Runs commands as child processes and measures them: wall time, processor time, memory and disk of all of them."""

import os
import resource
import shutil
import stat
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

_LOOK_SECONDS: Final = 0.2
_KIB: Final = 1 << 10
_MIB: Final = 1 << 20
_BLOCK: Final = 512
"""Bytes in which `st_blocks` counts."""
_TAIL_LINES: Final = 15

Command = Sequence[str | Path]


class FailedJobError(Exception):
    """A command ended badly; the message is the end of what it printed."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """What one contender does from nothing to verified bytes."""

    steps: Sequence[Sequence[Command]]
    """One after the other; the commands of one step at once."""
    environment: Mapping[str, str]
    """Besides PATH, HOME and TMPDIR."""


@dataclass(frozen=True, kw_only=True)
class Spent:
    """What one run took."""

    wall: float
    """Seconds."""
    cpu: float
    """Seconds of all processors, with whatever the commands started and waited for."""
    rss_mib: float
    """Greatest resident size of any one process, as the kernel recorded it."""
    disk_mib: float
    """Most that lay in the folder in which the commands ran, which is also their home and their folder for temporary
    files."""
    read_mib: float = 0.0
    """Read back from the bucket."""


def measure(job: Job, folder: Path) -> Spent:
    """Run a job in a new folder, which is left behind.

    Raises:
        FailedJobError: A command didn't end with 0.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    # What the run before left for the disk isn't this one's.
    os.sync()
    cpu, rss = 0.0, 0.0
    began = time.monotonic()
    with _Disk(folder) as disk:
        for step in job.steps:
            running = [start(command, job.environment, folder) for command in step]
            for process in running:
                used = wait(process)
                cpu += used.ru_utime + used.ru_stime
                rss = max(rss, used.ru_maxrss / _KIB)
            for process in running:
                _require(process, folder)
        wall = time.monotonic() - began
    return Spent(wall=wall, cpu=cpu, rss_mib=rss, disk_mib=disk.peak / _MIB)


def start(command: Command, environment: Mapping[str, str], folder: Path) -> subprocess.Popen[bytes]:
    """Start one command in a folder, with nothing of this process's environment but PATH; its output is kept beside."""
    own = {"PATH": os.environ["PATH"], "HOME": str(folder), "TMPDIR": str(folder)}
    with log_of(folder).open("a") as log:
        return subprocess.Popen(  # noqa: S603 - the commands are the benchmark's own
            list(map(str, command)), cwd=folder, env={**own, **environment}, stdout=log, stderr=log
        )


def wait(process: subprocess.Popen[bytes]) -> resource.struct_rusage:
    """Return what a process and those that it waited for have used, once it has ended."""
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return used


def log_of(folder: Path) -> Path:
    """Return where the output of the commands in a folder is kept: beside it, for whatever lies in it is counted."""
    return folder.with_suffix(".log")


def _require(process: subprocess.Popen[bytes], folder: Path) -> None:
    if process.returncode != 0:
        tail = log_of(folder).read_text(errors="replace").splitlines()[-_TAIL_LINES:]
        raise FailedJobError("\n".join([f"{process.args} ended with {process.returncode}:", *tail]))


class _Disk:
    """Looks at a folder's size five times a second, as a context."""

    def __init__(self, folder: Path) -> None:
        self.peak = 0
        self._folder = folder
        self._ended = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._watcher.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._watcher.join()
        self._look()

    def _watch(self) -> None:
        while not self._ended.wait(_LOOK_SECONDS):
            self._look()

    def _look(self) -> None:
        self.peak = max(self.peak, sum(map(_blocks, self._folder.rglob("*"))))


def _blocks(path: Path) -> int:
    """Return the bytes that a file takes on the disk; none if it is gone meanwhile."""
    try:
        found = path.lstat()
    except OSError:
        return 0
    return found.st_blocks * _BLOCK if stat.S_ISREG(found.st_mode) else 0
