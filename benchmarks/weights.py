"""`python -m benchmarks.weights`: the copy of the weights against public tools that bring as much, verified as well.

All run as child processes on this machine in one run, in changing order, between servers on loopback that are
processes of their own: a hub with 24 shards of 64 MiB, an S3 server, and a bucket with slow connections. Compared is
the median of the rounds' ratios. Those of processor time, memory, disk and bytes hang little on what else the machine
does; those of wall times do, and on a machine of few cores on what the servers themselves cost.
"""

import argparse
import compileall
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks import fetch_contenders, gate, sync_contenders
from benchmarks.figures import aligned, ratio, spread
from benchmarks.gate import Gate
from benchmarks.hub_process import HubProcess, hub_process
from benchmarks.killed_sync import Killed, killed_sync
from benchmarks.measured_job import FailedJobError, Job, Spent, measure
from benchmarks.object_server import ObjectServer, object_server
from benchmarks.rounds import HEADS, Contender, Rounds, run_rounds
from benchmarks.slow_bucket import CONNECTIONS, LINK_BYTES_PER_SECOND, SOURCE, TOTAL_BYTES, slow_bucket
from components.weights.manifest import Folder
from toolchain import tool

OURS: Final = "ours"
PODS: Final = "ours, 3 pods"
DISK: Final = "hf + aws"
RCLONE: Final = "rclone"
BARE: Final = "curl to nowhere"
_SLOW_HUB: Final = 20e6
"""Bytes a second of each connection."""
_THROTTLED_ROUNDS: Final = 2
"""At most: runs that wait for a throttle take the longest and differ the least."""


@dataclass(frozen=True)
class Stage:
    """The servers, and a folder for the clients."""

    hub: HubProcess
    server: ObjectServer
    folder: Path
    rounds: int

    @property
    def sums(self) -> Path:
        """The model's files as sha256sum writes them."""
        return self.folder / "SHA256SUMS"

    @property
    def run(self) -> Path:
        """Where a client runs."""
        return self.folder / "run"


@dataclass(frozen=True, kw_only=True)
class Found:
    """All measurements."""

    fast: Rounds
    """From a fast hub."""
    slow: Rounds
    """From a slow one."""
    killed: Killed
    fetch: Rounds
    link: Rounds
    """Over slow connections, some of them silent."""


