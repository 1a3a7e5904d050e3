"""How long a request may take before it is given up, learned from how long the others took.

A store answers most requests fast and a few not at all. A fixed limit is too long for the usual store and too short
for a slow link, where every part takes a minute; the median of the last requests is right for both.
"""

import random
import threading
from collections import deque
from dataclasses import dataclass, field
from statistics import median
from typing import Final

_ENOUGH: Final = 16
_REMEMBERED: Final = 128
_SILENT: Final = 8.0
_SLOW: Final = 4.0


@dataclass(frozen=True, kw_only=True)
class Patience:
    """The limits between which the pace is learned."""

    shortest_seconds: float = 1.0
    """Nothing is given up earlier: a busy link is silent for a moment now and then."""
    silence_seconds: float = 10.0
    """Without a byte, any request is given up."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """When to give up."""

    deadline: float
    """On the monotonic clock."""
    identity_deadline: float
    """Until then a refused identity is tried again: a new role assignment takes minutes to work (Azure 2, GCP 1.5)."""
    patience: Patience = field(default_factory=Patience)
    longest_pause_seconds: float = 10.0
    """Between two tries of one part."""

    def pause(self, tries: int) -> float:
        """Return how many seconds to wait before the next try; tries count from 0."""
        return min(self.longest_pause_seconds, 0.1 * 2.0 ** min(tries, 16)) * random.uniform(0.75, 1.25)  # noqa: S311


class Pace:
    """The median of the last waits and rates, for many threads.

    Waits and rates of abandoned requests count too: when most are abandoned the medians follow, and the patience grows
    until they aren't.
    """

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._lock = threading.Lock()
        self._waits: deque[float] = deque(maxlen=_REMEMBERED)
        self._rates: deque[float] = deque(maxlen=_REMEMBERED)
        self._wait: float | None = None
        self._rate: float | None = None

    def note_wait(self, seconds: float) -> None:
        """Record how long a request took to its first byte."""
        with self._lock:
            self._waits.append(seconds)
            if len(self._waits) >= _ENOUGH:
                self._wait = median(self._waits)

    def note_rate(self, count: int, seconds: float) -> None:
        """Record how long so many bytes took."""
        with self._lock:
            self._rates.append(count / max(seconds, 1e-6))
            if len(self._rates) >= _ENOUGH:
                self._rate = median(self._rates)

    def silence(self, tries: int) -> float:
        """Return after how many seconds without a byte a request is given up; each try doubles it."""
        longest = self._patience.silence_seconds
        if self._wait is None:
            return longest
        return min(longest, max(self._patience.shortest_seconds, _SILENT * self._wait) * 2.0 ** min(tries, 16))

    def whole(self, count: int) -> float | None:
        """Return after how many seconds a request for so many bytes is given up, or None while nothing is known."""
        if self._rate is None or self._rate <= 0:
            return None
        return max(2 * self._patience.shortest_seconds, _SLOW * count / self._rate)
