"""The same copy into Google Cloud Storage, against a stand-in of its XML API."""

import pytest

from tests.weights.bucket import BucketFault
from tests.weights.conftest import Copy
from tests.weights.hub import Fault
from tests.weights.tiny_model import Model, tiny_model

pytestmark = [pytest.mark.servers, pytest.mark.parametrize("bucket", ["gcs"], indirect=True)]

SHARD = "model-00002-of-00004.safetensors"


def test_copies_skips_and_marks(copy: Copy) -> None:
    assert copy.run().counts("copied", "skipped", "complete") == (9, 0, True)
    copy.assert_complete()
    copy.bucket.store().delete(copy.bucket.folder.marker)
    assert copy.run().counts("copied", "skipped", "adopted", "complete") == (0, 9, 0, True)


@pytest.mark.parametrize("model", [tiny_model(2, 11 << 20)], ids=["11MiB"])
def test_several_parts_with_faults_on_both_sides(copy: Copy, model: Model) -> None:
    copy.hub.faults = [Fault("cut", "model-00001-of-00002.safetensors", at=7 << 20)]
    copy.bucket.proxy.faults = [BucketFault(503, "SlowDown", method="PUT", key="partNumber=2")]
    ended = copy.run("--part-mib", "5")
    assert ended.status == 0, ended.log
    copy.assert_complete()


def test_wrong_bytes_never_become_visible(copy: Copy) -> None:
    copy.hub.faults = [Fault("corrupt", SHARD, times=99)]
    assert copy.run().status == 1
    assert SHARD not in copy.bucket.objects()
    assert copy.bucket.marker() is None


def test_an_identity_without_the_right(copy: Copy) -> None:
    copy.bucket.proxy.faults = [BucketFault(403, "AccessDenied", method="PUT", times=99)]
    ended = copy.run()
    assert ended.status == 42
    assert "gs://" in ended.log
    assert "the identity may not do that" in ended.log


def test_an_overwritten_object_is_copied_again(copy: Copy) -> None:
    copy.run()
    copy.bucket.store().delete(copy.bucket.folder.marker)
    copy.bucket.store().put_small(copy.bucket.folder.model(SHARD), bytes(3000))
    assert copy.run().counts("copied", "skipped") == (1, 8)
    copy.assert_complete()
