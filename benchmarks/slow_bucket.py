"""The tests' stand-in of a bucket in a process of its own: slow in each connection, and now and then silent."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Final

from benchmarks.stand_in import apart
from tests.weights.bucket import ACCESS_KEY, SECRET_KEY
from tests.weights.objects import BUCKET, COMMIT, REPOSITORY, Bucket, Faults, serving

CONNECTIONS: Final = 3
"""As many as two cores can carry beside this server, which is written in Python."""
BYTES_PER_SECOND: Final = 90e6
"""Of each connection, as S3 gives it."""
LINK_BYTES_PER_SECOND: Final = CONNECTIONS * BYTES_PER_SECOND
"""What all of them could bring if none was ever silent."""
_STALLED: Final = 20
"""Each so-manyth request is never answered: 5 %. None of the first ones, from which the fetch learns what is usual:
that is seconds once, which 64 requests would show far larger than the 24,000 of the real model."""
_SHARD_BYTES: Final = 512 << 20
_SHARDS: Final = 8
TOTAL_BYTES: Final = _SHARDS * _SHARD_BYTES
SOURCE: Final = f"s3://{BUCKET}/{REPOSITORY}/{COMMIT}"


@dataclass(frozen=True)
class SlowBucket:
    """The bucket as its clients' process sees it."""

    url: str

    def environment(self) -> Mapping[str, str]:
        """Return what a client needs to reach it."""
        keys = {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY}
        return {**keys, "AWS_ENDPOINT_URL": self.url, "AWS_REGION": "us-east-1"}


@contextmanager
def slow_bucket() -> Iterator[SlowBucket]:
    """Run the bucket until the block ends."""
    with apart(_serve) as pipe:
        yield SlowBucket(pipe.recv())


def _serve(pipe: Connection) -> None:
    faults = Faults(stall=lambda number: number % _STALLED == _STALLED - 1, bytes_per_second=BYTES_PER_SECOND)
    with serving(Bucket(faults=faults)) as bucket:
        # One shard's bytes for all of them: it is the link that is measured, and memory is dear.
        data = os.urandom(_SHARD_BYTES)
        bucket.fill({f"model-{number:05}-of-{_SHARDS:05}.safetensors": data for number in range(1, _SHARDS + 1)})
        pipe.send(bucket.url)
        try:
            pipe.recv()
        except (EOFError, KeyboardInterrupt):
            return
