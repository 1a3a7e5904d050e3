"""versitygw as a process: an S3 server that refuses wrong checksums and conditions as AWS does."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.weights.loopback import free_port, program
from toolchain import object_store


@contextmanager
def running(folder: Path, access_key: str, secret_key: str) -> Iterator[str]:
    """Run a server on a free port of loopback with its data in a folder; yields its URL."""
    address = f"127.0.0.1:{free_port()}"
    # Its notes beside the data: not every file system here has extended attributes.
    notes, data = folder / "notes", folder / "data"
    for each in (notes, data):
        each.mkdir(parents=True)
    command = [object_store.ensure(), "--port", address, "--health", "/healthz", "posix", "--sidecar", notes, data]
    environment = {"PATH": os.environ["PATH"], "ROOT_ACCESS_KEY": access_key, "ROOT_SECRET_KEY": secret_key}
    with program(command, environment, folder, f"http://{address}/healthz"):
        yield f"http://{address}"
