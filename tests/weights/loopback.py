"""What the servers of these tests have in common: quiet ones in threads of ours, and programs on loopback."""

import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import urllib3

_PATIENCE_SECONDS = 20


class QuietServer(ThreadingHTTPServer):
    """Doesn't wait for the connections of clients that were killed."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def handle_error(self, request: object, client_address: object) -> None:
        """Leave broken pipes unsaid: clients are killed here."""


class QuietHandler(BaseHTTPRequestHandler):
    """Writes no log."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the standard library's name
        """Keep the test's output clean."""


@contextmanager
def serving(*servers: ThreadingHTTPServer) -> Iterator[None]:
    """Let servers answer until the block ends."""
    with ExitStack() as stack:
        for server in servers:
            thread = threading.Thread(target=server.serve_forever, args=(0.02,))
            stack.callback(thread.join)
            stack.callback(server.server_close)
            stack.callback(server.shutdown)
            thread.start()
        yield


def free_port() -> int:
    """Return a port of loopback that nobody has."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


@contextmanager
def program(command: Sequence[str | Path], environment: Mapping[str, str], folder: Path, asked: str) -> Iterator[None]:
    """Run a server in a folder until the block ends, which begins when it answers at a URL."""
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(command, env=environment, cwd=folder, stdout=log, stderr=log)  # noqa: S603
        try:
            _await(asked, server)
            yield
        finally:
            server.terminate()
            server.wait(timeout=10)


def _await(url: str, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    with urllib3.PoolManager(retries=False) as pool:
        while time.monotonic() < deadline and server.poll() is None:
            try:
                pool.request("GET", url)
            except urllib3.exceptions.HTTPError:
                time.sleep(0.05)
            else:
                return
    raise TimeoutError(f"no server answered at {url}; it ended with {server.poll()}")
