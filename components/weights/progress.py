"""How far the copy is: counters that the copying threads write and that reports are made from."""

import json
import threading
import time
from collections import deque
from dataclasses import asdict, dataclass, field
from typing import Final, Literal

Outcome = Literal["copied", "skipped", "adopted", "failed"]

_RATE_WINDOW: Final = 30.0


@dataclass
class Tally:
    """The machine-readable end of a run."""

    files: int = 0
    """That this process answers for."""
    total_bytes: int = 0
    """Of those files."""
    copied: int = 0
    skipped: int = 0
    """Files that were complete already."""
    adopted: int = 0
    """Files that lay in the bucket without a sidecar and proved right when they were read back."""
    failed: int = 0
    bytes: int = 0
    """Of the files that were copied."""
    retries: int = 0
    complete: bool = False
    """Whether the bucket now holds every file of every pod, and the marker."""
    digest: str | None = None
    """Of the complete copy, for `--digest`."""


@dataclass(frozen=True)
class Snapshot:
    """The state of a run at one moment."""

    bytes: int
    """There, from this run or before it."""
    total_bytes: int
    rate: float
    """Bytes a second over the last half minute."""
    left_seconds: int | None
    """None while nothing moves."""
    files_done: int
    files: int
    retries: int
    doing: dict[str, str]
    """What each running file does or waits for."""

    def encode(self) -> str:
        """Return one JSON line."""
        return json.dumps({"event": "progress", **asdict(self), "rate": round(self.rate)})

    def __str__(self) -> str:
        """One line for a person; decimal units."""
        share = 100.0 if self.total_bytes == 0 else 100 * self.bytes / self.total_bytes
        rest = "" if self.left_seconds is None else f", {_duration(self.left_seconds)} left"
        return (
            f"{share:5.1f} %  {self.bytes / 1e9:,.1f} of {self.total_bytes / 1e9:,.1f} GB"
            f" at {self.rate / 1e6:,.0f} MB/s{rest}; {self.files_done} of {self.files} files, {self.retries} retries"
        )


@dataclass
class _Activity:
    doing: str
    since: float = field(default_factory=time.monotonic)


class Progress:
    """Counters that any thread may write."""

    def __init__(self) -> None:
        self.tally = Tally()
        self._lock = threading.Lock()
        self._activities: dict[str, _Activity] = {}
        self._started = time.monotonic()
        self._moved = 0
        self._settled = 0
        self._recent: deque[tuple[float, int]] = deque([(self._started, 0)])

    def plan(self, files: int, total_bytes: int) -> None:
        """Say how much there is to do."""
        self.tally.files, self.tally.total_bytes = files, total_bytes

    def doing(self, path: str, what: str) -> None:
        """Note what a file does from now on."""
        with self._lock:
            self._activities[path] = _Activity(what)

    def moved(self, count: int) -> None:
        """Count bytes that came from the source, or, negative, that came in vain."""
        with self._lock:
            self._moved += count

    def retried(self, path: str, reason: str, seconds: float) -> None:
        """Count a retry after a wait."""
        with self._lock:
            self.tally.retries += 1
        self.doing(path, f"waiting {seconds:.0f} s because {reason}")

    def settled(self, path: str, size: int, outcome: Outcome) -> None:
        """Count a file as done."""
        with self._lock:
            self._activities.pop(path, None)
            setattr(self.tally, outcome, getattr(self.tally, outcome) + 1)
            if outcome == "copied":
                self.tally.bytes += size
            elif outcome != "failed":
                self._settled += size

    def silent(self, seconds: float) -> list[tuple[str, str]]:
        """Return the files that have stood still so long, with what they wait for; each again only after as long."""
        now = time.monotonic()
        with self._lock:
            still = [(path, entry) for path, entry in self._activities.items() if now - entry.since >= seconds]
            for _, entry in still:
                entry.since = now
        return [(path, entry.doing) for path, entry in still]

    def snapshot(self) -> Snapshot:
        """Return the state now."""
        with self._lock:
            rate, done, tally = self._rate(), self._moved + self._settled, self.tally
            return Snapshot(
                bytes=done,
                total_bytes=tally.total_bytes,
                rate=rate,
                left_seconds=round((tally.total_bytes - done) / rate) if rate >= 1 else None,
                files_done=tally.copied + tally.skipped + tally.adopted,
                files=tally.files,
                retries=tally.retries,
                doing={path: entry.doing for path, entry in self._activities.items()},
            )

    def result(self) -> str:
        """Return the run as one JSON line; seconds since its start."""
        seconds = round(time.monotonic() - self._started, 1)
        return json.dumps({"event": "result", **asdict(self.tally), "seconds": seconds})

    def _rate(self) -> float:
        now = time.monotonic()
        self._recent.append((now, self._moved))
        while len(self._recent) > 2 and now - self._recent[0][0] > _RATE_WINDOW:
            self._recent.popleft()
        then, moved = self._recent[0]
        return max(0.0, (self._moved - moved) / max(now - then, 1e-3))


def _duration(seconds: int) -> str:
    if seconds < 90:
        return f"{seconds} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02} min"
