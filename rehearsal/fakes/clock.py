"""The clock of a rehearsal: it moves only when something is said to take time, so nothing ever waits."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class Clock:
    """Virtual time in seconds since the account was opened; kept in the account file."""

    now: float = 0.0

    def advance(self, seconds: float) -> float:
        """Let `seconds` (not negative) pass, and return the new time.

        Raises:
            ValueError: The time would run backwards.
        """
        if seconds < 0:
            raise ValueError(f"time runs forwards: {seconds} s")
        self.now += seconds
        return self.now

    def stamp(self) -> str:
        """The time as Kubernetes and the clouds write it, such as `2026-01-01T00:01:30Z`."""
        return (_EPOCH + timedelta(seconds=self.now)).strftime("%Y-%m-%dT%H:%M:%SZ")
