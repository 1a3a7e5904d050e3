"""Everything that goes wrong between the hub and this program, each with what must come of it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from tests.weights.conftest import Copy
from tests.weights.hub import Fault
from tests.weights.tiny_model import Model, tiny_model

pytestmark = pytest.mark.servers

SHARD = "model-00002-of-00004.safetensors"
SMALL = "config.json"


MENDED = {
    "corrupt once": [Fault("corrupt", SHARD)],
    "corrupt once, small file": [Fault("corrupt", SMALL)],
    "one byte too many": [Fault("long", SHARD)],
    "cut before the first byte": [Fault("cut", SHARD, at=0)],
    "cut amid": [Fault("cut", SHARD, at=1500)],
    "cut at the last byte": [Fault("cut", SHARD, at=2999)],
    "cut three times": [Fault("cut", SHARD, at=700, times=3)],
    "200 without a byte": [Fault("empty", SHARD, times=2)],
    "200 without a byte, small file": [Fault("empty", SMALL, times=2)],
    "range ignored": [Fault("cut", SHARD, at=1500), Fault("ignore_range", SHARD, ranged=True)],
    "wrong range": [Fault("cut", SHARD, at=1500), Fault("wrong_range", SHARD, ranged=True)],
    "range of another file": [Fault("cut", SHARD, at=1500), Fault("wrong_total", SHARD, ranged=True)],
    "416": [Fault("cut", SHARD, at=1500), Fault("status", SHARD, status=416, ranged=True)],
    "compressed": [Fault("compress", SHARD)],
    "stall": [Fault("stall", SHARD, at=1500, seconds=1.2)],
    "stall before the first byte": [Fault("stall", SHARD, at=0, seconds=1.2)],
    "signed address expired": [Fault("status", SHARD, status=403, times=2)],
    "signed address expired amid": [Fault("cut", SHARD, at=1500), Fault("status", SHARD, status=403, ranged=True)],
    "503 of the CDN": [Fault("status", SHARD, status=503, times=4)],
    "503 of the hub": [Fault("status", SHARD, status=503, times=4, server="hub")],
    "502 of the listing": [Fault("status", status=502, times=3, server="hub")],
    "redirects in a circle, once": [Fault("loop", SHARD, times=6, server="hub")],
}


@pytest.mark.parametrize("faults", MENDED.values(), ids=MENDED)
def test_what_a_retry_mends(copy: Copy, faults: list[Fault]) -> None:
    copy.hub.faults = [replace(fault) for fault in faults]
    ended = copy.run()
    assert ended.status == 0, ended.log
    copy.assert_complete()
    assert ended.result["retries"]


PAST = format_datetime(datetime.now(UTC) - timedelta(seconds=5))
LIMITED = {
    "RateLimit": ({"RateLimit": '"resolvers";r=0;t=1'}, 1),
    "Retry-After in seconds": ({"Retry-After": "1"}, 1),
    "Retry-After as a date": ({"Retry-After": PAST}, 0),
    "unreadable": ({"Retry-After": "soon"}, 0),
    "nothing": ({}, 0),
}


@pytest.mark.parametrize(("headers", "seconds"), LIMITED.values(), ids=LIMITED)
def test_a_rate_limit_is_waited_for(copy: Copy, headers: dict[str, str], seconds: int) -> None:
    copy.hub.faults = [Fault("status", SHARD, server="hub", status=429, headers=headers)]
    ended = copy.run()
    assert (ended.status, ended.result["retries"]) == (0, 1)
    copy.assert_complete()
    assert "answered 429; trying again in" in ended.log
    assert float(str(ended.result["seconds"])) >= seconds


BAD = {
    "corrupt always": (Fault("corrupt", SHARD, times=99), "has the sha256", 3),
    "never a byte": (Fault("cut", SHARD, times=99), "gave up after 5 tries without progress", 5),
    "empty always": (Fault("empty", SHARD, times=99), "announced 0 bytes instead of 3,000", 5),
    "redirects in a circle": (Fault("loop", SHARD, times=99, server="hub"), "redirects in a circle", 0),
    "stalls always": (Fault("stall", SHARD, seconds=0.7, times=99), "gave up after 5 tries", 5),
}


@pytest.mark.parametrize(("fault", "why", "asked"), BAD.values(), ids=BAD)
def test_a_bad_file_fails_and_the_others_stay(copy: Copy, fault: Fault, why: str, asked: int) -> None:
    copy.hub.faults = [replace(fault)]
    ended = copy.run("--stall", "0.2")
    assert ended.status == 1
    assert ended.counts("copied", "failed", "complete") == (8, 1, False)
    assert why in ended.log
    wanted = copy.wanted()
    del wanted[SHARD]
    assert copy.bucket.objects() == wanted
    assert copy.bucket.marker() is None
    assert copy.hub.asked("cdn").count(SHARD) == asked
    copy.hub.faults = []
    again = copy.run()
    assert (again.status, *again.counts("copied", "skipped")) == (0, 1, 8)
    copy.assert_complete()


REFUSED = {
    401: "set HF_TOKEN to a valid read token",
    403: "accept the model's terms on its page",
    404: "correct --repository or --revision",
}


@pytest.mark.parametrize("path", ["", SHARD], ids=["listing", "file"])
@pytest.mark.parametrize("status", REFUSED)
def test_what_the_hub_refuses_isnt_tried_again(copy: Copy, status: int, path: str) -> None:
    copy.hub.faults = [Fault("status", path, server="hub", status=status, times=99)]
    ended = copy.run("--parallel", "1")
    assert ended.status == 42
    assert f"({status})" in ended.log
    assert REFUSED[status] in ended.log
    assert ended.result["retries"] == 0
    assert copy.bucket.marker() is None
    if path:
        assert copy.hub.asked("hub").count(SHARD) == 1
    else:
        assert len(copy.hub.requests) == 1


def test_without_a_token_the_message_says_so(copy: Copy) -> None:
    copy.hub.token = "another"
    assert "a request without a token (HF_TOKEN isn't set)" in copy.run(token="").log


def test_a_listing_without_shards_of_the_index_is_refused(copy: Copy) -> None:
    names = [f"layer-{number}.safetensors" for number in range(4)]
    files = copy.hub.model.files
    for old, new in zip(sorted(path for path in files if path.endswith(".safetensors")), names, strict=True):
        files[new] = files.pop(old)
        index = files["model.safetensors.index.json"]
        files["model.safetensors.index.json"] = index.replace(old.encode(), new.encode())
    copy.hub.model.unlisted = {names[2]}
    ended = copy.run()
    assert ended.status == 1
    assert f"misses 1 shards that model.safetensors.index.json names, {names[2]} first" in ended.log
    assert copy.bucket.objects() == {}


def test_a_listing_cut_short_with_the_index_is_refused(copy: Copy) -> None:
    copy.hub.model.unlisted = {SHARD, "model.safetensors.index.json"}
    ended = copy.run()
    assert ended.status == 1
    assert "lists 3 of 4 shards" in ended.log


def test_another_commit_than_the_pinned_one_is_refused(copy: Copy) -> None:
    copy.hub.model.commit = "f" * 40
    ended = copy.run()
    assert ended.status == 42
    assert "--revision has to be the commit itself" in ended.log


def test_no_hub_at_all(copy: Copy) -> None:
    ended = copy.run("--endpoint", "http://127.0.0.1:1")
    assert ended.status == 1
    assert "127.0.0.1:1 didn't answer" in ended.log


@pytest.mark.parametrize("model", [tiny_model(2, 12 << 20)], ids=["12MiB"])
def test_wrong_bytes_of_several_parts_never_become_visible(copy: Copy, model: Model) -> None:
    copy.hub.faults = [Fault("corrupt", "model-00001-of-00002.safetensors", times=99)]
    assert copy.run("--part-mib", "5").status == 1
    wanted = copy.wanted()
    del wanted["model-00001-of-00002.safetensors"]
    assert copy.bucket.objects() == wanted


@pytest.mark.parametrize("model", [tiny_model(2, 12 << 20)], ids=["12MiB"])
def test_a_broken_connection_goes_on_where_it_broke(copy: Copy, model: Model) -> None:
    shard = "model-00001-of-00002.safetensors"
    copy.hub.faults = [Fault("cut", shard, at=7 << 20), Fault("cut", shard, at=4 << 20, ranged=True)]
    assert copy.run("--part-mib", "5").status == 0
    copy.assert_complete()
    ranges = [request.headers.get("Range") for request in copy.hub.requests if request.path == shard]
    # Through the hub again each time, for a new signed address.
    assert [int(entry.removeprefix("bytes=")[:-1]) >> 20 if entry else 0 for entry in ranges] == [0, 0, 7, 7, 11, 11]


def test_a_server_that_ignores_ranges_costs_one_more_request(copy: Copy) -> None:
    copy.hub.faults = [Fault("cut", SHARD, at=1500), Fault("ignore_range", SHARD, ranged=True)]
    ended = copy.run()
    assert (ended.status, ended.result["retries"], copy.hub.asked("cdn").count(SHARD)) == (0, 1, 2)
    copy.assert_complete()
