"""A revision's folder on a node's disk: what is complete in it, what is missing, how it stays right across a crash.

The files lie where the engine looks for them and appear there whole, by rename. Notes and unfinished files lie in
`.weight-sync` inside, so that whoever removes the folder removes all of it: a note of the revision, written first; one
record a file, written after it; and the bucket's marker, written last.
"""

import json
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from components.weights.fetch_error import REFUSED, FetchError
from components.weights.manifest import STATE, File, Marker, Sidecar

_MARKER: Final = "_COMPLETE.json"
_REVISION: Final = "_REVISION.json"
_UNFINISHED: Final = ".part"
_RESERVE_BYTES: Final = 64 << 20


@dataclass(frozen=True)
class Revision:
    """What a folder is for."""

    repository: str
    commit: str

    @classmethod
    def read(cls, state: Path) -> Self | None:
        """Return the revision that a folder's notes name, or None where there are no notes."""
        try:
            found = json.loads((state / _REVISION).read_bytes())
            return cls(str(found["repository"]), str(found["commit"]))
        except (OSError, ValueError, TypeError, KeyError):
            return None


class NodeFolder:
    """One revision on the disk. Methods raise OSError as the disk says."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.state = root / STATE

    @property
    def lock(self) -> Path:
        """The file that says who works in the folder."""
        return self.state / "lock"

    def complete(self) -> Marker | None:
        """Return the marker when every file that it names is there in its size."""
        try:
            marker = Marker.decode((self.state / _MARKER).read_bytes())
        except OSError:
            return None
        return marker if marker and all(self._size(file) == file.size for file in marker.files) else None

    def missing(self, marker: Marker) -> list[File]:
        """Return the files that aren't there in the marker's size with a record of its sha256, largest first."""
        found = [file for file in marker.files if self._size(file) != file.size or not self._recorded(file)]
        return sorted(found, key=lambda file: (-file.size, file.path))

    def unfinished(self, file: File) -> Path:
        """Return where a file grows until it is whole."""
        return self.state / f"{file.path}{_UNFINISHED}"

    def begin(self, marker: Marker, *, replace: bool) -> None:
        """Make the folder ready for a revision, and remove what a killed fetch left.

        Args:
            marker: Of the revision.
            replace: Whether another revision in this very folder may go.

        Raises:
            FetchError: Another revision is in the folder.
        """
        held, wanted = Revision.read(self.state), Revision(marker.repository, marker.commit)
        if held not in (None, wanted) and not replace:
            raise FetchError(
                f"{self.root} holds {held.repository if held else ''} {held.commit if held else ''}, and an engine may"
                f" be reading it; give {wanted.commit} a folder of its own, or replace the old one with --prune",
                REFUSED,
            )
        (self.state / _MARKER).unlink(missing_ok=True)
        self.discard_unfinished()
        if held not in (None, wanted):
            _empty(self.root, keep=self.lock)
        _write(self.state / _REVISION, json.dumps(wanted.__dict__, sort_keys=True).encode() + b"\n")

    def keep(self, file: File, commit: str) -> None:
        """Let a verified file appear, then record it.

        The record comes second: a record of new bytes beside a file with old ones would pass for complete.
        """
        target = self.root / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        self.unfinished(file).rename(target)
        _sync_folder(target.parent)
        record = Sidecar(
            path=file.path, size=file.size, sha256=file.sha256 or "", git_sha1=None, etag="", commit=commit
        )
        _write(self._record(file), record.encode())

    def finish(self, marker: Marker) -> None:
        """Write the marker: from now on the folder is complete."""
        _write(self.state / _MARKER, marker.encode())

    def require_space(self, files: Iterable[File]) -> None:
        """Refuse to begin what can't end.

        Raises:
            FetchError: Free space is less than the files take; says both.
        """
        needed = sum(file.size for file in files)
        disk = os.statvfs(self.root)
        free = disk.f_bavail * disk.f_frsize
        if needed and free < needed + _RESERVE_BYTES:
            others = ", ".join(folder.root.name for folder in self.other_revisions())
            prune = f" --prune removes {others};" if others else ""
            raise FetchError(
                f"{self.root}: {free / 1e9:,.1f} GB are free and the files still to fetch take {needed / 1e9:,.1f} GB;"
                f"{prune} make room or take a larger disk",
                REFUSED,
            )

    def other_revisions(self) -> list["NodeFolder"]:
        """Return the folders beside this one with other revisions of the same model; anybody else's are none."""
        own = Revision.read(self.state)
        if own is None:
            return []
        beside = [NodeFolder(path) for path in sorted(self.root.parent.iterdir()) if not path.is_symlink()]
        return [
            folder
            for folder in beside
            if (held := Revision.read(folder.state)) and held.repository == own.repository and held.commit != own.commit
        ]

    def remove(self) -> None:
        """Remove the whole folder, its notes first: what is half removed must not pass for complete."""
        (self.state / _MARKER).unlink(missing_ok=True)
        _empty(self.root, keep=self.lock)
        shutil.rmtree(self.root)

    def discard_unfinished(self) -> None:
        """Remove unfinished files; only who holds the lock may."""
        for path in sorted(self.state.rglob(f"*{_UNFINISHED}")):
            path.unlink(missing_ok=True)

    def _record(self, file: File) -> Path:
        return self.state / f"{file.path}.json"

    def _size(self, file: File) -> int | None:
        try:
            return (self.root / file.path).stat().st_size
        except OSError:
            return None

    def _recorded(self, file: File) -> bool:
        try:
            record = Sidecar.decode(self._record(file).read_bytes())
        except OSError:
            return False
        return record is not None and record.vouches_for(file)


def _empty(folder: Path, keep: Path) -> None:
    """Remove what is in a folder, but for one file and the folders that it lies in."""
    for path in sorted(folder.iterdir()):
        if path == keep:
            continue
        if path in keep.parents:
            _empty(path, keep)
        elif path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def _write(path: Path, data: bytes) -> None:
    """Write a note that is there whole or not at all, whatever happens to the node."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + _UNFINISHED)
    with unfinished.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
