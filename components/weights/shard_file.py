"""One file on its way onto the disk: preallocated under a temporary name, filled in any order, hashed in order.

The hash follows the bytes while they come in and reads them from the page cache, so that it is done when the last part
is: a second pass would add the time of the whole last shard.
"""

import hashlib
import os
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from components.weights.manifest import File

_HASH_BYTES: Final = 1 << 20
_FLUSH_BYTES: Final = 256 << 20


@dataclass(eq=False)
class Part:
    """A range of a file, which one request after the other works on, each from where the last one ended."""

    shard: "ShardFile"
    start: int
    end: int
    """One after the last byte."""
    position: int
    """The next byte to come."""
    turn: int = 0
    """Which request may write; an abandoned one that wakes up finds another turn here and ends."""
    tries: int = 0
    """Requests in a row that brought nothing."""
    began: float = 0.0
    """When the request was sent, on the monotonic clock."""
    first: int = 0
    """Its first byte."""
    silent_since: float | None = None
    """Since when the request waits for a byte; None while it writes to the disk."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def missing(self) -> int:
        """Bytes that are still to come."""
        return self.end - self.position


class ShardFile:
    """A file that is being fetched."""

    def __init__(self, file: File, temporary: Path, part_bytes: int) -> None:
        self.file = file
        self.temporary = temporary
        self.attempts = 0
        self.parts: list[Part] = []
        self._part_bytes = part_bytes
        self._descriptor = -1
        self._lock = threading.Lock()
        self._open = threading.Lock()
        self._following = False
        self._flushing = False
        self._whole = 0
        self._hashed = 0
        self._unflushed = 0
        self._digest = hashlib.sha256()

    def open(self) -> list[Part]:
        """Take the file's room on the disk, or start it anew, and return its parts.

        Raises:
            OSError: The disk has no room, or can't be written.
        """
        size, step = self.file.size, self._part_bytes
        if self._descriptor < 0:
            self.temporary.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(self.temporary, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
            if size:
                # Said before hours of fetching, not after; and the file system can give it in one piece.
                os.posix_fallocate(self._descriptor, 0, size)
        self.attempts += 1
        self._whole, self._hashed, self._unflushed, self._digest = 0, 0, 0, hashlib.sha256()
        self.parts = [Part(self, start, min(start + step, size), start) for start in range(0, size, step)]
        return self.parts

    def write(self, data: memoryview, offset: int) -> int:
        """Write bytes at their place and return how many there were.

        Raises:
            OSError: As the disk says.
        """
        written = 0
        while written < len(data):
            written += os.pwrite(self._descriptor, data[written:], offset + written)
        return written

    def start_following(self) -> bool:
        """Return whether the caller has to call `follow`: there is something to hash and nobody does it."""
        with self._lock:
            begins = not self._following and (self._front() > self._hashed or self.file.size == 0)
            self._following = self._following or begins
            return begins

    def follow(self, stopped: threading.Event) -> bool | None:
        """Hash what is there in one piece from the front.

        Returns:
            Whether the whole file has the right bytes, or None when it isn't whole yet.
        """
        block = memoryview(bytearray(min(_HASH_BYTES, max(self.file.size, 1))))
        while not stopped.is_set():
            with self._lock:
                front = self._front()
                if self._hashed == self.file.size:
                    self._following = False
                    return self._digest.hexdigest() == self.file.sha256
                if front == self._hashed:
                    self._following = False
                    return None
            while self._hashed < front and not stopped.is_set():
                count = os.preadv(self._descriptor, [block[: front - self._hashed]], self._hashed)
                self._digest.update(block[:count])
                self._hashed += count
        return None

    def start_flushing(self, count: int) -> bool:
        """Return whether the caller has to call `flush`, after so many more bytes."""
        with self._lock:
            self._unflushed += count
            begins = self._unflushed >= _FLUSH_BYTES and not self._flushing
            if begins:
                self._flushing, self._unflushed = True, 0
            return begins

    def flush(self) -> None:
        """Have the disk begin early: a node with terabytes of memory holds back hundreds of GB until the last fsync.

        Raises:
            OSError: As the disk says.
        """
        with self._open:
            if self._descriptor >= 0:
                os.fdatasync(self._descriptor)
        with self._lock:
            self._flushing = False

    def close(self) -> None:
        """Have everything on the disk.

        Raises:
            OSError: As the disk says.
        """
        with self._open:
            os.fsync(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1

    def _front(self) -> int:
        """Return up to where the bytes are there in one piece."""
        while self._whole < len(self.parts) and not self.parts[self._whole].missing:
            self._whole += 1
        return self.parts[self._whole].position if self._whole < len(self.parts) else self.file.size
