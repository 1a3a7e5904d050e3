"""What Azure Blob Storage alone has, against Azurite; all other tests of a bucket run against it as well."""

import obstore
import pytest

from tests.weights import azurite
from tests.weights.conftest import Copy
from tests.weights.tiny_model import Model, tiny_model

pytestmark = [
    pytest.mark.servers,
    pytest.mark.cluster,
    pytest.mark.parametrize("bucket", ["azurite"], indirect=True),
]

SHARD = "model-00001-of-00002.safetensors"
LARGE = pytest.mark.parametrize("model", [tiny_model(2, 12 << 20)], ids=["12MiB"])


@LARGE
def test_an_identity_that_may_only_read(copy: Copy, model: Model) -> None:
    copy.bucket.token = azurite.sas("rl")
    ended = copy.run("--part-mib", "5")
    assert ended.status == 42
    assert "the identity may not do that; let it list, read, write and delete objects" in ended.log
    assert copy.bucket.objects() == {}


@LARGE
def test_an_identity_without_the_accounts_key(copy: Copy, model: Model) -> None:
    copy.bucket.token = azurite.sas("rlwcd")
    ended = copy.run("--part-mib", "5")
    assert ended.status == 0, ended.log
    copy.assert_complete()


def test_an_identity_that_has_expired(copy: Copy) -> None:
    copy.bucket.token = azurite.sas("rlwcd", until="2020-01-01T00:00:00Z")
    ended = copy.run()
    assert ended.status == 42
    assert ended.log.count("weight-sync: ") == 1


@LARGE
def test_blobs_say_that_they_are_bytes_and_no_more(copy: Copy, model: Model) -> None:
    assert copy.run("--part-mib", "5").status == 0
    client = copy.bucket.store()._store
    for path in (SHARD, "config.json", "tokenizer/vocabulary file.txt"):
        found = obstore.get(client, copy.bucket.folder.model(path)).attributes
        assert found == {"Content-Type": "application/octet-stream"}
