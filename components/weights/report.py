"""The log of a run: a line every few seconds, JSON for programs, or a live line on a terminal."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Literal, TextIO

from components.weights.progress import Progress

Style = Literal["text", "json", "bar", "none"]

_SILENCE: Final = 60.0
_BAR_INTERVAL: Final = 0.5
_CLEAR_LINE: Final = "\r\x1b[K"


class Report:
    """Prints progress from a thread of its own; text goes to stderr, JSON to stdout."""

    def __init__(self, progress: Progress, style: Style, interval: float, silence: float = _SILENCE) -> None:
        """Choose how to report.

        Args:
            progress: What to report of.
            style: `bar` needs a terminal.
            interval: Seconds between reports.
            silence: Seconds without a byte after which the log names what a file waits for.
        """
        self._progress = progress
        self._style = style
        self._interval = min(interval, _BAR_INTERVAL) if style == "bar" else interval
        self._silence = silence
        self._ended = threading.Event()

    def say(self, line: str) -> None:
        """Write a line into the log, in place of the live line if there is one."""
        _write(sys.stderr, f"{_CLEAR_LINE if self._style == 'bar' else ''}{line}\n")

    def retried(self, path: str, reason: str, seconds: float) -> None:
        """Count and log a retry."""
        self._progress.retried(path, reason, seconds)
        self.say(f"{path}: {reason}; trying again in {seconds:.1f} s")

    @contextmanager
    def running(self) -> Iterator[None]:
        """Report until the block ends, and once more then."""
        thread = threading.Thread(target=self._run, name="report", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()
            if self._style != "json":
                self._progressed()
            if self._style == "bar":
                _write(sys.stderr, "\n")

    def _run(self) -> None:
        while not self._ended.wait(self._interval):
            self._progressed()
            for path, doing in self._progress.silent(self._silence):
                self.say(f"{path}: no byte for {self._silence:.0f} s: {doing}")

    def _progressed(self) -> None:
        """Print the state, once it is known how much there is to do."""
        snapshot = self._progress.snapshot()
        if not snapshot.files:
            return
        if self._style == "bar":
            _write(sys.stderr, f"{_CLEAR_LINE}{snapshot}")
        elif self._style == "json":
            _write(sys.stdout, f"{snapshot.encode()}\n")
        elif self._style == "text":
            self.say(str(snapshot))


def _write(stream: TextIO, text: str) -> None:
    stream.write(text)
    stream.flush()
