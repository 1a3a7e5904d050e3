"""Brings a complete copy of a model from a bucket onto a node's disk: verified, whole or not at all.

`python -m components.weights.fetch --help` says how; it runs as the init container of a serving pod. Because a
restart of that container would end the whole group of pods (LeaderWorkerSet counts it), passing faults are outlasted
inside. Needs the standard library, obstore, and the modules beside it.
"""

import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Final

from components.weights.allotment import read_allotment
from components.weights.fetch_error import BROKEN, REFUSED, TERMINATED, FetchError, disk_error
from components.weights.fetch_options import Options, parse
from components.weights.fetch_progress import FetchProgress
from components.weights.folder_lock import folder_lock
from components.weights.manifest import File, Folder, Marker
from components.weights.node_folder import NodeFolder
from components.weights.pace import Limits
from components.weights.ranged_store import RangedStore
from components.weights.report import Report
from components.weights.shard_file import ShardFile
from components.weights.store_error import StoreError
from components.weights.streams import Streams, derive_streams
from components.weights.transfer import Transfer

_DEFAULT_MEMORY_MIB: Final = 4096


@dataclass
class Run:
    """One fetch."""

    options: Options
    limits: Limits
    progress: FetchProgress
    report: Report
    holding: bool = field(default=False)
    """Whether this process holds the folder, and so may remove what is unfinished in it."""

    def execute(self) -> int:
        """Fetch, and return the exit code; every failure is one line in the log."""
        try:
            self._fetch()
        except FetchError as error:
            return self._failed(str(error), error.code)
        except StoreError as error:
            return self._failed(str(error), REFUSED if error.final else BROKEN)
        except OSError as error:
            refused = disk_error(error, error.filename or self.options.to)
            return self._failed(str(refused), refused.code)
        self.progress.tally.complete = True
        return 0

    def _failed(self, message: str, code: int) -> int:
        self.report.say(f"fetch: {message}")
        return code

    def _fetch(self) -> None:
        options = self.options
        if options.revision is not None and not options.prune and self._already(options.revision, None):
            # The commit says which bytes; a pod that starts again doesn't depend on the bucket.
            return
        store = RangedStore.open(options.source, options.patience.silence_seconds)
        marker = self._marker(store)
        folder = NodeFolder(options.to)
        folder.state.mkdir(parents=True, exist_ok=True)
        with folder_lock(folder.lock, self.limits.deadline, self._say):
            self.holding = True
            try:
                self._fill(store, folder, marker)
            finally:
                # A failed fetch leaves no half of a terabyte behind on a full disk.
                folder.discard_unfinished()
                self.holding = False

    def _fill(self, store: RangedStore, folder: NodeFolder, marker: Marker) -> None:
        """Fetch what is missing; the folder is held."""
        # Whoever held the folder before may have done it all.
        already = self._already(marker.commit, marker)
        if not already:
            folder.begin(marker, replace=self.options.prune)
        if self.options.prune:
            self._prune(folder)
        if already:
            return
        missing = folder.missing(marker)
        self._plan(marker, missing)
        folder.require_space(missing)
        self._transfer(store, folder, missing, marker.commit)
        folder.finish(marker)
        self._say(f"complete: {folder.root}, {marker.total_bytes:,} bytes, commit {marker.commit}")

    def _prune(self, folder: NodeFolder) -> None:
        """Remove other revisions beside the folder, but for one that another pod is just fetching."""
        for other in folder.other_revisions():
            try:
                with folder_lock(other.lock, 0.0, lambda _: None):
                    other.remove()
                self._say(f"removed {other.root}, another revision")
            except FetchError as held:
                self._say(f"{other.root} stays: {held}")

    def _already(self, commit: str, marker: Marker | None) -> bool:
        """Return whether the folder is complete, and is what the bucket's marker says, if that is known."""
        found = NodeFolder(self.options.to).complete()
        if found is None or found.commit != commit or (marker is not None and found.encode() != marker.encode()):
            return False
        self._plan(found, [])
        self._say(f"{self.options.to} is complete already, {found.total_bytes:,} bytes, commit {commit}")
        return True

    def _plan(self, marker: Marker, missing: Sequence[File]) -> None:
        self.progress.plan(len(marker.files), marker.total_bytes)
        self.progress.tally.digest = marker.digest
        absent = {file.path for file in missing}
        for file in marker.files:
            if file.path not in absent:
                self.progress.settled(file.path, file.size, "skipped")

    def _transfer(self, store: RangedStore, folder: NodeFolder, missing: Sequence[File], commit: str) -> None:
        allotment = read_allotment()
        streams = _streams(self.options, allotment.cores, allotment.memory_mib)
        part = self.options.part_mib << 20
        self._say(f"{len(missing)} files, {sum(file.size for file in missing):,} bytes from {store.location}")
        self._say(f"{streams.arithmetic}; parts of {self.options.part_mib} MiB, {streams.shards} files at once")

        def keep(shard: ShardFile) -> None:
            folder.keep(shard.file, commit)
            self.progress.settled(shard.file.path, shard.file.size, "copied")

        transfer = Transfer(
            store,
            [ShardFile(file, folder.unfinished(file), part) for file in missing],
            streams=streams,
            hashers=allotment.cores,
            limits=self.limits,
            keep=keep,
        )
        self.progress.transfer = transfer
        transfer.run(_every(self.options.interval, self._warn))

    def _warn(self) -> None:
        reason = self.progress.warning()
        if reason is not None:
            self._say(f"trying again: {reason}")

    def _marker(self, store: RangedStore) -> Marker:
        """Return the bucket's marker, however long the bucket takes to answer.

        Raises:
            FetchError: There is none, or it names another revision, or the deadline is over.
            StoreError: The identity stays refused.
        """
        key, tries = Folder(store.location.folder).marker, 0
        while True:
            try:
                data = store.get(key)
                break
            except StoreError as error:
                late = self.limits.identity_deadline if error.final else self.limits.deadline
                if time.monotonic() > late:
                    raise
                self._say(f"trying again: {error}")
            time.sleep(self.limits.pause(tries))
            tries += 1
        return _checked(data, store, key, self.options.revision)

    def _say(self, line: str) -> None:
        self.report.say(f"fetch: {line}")


