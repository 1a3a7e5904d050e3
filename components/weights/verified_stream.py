"""A file's bytes, hashed as they pass; whoever takes them to their end has the right ones."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import Final, Protocol

from components.weights.backoff import Backoff
from components.weights.manifest import File
from components.weights.source import Interrupted, Source
from components.weights.stop import Stop

# Git's id of a file costs a second hash over it; only small files are known by it.
_GIT_LIMIT: Final = 16 << 20


class BadBytes(Exception):  # noqa: N818 - what was found
    """The bytes aren't those that the hub lists; the message is one line."""


class _Hash(Protocol):
    def update(self, data: bytes, /) -> None: ...
    def hexdigest(self) -> str: ...


class Digests:
    """The sums of one file, over as many bytes as came by."""

    def __init__(self, file: File) -> None:
        self._file = file
        self._sha256 = hashlib.sha256()
        self._git: _Hash | None = None
        if file.sha256 is None or file.size <= _GIT_LIMIT:
            self._git = hashlib.sha1(f"blob {file.size}\0".encode(), usedforsecurity=False)
        self.position = 0
        """Bytes so far."""

    def update(self, data: bytes) -> None:
        """Take the next bytes."""
        self._sha256.update(data)
        if self._git is not None:
            self._git.update(data)
        self.position += len(data)

    @property
    def sha256(self) -> str:
        """Of the bytes so far."""
        return self._sha256.hexdigest()

    @property
    def git_sha1(self) -> str | None:
        """Git's id of the bytes so far, as the blob that the file should be; None for large files."""
        return None if self._git is None else self._git.hexdigest()

    def compare(self) -> None:
        """Accept the bytes.

        Raises:
            BadBytes: Their number or a sum differs from the listing, or the listing has no sum at all.
        """
        file = self._file
        if self.position != file.size:
            raise BadBytes(f"{file.path} has {self.position:,} bytes instead of {file.size:,}")
        if file.sha256 is None and file.git_sha1 is None:
            raise BadBytes(f"{file.path} has no sum in the listing, so its bytes can't be verified")
        for kind, wanted, found in (("sha256", file.sha256, self.sha256), ("git id", file.git_sha1, self.git_sha1)):
            if wanted is not None and wanted != found:
                raise BadBytes(f"{file.path} has the {kind} {found} instead of {wanted}")


def digest_of(file: File, chunks: Iterable[bytes]) -> Digests:
    """Return the sums of bytes that are there already."""
    digests = Digests(file)
    for chunk in chunks:
        digests.update(chunk)
    return digests


class VerifiedStream:
    """One file from a source: broken connections are mended inside, wrong bytes end it with `BadBytes`."""

    def __init__(
        self, source: Source, file: File, backoff: Backoff, stop: Stop, on_bytes: Callable[[int], None]
    ) -> None:
        self._source = source
        self._file = file
        self._backoff = backoff
        self._stop = stop
        self._on_bytes = on_bytes
        self.digests = Digests(file)

    def __iter__(self) -> Iterator[bytes]:
        """Yield the bytes once.

        Raises:
            BadBytes: Instead of the end, so that an upload of them never becomes visible.
            TriesExhausted: Nothing came for several tries.
            Refused: The source won't give it.
            Stopped: The process has to end.
        """
        while self.digests.position < self._file.size:
            try:
                yield from self._connection()
            except Interrupted as interruption:
                self._backoff.wait(interruption)
        self.digests.compare()

    def _connection(self) -> Iterator[bytes]:
        """Yield what one connection gives."""
        with self._source.open(self._file, self.digests.position) as chunks:
            for chunk in chunks:
                self._stop.check()
                self.digests.update(chunk)
                if self.digests.position > self._file.size:
                    raise BadBytes(f"{self._file.path} has more than the {self._file.size:,} bytes that are listed")
                self._backoff.progressed()
                self._on_bytes(len(chunk))
                yield chunk
        position, size = self.digests.position, self._file.size
        if position < size:
            raise Interrupted(f"{self._source.name} ended {self._file.path} after {position:,} of {size:,} bytes")
