"""The parts of many files from a bucket onto the disk at once, each verified, whatever happens to single requests.

A thread is a stream. The main thread watches them: a request that is silent or far slower than the others is
abandoned, which means that its part is given back for another connection and its thread replaced; when it wakes up, it
finds that it isn't its turn any more and ends.
"""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from components.weights.fetch_error import BROKEN, REFUSED, FetchError, disk_error
from components.weights.manifest import Folder
from components.weights.pace import Limits, Pace
from components.weights.part_queue import PartQueue
from components.weights.ranged_store import RangedStore
from components.weights.shard_file import Part, ShardFile
from components.weights.store_error import StoreError
from components.weights.streams import Streams

_TICK_SECONDS: Final = 0.05
_FLUSHERS: Final = 4
# A shard whose bytes are wrong twice is wrong in the bucket.
_ATTEMPTS: Final = 2


@dataclass
class Tally:
    """What happened so far, for the log."""

    landed: int = 0
    """Bytes on the disk."""
    requested: int = 0
    retried: int = 0
    """Requests that failed."""
    abandoned: int = 0
    """Requests that were silent or too slow."""
    refetched: int = 0
    """Shards whose bytes were wrong the first time."""
    last: str = ""
    """Why the last request was tried again."""


class Transfer:
    """One run over some shards."""

    def __init__(
        self,
        store: RangedStore,
        shards: Sequence[ShardFile],
        *,
        streams: Streams,
        hashers: int,
        limits: Limits,
        keep: Callable[[ShardFile], None],
    ) -> None:
        self.tally = Tally()
        self._store, self._keys = store, Folder(store.location.folder)
        self._shards, self._streams = shards, streams
        self._limits, self._keep = limits, keep
        self._pace = Pace(limits.patience)
        self._queue = PartQueue((shard for shard in shards if shard.file.size), streams.shards)
        self._hashers = ThreadPoolExecutor(hashers, "hash")
        self._flushers = ThreadPoolExecutor(_FLUSHERS, "flush")
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._flying: dict[Part, None] = {}
        self._failure: Exception | None = None

    def run(self, report: Callable[[], None]) -> None:
        """Fetch and verify all shards.

        Args:
            report: Called many times a second with nothing but the time to look at `tally`.

        Raises:
            FetchError: Bytes are wrong in the bucket, the disk is full, the identity is refused or time is over.
        """
        try:
            self._settle_empty()
            for _ in range(self._streams.count):
                self._start()
            while not self._queue.closed:
                time.sleep(_TICK_SECONDS)
                self._watch()
                report()
        except OSError as error:
            self._fail(error)
        finally:
            self._end()
        if self._failure is not None:
            raise self._failure

    @property
    def landed(self) -> int:
        """Bytes on the disk, those of running requests included."""
        with self._lock:
            return self.tally.landed + sum(part.position - part.first for part in self._flying)

    def _end(self) -> None:
        self._stopped.set()
        self._queue.close()
        # Also after a failure: whoever gets the folder next must not have a file renamed under its hands.
        self._hashers.shutdown()
        self._flushers.shutdown()

    def _settle_empty(self) -> None:
        for shard in (each for each in self._shards if not each.file.size):
            shard.open()
            self._settle(shard, right=shard.follow(self._stopped))

    def _start(self) -> None:
        threading.Thread(target=self._work, name="stream", daemon=True).start()

    def _work(self) -> None:
        try:
            while (part := self._queue.take()) is not None:
                if not self._carry(part):
                    return
        except Exception as error:  # noqa: BLE001 - a thread has nobody to raise to; the main thread raises it
            self._fail(error)

    def _carry(self, part: Part) -> bool:
        """Work on a part with one request; return False when it was abandoned and this thread replaced."""
        with self._lock:
            part.began, part.first, part.silent_since = time.monotonic(), part.position, time.monotonic()
            turn = part.turn
            self._flying[part] = None
            self.tally.requested += 1
        fault = None
        try:
            self._receive(part, turn)
        except StoreError as error:
            fault = error
        with part.lock:
            if part.turn != turn:
                return False
            part.silent_since = None
        self._land(part)
        if part.missing:
            self._retry(part, fault or StoreError(f"{part.shard.file.path}: the answer ended early"))
        return True

    def _receive(self, part: Part, turn: int) -> None:
        """Write what one request brings, until its part is whole or it isn't its turn any more."""
        shard, waited = part.shard, False
        key = self._keys.model(shard.file.path)
        for chunk in self._store.chunks(key, part.position, part.end, object_bytes=shard.file.size):
            with part.lock:
                if part.turn != turn or self._stopped.is_set():
                    return
                if not waited:
                    self._pace.note_wait(time.monotonic() - part.began)
                    waited = True
                part.silent_since = None
                part.position += shard.write(chunk[: part.missing], part.position)
                part.tries = 0
                part.silent_since = time.monotonic()

    def _land(self, part: Part) -> None:
        """Account for a request that ended, and have the new bytes hashed and flushed."""
        count, shard = part.position - part.first, part.shard
        with self._lock:
            self._flying.pop(part, None)
            self.tally.landed += count
        if not count or self._stopped.is_set():
            return
        self._pace.note_rate(count, time.monotonic() - part.began)
        if shard.start_flushing(count):
            self._flushers.submit(self._guard, shard.flush)
        if shard.start_following():
            self._hashers.submit(self._guard, lambda: self._settle(shard, right=shard.follow(self._stopped)))

    def _retry(self, part: Part, fault: StoreError) -> None:
        if fault.final and time.monotonic() > self._limits.identity_deadline:
            raise FetchError(str(fault), REFUSED)
        with self._lock:
            self.tally.retried += 1
            self.tally.last = str(fault)
        self._stopped.wait(self._limits.pause(part.tries))
        part.tries += 1
        self._queue.give_back(part)

    def _settle(self, shard: ShardFile, *, right: bool | None) -> None:
        """Keep a shard whose bytes are right; fetch it again once when they aren't."""
        if right is None:
            return
        if right:
            shard.close()
            self._keep(shard)
            if shard.file.size:
                self._queue.done()
        elif shard.attempts < _ATTEMPTS:
            with self._lock:
                self.tally.refetched += 1
                self.tally.landed -= shard.file.size
                self.tally.last = f"{shard.file.path}: its sha256 isn't the marker's"
            self._queue.again(shard)
        else:
            what = f"{self._store.location}: {shard.file.path} has wrong bytes"
            raise FetchError(f"{what}, twice in a row; delete this object and run the sync again", BROKEN)

    def _guard(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001 - a pool keeps it in a future that nobody reads
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        """Keep the first failure and stop everything."""
        with self._lock:
            if self._failure is None and not self._stopped.is_set():
                place = self._shards[0].temporary.parent if self._shards else "the disk"
                self._failure = disk_error(error, place) if isinstance(error, OSError) else error
        self._stopped.set()
        self._queue.close()

    def _watch(self) -> None:
        """Abandon what is silent or slow; end when time is over."""
        now = time.monotonic()
        if now > self._limits.deadline:
            why = f"; last: {self.tally.last}" if self.tally.last else ""
            self._fail(FetchError(f"the deadline is over with {self.landed:,} bytes fetched{why}", BROKEN))
            return
        with self._lock:
            flying = list(self._flying)
        for part in flying:
            # A part that is being written to a slow disk isn't waited for: the deadline is watched here too.
            if self._lags(part, now) and part.lock.acquire(blocking=False):
                try:
                    self._abandon(part, now)
                finally:
                    part.lock.release()

    def _lags(self, part: Part, now: float) -> bool:
        since = part.silent_since
        if since is None:
            return False
        whole = self._pace.whole(part.end - part.first)
        return now - since > self._pace.silence(part.tries) or (whole is not None and now - part.began > whole)

    def _abandon(self, part: Part, now: float) -> None:
        """Give a part back and replace its thread; the caller holds the part's lock."""
        if part.silent_since is None or not part.missing:
            return
        if part.position == part.first:
            self._pace.note_wait(now - part.began)
        part.turn += 1
        part.tries += 1
        part.silent_since = None
        with self._lock:
            self.tally.abandoned += 1
            self.tally.last = f"{part.shard.file.path}: no answer, or far slower than the others"
        self._land(part)
        self._queue.give_back(part)
        self._start()
