"""The source's listing, checked against what the repository says about itself and against a pinned digest."""

from dataclasses import replace

from components.weights.backoff import Backoff
from components.weights.completion import check_digest
from components.weights.manifest import INDEX, File, ManifestError, check_index, check_numbers, shards_in_index
from components.weights.source import Listing, Source
from components.weights.stop import Stop
from components.weights.verified_stream import VerifiedStream


def checked_listing(source: Source, backoff: Backoff, stop: Stop, digest: str | None) -> Listing:
    """Return what is to be copied.

    Args:
        source: Where from.
        backoff: The patience with it.
        stop: Ends waits.
        digest: The pinned digest; the small files are then read to know their sha256 before the large ones.

    Raises:
        ManifestError: Files are missing, or there are none.
        Refused: The source refuses, or the digest is another.
        TriesExhausted: The source doesn't answer.
    """
    listing = backoff.call(source.list)
    if not listing.files:
        raise ManifestError(f"{source.name} lists no files for {listing.commit}")
    check_numbers(listing.files)
    index = next((file for file in listing.files if file.path == INDEX), None)
    if index is not None:
        check_index(listing.files, shards_in_index(VerifiedStream(source, index, backoff, stop, _uncounted)))
    if digest is None:
        return listing
    files = tuple(_with_sha256(source, file, backoff, stop) for file in listing.files)
    check_digest(files, digest)
    return Listing(listing.commit, files)


def _with_sha256(source: Source, file: File, backoff: Backoff, stop: Stop) -> File:
    if file.sha256 is not None:
        return file
    stream = VerifiedStream(source, file, backoff, stop, _uncounted)
    for _ in stream:
        pass
    return replace(file, sha256=stream.digests.sha256)


def _uncounted(_count: int) -> None:
    """Leave bytes that are only looked at out of the progress."""
