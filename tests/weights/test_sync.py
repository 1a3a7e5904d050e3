"""A whole copy: what gets into the bucket, what doesn't, and what a second run does."""

import json

import pytest

from components.weights.manifest import Folder
from tests.weights.conftest import TOKEN, Copy
from tests.weights.tiny_model import COMMIT, Model, tiny_model

pytestmark = pytest.mark.servers


def test_copies_every_file_that_belongs_and_nothing_else(copy: Copy) -> None:
    ended = copy.run()
    assert ended.status == 0, ended.log
    copy.assert_complete()
    assert ended.counts("copied", "skipped", "failed", "complete") == (9, 0, 0, True)
    assert ended.result["bytes"] == sum(map(len, copy.wanted().values()))


def test_notes_lie_outside_the_models_folder(copy: Copy) -> None:
    copy.run()
    keys = {held.key for held in copy.bucket.store().list("")}
    notes = {key for key in keys if key.startswith(".weight-sync/")}
    assert len(notes) == len(copy.wanted()) + 1
    assert all(key.startswith(f"acme/tiny/{COMMIT}/") for key in keys - notes)


def test_the_marker_comes_last(copy: Copy) -> None:
    copy.run()
    written = [address for method, address in copy.bucket.proxy.requests if method == "PUT"]
    assert [address.endswith("/_COMPLETE.json") for address in written] == [False] * 18 + [True]


def test_a_second_run_asks_the_bucket_twice_and_the_hub_nothing(copy: Copy) -> None:
    copy.run()
    copy.hub.requests.clear()
    copy.bucket.proxy.requests.clear()
    ended = copy.run()
    assert (ended.status, *ended.counts("copied", "skipped", "complete")) == (0, 0, 9, True)
    assert copy.hub.requests == []
    assert [method for method, _ in copy.bucket.proxy.requests] == ["GET", "GET"]


def test_a_folder_of_the_users_own(copy: Copy) -> None:
    copy.bucket.folder = Folder("models/kimi")
    ended = copy.run("--to", f"{copy.bucket.url}/models/kimi/")
    assert ended.status == 0
    copy.assert_complete()


def test_the_token_goes_to_the_hub_alone_and_into_no_log(copy: Copy) -> None:
    copy.hub.token = TOKEN
    ended = copy.run("--progress", "json", "--interval", "0.01")
    assert ended.status == 0
    copy.assert_complete()
    cdn = [request for request in copy.hub.requests if request.server == "cdn"]
    assert cdn
    assert not [request for request in cdn if "authorization" in {name.lower() for name in request.headers}]
    assert TOKEN not in ended.out + ended.log
    assert "secret-signature" not in ended.out + ended.log


def test_bytes_are_asked_for_uncompressed(copy: Copy) -> None:
    copy.run()
    assert {request.headers["Accept-Encoding"] for request in copy.hub.requests} == {"identity"}


def test_a_mirror_that_is_the_cdn_as_well(copy: Copy) -> None:
    model = copy.hub.model
    model.files = {path: data for path, data in model.files.items() if not model.large(path)}
    del model.files["model.safetensors.index.json"]
    assert copy.run().status == 0
    copy.assert_complete()


def test_progress_as_json_ends_with_the_result(copy: Copy) -> None:
    copy.hub.chunk_seconds = 0.02
    ended = copy.run("--progress", "json", "--interval", "0.02")
    events = [json.loads(line) for line in ended.out.splitlines()]
    assert events[0]["event"] == "progress"
    assert events[-1]["event"] == "result"
    assert events[0]["total_bytes"] == sum(map(len, copy.wanted().values()))


@pytest.mark.parametrize("model", [tiny_model(3, 11 << 20)], ids=["11MiB"])
def test_shards_of_several_parts(copy: Copy, model: Model) -> None:
    ended = copy.run("--part-mib", "5", "--parallel", "2")
    assert ended.status == 0, ended.log
    copy.assert_complete()
    assert copy.bucket.proxy.count("PUT", "partNumber=") == 9


def test_read_back_finds_what_somebody_overwrote(copy: Copy) -> None:
    copy.run()
    name = "model-00002-of-00004.safetensors"
    copy.bucket.store().put_small(copy.bucket.folder.model(name), bytes(3000))
    assert copy.run().status == 0
    ended = copy.run("--verify", "readback")
    # The object's etag isn't its sidecar's any more, so it is read, found wrong and copied again.
    assert (ended.status, *ended.counts("copied", "skipped", "failed")) == (0, 1, 8, 0)
    copy.assert_complete()


def test_a_pinned_digest_that_fits(copy: Copy) -> None:
    digest = str(copy.run().result["digest"])
    copy.bucket.store().delete(copy.bucket.folder.marker)
    ended = copy.run("--digest", digest)
    assert (ended.status, ended.result["digest"], ended.result["skipped"]) == (0, digest, 9)


def test_a_pinned_digest_that_differs_is_refused_before_a_shard_is_read(copy: Copy) -> None:
    ended = copy.run("--digest", "0" * 64)
    assert ended.status == 42
    assert "aren't the pinned model" in ended.log
    assert copy.hub.asked("cdn") == []
    assert copy.bucket.objects() == {}
