"""A stand-in of both model hubs and of the CDN behind them, on loopback, with faults to order.

Two servers, for the real ones are two as well: the hub answers for its API and the small files, the CDN for the large
ones by signed, short-lived addresses. Each hub's own client takes it for that hub, see `test_sources.py`.
"""

import json
import re
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal
from urllib.parse import parse_qs, quote, unquote, urlsplit

from tests.weights.loopback import QuietHandler, QuietServer, serving
from tests.weights.tiny_model import Model

_CHUNK = 64 << 10

Server = Literal["hub", "cdn"]


@dataclass
class Fault:
    """Something that goes wrong, for one path or all, so many times."""

    kind: Literal[
        "corrupt", "cut", "empty", "long", "ignore_range", "wrong_range", "wrong_total", "status", "stall", "loop",
        "compress", "plain_redirect",
    ]  # fmt: skip
    path: str = ""
    """End of the file's path; empty: any file."""
    at: int = 0
    """Byte of the answer where a cut or a stall comes."""
    times: float = 1
    server: Server | None = None
    """Which server has it; None: whichever sends the file."""
    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    ranged: bool = False
    """Whether requests from byte 0 are spared."""


@dataclass(frozen=True)
class Request:
    """What a client asked."""

    server: Server
    method: str
    path: str
    """The file, or the API's path."""
    headers: Mapping[str, str]


