"""One file from the source into the bucket: skipped when it is there, verified on its way, noted when it is done."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from components.weights.backoff import Backoff, Timing
from components.weights.manifest import File, Folder, Sidecar
from components.weights.progress import Outcome, Progress
from components.weights.report import Report
from components.weights.source import Source
from components.weights.stop import Stop
from components.weights.store import Held, Store
from components.weights.store_error import StoreError
from components.weights.verified_stream import BadBytes, Digests, VerifiedStream, digest_of

_ATTEMPTS: Final = 3


@dataclass(frozen=True, kw_only=True)
class Effort:
    """What one process may take: memory is `parallel` x `part_bytes` x `part_concurrency` and about 70 MB."""

    parallel: int = 4
    """Files at once."""
    part_bytes: int = 32 << 20
    part_concurrency: int = 2
    """Parts of one file on their way at once."""


@dataclass(frozen=True, kw_only=True)
class FileCopy:
    """Copies files of one model."""

    source: Source
    store: Store
    folder: Folder
    commit: str
    effort: Effort
    timing: Timing
    stop: Stop
    progress: Progress
    report: Report

    def settle(self, file: File) -> Outcome:
        """See to it that the bucket holds a file and its sidecar.

        Raises:
            BadBytes: The source gave wrong bytes three times; nothing is visible in the bucket.
            TriesExhausted: The source gave nothing for several tries.
            Refused: The source won't give it.
            StoreError: The bucket failed.
            Stopped: The process has to end.
        """
        self.progress.doing(file.path, f"asking {self.store.location} what is there")
        there = self._there(file)
        if there is not None:
            return there
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                self._stream(file)
            except (BadBytes, StoreError) as error:
                if attempt == _ATTEMPTS or (isinstance(error, StoreError) and error.final):
                    raise
                self.report.retried(file.path, str(error), self.timing.first_wait)
                self.stop.wait(self.timing.first_wait)
                # On Azure the first of two writers to commit drops the other's blocks: then all is there already.
                there = self._there(file)
                if there is not None:
                    return there
            else:
                break
        return "copied"

    def read_back(self, file: File) -> bool:
        """Return whether the bucket gives a file's bytes as they should be; one that doesn't loses its sidecar."""
        self.progress.doing(file.path, f"reading back from {self.store.location}")
        try:
            self._digests(file).compare()
        except BadBytes as bad:
            self.report.say(f"{self.store.location}: {bad}")
            self.store.delete(self.folder.sidecar(file.path))
            return False
        return True

    def _there(self, file: File) -> Outcome | None:
        """Return how the bucket comes to hold the file already, or None.

        An object of the right size without a sidecar that fits may have come from another tool, or from a process that
        was killed before its note: reading it within the region costs less than another transfer from the hub.
        """
        held = self.store.head(self.folder.model(file.path))
        if held is None or held.size != file.size:
            return None
        sidecar = Sidecar.decode(self.store.get(self.folder.sidecar(file.path)) or b"")
        if sidecar is not None and sidecar.etag == held.etag and sidecar.vouches_for(file):
            return "skipped"
        return self._adopt(file, held)

    def _adopt(self, file: File, held: Held) -> Outcome | None:
        self.progress.doing(file.path, f"verifying what {self.store.location} holds already")
        digests = self._digests(file)
        try:
            digests.compare()
        except BadBytes as bad:
            self.report.say(f"{self.store.location}: {bad}; copying it again")
            return None
        self._note(file, digests, held.etag)
        return "adopted"

    def _digests(self, file: File) -> Digests:
        return (
            digest_of(file, self._stoppable(self.store.stream(self.folder.model(file.path))))
            if file.size
            else Digests(file)
        )

    def _stoppable(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            self.stop.check()
            yield chunk

    def _stream(self, file: File) -> None:
        """Copy once; an attempt that fails takes its bytes out of the progress again."""
        backoff = Backoff(self.timing, self.stop, lambda why, wait: self.report.retried(file.path, why, wait))
        stream = VerifiedStream(self.source, file, backoff, self.stop, self.progress.moved)
        chunks = self._noted(file, stream)
        effort = self.effort
        try:
            etag = self.store.put_stream(
                self.folder.model(file.path),
                chunks,
                size=file.size,
                part_bytes=effort.part_bytes,
                concurrency=effort.part_concurrency,
            )
        except BaseException:
            self.progress.moved(-stream.digests.position)
            raise
        self._note(file, stream.digests, etag)

    def _noted(self, file: File, stream: VerifiedStream) -> Iterator[bytes]:
        """Note for the log which side a file waits for."""
        self.progress.doing(file.path, f"waiting for {self.source.name}")
        for chunk in stream:
            self.progress.doing(file.path, f"waiting for {self.store.location} to take it")
            yield chunk
            self.progress.doing(file.path, f"waiting for {self.source.name}")
        self.progress.doing(file.path, f"waiting for {self.store.location} to complete it")

    def _note(self, file: File, digests: Digests, etag: str) -> None:
        """Write the sidecar."""
        sidecar = Sidecar(
            path=file.path,
            size=file.size,
            sha256=digests.sha256,
            git_sha1=digests.git_sha1,
            etag=etag,
            commit=self.commit,
        )
        self.store.put_small(self.folder.sidecar(file.path), sidecar.encode())
