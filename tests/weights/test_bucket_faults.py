"""What goes wrong between this program and the bucket, and what it finds there."""

import threading
import time

import pytest

from tests.weights.bucket import BucketFault
from tests.weights.conftest import Copy
from tests.weights.tiny_model import Model, tiny_model

pytestmark = pytest.mark.servers

SHARD = "model-00002-of-00004.safetensors"
LARGE = [tiny_model(2, 12 << 20)]

MENDED = {
    "500 on a write": BucketFault(500, method="PUT", key=SHARD),
    "503 on a write": BucketFault(503, "SlowDown", method="PUT", key=SHARD, times=2),
    "500 on a look": BucketFault(500, method="HEAD", key=SHARD),
    "503 on the marker": BucketFault(503, "SlowDown", method="PUT", key="_COMPLETE"),
    "500 on a listing": BucketFault(500, method="GET", key="list-type"),
}


@pytest.mark.parametrize("fault", MENDED.values(), ids=MENDED)
def test_what_a_retry_mends(copy: Copy, fault: BucketFault) -> None:
    copy.bucket.proxy.faults = [BucketFault(**vars(fault))]
    ended = copy.run()
    assert ended.status == 0, ended.log
    copy.assert_complete()


PART_FAULTS = {
    "500 on a part": BucketFault(500, method="PUT", key="partNumber=2", times=2),
    "503 on complete": BucketFault(503, "SlowDown", method="POST", key="uploadId="),
    "500 on begin": BucketFault(500, method="POST", key="uploads"),
}


@pytest.mark.parametrize("model", LARGE, ids=["12MiB"])
@pytest.mark.parametrize("fault", PART_FAULTS.values(), ids=PART_FAULTS)
def test_what_a_retry_mends_of_a_multipart_upload(copy: Copy, model: Model, fault: BucketFault) -> None:
    copy.bucket.proxy.faults = [BucketFault(**vars(fault))]
    ended = copy.run("--part-mib", "5")
    assert ended.status == 0, ended.log
    copy.assert_complete()


@pytest.mark.parametrize("model", LARGE, ids=["12MiB"])
def test_a_bucket_that_goes_away_amid_a_part_and_comes_back(copy: Copy, model: Model) -> None:
    def away() -> None:
        while not copy.bucket.proxy.count("PUT", "partNumber=1"):
            time.sleep(0.005)
        copy.bucket.proxy.down.set()
        time.sleep(0.4)
        copy.bucket.proxy.down.clear()

    copy.hub.chunk_seconds = 0.002
    thread = threading.Thread(target=away)
    thread.start()
    ended = copy.run("--part-mib", "5")
    thread.join()
    assert ended.status == 0, ended.log
    copy.assert_complete()


FINAL = {
    "AccessDenied": (403, "AccessDenied", "the identity may not do that; let it list, read, write and delete"),
    "NoSuchBucket": (404, "NoSuchBucket", "there is no such bucket; create it"),
    "QuotaExceeded": (403, "QuotaExceeded", "the bucket's quota is used up"),
    "unknown key": (403, "InvalidAccessKeyId", "doesn't know these credentials; correct the keys"),
}


@pytest.mark.parametrize("method", ["GET", "PUT"], ids=["reading", "writing"])
@pytest.mark.parametrize(("status", "code", "says"), FINAL.values(), ids=FINAL)
def test_what_a_person_has_to_mend_ends_it_at_once(copy: Copy, method: str, status: int, code: str, says: str) -> None:
    copy.bucket.proxy.faults = [BucketFault(status, code, method=method, times=99)]
    ended = copy.run()
    assert ended.status == 42
    assert says in ended.log
    assert copy.bucket.proxy.count("PUT", "") <= 8
    assert copy.bucket.marker() is None


def test_a_bucket_that_isnt_there(copy: Copy) -> None:
    ended = copy.run("--to", f"{copy.bucket.url}-absent")
    assert ended.status == 42
    assert "there is no such bucket; create it" in ended.log
    assert copy.hub.requests == []


WRONG_KEYS = {
    "versitygw": ({"AWS_SECRET_ACCESS_KEY": "another"}, "doesn't know these credentials; correct the keys"),
    "azurite": ({"AZURE_STORAGE_ACCOUNT_KEY": "YW5vdGhlcg=="}, "the identity may not do that"),
}


@pytest.mark.cluster
@pytest.mark.parametrize(
    ("bucket", "key", "says"), [(name, *rest) for name, rest in WRONG_KEYS.items()], indirect=["bucket"], ids=WRONG_KEYS
)
def test_a_wrong_key(copy: Copy, key: dict[str, str], says: str) -> None:
    copy.environment = key
    ended = copy.run()
    assert ended.status == 42
    assert says in ended.log
    assert key.popitem()[1] not in ended.out + ended.log


