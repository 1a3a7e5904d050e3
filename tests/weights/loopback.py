"""What the stand-ins of these tests have in common: quiet HTTP servers on loopback."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


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
