"""A bucket read in ranges, chunk by chunk: what is in memory is one chunk a stream, not one part."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, Self

import obstore

from components.weights.fetch_error import BROKEN, REFUSED, FetchError
from components.weights.store import Store
from components.weights.store_connection import Location, StoreOptions

# Larger ones cost page faults (measured: 0.73 CPU-s/GiB at 256 KiB, 0.85 at 4 MiB, 2 for a whole part of 16 MiB).
_CHUNK_BYTES: Final = 256 << 10


class RangedStore(Store):
    """One bucket, read only. Nothing is repeated inside: the transfer does that, and sees every fault."""

    @classmethod
    def open(cls, url: str, silence_seconds: float) -> Self:
        """Return the bucket of a URL.

        Args:
            url: Such as `s3://bucket/folder`.
            silence_seconds: Without a byte, a request fails.

        Raises:
            StoreError: It isn't a bucket's URL, or something that this kind of bucket needs isn't given.
        """
        options = StoreOptions.from_environment()
        return cls(Location.parse(url), replace(options, retries=0, stall_seconds=silence_seconds))

    def chunks(self, key: str, start: int, end: int, *, object_bytes: int) -> Iterator[memoryview]:
        """Read the bytes from `start` to before `end`, in one request.

        Args:
            key: The object.
            start: First byte.
            end: One after the last byte.
            object_bytes: The object's whole size, as the marker says.

        Raises:
            StoreError: The store failed; what came before is right.
            FetchError: There is no such object, or it has another size.
        """
        with self._errors("read", key):
            try:
                result = obstore.get(self._store, key, options={"range": (start, end)})
            except FileNotFoundError:
                raise FetchError(_gone(self.location, key), REFUSED) from None
            if result.meta["size"] != object_bytes:
                raise FetchError(_cut(self.location, key, result.meta["size"], object_bytes), BROKEN)
            for chunk in result.stream(min_chunk_size=_CHUNK_BYTES):
                yield memoryview(chunk)


def _gone(location: Location, key: str) -> str:
    return f"{location}: {key} isn't there, though the marker says that the copy is complete; run the sync again"


def _cut(location: Location, key: str, found: int, wanted: int) -> str:
    return f"{location}: {key} has {found:,} bytes and the marker says {wanted:,}; run the sync again"