class Hub:
    """The two servers."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.faults: list[Fault] = []
        self.requests: list[Request] = []
        self.token: str | None = None
        """Needed, if set."""
        self.chunk_seconds = 0.0
        """Wait before each piece of a body."""
        self.sent = 0
        """Bytes of bodies of large files."""
        self.lock = threading.Lock()
        self._servers = {name: _server(self, name) for name in ("hub", "cdn")}

    def url(self, server: Server = "hub") -> str:
        return f"http://127.0.0.1:{self._servers[server].server_address[1]}"

    def asked(self, server: Server, method: str = "GET") -> list[str]:
        """The paths asked of one server."""
        return [request.path for request in self.requests if (request.server, request.method) == (server, method)]

    def fault(self, server: Server, path: str, start: int) -> Fault | None:
        """Take the fault that is due."""
        own = "cdn" if path in self.model.files and self.model.large(path) else "hub"
        with self.lock:
            for fault in self.faults:
                due = fault.times > 0 and path.endswith(fault.path) and (start > 0 or not fault.ranged)
                if due and server == (fault.server or own):
                    fault.times -= 1
                    return fault
        return None

    @contextmanager
    def running(self) -> Iterator["Hub"]:
        with serving(*self._servers.values()):
            yield self


def _server(hub: Hub, name: str) -> ThreadingHTTPServer:
    handler = type("Handler", (_Handler,), {"hub": hub, "server_name": name})
    return QuietServer(("127.0.0.1", 0), handler)


class _Handler(QuietHandler, BaseHTTPRequestHandler):
    hub: Hub
    server_name: Server

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = self._file()
        with self.hub.lock:
            known = path if path is not None else self.path
            self.hub.requests.append(Request(self.server_name, self.command, known, dict(self.headers)))
        allowed = self.hub.token is None or self.headers.get("Authorization") == f"Bearer {self.hub.token}"
        if self.server_name == "hub" and not allowed:
            self._reply(401)
        elif path is None:
            self._api()
        elif path not in self.hub.model.files:
            self._reply(404)
        else:
            self._give(path)

    def _file(self) -> str | None:
        """Return the file that is asked for."""
        parts, model = urlsplit(self.path), self.hub.model
        if parts.path == f"/api/v1/models/{model.repository}/repo":
            return parse_qs(parts.query)["FilePath"][0]
        for prefix in (f"/{model.repository}/resolve/{model.commit}/", "/cdn/"):
            if parts.path.startswith(prefix):
                return unquote(parts.path.removeprefix(prefix))
        return None

    def _range(self) -> tuple[int, int | None] | None:
        """Return the first byte that is asked for and the one after the last, if the client names it."""
        given = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        return given and (int(given[1]), int(given[2]) + 1 if given[2] else None)

    def _api(self) -> None:
        """Answer the listings."""
        fault, model = self.hub.fault(self.server_name, urlsplit(self.path).path, 0), self.hub.model
        path = urlsplit(self.path).path
        if fault is not None and fault.kind == "status":
            self._reply(fault.status, headers=fault.headers)
        elif path.startswith(f"/api/models/{model.repository}/revision/"):
            siblings = [model.sibling(name) for name in model.listed()]
            self._reply(200, json.dumps({"id": model.repository, "sha": model.commit, "siblings": siblings}).encode())
        elif path.startswith(f"/api/models/{model.repository}/tree/"):
            self._reply(200, json.dumps([model.leaf(name) for name in model.listed()]).encode())
        elif path == f"/api/v1/models/{model.repository}/repo/files":
            found = [model.entry(name) for name in model.listed()]
            folders = [{"Path": "folder", "Size": 0, "Sha256": "", "Type": "tree"}]
            self._reply(200, json.dumps({"Code": 200, "Data": {"Files": found + folders}}).encode())
        else:
            self._reply(404)

    def _give(self, path: str) -> None:
        """Send a file, or send the client to the CDN for it."""
        model, asked = self.hub.model, self._range()
        fault = self.hub.fault(self.server_name, path, asked[0] if asked else 0)
        if fault is not None and fault.kind == "status":
            self._reply(fault.status, headers=fault.headers)
        elif fault is not None and fault.kind == "loop":
            self._reply(302, headers={"Location": self.path})
        elif self.server_name == "hub" and model.large(path):
            size, sha = str(len(model.files[path])), model.sha256(path)
            signed = f"{self.hub.url('cdn')}/cdn/{quote(path)}?Signature=secret-signature"
            linked = {"X-Linked-Size": size, "X-Linked-ETag": f'"{sha}"', "X-Repo-Commit": model.commit}
            self._reply(302, headers={"Location": signed, **linked})
        else:
            self._body(path, asked, fault)

    def _body(self, path: str, asked: tuple[int, int | None] | None, fault: Fault | None) -> None:
        """Send the range that is asked for, or the whole file, with the fault."""
        data, kind = self.hub.model.files[path], fault.kind if fault else ""
        size = len(data)
        if asked and asked[0] >= size:
            self._reply(416, headers={"Content-Range": f"bytes */{size}"})
            return
        if kind == "ignore_range":
            asked = None
        start, end = asked or (0, None)
        body = data[start:end]
        last = start + len(body) - 1
        if kind == "corrupt":
            body = bytes([body[0] ^ 1]) + body[1:]
        body = {"empty": b"", "long": body + b"!"}.get(kind, body)
        self.send_response(206 if asked else 200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", f'"{self.hub.model.git_id(path)}"')
        self.send_header("X-Repo-Commit", self.hub.model.commit)
        if kind == "compress":
            self.send_header("Content-Encoding", "gzip")
        if asked:
            first, total = start + (kind == "wrong_range"), size + (kind == "wrong_total")
            self.send_header("Content-Range", f"bytes {first}-{last}/{total}")
        self.end_headers()
        if self.command == "GET":
            self._send(body, fault)

    def _send(self, body: bytes, fault: Fault | None) -> None:
        """Send the body in pieces; a cut ends the connection in its midst."""
        breaks = fault is not None and fault.kind in ("cut", "stall")
        end = fault.at % (len(body) + 1) if breaks and fault is not None else len(body)
        for position in range(0, end, _CHUNK):
            time.sleep(self.hub.chunk_seconds)
            piece = body[position : min(position + _CHUNK, end)]
            self.wfile.write(piece)
            with self.hub.lock:
                self.hub.sent += len(piece)
        if breaks and fault is not None:
            time.sleep(fault.seconds)
            self.close_connection = True

    def _reply(self, status: int, body: bytes = b"", headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)
