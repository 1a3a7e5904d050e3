"""The parts of the weights' benchmark that measure nothing: gates, ratios, the order of the runs, the counts."""

from collections import Counter
from dataclasses import replace

import pytest

from benchmarks import gate, rounds, weights
from benchmarks.gate import Gate
from benchmarks.hub_process import SHARDS
from benchmarks.killed_sync import Killed, counted
from benchmarks.measured_job import Spent
from benchmarks.rounds import Rounds
from benchmarks.weights import BARE, DISK, OURS, PODS, RCLONE, Found


def spent(wall: float, cpu: float = 1.0, rss: float = 100, disk: float = 0, read: float = 0) -> Spent:
    return Spent(wall=wall, cpu=cpu, rss_mib=rss, disk_mib=disk, read_mib=read)


def found(**changes: object) -> Found:
    """Return figures that meet every gate, with changes."""
    good = Found(
        fast=Rounds("sync", {OURS: [spent(5, 2)], DISK: [spent(14, 12, disk=1536)], RCLONE: [spent(6, 2, read=1536)]}),
        slow=Rounds("slow", {OURS: [spent(6)], PODS: [spent(3)], DISK: [spent(10)], BARE: [spent(5.5)]}),
        killed=Killed(finished=8, again=0, odd=0, reads=0),
        fetch=Rounds("fetch", {OURS: [spent(2)], "curl": [spent(4)], "rclone": [spent(3)]}),
        link=Rounds("link", {OURS: [spent(weights.TOTAL_BYTES / weights.LINK_BYTES_PER_SECOND / 0.9)]}),
    )
    return replace(good, **changes)


def of(good: Rounds, **runs: list[Spent]) -> Rounds:
    """Return rounds with other runs of ours."""
    return Rounds(good.title, {**good.spent, **runs})


GOOD = found()
TWICE = Rounds("sync", {name: [*runs, *runs] for name, runs in GOOD.fast.spent.items()})


@pytest.mark.parametrize(
    ("value", "least", "want"),
    [(0.3, False, True), (0.304, False, True), (0.306, False, False), (0.3, True, True), (0.29, True, False),
     (None, False, False), (None, True, False)],
)  # fmt: skip
def test_a_gate_judges_the_figure_as_it_is_printed(value: float | None, least: bool, want: bool) -> None:
    assert Gate(title="a", found=value, limit=0.3, least=least).met is want


def test_gates_on_walls_can_be_left_out() -> None:
    wall, cpu = Gate(title="w", found=2, limit=1, wall=True), Gate(title="c", found=2, limit=1)
    good = Gate(title="g", found=1, limit=1)
    assert gate.missed([wall, cpu, good], walls=True) == [wall, cpu]
    assert gate.missed([wall, cpu, good], walls=False) == [cpu]


def test_the_table_says_which_gate_is_missed() -> None:
    gates = [Gate(title="CPU", found=0.19, limit=0.3), Gate(title="memory (MB)", found=None, limit=256, decimals=0)]
    assert gate.table(gates) == [
        "gate           limit  found",
        "CPU          <= 0.30   0.19     met",
        "memory (MB)   <= 256      -  MISSED",
    ]


def test_good_figures_meet_every_gate() -> None:
    assert gate.missed(weights.gates_of(GOOD), walls=True) == []


@pytest.mark.parametrize(
    ("change", "want"),
    [
        ({"fast": of(GOOD.fast, ours=[spent(5, 3.9)])}, ["sync, CPU of hf + aws", "sync, CPU of rclone"]),
        ({"fast": of(GOOD.fast, ours=[spent(7.4, 2)])}, ["sync, wall of hf + aws"]),
        ({"fast": of(GOOD.fast, rclone=[spent(3.9, 2)])}, ["sync, wall of rclone"]),
        ({"fast": of(TWICE, ours=[spent(5, 2), spent(5, 2, rss=245)])}, ["sync, memory (MB)"]),
        ({"fast": of(GOOD.fast, ours=[spent(5, 2, disk=0.1)])}, ["sync, disk (MiB)"]),
        ({"fast": of(GOOD.fast, ours=[spent(5, 2, read=64)])}, ["sync, read back (MiB)"]),
        ({"slow": of(GOOD.slow, **{DISK: [spent(9)]})}, ["slow hub, wall of hf + aws"]),
        ({"slow": of(GOOD.slow, **{BARE: [spent(5)]})}, ["slow hub, wall of curl to nowhere"]),
        ({"slow": of(GOOD.slow, **{PODS: [spent(5)]})}, ["slow hub, wall of 3 pods to 1"]),
        ({"killed": replace(GOOD.killed, finished=0)}, ["killed, finished shards"]),
        ({"killed": replace(GOOD.killed, again=1)}, ["killed, of these fetched again"]),
        ({"killed": replace(GOOD.killed, odd=1)}, ["killed, others not fetched once"]),
        ({"killed": replace(GOOD.killed, reads=1)}, ["killed, read back (bytes)"]),
        ({"fetch": of(GOOD.fetch, ours=[spent(3.1)])}, ["fetch, wall of the fastest, rclone"]),
        ({"link": of(GOOD.link, ours=[spent(22)])}, ["fetch, share of a slow link"]),
    ],
    ids=str,
)
def test_a_bad_figure_misses_its_gate(change: dict[str, object], want: list[str]) -> None:
    assert [each.title for each in gate.missed(weights.gates_of(found(**change)), walls=True)] == want


def test_a_ratio_compares_the_runs_of_one_round_so_that_a_busy_minute_counts_on_both_sides() -> None:
    # The third round ran on a machine ten times slower. Medians of each side: 3 / 4 and 20 / 10.
    runs = {"a": [spent(1, 2), spent(3, 20), spent(20, 30)], "b": [spent(2, 1), spent(4, 10), spent(40, 60)]}
    got = Rounds("sync", runs)
    assert (got.wall_ratio("a", "b"), got.cpu_ratio("a", "b")) == (0.5, 2.0)


def test_a_contender_whose_time_was_not_seen_is_compared_with_nobody() -> None:
    got = Rounds("sync", {"a": [spent(1, 2)], "b": [spent(2, 0)]})
    assert (got.wall_ratio("a", "b"), got.cpu_ratio("a", "b")) == (0.5, None)


def test_each_round_begins_with_another_contender() -> None:
    ran: list[str] = []

    def contender(name: str) -> rounds.Contender:
        def run() -> Spent:
            ran.append(name)
            return spent(len(ran))

        return run

    said: list[str] = []
    got = rounds.run_rounds("t", {name: contender(name) for name in "abc"}, 4, said.append)
    assert "".join(ran) == "abc" + "bca" + "cab" + "abc"
    assert got.walls("b") == [2, 4, 9, 11]
    assert said[0] == "t, round 1 of 4: a 1.0 s, 1.00 CPU-s"


def test_after_a_kill_each_unfinished_shard_is_to_be_fetched_once() -> None:
    names = [str(number) for number in range(SHARDS)]
    whole = set(names[:8])
    good = counted(whole, Counter(names[8:]), [])
    assert good == Killed(finished=8, again=0, odd=0, reads=0)
    assert counted(whole, Counter(names[7:]), [5, 6]) == replace(good, again=1, reads=11)
    assert counted(whole, Counter([*names[8:], names[9]]), []) == replace(good, odd=1)
    assert counted(whole, Counter(names[9:]), []) == replace(good, odd=1)
