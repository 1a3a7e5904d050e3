"""One way to write and read S3, Azure Blob, Google Cloud Storage, Alibaba OSS and S3-compatible buckets.

The clients are obstore's: streaming multipart uploads that appear whole or not at all, and each cloud's workload
identity built in. Requests that fail with 5xx or a broken connection are repeated inside; what still fails is raised as
one line that says what to do.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import obstore
from obstore.exceptions import BaseError

from components.weights.store_connection import Location, StoreOptions, connect
from components.weights.store_error import store_error

# S3 takes at most 10,000 parts of one object, and the other stores more.
_MAX_PARTS: Final = 10_000
_READ_BYTES: Final = 4 << 20


@dataclass(frozen=True)
class Held:
    """One object as the store lists it."""

    key: str
    size: int
    """In bytes."""
    etag: str


class Store:
    """One bucket. Every method raises `StoreError`, and absence is None or nothing, not an error."""

    def __init__(self, location: Location, options: StoreOptions | None = None) -> None:
        self.location = location
        self._store = connect(location, options or StoreOptions.from_environment())

    def put_stream(self, key: str, chunks: Iterator[bytes], *, size: int, part_bytes: int, concurrency: int) -> str:
        """Write an object while its bytes come in, and return its etag.

        Holds `part_bytes` x `concurrency` in memory. Raising inside `chunks` ends the upload, nothing becomes visible,
        and the exception comes out as it was raised.

        Args:
            key: The object's key.
            chunks: The bytes, of any sizes.
            size: How many bytes will come; an object of one part is written with one request.
            part_bytes: Bytes of one part; more where the store's 10,000 parts would not do.
            concurrency: Parts on their way at once.
        """
        part = max(part_bytes, -(-size // _MAX_PARTS))
        if size <= part:
            return self.put_small(key, b"".join(chunks))
        with self._errors("write", key):
            result = obstore.put(
                self._store, key, chunks, use_multipart=True, chunk_size=part, max_concurrency=concurrency
            )
        return result["e_tag"] or ""

    def put_small(self, key: str, data: bytes) -> str:
        """Write an object in one request, over what may be there, and return its etag."""
        with self._errors("write", key):
            return obstore.put(self._store, key, data, use_multipart=False)["e_tag"] or ""

    def head(self, key: str) -> Held | None:
        """Return an object's size and etag."""
        with self._errors("read", key):
            try:
                found = obstore.head(self._store, key)
            except FileNotFoundError as error:
                return self._absent(error)
        return Held(key, found["size"], found["e_tag"] or "")

    def get(self, key: str) -> bytes | None:
        """Return a small object's bytes."""
        with self._errors("read", key):
            try:
                return bytes(obstore.get(self._store, key).bytes())
            except FileNotFoundError as error:
                return self._absent(error)

    def get_range(self, key: str, start: int, length: int) -> memoryview:
        """Return `length` bytes from `start`, in one ranged request and without a copy."""
        with self._errors("read", key):
            return memoryview(obstore.get_range(self._store, key, start=start, length=length))

    def stream(self, key: str, offset: int = 0, chunk_bytes: int = _READ_BYTES) -> Iterator[bytes]:
        """Read an object from `offset`, in one request. Not inside the iterator of a `put_stream`: obstore panics."""
        with self._errors("read", key):
            result = obstore.get(self._store, key, options={"range": {"offset": offset}} if offset else {})
            yield from result.stream(chunk_bytes)

    def list(self, folder: str) -> list[Held]:
        """Return all objects below a folder."""
        with self._errors("list", folder):
            return [
                Held(entry["path"], entry["size"], entry["e_tag"] or "")
                for page in obstore.list(self._store, folder)
                for entry in page
            ]

    def delete(self, key: str) -> None:
        """Remove an object; its absence is as good."""
        with self._errors("delete", key):
            try:
                obstore.delete(self._store, key)
            except FileNotFoundError as error:
                self._absent(error)

    def _absent(self, error: FileNotFoundError) -> None:
        """Pass a missing object and raise a missing bucket."""
        fault = store_error(error, "read", self.location)
        if fault.final:
            raise fault from None

    @contextmanager
    def _errors(self, verb: str, key: str) -> Iterator[None]:
        try:
            yield
        except (BaseError, FileNotFoundError, PermissionError) as error:
            raise store_error(error, f"{verb} {key}", self.location) from None
