"""How many GET streams a node opens, as arithmetic: one stream is slow, a node's link takes hundreds of them."""

import math
from dataclasses import dataclass
from typing import Final

STREAM_MB_PER_SECOND: Final = 90
"""Of one GET stream, decimal MB: 85 to 90 is what S3 gives one connection (AWS's own performance guidelines)."""
SPARE: Final = 0.10
"""More streams than the link needs: while one is silent until it is abandoned, another fills its place."""
STREAMS_PER_CORE: Final = 8
"""More only wait for the core: 8 x 90 MB/s take 1.0 to 1.5 CPU-seconds a second (measured: 1.5 to 2.3 a GiB over
plain HTTP, sha256 and the page cache included)."""
MIB_PER_STREAM: Final = 4
"""Memory of one stream: its chunk, and the kernel's socket buffer, which the cgroup counts (measured: 0.7 MiB at 400
slow streams). Parts are written as they come in, never held, so their size takes none."""
SHARD_MB_PER_SECOND: Final = 700
"""Of sha256 over one shard, which only one core can do: 979 MiB/s with SHA-NI on an idle core, less on a busy one."""
ASSUMED_LINK_GBPS: Final = 25.0
"""Where nobody says what the link is: Kubernetes doesn't, and virtual network cards report -1."""
_FEWEST: Final = 8


@dataclass(frozen=True, kw_only=True)
class Streams:
    """How a node reads, with the arithmetic behind it."""

    count: int
    """GET streams at once."""
    shards: int
    """Files at once, so that enough cores hash them."""
    arithmetic: str
    """One line for the log."""


def derive_streams(
    *, link_gbps: float | None, quota_gbps: float | None, cores: int, memory_mib: int, chosen: int | None = None
) -> Streams:
    """Return how many streams fill the narrower of link and quota, within what cores and memory allow.

    Args:
        link_gbps: The node's link for storage in Gbit/s; None when unknown.
        quota_gbps: This node's share of the account's or region's quota in Gbit/s; None when there is none.
        cores: Cores that the container may use.
        memory_mib: Memory for streams in MiB.
        chosen: A person's own number, which is taken as it is.
    """
    if chosen is not None:
        shards = _shards(chosen * STREAM_MB_PER_SECOND, chosen, cores)
        return Streams(count=chosen, shards=shards, arithmetic=f"{chosen} streams as --connections says")
    link = ASSUMED_LINK_GBPS if link_gbps is None else link_gbps
    narrow = link if quota_gbps is None else min(link, quota_gbps)
    megabytes = narrow * 1000 / 8
    wanted = math.ceil(round(megabytes * (1 + SPARE) / STREAM_MB_PER_SECOND, 6))
    by_cores, by_memory = cores * STREAMS_PER_CORE, memory_mib // MIB_PER_STREAM
    count = max(1, min(max(wanted, _FEWEST), max(by_cores, _FEWEST), by_memory))
    given = "assumed, see --link-gbps" if link_gbps is None else "link"
    what = "quota" if narrow < link else given
    arithmetic = (
        f"{count} streams: {narrow:g} Gbit/s ({what}) = {megabytes:,.0f} MB/s, at {STREAM_MB_PER_SECOND} MB/s a stream"
        f" and {SPARE:.0%} spare {wanted}; at most {by_cores} for {cores} cores, {by_memory} for {memory_mib:,} MiB"
    )
    return Streams(count=count, shards=_shards(megabytes, count, cores), arithmetic=arithmetic)


def _shards(megabytes_per_second: float, streams: int, cores: int) -> int:
    """Return how many shards to read at once: one core hashes one, and one more may be waiting for its disk."""
    wanted = math.ceil(megabytes_per_second / SHARD_MB_PER_SECOND) + 1
    return max(1, min(wanted, streams, max(cores, 2)))
