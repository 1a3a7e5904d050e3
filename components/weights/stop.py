"""Ending in order: first no new file is begun, then, when the grace is over, the running ones are given up."""

import threading


class Stopped(Exception):  # noqa: N818 - it is the answer to SIGTERM, not an error
    """The running file was given up because the process has to end."""


class Stop:
    """One process's wish to end, shared by all of its threads."""

    def __init__(self, grace_seconds: float) -> None:
        self._grace = grace_seconds
        self._requested = threading.Event()
        self._over = threading.Event()

    @property
    def requested(self) -> bool:
        """Whether no new file may be begun."""
        return self._requested.is_set()

    def request(self) -> None:
        """Begin no new file, and give up the running ones after the grace."""
        if not self._requested.is_set():
            self._requested.set()
            timer = threading.Timer(self._grace, self._over.set)
            timer.daemon = True
            timer.start()

    def now(self) -> None:
        """Give up everything that runs."""
        self._requested.set()
        self._over.set()

    def check(self) -> None:
        """Go on.

        Raises:
            Stopped: The grace is over.
        """
        if self._over.is_set():
            raise Stopped

    def wait(self, seconds: float) -> None:
        """Wait, unless the grace ends before.

        Raises:
            Stopped: It did.
        """
        if self._over.wait(seconds):
            raise Stopped
