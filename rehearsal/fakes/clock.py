"""The clock of a rehearsal: it moves only when something is said to take time, so nothing ever waits."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


@dataclass
class Clock:
    """Virtual time in seconds since the account was opened; kept in the account file."""

    now: float = 0.0
    opened: str = "2026-01-01T00:00:00Z"
    """The moment at which the account was opened."""

    @property
    def moment(self) -> datetime:
        """The time now."""
        return datetime.strptime(self.opened, _FORMAT).replace(tzinfo=UTC) + timedelta(seconds=self.now)

    def advance(self, seconds: float) -> float:
        """Let `seconds` (not negative) pass, and return the new time.

        Raises:
            ValueError: The time would run backwards.
        """
        if seconds < 0:
            raise ValueError(f"time runs forwards: {seconds} s")
        self.now += seconds
        return self.now

    def stamp(self, later: float = 0.0) -> str:
        """The time now, or so many seconds later, as Kubernetes and the clouds write it: `2026-01-01T00:01:30Z`."""
        return (self.moment + timedelta(seconds=later)).strftime(_FORMAT)


def parsed(stamp: str) -> datetime:
    """The moment that a stamp names, with its time zone.

    Raises:
        ValueError: It is no stamp.
    """
    moment = datetime.fromisoformat(stamp)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def current_stamp() -> str:
    """The real time: programs compare what a cloud says with the clock on the wall."""
    return datetime.now(UTC).strftime(_FORMAT)
