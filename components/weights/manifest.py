"""What belongs to a model, where it lies in the bucket, and how a complete copy is told from a part of one.

A model's files lie at `<folder>/<path>`. Everything that this program notes about them lies outside that folder, at
`.weight-sync/<folder>/`, because loaders copy whatever lies beside the weights: one sidecar a file, written after it,
and one marker, written when every sidecar is there. All notes are deterministic bytes, so that two pods that end at the
same time write the same.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import PurePosixPath
from typing import Final, Self

INDEX: Final = "model.safetensors.index.json"
"""The repository's own list of its shards."""
STATE: Final = ".weight-sync"
"""Top folder of the bucket for sidecars and markers."""

_MARKER: Final = "_COMPLETE.json"
_SCHEMA: Final = 1
_COMMIT: Final = re.compile(r"[0-9a-f]{40}")
# Each hub writes its own: the front page, and ModelScope's pipeline description that no engine reads. Left out of the
# digest, the same model has the same digest on both.
_FRONT_PAGES: Final = frozenset({"README.md", "configuration.json"})
# A name of a shard as a value of the index; read as text, because 700,000 tensors parsed are 200 MB of memory.
_SHARD: Final = re.compile(rb':\s*"([^"\\]{1,255}\.safetensors)"')
_LONGEST_MATCH: Final = 512
# `model-00001-of-00096.safetensors`: the names say how many there are, even where the index itself is missing.
_NUMBERED: Final = re.compile(r"(.*?)(\d+)-of-(\d+)\.safetensors")


class ManifestError(ValueError):
    """A listing, a sidecar or a marker that can't be right; the message is one line."""


@dataclass(frozen=True, kw_only=True)
class File:
    """One file of a model as a hub lists it.

    Raises:
        ManifestError: The path would leave the model's folder.
    """

    path: str
    """Below the model's folder, with `/`."""
    size: int
    """In bytes."""
    sha256: str | None = None
    """Of the content; Hugging Face gives it for large files only."""
    git_sha1: str | None = None
    """Git's blob id, which Hugging Face gives for the small ones."""

    def __post_init__(self) -> None:
        parts = PurePosixPath(self.path).parts
        if not parts or self.path != "/".join(parts) or ".." in parts or "\\" in self.path or parts[0] == "/":
            raise ManifestError(f"the listing has the path {self.path!r}, which isn't one below the model's folder")
        if self.size < 0:
            raise ManifestError(f"the listing gives {self.path} {self.size} bytes")


@dataclass(frozen=True, kw_only=True)
class Sidecar:
    """What was verified about one object while it was written."""

    path: str
    size: int
    sha256: str
    git_sha1: str | None
    etag: str
    """The store's name for exactly these bytes as they were written."""
    commit: str
    """The revision that they were copied for."""

    def vouches_for(self, file: File) -> bool:
        """Return whether the object that this sidecar describes has the bytes that the hub lists."""
        known = [(file.sha256, self.sha256), (file.git_sha1, self.git_sha1)]
        claims = [(wanted, found) for wanted, found in known if wanted is not None]
        same = all(wanted == found for wanted, found in claims)
        return bool(claims) and same and (self.path, self.size) == (file.path, file.size)

    def encode(self) -> bytes:
        """Return the bytes to store, the same for the same facts."""
        return _encode(asdict(self))

    @classmethod
    def decode(cls, data: bytes) -> Self | None:
        """Return the sidecar, or None when the bytes aren't one: an unreadable note vouches for nothing."""
        try:
            return cls(**json.loads(data))
        except (ValueError, TypeError):
            return None


