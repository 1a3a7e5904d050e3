"""ModelScope and another bucket as sources, and the stand-in of the hubs against each hub's own client."""

import os
from pathlib import Path

import huggingface_hub
import modelscope_hub
import pytest
from modelscope_hub import _download

from tests.weights.bucket import Bucket, make_bucket
from tests.weights.conftest import Copy
from tests.weights.hub import Fault, Hub
from tests.weights.tiny_model import COMMIT, REPOSITORY, Model, tiny_model

pytestmark = pytest.mark.servers

SHARD = "model-00002-of-00004.safetensors"
OTHER = "e" * 40


def pinned(copy: Copy) -> str:
    """Return the digest that a copy from Hugging Face prints, and forget that copy."""
    digest = str(copy.run().result["digest"])
    store = copy.bucket.store()
    for held in store.list(""):
        store.delete(held.key)
    copy.hub.requests.clear()
    return digest


def test_model_scope_gives_the_same_digest(copy: Copy) -> None:
    digest = pinned(copy)
    # Each hub has a front page of its own.
    copy.hub.model.files |= {"README.md": b"# Another", "configuration.json": b"{}"}
    ended = copy.run("--source", "modelscope", "--source-revision", "master", "--digest", digest)
    assert (ended.status, ended.result["digest"]) == (0, digest), ended.log
    copy.assert_complete()


def test_model_scope_with_broken_connections(copy: Copy) -> None:
    faults = [Fault("empty", SHARD), Fault("cut", SHARD, at=1000), Fault("corrupt", "config.json")]
    copy.hub.faults = faults
    ended = copy.run("--source", "modelscope", "--source-revision", OTHER)
    assert (ended.status, ended.result["retries"]) == (0, 3), ended.log
    copy.assert_complete()


def test_other_weights_of_model_scope_are_refused(copy: Copy) -> None:
    digest = pinned(copy)
    copy.hub.model.files[SHARD] = bytes(3000)
    ended = copy.run("--source", "modelscope", "--digest", digest)
    assert ended.status == 42
    assert copy.bucket.objects() == {}


def test_files_of_either_hub_are_skipped_from_the_other(copy: Copy) -> None:
    assert copy.run("--source", "modelscope", "--source-revision", OTHER).status == 0
    copy.bucket.store().delete(copy.bucket.folder.marker)
    assert copy.run().counts("copied", "skipped") == (0, 9)


@pytest.fixture
def full(copy: Copy) -> Bucket:
    """The bucket, with a complete copy."""
    assert copy.run().status == 0
    return copy.bucket


@pytest.fixture
def second(full: Bucket, copy: Copy) -> Copy:
    """The sync into another bucket of the same store."""
    name = f"{full.name}-b"
    make_bucket(full.proxy.upstream, name, full.scheme)
    return Copy(copy.hub, Bucket(name, full.proxy, full.scheme), copy.capture, copy.patch)


def test_from_a_complete_bucket_without_any_hub(full: Bucket, second: Copy) -> None:
    source = f"{full.url}/{full.folder.prefix}"
    ended = second.run("--source", source, "--endpoint", "http://127.0.0.1:1")
    assert (ended.status, ended.result["copied"]) == (0, 9), ended.log
    second.assert_complete()
    assert second.bucket.marker() == full.marker()


def test_from_a_bucket_that_another_tool_filled_the_hub_says_what_is_right(full: Bucket, second: Copy) -> None:
    store = full.store()
    for held in store.list(full.folder.state):
        store.delete(held.key)
    second.hub.requests.clear()
    assert second.run("--source", full.url).status == 0
    second.assert_complete()
    assert second.hub.asked("cdn") == []


def test_wrong_bytes_of_the_other_bucket_are_not_copied(full: Bucket, second: Copy) -> None:
    full.store().put_small(full.folder.model(SHARD), bytes(3000))
    ended = second.run("--source", full.url)
    assert (ended.status, ended.result["failed"]) == (1, 1)
    assert SHARD not in second.bucket.objects()
    assert second.bucket.marker() is None


def test_an_object_that_the_other_bucket_lacks(full: Bucket, second: Copy) -> None:
    full.store().delete(full.folder.model(SHARD))
    ended = second.run("--source", full.url)
    assert (ended.status, ended.result["failed"]) == (1, 1)
    assert f"can't read {full.folder.model(SHARD)}" in ended.log


def test_another_revision_in_the_other_bucket_is_refused(full: Bucket, second: Copy) -> None:
    source = f"{full.url}/{full.folder.prefix}"
    ended = second.run("--source", source, "--revision", OTHER)
    assert ended.status == 42
    assert f"holds the revision {COMMIT}, not {OTHER}" in ended.log


@pytest.mark.parametrize("model", [tiny_model(2, 11 << 20)], ids=["11MiB"])
def test_several_parts_from_bucket_to_bucket(full: Bucket, second: Copy, model: Model) -> None:
    assert second.run("--source", full.url, "--part-mib", "5").status == 0
    second.assert_complete()


def files(folder: Path) -> dict[str, bytes]:
    """Return all files of a folder, by path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_hugging_faces_own_client_accepts_the_stand_in(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    found = huggingface_hub.snapshot_download(
        REPOSITORY, revision=COMMIT, endpoint=hub.url(), cache_dir=tmp_path, token=False, max_workers=2
    )
    assert files(Path(found)) == hub.model.files
    assert {os.path.basename(path) for path in hub.asked("cdn")} >= {SHARD}  # noqa: PTH119 - a hub's path


@pytest.fixture
def model_scope(hub: Hub, tmp_path: Path) -> modelscope_hub.HubApi:
    """ModelScope's own client, with nothing of the user's."""
    folders = {"cache_dir": tmp_path / "cache", "config_dir": tmp_path / "config"}
    return modelscope_hub.HubApi(modelscope_hub.HubConfig(endpoint=hub.url(), token="", **folders))


def test_model_scopes_own_client_accepts_the_stand_in(
    model_scope: modelscope_hub.HubApi, hub: Hub, tmp_path: Path
) -> None:
    model_scope.download_repo(REPOSITORY, "model", revision=OTHER, local_dir=tmp_path / "to")
    assert files(tmp_path / "to") == hub.model.files
    assert SHARD in hub.asked("cdn")


@pytest.mark.parametrize("model", [tiny_model(2, 5 << 19)], ids=["2.5MiB"])
def test_model_scopes_own_client_gets_the_parts_that_it_asks_for(
    model_scope: modelscope_hub.HubApi, hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"PARALLEL_THRESHOLD": 1 << 20, "PARALLELS": 2, "PART_SIZE": 1 << 20}.items():
        monkeypatch.setattr(_download, f"DOWNLOAD_{name}", value)
    hub.faults = [Fault("cut", "model-00001-of-00002.safetensors", at=1000)]
    model_scope.download_repo(REPOSITORY, "model", revision=OTHER, local_dir=tmp_path / "to")
    assert files(tmp_path / "to") == hub.model.files
    asked = [request.headers.get("Range", "") for request in hub.requests if request.server == "cdn"]
    assert set(asked) >= {"bytes=0-1048575", "bytes=1048576-2097151", "bytes=2097152-2621439"}
