"""Keys, sidecars, markers, digests and the checks of a listing: all without a server."""

import hashlib
from dataclasses import replace

import pytest

from components.weights.manifest import (
    File,
    Folder,
    ManifestError,
    Marker,
    Sidecar,
    belongs,
    check_index,
    check_numbers,
    is_commit,
    manifest_digest,
    shards_in_index,
)

COMMIT = "a" * 40
A, B = (File(path=name, size=1, sha256=hashlib.sha256(name.encode()).hexdigest()) for name in ("a", "b"))
NOTE = Sidecar(path="a", size=1, sha256=A.sha256 or "", git_sha1="1" * 40, etag='"e"', commit=COMMIT)


def test_keys_of_a_model_and_its_notes() -> None:
    folder = Folder(f"moonshotai/Kimi-K3/{COMMIT}")
    assert folder.model("a/b.json") == f"moonshotai/Kimi-K3/{COMMIT}/a/b.json"
    assert folder.sidecar("a/b.json") == f".weight-sync/moonshotai/Kimi-K3/{COMMIT}/a/b.json.json"
    assert folder.marker == f".weight-sync/moonshotai/Kimi-K3/{COMMIT}/_COMPLETE.json"


@pytest.mark.parametrize(
    ("path", "kept"),
    [
        ("model-1.safetensors", True),
        ("chat_template.jinja", True),
        ("original_name.txt", True),
        ("docs/original/a", True),
        (".gitattributes", False),
        (".github/a", False),
        ("sub/.gitignore", False),
        ("original/a.pth", False),
    ],
)
def test_what_belongs(path: str, kept: bool) -> None:
    assert belongs(path) is kept


@pytest.mark.parametrize("path", ["", "/etc/passwd", "../a", "a/../b", "a//b", "a/", "./a", "a\\b"])
def test_paths_that_leave_the_folder_are_refused(path: str) -> None:
    with pytest.raises(ManifestError, match="below the model's folder"):
        File(path=path, size=1)


def test_the_digest_knows_no_order_and_every_difference() -> None:
    digest = manifest_digest([A, B])
    assert digest == manifest_digest([B, A])
    changed = [replace(B, size=2), replace(B, path="c"), replace(B, sha256="0" * 64)]
    assert len({digest, *(manifest_digest([A, other]) for other in changed)}) == 4


def test_the_digest_leaves_out_what_each_hub_writes_itself() -> None:
    page = File(path="README.md", size=9, sha256="0" * 64)
    assert manifest_digest([A, page]) == manifest_digest([A])


def test_the_digest_needs_every_sum() -> None:
    with pytest.raises(ManifestError, match="needs the sha256 of a"):
        manifest_digest([replace(A, sha256=None)])


@pytest.mark.parametrize(
    ("file", "vouched"),
    [
        (A, True),
        (File(path="a", size=1, git_sha1="1" * 40), True),
        (replace(A, git_sha1="1" * 40), True),
        (File(path="a", size=1), False),
        (replace(A, size=2), False),
        (replace(A, path="b"), False),
        (replace(A, sha256="0" * 64), False),
        (replace(A, git_sha1="2" * 40), False),
    ],
)
def test_what_a_sidecar_vouches_for(file: File, vouched: bool) -> None:
    assert NOTE.vouches_for(file) is vouched


def test_notes_survive_the_bucket_as_the_same_bytes() -> None:
    assert Sidecar.decode(NOTE.encode()) == NOTE
    marker = Marker(repository="x/y", commit=COMMIT, digest=manifest_digest([A, B]), files=(A, B))
    assert Marker.decode(marker.encode()) == marker
    assert marker.encode() == Marker.decode(marker.encode()).encode()  # type: ignore[union-attr]


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b"null", b"\xff", b'{"files": [{"path": "../x"}]}'])
def test_what_isnt_a_note_is_none(data: bytes) -> None:
    assert Sidecar.decode(data) is None
    assert Marker.decode(data) is None


def test_a_marker_with_a_file_taken_out_is_none() -> None:
    marker = Marker(repository="x/y", commit=COMMIT, digest=manifest_digest([A, B]), files=(A,))
    assert Marker.decode(marker.encode()) is None


@pytest.mark.parametrize("size", [1, 7, 100, 10_000])
def test_the_index_is_read_in_pieces_of_any_size(size: int) -> None:
    names = {f"model-{number:05}-of-00300.safetensors" for number in range(300)}
    text = ('{"weight_map": {' + ", ".join(f'"w.{name}":  "{name}"' for name in sorted(names)) + "}}").encode()
    assert shards_in_index(text[start : start + size] for start in range(0, len(text), size)) == names


def test_shards_that_the_index_names_have_to_be_listed() -> None:
    check_index([A, B], ["a"])
    with pytest.raises(ManifestError, match=r"lists 2 files and misses 2 shards that .* names, c first"):
        check_index([A, B], ["d", "a", "c"])


@pytest.mark.parametrize(("numbers", "right"), [([1, 2, 3], True), ([0, 1, 2], True), ([1, 3], False), ([1], False)])
def test_numbered_shards_have_to_be_as_many_as_they_say(numbers: list[int], right: bool) -> None:
    files = [File(path=f"model-{number}-of-3.safetensors", size=1) for number in numbers]
    if right:
        check_numbers(files)
    else:
        with pytest.raises(ManifestError, match=f"lists {len(numbers)} of 3 shards model-"):
            check_numbers(files)


@pytest.mark.parametrize(
    ("revision", "fixed"), [("a" * 40, True), ("main", False), ("a" * 39, False), ("", False), ("A" * 40, False)]
)
def test_only_a_commit_is_a_commit(revision: str, fixed: bool) -> None:
    assert is_commit(revision) is fixed
