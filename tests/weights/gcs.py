"""A stand-in of Google Cloud Storage's XML API, as far as obstore uses it; no other server of it runs without Docker.

It is ours, so it proves how the client is used and not that Google answers the same.
"""

import hashlib
import re
import threading
import uuid
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from tests.weights.loopback import QuietHandler, QuietServer

MODIFIED = "2026-12-01T00:00:00.000Z"


@dataclass
class Objects:
    """What is stored, and the uploads under way, by name and part."""

    held: dict[str, bytes] = field(default_factory=dict)
    uploads: dict[str, dict[int, bytes]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)


def gcs_server(objects: Objects) -> QuietServer:
    """Return a server for any bucket."""
    return QuietServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"objects": objects}))


class _Handler(QuietHandler, BaseHTTPRequestHandler):
    objects: Objects

    def _parts(self) -> tuple[str, dict[str, str]]:
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
        return unquote(parts.path.lstrip("/")), query

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def do_PUT(self) -> None:
        key, query = self._parts()
        body = self._body()
        with self.objects.lock:
            if "uploadId" in query:
                self.objects.uploads[query["uploadId"]][int(query["partNumber"])] = body
            else:
                self.objects.held[key] = body
        self._reply(200, etag=_etag(body))

    def do_POST(self) -> None:
        key, query = self._parts()
        body = self._body()
        with self.objects.lock:
            if "uploads" in query:
                upload = uuid.uuid4().hex
                self.objects.uploads[upload] = {}
                self._reply(
                    200, f"<InitiateMultipartUploadResult><UploadId>{upload}</UploadId></InitiateMultipartUploadResult>"
                )
                return
            parts = self.objects.uploads.pop(query["uploadId"])
            numbers = [int(found) for found in re.findall(r"<PartNumber>(\d+)<", body.decode())]
            data = self.objects.held[key] = b"".join(parts[number] for number in numbers)
        tag = escape(_etag(data), {'"': "&quot;"})
        self._reply(200, f"<CompleteMultipartUploadResult><ETag>{tag}</ETag></CompleteMultipartUploadResult>")

    def do_GET(self) -> None:
        key, query = self._parts()
        if "list-type" in query:
            self._list(key, query.get("prefix", ""))
            return
        data = self.objects.held.get(key)
        if data is None:
            self._reply(404, "<Error><Code>NoSuchKey</Code></Error>")
            return
        given = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if given is None:
            self._reply(200, data, etag=_etag(data))
            return
        first, last = int(given[1]), min(int(given[2] or len(data)), len(data) - 1)
        self._reply(206, data[first : last + 1], etag=_etag(data), extra=f"bytes {first}-{last}/{len(data)}")

    do_HEAD = do_GET  # noqa: N815 - the standard library's name

    def do_DELETE(self) -> None:
        with self.objects.lock:
            found = self.objects.held.pop(self._parts()[0], None)
        self._reply(404 if found is None else 204)

    def _list(self, bucket: str, prefix: str) -> None:
        bucket = bucket.rstrip("/")
        names = sorted(key.removeprefix(f"{bucket}/") for key in self.objects.held if key.startswith(f"{bucket}/"))
        entries = [
            f"<Contents><Key>{escape(name)}</Key><Size>{len(self.objects.held[f'{bucket}/{name}'])}</Size>"
            f"<LastModified>{MODIFIED}</LastModified></Contents>"
            for name in names
            if name.startswith(prefix)
        ]
        self._reply(200, f"<ListBucketResult>{''.join(entries)}</ListBucketResult>")

    def _reply(self, status: int, body: str | bytes = b"", *, etag: str = "", extra: str = "") -> None:
        data = body.encode() if isinstance(body, str) else body
        self.send_response(status)
        self.send_header("Last-Modified", "Tue, 01 Dec 2026 00:00:00 GMT")
        for name, value in (("ETag", etag), ("Content-Range", extra)):
            if value:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


def _etag(data: bytes) -> str:
    return f'"{hashlib.md5(data, usedforsecurity=False).hexdigest()}"'