@dataclass(frozen=True, kw_only=True)
class Marker:
    """A complete copy: the revision and every file with its sha256."""

    repository: str
    commit: str
    digest: str
    """Of all files, see `manifest_digest`."""
    files: tuple[File, ...]
    """Sorted by path; each has its sha256."""

    @property
    def total_bytes(self) -> int:
        """Size of all files."""
        return sum(file.size for file in self.files)

    def encode(self) -> bytes:
        """Return the bytes to store, the same for the same facts."""
        files = [{"path": file.path, "size": file.size, "sha256": file.sha256} for file in self.files]
        head = {"schema": _SCHEMA, "repository": self.repository, "commit": self.commit, "digest": self.digest}
        return _encode({**head, "bytes": self.total_bytes, "files": files})

    @classmethod
    def decode(cls, data: bytes) -> Self | None:
        """Return the marker, or None when the bytes aren't one whose digest is that of its files."""
        try:
            found = json.loads(data)
            files = tuple(
                File(path=entry["path"], size=entry["size"], sha256=entry["sha256"]) for entry in found["files"]
            )
            marker = cls(repository=found["repository"], commit=found["commit"], digest=found["digest"], files=files)
            return marker if marker.digest == manifest_digest(files) else None
        except (ValueError, TypeError, KeyError):
            return None


@dataclass(frozen=True)
class Folder:
    """The keys of one model in a bucket."""

    prefix: str
    """The model's folder, without a slash at either end."""

    @property
    def marker(self) -> str:
        """Key of the marker."""
        return f"{self.state}/{_MARKER}"

    @property
    def state(self) -> str:
        """Folder of the sidecars and the marker."""
        return f"{STATE}/{self.prefix}"

    def model(self, path: str) -> str:
        """Return the key of a model's file."""
        return f"{self.prefix}/{path}"

    def sidecar(self, path: str) -> str:
        """Return the key of a file's sidecar."""
        return f"{self.state}/{path}.json"


def default_folder(repository: str, commit: str) -> str:
    """Return the folder of a model where none is given: a new revision never mixes with an old one."""
    return f"{repository}/{commit}"


def is_commit(revision: str) -> bool:
    """Return whether a revision is a commit, which can't move, and not a branch or a tag."""
    return _COMMIT.fullmatch(revision) is not None


def belongs(path: str) -> bool:
    """Return whether a file of the repository belongs into the bucket: not git's own, not the original checkpoint."""
    first = path.split("/", 1)[0]
    return not any(part.startswith(".git") for part in path.split("/")) and first != "original"


def manifest_digest(files: Iterable[File]) -> str:
    """Return the sha256 over path, size and sha256 of every file, sorted by path.

    Raises:
        ManifestError: A file's sha256 isn't known yet.
    """
    digest = hashlib.sha256()
    for file in sorted(files, key=lambda file: file.path):
        if file.sha256 is None:
            raise ManifestError(f"the digest needs the sha256 of {file.path}, which is not known yet")
        if file.path not in _FRONT_PAGES:
            digest.update(f"{file.path}\0{file.size}\0{file.sha256}\n".encode())
    return digest.hexdigest()


def shards_in_index(chunks: Iterable[bytes]) -> set[str]:
    """Return the shards that the index names, from its text in pieces of any size."""
    found: set[str] = set()
    rest = b""
    for chunk in chunks:
        rest = rest[-_LONGEST_MATCH:] + chunk
        found.update(name.decode() for name in _SHARD.findall(rest))
    return found


def check_index(files: Sequence[File], shards: Iterable[str]) -> None:
    """Refuse a listing without the shards that the index names.

    Raises:
        ManifestError: Shards are missing; says how many and which is the first.
    """
    missing = sorted(set(shards) - {file.path for file in files})
    if missing:
        raise ManifestError(
            f"the hub lists {len(files)} files and misses {len(missing)} shards that {INDEX} names, {missing[0]} first:"
            " its listing is cut short; try again later or take another source"
        )


def check_numbers(files: Iterable[File]) -> None:
    """Refuse a listing in which numbered shards are missing.

    Raises:
        ManifestError: Says how many there are and should be.
    """
    found: dict[tuple[str, int], set[int]] = {}
    for file in files:
        name = _NUMBERED.fullmatch(file.path)
        if name is not None:
            found.setdefault((name[1], int(name[3])), set()).add(int(name[2]))
    for (stem, total), numbers in found.items():
        if len(numbers) != total:
            raise ManifestError(f"the hub lists {len(numbers)} of {total} shards {stem}*: its listing is cut short")


def _encode(content: object) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode() + b"\n"
