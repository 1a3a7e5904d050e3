"""Contenders that run in turn, so that a machine that grows slower meanwhile slows all of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.figures import cells
from benchmarks.measured_job import Spent

Contender = Callable[[], Spent]
"""Runs once."""
Say = Callable[[str], None]
"""Takes one line for the user."""


@dataclass(frozen=True)
class Rounds:
    """What each contender's runs took."""

    title: str
    spent: Mapping[str, Sequence[Spent]]

    def walls(self, name: str) -> list[float]:
        """Return one contender's wall times."""
        return [each.wall for each in self.spent[name]]

    def wall_ratio(self, ours: str, theirs: str) -> float | None:
        """Return the median over the rounds of the ratio of two contenders' wall times."""
        return _paired(self.walls(ours), self.walls(theirs))

    def cpu_ratio(self, ours: str, theirs: str) -> float | None:
        """Return the same of their processor times."""
        return _paired([each.cpu for each in self.spent[ours]], [each.cpu for each in self.spent[theirs]])

    def rows(self) -> list[list[str]]:
        """Return the cells of a line for each contender; `HEADS` says what they are."""
        return [
            [
                f"{self.title}, {name}",
                *cells([each.wall for each in spent], 1),
                *cells([each.cpu for each in spent], 2),
                f"{max(each.rss_mib for each in spent):,.0f}",
                f"{max(each.disk_mib for each in spent):,.0f}",
                f"{max(each.read_mib for each in spent):,.0f}",
            ]
            for name, spent in self.spent.items()
        ]


HEADS = (
    ("", "wall", "(s)", "", "CPU", "(s)", "", "peak", "disk", "read back"),
    ("", "min", "median", "max", "min", "median", "max", "MiB", "MiB", "MiB"),
)
"""Above the rows; disk is the folder in which the contender runs, read back is what it read from its own bucket."""


def run_rounds(title: str, contenders: Mapping[str, Contender], rounds: int, say: Say) -> Rounds:
    """Run each contender so many times; each round begins with another one."""
    names = list(contenders)
    spent: dict[str, list[Spent]] = {name: [] for name in names}
    for number in range(rounds):
        for name in rotated(names, number):
            found = contenders[name]()
            spent[name].append(found)
            say(f"{title}, round {number + 1} of {rounds}: {name} {found.wall:.1f} s, {found.cpu:.2f} CPU-s")
    return Rounds(title, spent)


def rotated(names: Sequence[str], by: int) -> list[str]:
    """Return the names in their order, beginning with a later one."""
    turn = by % len(names)
    return [*names[turn:], *names[:turn]]


def _paired(ours: Sequence[float], theirs: Sequence[float]) -> float | None:
    """Return the median of the rounds' ratios; None without rounds, or where theirs took no time that was seen.

    Of ratios, not the ratio of medians: a minute in which the machine is busy slows both sides of its round.
    """
    ratios = [mine / other for mine, other in zip(ours, theirs, strict=True) if other]
    return median(ratios) if ratios else None
