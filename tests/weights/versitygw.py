"""versitygw as a process: an S3 server that refuses wrong checksums and conditions as AWS does."""

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import urllib3

from toolchain import object_store

_PATIENCE_SECONDS = 20


@contextmanager
def running(folder: Path, access_key: str, secret_key: str) -> Iterator[str]:
    """Run a server on a free port of loopback with its data in a folder; yields its URL."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    # Its notes beside the data: not every file system here has extended attributes.
    notes, data = folder / "notes", folder / "data"
    for each in (notes, data):
        each.mkdir(parents=True)
    command = [object_store.ensure(), "--port", address, "--health", "/healthz", "posix", "--sidecar", notes, data]
    environment = {"PATH": os.environ["PATH"], "ROOT_ACCESS_KEY": access_key, "ROOT_SECRET_KEY": secret_key}
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(command, env=environment, cwd=folder, stdout=log, stderr=log)  # noqa: S603
        try:
            _await(f"http://{address}/healthz", server)
            yield f"http://{address}"
        finally:
            server.terminate()
            server.wait(timeout=10)


def _await(url: str, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    with urllib3.PoolManager(retries=False) as pool:
        while time.monotonic() < deadline and server.poll() is None:
            try:
                if pool.request("GET", url).status == 200:
                    return
            except urllib3.exceptions.HTTPError:
                time.sleep(0.05)
    raise TimeoutError(f"versitygw didn't answer at {url}; it ended with {server.poll()}")