def test_a_full_store(copy: Copy) -> None:
    copy.bucket.proxy.faults = [BucketFault(507, "XMinioStorageFull", method="PUT", times=99)]
    ended = copy.run("--bucket-retry", "0.1")
    assert ended.status == 42
    assert "the store is full; make room" in ended.log


def test_a_bucket_that_is_out_of_order_fails_the_run_and_the_next_goes_on(copy: Copy) -> None:
    copy.bucket.proxy.faults = [BucketFault(500, method="PUT", key=f"{SHARD}", times=999)]
    ended = copy.run("--bucket-retry", "0.1")
    assert (ended.status, ended.result["failed"]) == (1, 1)
    assert f"can't write {copy.bucket.folder.model(SHARD)}" in ended.log
    copy.bucket.proxy.faults = []
    again = copy.run()
    assert (again.status, *again.counts("copied", "skipped")) == (0, 1, 8)
    copy.assert_complete()


def test_no_store_at_all(copy: Copy) -> None:
    ended = copy.run("--bucket-endpoint", "http://127.0.0.1:1", "--bucket-retry", "0.1")
    assert ended.status == 1
    assert "the store can't be reached; check the endpoint" in ended.log


def incomplete(copy: Copy) -> None:
    """Make a full copy without its marker."""
    assert copy.run().status == 0
    copy.bucket.store().delete(copy.bucket.folder.marker)


def test_a_deleted_object_is_copied_again(copy: Copy) -> None:
    incomplete(copy)
    copy.bucket.store().delete(copy.bucket.folder.model(SHARD))
    ended = copy.run()
    assert ended.counts("copied", "skipped", "adopted") == (1, 8, 0)
    copy.assert_complete()


@pytest.mark.parametrize("data", [b"short", bytes(3000), b"\1" * 4000], ids=["truncated", "same size", "too long"])
def test_an_overwritten_object_is_copied_again(copy: Copy, data: bytes) -> None:
    incomplete(copy)
    copy.bucket.store().put_small(copy.bucket.folder.model(SHARD), data)
    ended = copy.run()
    assert ended.counts("copied", "skipped", "adopted") == (1, 8, 0)
    copy.assert_complete()


def test_right_bytes_without_a_sidecar_are_read_and_kept(copy: Copy) -> None:
    for path, data in copy.wanted().items():
        copy.bucket.store().put_small(copy.bucket.folder.model(path), data)
    ended = copy.run()
    assert ended.counts("copied", "skipped", "adopted", "complete") == (0, 0, 9, True)
    assert copy.hub.asked("cdn") == []
    copy.assert_complete()


@pytest.mark.parametrize("note", [b"", b"{}", b"null", b'{"path": "x"}', b"\xff"])
def test_an_unreadable_sidecar_vouches_for_nothing(copy: Copy, note: bytes) -> None:
    incomplete(copy)
    copy.bucket.store().put_small(copy.bucket.folder.sidecar(SHARD), note)
    assert copy.run().counts("copied", "skipped", "adopted") == (0, 8, 1)
    copy.assert_complete()


def test_a_sidecar_without_its_object_is_not_enough(copy: Copy) -> None:
    incomplete(copy)
    store = copy.bucket.store()
    for path in copy.wanted():
        store.delete(copy.bucket.folder.model(path))
    assert copy.run().counts("copied", "skipped") == (9, 0)
    copy.assert_complete()


def test_a_marker_without_objects_is_not_complete(copy: Copy) -> None:
    assert copy.run().status == 0
    copy.bucket.store().delete(copy.bucket.folder.model(SHARD))
    copy.hub.token = "another"
    refused = copy.run()
    assert refused.status == 42
    assert copy.bucket.marker() is None
    copy.hub.token = None
    assert copy.run().counts("copied", "skipped", "complete") == (1, 8, True)
    copy.assert_complete()


def test_a_marker_of_another_digest_is_not_complete(copy: Copy) -> None:
    assert copy.run().status == 0
    store, folder = copy.bucket.store(), copy.bucket.folder
    store.put_small(folder.marker, (store.get(folder.marker) or b"").replace(b'"size":3000', b'"size":3001', 1))
    assert copy.run().counts("copied", "skipped", "complete") == (0, 9, True)
    copy.assert_complete()


def test_a_folder_that_is_another_revisions_is_refused(copy: Copy) -> None:
    target = ("--to", f"{copy.bucket.url}/kimi")
    assert copy.run(*target).status == 0
    copy.hub.model.commit = "f" * 40
    ended = copy.run(*target, "--revision", "f" * 40)
    assert ended.status == 42
    assert "holds the revision 0123456789abcdef0123456789abcdef01234567 complete; name a folder of its own" in ended.log


def test_weights_of_something_else_in_the_folder_are_refused(copy: Copy) -> None:
    copy.bucket.store().put_small(copy.bucket.folder.model("model-00005-of-00005.safetensors"), b"old")
    ended = copy.run()
    assert ended.status == 42
    assert "1 weights in the folder aren't of this revision" in ended.log
