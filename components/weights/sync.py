"""Copies a model from a hub into a bucket: one pass, verified on the way, no disk, resumable by file.

`python -m components.weights.sync --help` says how; the same command runs by hand and in the pods of an Indexed Job.
Needs the standard library, obstore and urllib3, and the modules beside it.
"""

import os
import signal
import sys
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from enum import IntEnum
from types import FrameType

from components.weights.backoff import Backoff, TriesExhausted
from components.weights.bucket_source import BucketSource
from components.weights.command_line import Options, parse
from components.weights.completion import complete, existing_marker, refuse_strays
from components.weights.file_copy import FileCopy
from components.weights.hub_client import HubClient
from components.weights.hugging_face import HuggingFace
from components.weights.listing import checked_listing
from components.weights.manifest import File, Folder, ManifestError, Marker
from components.weights.model_scope import ModelScope
from components.weights.progress import Progress
from components.weights.report import Report
from components.weights.source import Listing, Refused, Source
from components.weights.stop import Stop, Stopped
from components.weights.store import Store
from components.weights.store_error import StoreError
from components.weights.verified_stream import BadBytes


class Exit(IntEnum):
    """The process's exit status."""

    DONE = 0
    INCOMPLETE = 1
    """Files are missing or wrong; running again goes on where this run ended."""
    REFUSED = 42
    """Running again can't help; a Job's pod failure policy stops on it."""
    TERMINATED = 143


@dataclass
class Run:
    """One process's part of a copy."""

    options: Options
    stop: Stop
    progress: Progress
    report: Report

    def execute(self) -> Exit:
        """Copy, and return how it ended; every failure is one line in the log."""
        try:
            return self._copy()
        except (Refused, StoreError, ManifestError, TriesExhausted) as error:
            self.report.say(f"weight-sync: {error}")
            final = isinstance(error, Refused) or (isinstance(error, StoreError) and error.final)
            return Exit.REFUSED if final else Exit.INCOMPLETE
        except Stopped:
            return self._terminated()

    def _copy(self) -> Exit:
        options = self.options
        store = Store(options.to, options.bucket)
        folder = options.folder
        marker = existing_marker(store, folder, options.revision, options.digest)
        if marker is not None and not options.read_back:
            return self._already(marker, folder)
        source = _source(options)
        if marker is not None:
            listing = Listing(marker.commit, marker.files)
        else:
            backoff = Backoff(options.timing, self.stop, lambda why, wait: self.report.retried(source.name, why, wait))
            listing = checked_listing(source, backoff, self.stop, options.digest)
        refuse_strays(store, folder, listing)
        mine = share(listing.files, options.index, options.of)
        self.progress.plan(len(mine), sum(file.size for file in mine))
        self.report.say(
            f"weight-sync: {len(mine)} of {len(listing.files)} files, {self.progress.tally.total_bytes:,} bytes,"
            f" from {source.name} to {options.to.scheme}://{options.to.bucket}/{folder.prefix}"
        )
        self._settle(self._copies(source, store), mine)
        return self._end(store, folder, listing)

    def _copies(self, source: Source, store: Store) -> FileCopy:
        return FileCopy(
            source=source,
            store=store,
            folder=self.options.folder,
            commit=self.options.revision,
            effort=self.options.effort,
            timing=self.options.timing,
            stop=self.stop,
            progress=self.progress,
            report=self.report,
        )

    def _already(self, marker: Marker, folder: Folder) -> Exit:
        tally = self.progress.tally
        mine = share(marker.files, self.options.index, self.options.of)
        self.progress.plan(len(mine), sum(file.size for file in mine))
        tally.complete, tally.digest = True, marker.digest
        for file in mine:
            self.progress.settled(file.path, file.size, "skipped")
        self.report.say(f"weight-sync: {folder.prefix} is complete already, {marker.total_bytes:,} bytes")
        return Exit.DONE

    def _settle(self, copies: FileCopy, mine: Sequence[File]) -> None:
        """Copy this process's files, the largest first, each in a thread.

        Raises:
            Refused: For one of them, which goes for all.
            StoreError: Final; likewise.
        """
        waiting = list(reversed(mine))
        running: set[Future[None]] = set()
        parallel = self.options.effort.parallel
        pool = ThreadPoolExecutor(parallel, "copy")
        try:
            while running or (waiting and not self.stop.requested):
                while waiting and len(running) < parallel and not self.stop.requested:
                    running.add(pool.submit(self._one, copies, waiting.pop()))
                # Short enough that a signal is seen soon.
                done, running = wait(running, timeout=0.2, return_when=FIRST_COMPLETED)
                for future in done:
                    future.result()
                # Here too, for a thread may hang in a request to a server that doesn't answer.
                self.stop.check()
        except BaseException:
            self.stop.now()
            raise
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
        if waiting:
            raise Stopped

    def _one(self, copies: FileCopy, file: File) -> None:
        """Settle one file; only what goes for all files comes out of here."""
        try:
            outcome = copies.settle(file)
            if self.options.read_back and outcome != "adopted" and not copies.read_back(file):
                copies.store.delete(copies.folder.marker)
                outcome = "failed"
        except (BadBytes, TriesExhausted, StoreError) as error:
            if isinstance(error, StoreError) and error.final:
                raise
            self.report.say(f"weight-sync: failed: {error}")
            outcome = "failed"
        self.progress.settled(file.path, file.size, outcome)

    def _end(self, store: Store, folder: Folder, listing: Listing) -> Exit:
        """Write the marker if this was the last process."""
        if self.progress.tally.failed:
            self.report.say(f"weight-sync: {self.progress.tally.failed} files failed; run it again")
            return Exit.INCOMPLETE
        marker, missing = complete(store, folder, self.options.repository, listing, self.options.digest)
        if marker is None:
            self.report.say(f"weight-sync: done here; {len(missing)} files of other processes aren't there yet")
        else:
            self.progress.tally.complete, self.progress.tally.digest = True, marker.digest
            self.report.say(f"weight-sync: complete: {marker.total_bytes:,} bytes, digest {marker.digest}")
        return Exit.DONE

    def _terminated(self) -> Exit:
        self.report.say("weight-sync: ended by a signal; finished files stay, run it again for the others")
        return Exit.TERMINATED


