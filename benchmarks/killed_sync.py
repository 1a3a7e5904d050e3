"""A sync that is killed at half, and what the next one fetches again."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks import sync_contenders
from benchmarks.hub_process import SHARDS, HubProcess
from benchmarks.measured_job import FailedJobError, measure, start, wait
from benchmarks.object_server import ObjectServer
from benchmarks.sync_contenders import FOLDER
from components.weights.manifest import Folder

_LOOK_SECONDS: Final = 0.02
_PATIENCE_SECONDS: Final = 120


@dataclass(frozen=True, kw_only=True)
class Killed:
    """What was seen."""

    finished: int
    """Shards that were whole in the bucket at the kill."""
    again: int
    """Of these, how many the hub was asked for again."""
    odd: int
    """Of the others, how many the second run didn't ask for exactly once."""
    reads: int
    """Bytes of the model that were read from the bucket, in both runs; a file whose note the kill prevented is none of
    them, for reading it is how the next run spares the hub."""


def killed_sync(hub: HubProcess, server: ObjectServer, folder: Path) -> Killed:
    """Kill a sync when the hub has sent half, run it again and count.

    Raises:
        FailedJobError: The first run ended before, or the second one badly.
    """
    bucket = server.new_bucket()
    job = sync_contenders.ours(hub, server, bucket)
    folder.mkdir(parents=True, exist_ok=True)
    half = hub.sent() + sum(listed.size for listed in hub.files.values()) // 2
    process = start(job.steps[0][0], job.environment, folder)
    _await(hub, half)
    process.kill()
    wait(process)
    if process.returncode != -9:
        raise FailedJobError(f"the sync that was to be killed ended before, with {process.returncode}")
    model = Folder(FOLDER)
    whole = {path for path in server.sizes(bucket, model.prefix) if path.endswith(".safetensors")}
    noted = {path.removesuffix(".json") for path in server.sizes(bucket, model.state)}
    hub.take_requests()
    measure(job, folder)
    asked = Counter(hub.take_requests())
    read = [path for path in server.reads(bucket, model) if path in noted or path not in whole]
    server.drop(bucket)
    return counted(whole, asked, [hub.files[path].size for path in read])


def counted(whole: set[str], asked: Counter[str], reads: Sequence[int]) -> Killed:
    """Return what was seen.

    Args:
        whole: Shards in the bucket at the kill.
        asked: How often the second run asked the hub for which shard.
        reads: Sizes of what was read from the bucket.
    """
    others = SHARDS - len(whole)
    once = sum(1 for path, times in asked.items() if path not in whole and times == 1)
    again = len(whole & set(asked))
    return Killed(finished=len(whole), again=again, odd=others - once, reads=sum(reads))


def _await(hub: HubProcess, sent: int) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while hub.sent() < sent:
        if time.monotonic() > deadline:
            raise FailedJobError(f"the hub sent {hub.sent():,} bytes in {_PATIENCE_SECONDS} s")
        time.sleep(_LOOK_SECONDS)
