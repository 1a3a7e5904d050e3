"""One process of the control plane: started with a log file, waited for, stopped, never left behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent import futures
from pathlib import Path

_SHOWN_LINES = 20
_POLL_SECONDS = 0.1
_WRAPPER = Path(__file__).with_name("die_with_parent.py")

# The kernel ties a child to the thread that started it, not to the whole process. This thread lives until the
# interpreter ends, whoever calls: a plane started from a short-lived worker thread would die with that one.
_STARTER = futures.ThreadPoolExecutor(max_workers=1, thread_name_prefix="control-plane-starter")


class ProcessFailedError(Exception):
    """A process ended before it was asked to, or did not become healthy in time; the message ends with its log."""

    def __init__(self, message: str, log_end: str) -> None:
        super().__init__(f"{message}\n{log_end}")
        self.port_taken = "address already in use" in log_end


class Process:
    """A running process in a session of its own, which Ctrl-C on the terminal doesn't reach."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        log: Path,
        healthy: Callable[[], bool],
        environment: Mapping[str, str],
    ) -> None:
        """Starts the command.

        Args:
            name: How messages call it.
            command: Absolute path of the executable, then its arguments.
            log: File that takes its output.
            healthy: Asked again and again by `wait_until_healthy`.
            environment: All the variables that it gets.
        """
        self.name = name
        self.log = log
        self._healthy = healthy
        self._started = time.monotonic()
        self._process = _STARTER.submit(_start, command, log, environment).result()

    @property
    def pid(self) -> int:
        """Its process id, which is also the id of its session."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def wait_until_healthy(self, seconds: float = 120) -> float:
        """Returns the seconds that it took from the start until it was healthy.

        Raises:
            ProcessFailedError: It ended, or was not healthy within `seconds` of its start.
        """
        while True:
            # Asked first: when it has died of a taken port, whoever holds that port may answer in its place.
            if not self.is_running:
                raise self._failed(f"{self.name} ended with code {self._process.returncode}.")
            if self._healthy():
                return time.monotonic() - self._started
            if time.monotonic() - self._started > seconds:
                raise self._failed(f"{self.name} was not healthy within {seconds:.0f} s.")
            time.sleep(_POLL_SECONDS)

    def ask_to_end(self) -> None:
        """Sends SIGTERM."""
        if self.is_running:
            self._process.send_signal(signal.SIGTERM)

    def end(self, seconds: float = 10) -> None:
        """Waits for the end; whatever still runs after so many seconds, with its children, is killed."""
        try:
            self._process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(self.pid, signal.SIGKILL)
            self._process.wait()

    def _failed(self, what: str) -> ProcessFailedError:
        lines = self.log.read_text(errors="replace").splitlines()[-_SHOWN_LINES:]
        return ProcessFailedError(f"{what} The end of {self.log}:", "\n".join(lines))


def stop(processes: Sequence[Process], seconds: float = 10) -> None:
    """Asks all the processes to end, waits for them together, and kills those that take longer than `seconds`."""
    deadline = time.monotonic() + seconds
    for process in processes:
        process.ask_to_end()
    for process in processes:
        process.end(max(0.0, deadline - time.monotonic()))


def _start(command: Sequence[str], log: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    log.parent.mkdir(parents=True, exist_ok=True)
    wrapped = [sys.executable, "-I", "-S", str(_WRAPPER), str(os.getpid()), *command]
    with log.open("wb") as output:
        return subprocess.Popen(  # noqa: S603 - our own command line, no shell
            wrapped,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=dict(environment),
        )
