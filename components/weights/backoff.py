"""How long to wait before a source is asked again, and when to give up."""

from collections.abc import Callable
from dataclasses import dataclass
from random import SystemRandom
from typing import Final, TypeVar

from components.weights.source import Interrupted
from components.weights.stop import Stop

_RANDOM: Final = SystemRandom()
_JITTER: Final = 0.25

T = TypeVar("T")


class TriesExhausted(Exception):  # noqa: N818 - the end of patience
    """Nothing came for several tries; the message is one line."""


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Waits in seconds; the tests make them short."""

    connect: float = 10.0
    stall: float = 30.0
    """Without a byte from the source."""
    first_wait: float = 0.5
    """Doubles with each try."""
    longest_wait: float = 60.0
    longest_asked: float = 300.0
    """The hub's rate limits are over windows of five minutes (huggingface.co/docs/hub/rate-limits)."""
    tries: int = 5
    """Without progress."""


class Backoff:
    """The patience with one transfer; any progress renews it."""

    def __init__(self, timing: Timing, stop: Stop, on_wait: Callable[[str, float], None]) -> None:
        self._timing = timing
        self._stop = stop
        self._on_wait = on_wait
        self._failed = 0

    def progressed(self) -> None:
        """Forget the failures: something came."""
        self._failed = 0

    def wait(self, interruption: Interrupted) -> None:
        """Wait as long as the source asks, or longer each time.

        Raises:
            TriesExhausted: That was the last try.
            Stopped: The process has to end.
        """
        self._failed += 1
        if self._failed >= self._timing.tries:
            raise TriesExhausted(f"{interruption}; gave up after {self._failed} tries without progress")
        seconds = self._seconds(interruption)
        self._on_wait(str(interruption), seconds)
        self._stop.wait(seconds)

    def call(self, action: Callable[[], T]) -> T:
        """Return what an action returns, with all tries."""
        while True:
            try:
                return action()
            except Interrupted as interruption:
                self.wait(interruption)

    def _seconds(self, interruption: Interrupted) -> float:
        if interruption.wait_seconds is not None:
            base = min(interruption.wait_seconds, self._timing.longest_asked)
        else:
            base = min(self._timing.first_wait * 2 ** (self._failed - 1), self._timing.longest_wait)
        # Never earlier than asked: all pods behind one address share its limit.
        return base * (1 + _RANDOM.uniform(0, _JITTER))
