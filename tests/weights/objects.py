"""A bucket on loopback that serves ranges of objects as S3 does, and goes wrong in the ways that a test asks for."""

import hashlib
import re
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Final

from components.weights.manifest import File, Folder, Marker, manifest_digest

BUCKET: Final = "models"
COMMIT: Final = "9f62e4e9fffbd0a83ddd60e1c209d828994b3569"
OTHER_COMMIT: Final = "0" * 40
REPOSITORY: Final = "moonshotai/Kimi-K3"
_RANGE: Final = re.compile(rb"range: bytes=(\d+)-(\d+)", re.IGNORECASE)
_CRAWL: Final = 10_000
_DATE: Final = "Tue, 01 Dec 2026 00:00:00 GMT"


def seeded(seed: int) -> Random:
    """Return a source of bytes that are the same in every run."""
    return Random(seed)  # noqa: S311


@dataclass
class Faults:
    """What goes wrong. Each is asked once a request for bytes of a model's file, with the number of the request."""

    stall: Callable[[int], bool] = lambda _: False
    """Whether to read the request and then say nothing."""
    stall_in_body: Callable[[int], bool] = lambda _: False
    """Whether to say nothing after half of the bytes."""
    status: Callable[[int], int | None] = lambda _: None
    """An error to answer with."""
    cut: Callable[[int], bool] = lambda _: False
    """Whether to close the connection after half of the bytes."""
    spoil: Callable[[int], bool] = lambda _: False
    """Whether one byte is wrong."""
    whole: Callable[[int], bool] = lambda _: False
    """Whether to send the whole object whatever range is asked for."""
    crawl: Callable[[int], bool] = lambda _: False
    """Whether to send 10 kB/s."""
    bytes_per_second: float | None = None
    """Of each connection."""
    marker_status: Callable[[int], int | None] = lambda _: None
    """An error to answer with to requests for the notes, by their own number."""


@dataclass
class Bucket:
    """The objects by key, and what was asked of them."""

    objects: dict[str, bytes] = field(default_factory=dict)
    faults: Faults = field(default_factory=Faults)
    url: str = ""
    """Of the server."""
    requests: int = 0
    """For bytes of a model's files."""
    notes: int = 0
    """For sidecars and markers."""
    sent: int = 0
    """Bytes of model's files that went out whole."""
    released: threading.Event = field(default_factory=threading.Event)
    """Ends all stalls."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def fill(self, files: dict[str, bytes], commit: str = COMMIT) -> Marker:
        """Put a complete copy into the bucket."""
        folder = Folder(f"{REPOSITORY}/{commit}")
        listed = tuple(
            File(path=path, size=len(data), sha256=hashlib.sha256(data).hexdigest())
            for path, data in sorted(files.items())
        )
        marker = Marker(repository=REPOSITORY, commit=commit, digest=manifest_digest(listed), files=listed)
        self.objects |= {folder.model(path): data for path, data in files.items()}
        self.objects[folder.marker] = marker.encode()
        return marker

    def count(self, key: str) -> int:
        """Count a request and return its number of its kind, from 0."""
        with self._lock:
            if key.startswith("."):
                self.notes += 1
                return self.notes - 1
            self.requests += 1
            return self.requests - 1

    def went(self, count: int) -> None:
        """Count bytes."""
        with self._lock:
            self.sent += count


class _Handler(socketserver.StreamRequestHandler):
    @property
    def _bucket(self) -> Bucket:
        assert isinstance(self.server, _Server)
        return self.server.bucket

    def handle(self) -> None:
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            while self._answer():
                pass
        except OSError:
            return

    def _answer(self) -> bool:
        """Answer one request; return whether the connection stays."""
        line = self.rfile.readline().split()
        asked = b""
        while (header := self.rfile.readline()) not in (b"\r\n", b""):
            asked = header if _RANGE.match(header) else asked
        if len(line) < 2:
            return False
        bucket = self._bucket
        key = line[1].decode().split("?")[0].removeprefix(f"/{BUCKET}/").replace("%20", " ")
        number, data = bucket.count(key), bucket.objects.get(key)
        note = key.startswith(".")
        status = (bucket.faults.marker_status if note else bucket.faults.status)(number)
        if status is not None or data is None:
            return self._refuse(status or 404)
        if not note and bucket.faults.stall(number):
            bucket.released.wait()
            return False
        found = None if not note and bucket.faults.whole(number) else _RANGE.match(asked)
        start, end = (int(found[1]), min(int(found[2]) + 1, len(data))) if found else (0, len(data))
        return self._refuse(416) if start >= len(data) > 0 else self._send(data, start, end, -1 if note else number)

    def _send(self, data: bytes, start: int, end: int, number: int) -> bool:
        faults, body = self._bucket.faults, memoryview(data)[start:end]
        head = f"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {start}-{end - 1}/{len(data)}\r\n"
        if number < 0 or faults.whole(number):
            head = "HTTP/1.1 200 OK\r\n"
        etag = f'ETag: "{len(data)}"\r\nLast-Modified: {_DATE}\r\n'
        self.wfile.write(f"{head}{etag}Content-Length: {len(body)}\r\n\r\n".encode())
        if number >= 0 and faults.spoil(number):
            body = memoryview(bytes(body[:-1]) + bytes([body[-1] ^ 1]))
        if number >= 0 and (faults.cut(number) or faults.stall_in_body(number)):
            self.wfile.write(body[: len(body) // 2])
            if not faults.cut(number):
                self._bucket.released.wait()
            return False
        rate = _CRAWL if number >= 0 and faults.crawl(number) else faults.bytes_per_second
        self._throttled(body, rate if number >= 0 else None)
        if number >= 0:
            self._bucket.went(len(body))
        return True

    def _throttled(self, body: memoryview, rate: float | None) -> None:
        step = 64 << 10 if rate else max(len(body), 1)
        began = time.monotonic()
        for start in range(0, len(body), step):
            self.wfile.write(body[start : start + step])
            if rate:
                time.sleep(max(0.0, began + (start + step) / rate - time.monotonic()))

    def _refuse(self, status: int) -> bool:
        codes = {404: "NoSuchKey", 403: "AccessDenied", 416: "InvalidRange"}
        text = f"<Error><Code>{codes.get(status, 'SlowDown')}</Code><Message>no</Message></Error>"
        self.wfile.write(f"HTTP/1.1 {status} No\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode())
        return True


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = 512

    def __init__(self, bucket: Bucket) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.bucket = bucket


@contextmanager
def serving(bucket: Bucket) -> Iterator[Bucket]:
    """Serve a bucket until the block ends."""
    server = _Server(bucket)
    bucket.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield bucket
    finally:
        bucket.released.set()
        server.shutdown()
        server.server_close()
