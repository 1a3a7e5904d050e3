"""How many streams: a table computed by hand."""

from dataclasses import dataclass

import pytest

from components.weights.streams import derive_streams


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    link: float | None = None
    quota: float | None = None
    cores: int = 192
    memory: int = 4096
    chosen: int | None = None
    count: int
    shards: int


CASES = (
    # 300 Gbit/s = 37,500 MB/s; / 90 = 416.7 streams, with a tenth more 458.3; 37,500 / 700 = 53.6 shards, and one more.
    Case(name="p6-b300's card for storage", link=300, count=459, shards=55),
    # 160 Gbit/s = 20,000 MB/s; 22,000 / 90 = 244.4; 20,000 / 700 = 28.6.
    Case(name="ND GB300's Ethernet", link=160, cores=144, count=245, shards=30),
    # 100 Gbit/s of an account for two nodes: 50 Gbit/s = 6,250 MB/s; 6,875 / 90 = 76.4; 6,250 / 700 = 8.9.
    Case(name="half of OSS's quota", link=170, quota=50, count=77, shards=10),
    Case(name="a quota above the link changes nothing", link=160, quota=400, cores=144, count=245, shards=30),
    # 25 Gbit/s = 3,125 MB/s; 3,437.5 / 90 = 38.2; 3,125 / 700 = 4.5.
    Case(name="nobody says what the link is", count=39, shards=6),
    # 4 cores x 8.
    Case(name="few cores", link=300, cores=4, count=32, shards=4),
    # 512 MiB / 4 MiB.
    Case(name="little memory", link=300, memory=512, count=128, shards=55),
    Case(name="very little memory", link=300, memory=2, count=1, shards=1),
    # 1 Gbit/s = 125 MB/s would be 1.5 streams; but a stalled one must not be half of all.
    Case(name="a slow link", link=1, count=8, shards=2),
    Case(name="one core", link=25, cores=1, count=8, shards=2),
    # 10 x 90 MB/s = 900 MB/s.
    Case(name="a person's own number", link=300, cores=2, chosen=10, count=10, shards=2),
    Case(name="one stream", chosen=1, count=1, shards=1),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_streams_fill_the_link_within_cores_and_memory(case: Case) -> None:
    streams = derive_streams(
        link_gbps=case.link, quota_gbps=case.quota, cores=case.cores, memory_mib=case.memory, chosen=case.chosen
    )
    assert (streams.count, streams.shards) == (case.count, case.shards)


def test_the_log_shows_the_arithmetic() -> None:
    streams = derive_streams(link_gbps=300, quota_gbps=100, cores=192, memory_mib=4096)
    assert streams.arithmetic == (
        "153 streams: 100 Gbit/s (quota) = 12,500 MB/s, at 90 MB/s a stream and 10% spare 153;"
        " at most 1536 for 192 cores, 1024 for 4,096 MiB"
    )


def test_an_assumed_link_is_named_as_such() -> None:
    assumed = derive_streams(link_gbps=None, quota_gbps=None, cores=64, memory_mib=4096)
    assert "25 Gbit/s (assumed, see --link-gbps)" in assumed.arithmetic
