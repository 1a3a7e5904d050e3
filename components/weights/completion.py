"""When a copy counts as complete, before a run and after it."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Final

from components.weights.manifest import File, Folder, Marker, Sidecar, manifest_digest
from components.weights.source import Listing, Refused
from components.weights.store import Store

_READERS: Final = 8


def existing_marker(store: Store, folder: Folder, commit: str, digest: str | None) -> Marker | None:
    """Return the marker of this revision if every object that it names is there in its size.

    A marker whose objects are gone is taken away, so that nobody starts on it.

    Raises:
        Refused: The folder is another revision's: files that somebody may be reading would be overwritten.
        StoreError: The bucket failed.
    """
    found = store.get(folder.marker)
    marker = Marker.decode(found or b"")
    if marker is not None and marker.commit != commit:
        raise Refused(
            f"{store.location}: the folder {folder.prefix} holds the revision {marker.commit} complete;"
            " name a folder of its own for the new one, or delete the old one and its notes"
        )
    if marker is not None and not _missing(store, folder, marker.files):
        return marker if digest in (None, marker.digest) else None
    if found is not None:
        store.delete(folder.marker)
    return None


def refuse_strays(store: Store, folder: Folder, listing: Listing) -> None:
    """Refuse a folder with weights of something else, for an engine loads every shard that it finds.

    Raises:
        Refused: Names the first.
    """
    ours = {folder.model(file.path) for file in listing.files}
    strays = [
        held.key for held in store.list(folder.prefix) if held.key.endswith(".safetensors") and held.key not in ours
    ]
    if strays:
        raise Refused(
            f"{store.location}: {len(strays)} weights in the folder aren't of this revision, {strays[0]} first;"
            " name another folder, or delete them"
        )


def complete(
    store: Store, folder: Folder, repository: str, listing: Listing, digest: str | None
) -> tuple[Marker | None, list[str]]:
    """Write the marker if every file of every pod is there.

    Each pod writes its sidecars before it looks and the stores are strongly consistent, so the last one to end sees
    them all; two that end together write the same bytes.

    Returns:
        The marker, or None and the paths that aren't there yet.

    Raises:
        Refused: The digest is another than the pinned one.
    """

    def sidecar(file: File) -> Sidecar | None:
        return Sidecar.decode(store.get(folder.sidecar(file.path)) or b"")

    with ThreadPoolExecutor(_READERS) as pool:
        pairs = list(zip(listing.files, pool.map(sidecar, listing.files), strict=True))
    absent = _missing(store, folder, listing.files)
    missing = [file.path for file, note in pairs if note is None or not note.vouches_for(file) or file.path in absent]
    if missing:
        return None, missing
    files = tuple(replace(file, sha256=note.sha256, git_sha1=None) for file, note in pairs if note is not None)
    marker = Marker(repository=repository, commit=listing.commit, digest=manifest_digest(files), files=files)
    check_digest(marker.files, digest)
    store.put_small(folder.marker, marker.encode())
    return marker, []


def check_digest(files: Iterable[File], digest: str | None) -> None:
    """Accept files whose digest is the pinned one, or any if none is pinned.

    Raises:
        Refused: It is another.
    """
    found = None if digest is None else manifest_digest(files)
    if found != digest:
        raise Refused(f"the files have the digest {found} instead of {digest}: they aren't the pinned model")


def _missing(store: Store, folder: Folder, files: Iterable[File]) -> set[str]:
    """Return the paths without an object of the right size."""
    sizes = {held.key: held.size for held in store.list(folder.prefix)}
    return {file.path for file in files if sizes.get(folder.model(file.path)) != file.size}
