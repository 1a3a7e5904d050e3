"""What counts as complete on a node's disk, and what may be removed from it."""

import hashlib
from pathlib import Path

import pytest

from components.weights.fetch_error import FetchError
from components.weights.manifest import File, Marker, manifest_digest
from components.weights.node_folder import NodeFolder
from tests.weights.objects import COMMIT, OTHER_COMMIT, REPOSITORY

FILES = {"a.safetensors": b"aaaa", "b.safetensors": b"bbb", "sub/c.json": b""}


def marker(files: dict[str, bytes] = FILES, commit: str = COMMIT, repository: str = REPOSITORY) -> Marker:
    """Return the marker of a complete copy."""
    listed = tuple(
        File(path=path, size=len(data), sha256=hashlib.sha256(data).hexdigest()) for path, data in files.items()
    )
    return Marker(repository=repository, commit=commit, digest=manifest_digest(listed), files=listed)


def filled(
    root: Path, files: dict[str, bytes] = FILES, commit: str = COMMIT, repository: str = REPOSITORY
) -> NodeFolder:
    """Return a folder as a fetch leaves it."""
    folder, wanted = NodeFolder(root), marker(files, commit, repository)
    folder.begin(wanted, replace=False)
    for file in wanted.files:
        folder.unfinished(file).parent.mkdir(parents=True, exist_ok=True)
        folder.unfinished(file).write_bytes(files[file.path])
        folder.keep(file, commit)
    folder.finish(wanted)
    return folder


def test_a_fetched_folder_is_complete_and_misses_nothing(tmp_path: Path) -> None:
    folder = filled(tmp_path / "r")
    assert folder.complete() == marker()
    assert folder.missing(marker()) == []
    assert sorted(path.name for path in folder.root.iterdir()) == [
        ".weight-sync",
        "a.safetensors",
        "b.safetensors",
        "sub",
    ]


@pytest.mark.parametrize("left", [b"aaa", None, b"aaaaa"], ids=["shorter", "gone", "longer"])
def test_a_file_of_another_size_makes_the_folder_incomplete(left: bytes | None, tmp_path: Path) -> None:
    folder = filled(tmp_path / "r")
    file = folder.root / "a.safetensors"
    file.unlink() if left is None else file.write_bytes(left)
    assert folder.complete() is None
    assert [file.path for file in folder.missing(marker())] == ["a.safetensors"]


def test_a_file_without_its_record_is_missing(tmp_path: Path) -> None:
    folder = filled(tmp_path / "r")
    (folder.state / "b.safetensors.json").unlink()
    assert [file.path for file in folder.missing(marker())] == ["b.safetensors"]


def test_an_unreadable_record_vouches_for_nothing(tmp_path: Path) -> None:
    folder = filled(tmp_path / "r")
    (folder.state / "b.safetensors.json").write_text('{"path":')
    assert [file.path for file in folder.missing(marker())] == ["b.safetensors"]


def test_only_files_with_another_sha256_are_missing_when_the_copy_changed(tmp_path: Path) -> None:
    folder = filled(tmp_path / "r")
    changed = marker({**FILES, "b.safetensors": b"BBB"})
    assert [file.path for file in folder.missing(changed)] == ["b.safetensors"]


def test_the_largest_files_come_first(tmp_path: Path) -> None:
    found = NodeFolder(tmp_path).missing(marker())
    assert [file.path for file in found] == ["a.safetensors", "b.safetensors", "sub/c.json"]


def test_beginning_takes_the_marker_back_and_removes_what_is_unfinished(tmp_path: Path) -> None:
    folder = filled(tmp_path / "r")
    (folder.state / "x.safetensors.part").write_bytes(b"half")
    folder.begin(marker(), replace=False)
    assert folder.complete() is None
    assert not list(folder.state.rglob("*.part"))
    assert (folder.root / "a.safetensors").read_bytes() == b"aaaa"


def test_another_revision_in_the_very_folder_is_refused_and_stays(tmp_path: Path) -> None:
    folder = filled(tmp_path / "r")
    with pytest.raises(FetchError, match=f"holds {REPOSITORY} {COMMIT}.*give {OTHER_COMMIT} a folder of its own"):
        folder.begin(marker(commit=OTHER_COMMIT), replace=False)
    assert folder.complete() == marker()


def test_another_revision_in_the_very_folder_is_replaced_where_asked_for(tmp_path: Path) -> None:
    folder = filled(tmp_path / "r")
    folder.lock.write_text("held")
    folder.begin(marker(commit=OTHER_COMMIT), replace=True)
    left = sorted(str(path.relative_to(folder.root)) for path in folder.root.rglob("*") if path.is_file())
    assert left == [".weight-sync/_REVISION.json", ".weight-sync/lock"]


def test_only_other_revisions_of_the_same_model_may_be_pruned(tmp_path: Path) -> None:
    folder = filled(tmp_path / COMMIT)
    other = filled(tmp_path / OTHER_COMMIT, commit=OTHER_COMMIT)
    filled(tmp_path / "draft", repository="another/model", commit=OTHER_COMMIT)
    (tmp_path / "somebody's").mkdir()
    (tmp_path / "link").symlink_to(other.root)
    assert [found.root for found in folder.other_revisions()] == [other.root]
    other.remove()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([COMMIT, "draft", "link", "somebody's"])


def test_too_little_space_is_said_with_both_numbers(tmp_path: Path) -> None:
    folder = filled(tmp_path / COMMIT)
    filled(tmp_path / OTHER_COMMIT, commit=OTHER_COMMIT)
    with pytest.raises(FetchError) as refused:
        folder.require_space([File(path="huge", size=10**18, sha256="0" * 64)])
    assert refused.value.code == 42
    assert "GB are free and the files still to fetch take 1,000,000,000.0 GB" in str(refused.value)
    assert f"--prune removes {OTHER_COMMIT}" in str(refused.value)
    folder.require_space([])