def _checked(data: bytes | None, store: RangedStore, key: str, revision: str | None) -> Marker:
    where = store.location
    sync = f"run `python -m components.weights.sync` to the end, or correct --from {where}"
    if data is None:
        raise FetchError(f"{where} isn't a complete copy, for there is no {key} in the bucket; {sync}", REFUSED)
    marker = Marker.decode(data)
    if marker is None:
        raise FetchError(f"{where}: {key} is no marker of a complete copy; delete it and {sync}", REFUSED)
    if revision is not None and marker.commit != revision:
        raise FetchError(f"{where} holds revision {marker.commit} and not --revision {revision}; {sync}", REFUSED)
    return marker


def _streams(options: Options, cores: int, memory_mib: int | None) -> Streams:
    # Half of the container's memory: the other half is for pages that the disk hasn't taken yet.
    memory = _DEFAULT_MEMORY_MIB if memory_mib is None else min(_DEFAULT_MEMORY_MIB, memory_mib // 2)
    return derive_streams(
        link_gbps=options.link_gbps,
        quota_gbps=options.quota_gbps,
        cores=cores,
        memory_mib=memory,
        chosen=options.connections,
    )


def _every(seconds: float, action: Callable[[], None]) -> Callable[[], None]:
    """Return a function that may be called all the time and acts only so often."""
    last = 0.0

    def act() -> None:
        nonlocal last
        if time.monotonic() - last >= seconds:
            last = time.monotonic()
            action()

    return act


def run(options: Options, *, heed_signals: bool = False) -> int:
    """Fetch and return the exit code; the last line on stdout is the result as JSON."""
    begun = time.monotonic()
    limits = Limits(
        deadline=begun + options.deadline_minutes * 60,
        identity_deadline=begun + options.identity_minutes * 60,
        patience=options.patience,
        longest_pause_seconds=options.longest_pause_seconds,
    )
    progress = FetchProgress()
    report = Report(progress, options.style, options.interval)
    fetch = Run(options, limits, progress, report)
    if heed_signals:
        _heed_signals(fetch)
    with report.running():
        code = fetch.execute()
    sys.stdout.write(progress.result() + "\n")
    return code


def _heed_signals(fetch: Run) -> None:
    def terminate(_signal: int, _frame: FrameType | None) -> None:
        # Nothing half-fetched is visible at any moment, so there is nothing to wait for.
        if fetch.holding:
            NodeFolder(fetch.options.to).discard_unfinished()
        os.write(2, b"fetch: ended by a signal; whole files stay, the next run fetches the others\n")
        os._exit(TERMINATED)

    signal.signal(signal.SIGTERM, terminate)
    signal.signal(signal.SIGINT, terminate)


if __name__ == "__main__":
    ended = run(parse(sys.argv[1:]), heed_signals=True)
    sys.stdout.flush()
    sys.stderr.flush()
    # Threads in the middle of a request that was abandoned would hold the process until it times out.
    os._exit(ended)
