"""Another bucket as a source: the weights are somewhere already and are needed elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager
from queue import Full, Queue
from threading import Event, Thread
from typing import Final

from components.weights.manifest import File, Folder, Marker
from components.weights.source import Interrupted, Listing, Refused, Source
from components.weights.store import Store
from components.weights.store_error import StoreError

_QUEUED: Final = 2
_PATIENCE: Final = 0.2

_Piece = bytes | StoreError | None


class BucketSource:
    """One model's folder in a bucket."""

    def __init__(self, store: Store, folder: Folder, commit: str, hub: Source) -> None:
        """Name the folder, and the hub that says what belongs there if the folder has no marker of ours."""
        self._store = store
        self._folder = folder
        self._commit = commit
        self._hub = hub

    @property
    def name(self) -> str:
        """The bucket."""
        return str(self._store.location)

    def list(self) -> Listing:
        """Return the files that the marker vouches for, or those that the hub lists, see `Source`."""
        marker = Marker.decode(self._call_get(self._folder.marker) or b"")
        if marker is None:
            return self._hub.list()
        if marker.commit != self._commit:
            raise Refused(
                f"{self.name} holds the revision {marker.commit}, not {self._commit}; name that, or another one"
            )
        return Listing(marker.commit, marker.files)

    @contextmanager
    def open(self, file: File, offset: int) -> Iterator[Iterator[bytes]]:
        """Yield an object's bytes, see `Source`; another thread reads them, for obstore can't within its own put."""
        pieces: Queue[_Piece] = Queue(_QUEUED)
        ended = Event()
        reader = Thread(target=self._read, args=(file, offset, pieces, ended), daemon=True)
        reader.start()
        try:
            yield _pieces(pieces)
        finally:
            ended.set()
            reader.join()

    def _read(self, file: File, offset: int, pieces: "Queue[_Piece]", ended: Event) -> None:
        try:
            for chunk in self._store.stream(self._folder.model(file.path), offset):
                if not _put(pieces, chunk, ended):
                    return
            _put(pieces, None, ended)
        except StoreError as error:
            _put(pieces, error, ended)

    def _call_get(self, key: str) -> bytes | None:
        try:
            return self._store.get(key)
        except StoreError as error:
            raise _as_source(error) from None


def _put(pieces: "Queue[_Piece]", piece: _Piece, ended: Event) -> bool:
    """Hand a piece over; False when nobody wants it any more."""
    while not ended.is_set():
        try:
            pieces.put(piece, timeout=_PATIENCE)
        except Full:
            continue
        return True
    return False


def _pieces(pieces: "Queue[_Piece]") -> Iterator[bytes]:
    while True:
        piece = pieces.get()
        if piece is None:
            return
        if isinstance(piece, StoreError):
            raise _as_source(piece)
        yield piece


def _as_source(error: StoreError) -> Refused | Interrupted:
    return Refused(str(error)) if error.final else Interrupted(str(error))