def main(arguments: list[str] | None = None) -> int:
    """Measure and print.

    Returns:
        0 if all gates are met; 1 if one is missed or a run failed; 130 if it was interrupted.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.weights", description=__doc__)
    parser.add_argument(
        "--rounds",
        type=int,
        default=3,
        help="runs of each contender (default: 3; at most 2 where a server is throttled)",
    )
    walls = "print: gates that hang on wall times don't decide the exit status, for a busy machine"
    parser.add_argument("--walls", choices=["gate", "print"], default="gate", help=walls)
    given = parser.parse_args(arguments)
    try:
        with tempfile.TemporaryDirectory() as folder:
            found = _measured(Path(folder), max(1, given.rounds))
    except (FailedJobError, tool.ToolMissingError) as error:
        _say(f"FAILED: {error}")
        return 1
    except KeyboardInterrupt:
        return 130
    gates = gates_of(found)
    sys.stdout.write("\n".join(_report(found, gates)) + "\n")
    return 1 if gate.missed(gates, walls=given.walls == "gate") else 0


def _measured(folder: Path, count: int) -> Found:
    _say("Setting up a hub with 1.5 GiB and an S3 server ...")
    compileall.compile_dir(tool.PROJECT / "components", quiet=1)
    with object_server(folder / "server") as server:
        with hub_process() as hub:
            stage = Stage(hub, server, folder, count)
            sync_contenders.write_sums(hub.files, stage.sums)
            fast, slow = _fast(stage), _slow(stage)
            killed = killed_sync(hub, server, stage.run)
            bucket = server.new_bucket()
            measure(sync_contenders.ours(hub, server, bucket), stage.run)
        fetch = _fetch(stage, bucket)
        server.drop(bucket)
    return Found(fast=fast, slow=slow, killed=killed, fetch=fetch, link=_link(folder, count))


def _fast(stage: Stage) -> Rounds:
    contenders = {
        OURS: _sync(stage, partial(sync_contenders.ours, stage.hub, stage.server)),
        DISK: _sync(stage, partial(sync_contenders.by_disk, stage.hub, stage.server)),
        RCLONE: _sync(stage, partial(sync_contenders.by_rclone, stage.hub, stage.server, stage.sums)),
    }
    return run_rounds("sync", contenders, stage.rounds, _say)


def _slow(stage: Stage) -> Rounds:
    contenders = {
        OURS: _sync(stage, partial(sync_contenders.ours, stage.hub, stage.server)),
        PODS: _sync(stage, partial(sync_contenders.ours, stage.hub, stage.server, pods=3)),
        DISK: _sync(stage, partial(sync_contenders.by_disk, stage.hub, stage.server)),
        BARE: partial(measure, sync_contenders.bare_download(stage.hub, stage.sums), stage.run),
    }
    stage.hub.throttle(_SLOW_HUB)
    try:
        return run_rounds("slow hub", contenders, min(stage.rounds, _THROTTLED_ROUNDS), _say)
    finally:
        stage.hub.throttle(None)


def _sync(stage: Stage, job: Callable[[str], Job]) -> Contender:
    """Return a contender that gets a fresh bucket for each run."""

    def run() -> Spent:
        bucket = stage.server.new_bucket()
        spent = measure(job(bucket), stage.run)
        read = stage.server.reads(bucket, Folder(sync_contenders.FOLDER))
        stage.server.drop(bucket)
        return replace(spent, read_mib=sum(stage.hub.files[path].size for path in read) / 2**20)

    return run


def _fetch(stage: Stage, bucket: str) -> Rounds:
    jobs = {OURS: fetch_contenders.ours, **fetch_contenders.PUBLIC}
    contenders = {
        name: partial(measure, job(stage.server, bucket, stage.sums), stage.run) for name, job in jobs.items()
    }
    return run_rounds("fetch", contenders, stage.rounds, _say)


def _link(folder: Path, count: int) -> Rounds:
    def run() -> Spent:
        # A fresh one each time: the silent requests are counted from its first.
        with slow_bucket() as bucket:
            options = ("--connections", str(CONNECTIONS))
            return measure(fetch_contenders.fetch(SOURCE, bucket.environment(), *options), folder / "run")

    return run_rounds("slow link", {OURS: run}, min(count, _THROTTLED_ROUNDS), _say)


def gates_of(found: Found) -> list[Gate]:
    """Return what is asked of the figures."""
    fast, slow, killed, fetch = found.fast, found.slow, found.killed, found.fetch
    ours = fast.spent[OURS]
    fastest = min((name for name in fetch.spent if name != OURS), key=lambda name: median(fetch.walls(name)))
    used = ratio([TOTAL_BYTES / LINK_BYTES_PER_SECOND], found.link.walls(OURS))
    return [
        Gate(title=f"sync, CPU of {DISK}", found=fast.cpu_ratio(OURS, DISK), limit=0.30),
        Gate(title=f"sync, wall of {DISK}", found=fast.wall_ratio(OURS, DISK), limit=0.50, wall=True),
        Gate(title=f"sync, CPU of {RCLONE}", found=fast.cpu_ratio(OURS, RCLONE), limit=1.15),
        Gate(title=f"sync, wall of {RCLONE}", found=fast.wall_ratio(OURS, RCLONE), limit=1.25, wall=True),
        Gate(title="sync, memory (MB)", found=max(each.rss_mib for each in ours) * 2**20 / 1e6, limit=256, decimals=0),
        Gate(title="sync, disk (MiB)", found=max(each.disk_mib for each in ours), limit=0),
        Gate(title="sync, read back (MiB)", found=max(each.read_mib for each in ours), limit=0),
        Gate(title=f"slow hub, wall of {DISK}", found=slow.wall_ratio(OURS, DISK), limit=0.65, wall=True),
        Gate(title=f"slow hub, wall of {BARE}", found=slow.wall_ratio(OURS, BARE), limit=1.15, wall=True),
        Gate(title="slow hub, wall of 3 pods to 1", found=slow.wall_ratio(PODS, OURS), limit=0.75, wall=True),
        Gate(title="killed, finished shards", found=killed.finished, limit=1, least=True, decimals=0),
        Gate(title="killed, of these fetched again", found=killed.again, limit=0, decimals=0),
        Gate(title="killed, others not fetched once", found=killed.odd, limit=0, decimals=0),
        Gate(title="killed, read back (bytes)", found=killed.reads, limit=0, decimals=0),
        Gate(title=f"fetch, wall of the fastest, {fastest}", found=fetch.wall_ratio(OURS, fastest), limit=1, wall=True),
        Gate(title="fetch, share of a slow link", found=used, limit=0.85, least=True, wall=True),
    ]


def _report(found: Found, gates: Sequence[Gate]) -> list[str]:
    """Return the lines to print."""
    every = [found.fast, found.slow, found.fetch, found.link]
    lines = ["", *aligned([*map(list, HEADS), *(row for each in every for row in each.rows())]), ""]
    lines += [*gate.table(gates), "", _noise(found.fast.walls(OURS))]
    return lines


def _noise(walls: Sequence[float]) -> str:
    """Return the sentence that says how far wall times can be trusted."""
    least, middle, most = spread(walls) or (0.0, 1.0, 0.0)
    load, processors = os.getloadavg()[0], os.cpu_count() or 1
    return (
        f"Noise: the same sync's walls lay {(most - least) / middle:.0%} of their median apart; at the end {load:.1f}"
        f" processes wanted the {processors} processors. Trust ratios of CPU before those of wall times."
    )


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