def share(files: Sequence[File], index: int, of: int) -> list[File]:
    """Return the files of one process: every so-manyth, the largest first, so that the shares are of one size."""
    return sorted(files, key=lambda file: (-file.size, file.path))[index::of]


def _source(options: Options) -> Source:
    hub = options.hub
    if hub.kind == "modelscope":
        client = HubClient(hub.endpoint, hub.token, options.timing, "MODELSCOPE_API_TOKEN")
        return ModelScope(client, options.repository, hub.revision, options.revision)
    client = HubClient(hub.endpoint, hub.token, options.timing, "HF_TOKEN")
    listed = HuggingFace(client, options.repository, options.revision)
    if options.source is None:
        return listed
    folder = Folder(options.source.folder or options.folder.prefix)
    return BucketSource(Store(options.source, options.source_bucket), folder, options.revision, listed)


def run(arguments: Sequence[str], stop: Stop | None = None) -> Exit:
    """Run one process's part; the last line on stdout is the result as JSON."""
    options = parse(arguments)
    stop = stop or Stop(options.grace)
    progress = Progress()
    report = Report(progress, options.style, options.interval)
    _heed_signals(stop)
    with report.running():
        status = Run(options, stop, progress, report).execute()
    sys.stdout.write(progress.result() + "\n")
    return status


def _heed_signals(stop: Stop) -> None:
    def terminate(_signal: int, _frame: FrameType | None) -> None:
        stop.request()

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        stop.now()

    signal.signal(signal.SIGTERM, terminate)
    signal.signal(signal.SIGINT, interrupt)


if __name__ == "__main__":
    ended = run(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    # Threads in the middle of a request to a bucket that doesn't answer would hold the process for minutes.
    os._exit(ended)
