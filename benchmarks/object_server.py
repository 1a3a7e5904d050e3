"""versitygw with a fresh bucket for each run, and a count of what was read from it."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from components.weights.manifest import Folder
from components.weights.store import Store
from components.weights.store_connection import Location, StoreOptions
from tests.weights import versitygw
from tests.weights.bucket import ACCESS_KEY, SECRET_KEY, make_bucket


@dataclass
class ObjectServer:
    """The server, seen from outside."""

    folder: Path
    url: str
    made: list[str] = field(default_factory=list)

    def environment(self) -> dict[str, str]:
        """Return what any client needs to reach it."""
        keys = {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY}
        return {**keys, "AWS_ENDPOINT_URL": self.url, "AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1"}

    def new_bucket(self) -> str:
        """Make an empty bucket and return its name."""
        name = f"run-{len(self.made)}"
        make_bucket(self.url, name)
        self.made.append(name)
        return name

    def drop(self, bucket: str) -> None:
        """Free a bucket's room on the disk; the server keeps nothing of it in memory."""
        for part in ("data", "notes"):
            shutil.rmtree(self.folder / part / bucket, ignore_errors=True)

    def sizes(self, bucket: str, prefix: str) -> dict[str, int]:
        """Return the objects below a prefix, by path."""
        options = StoreOptions(endpoint=self.url, access_key=ACCESS_KEY, secret_key=SECRET_KEY)
        held = Store(Location.parse(f"s3://{bucket}"), options).list(prefix)
        return {each.key.removeprefix(f"{prefix}/"): each.size for each in held}

    def reads(self, bucket: str, folder: Folder) -> list[str]:
        """Return the model's files that were read so far, once a request, as the server's own log has them."""
        found: list[str] = []
        for line in (self.folder / "log").read_text().splitlines():
            # `18:24:04 | vgw | 200 | 365.044us | 127.0.0.1 | GET | /bucket/a/key | - | `
            fields = [each.strip() for each in line.split("|")]
            start = f"/{bucket}/{folder.prefix}/"
            if len(fields) > 6 and fields[5] == "GET" and fields[6].startswith(start):
                found.append(fields[6].removeprefix(start))
        return found


@contextmanager
def object_server(folder: Path) -> Iterator[ObjectServer]:
    """Run the server with its data in a new folder until the block ends."""
    with versitygw.running(folder, ACCESS_KEY, SECRET_KEY) as url:
        yield ObjectServer(folder, url)
