"""How far a fetch is: the sync's own lines, with what the streams do."""

import json
import time

from components.weights.progress import Progress, Snapshot
from components.weights.transfer import Transfer


class FetchProgress(Progress):
    """Counters of one fetch, read from its transfer when somebody looks."""

    def __init__(self) -> None:
        super().__init__()
        self.transfer: Transfer | None = None
        """Set when it begins; a complete folder needs none."""

    def snapshot(self) -> Snapshot:
        """Return the state now, the bytes of running requests included."""
        if self.transfer is not None:
            tally, landed = self.transfer.tally, self.transfer.landed
            with self._lock:
                self._moved = landed
            self.tally.retries = tally.retried + tally.abandoned
        return super().snapshot()

    def warning(self) -> str | None:
        """Return why the last request was tried again, once."""
        if self.transfer is None or not self.transfer.tally.last:
            return None
        last, self.transfer.tally.last = self.transfer.tally.last, ""
        return last

    def result(self) -> str:
        """Return the run as one JSON line; bytes and seconds."""
        seconds = time.monotonic() - self._started
        tally, transfer = self.tally, self.transfer
        found: dict[str, object] = {
            "event": "result",
            "files": tally.files,
            "total_bytes": tally.total_bytes,
            "fetched": tally.copied,
            "skipped": tally.skipped,
            "bytes": tally.bytes,
            "complete": tally.complete,
            "digest": tally.digest,
            "seconds": round(seconds, 1),
            "bytes_per_second": round(tally.bytes / max(seconds, 1e-3)),
        }
        if transfer is not None:
            of = transfer.tally
            found |= {"requests": of.requested, "retried": of.retried, "abandoned": of.abandoned}
            found |= {"refetched": of.refetched}
        return json.dumps(found)
