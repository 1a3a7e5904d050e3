"""A bucket on one of the servers, and a proxy in front of them that makes a bucket's faults."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from urllib.parse import urlsplit

import boto3

from components.weights.manifest import Folder, Marker, default_folder
from components.weights.store import Store
from components.weights.store_connection import Location, StoreOptions
from tests.weights import azurite
from tests.weights.loopback import QuietHandler, QuietServer, serving
from tests.weights.tiny_model import COMMIT, REPOSITORY

ACCESS_KEY, SECRET_KEY = "AK", "SK"
_HOP = {"connection", "transfer-encoding", "keep-alive", "server", "date", "content-length"}

# What the tests order in S3's words, as Azure says it. It has no request that begins an upload, and the addresses of
# blocks have no numbers.
AZURES_WORDS: Mapping[str, str] = {
    "list-type": "comp=list",
    "uploads": "comp=block&",
    "partNumber=": "comp=block&",
    "uploadId=": "comp=blocklist",
    "POST": "PUT",
    "SlowDown": "ServerBusy",
    "AccessDenied": "AuthorizationPermissionMismatch",
    "NoSuchBucket": "ContainerNotFound",
    "InvalidAccessKeyId": "AuthenticationFailed",
}


def make_bucket(upstream: str, name: str, scheme: str = "s3") -> None:
    """Make a bucket on a server; obstore has no call for it."""
    if scheme == "az":
        azurite.make_container(upstream, name)
        return
    client = boto3.client(
        "s3",
        endpoint_url=upstream,
        region_name="us-east-1",
        aws_access_key_id=ACCESS_KEY,
        aws_secret_access_key=SECRET_KEY,
    )
    client.create_bucket(Bucket=name)
    client.close()


@dataclass
class BucketFault:
    """An answer instead of the store's own, so many times, in S3's words."""

    status: int
    code: str = "InternalError"
    method: str = ""
    """Empty: any."""
    key: str = ""
    """Part of the address."""
    times: float = 1
    after: int = 0
    """Requests that fit and are let through before."""


@dataclass
class Proxy:
    """Passes requests on to the store and counts them."""

    upstream: str
    faults: list[BucketFault] = field(default_factory=list)
    requests: list[tuple[str, str]] = field(default_factory=list)
    """Method and address of each."""
    down: threading.Event = field(default_factory=threading.Event)
    """While set, connections break without an answer."""
    words: Mapping[str, str] = field(default_factory=dict)
    """What the store calls what begins with S3's words."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    url: str = ""

    def said(self, word: str) -> str:
        """Return the store's word for one of S3."""
        return next((theirs for ours, theirs in self.words.items() if word.startswith(ours)), word)

    def take(self, method: str, address: str) -> BucketFault | None:
        with self.lock:
            self.requests.append((method, address))
            for fault in self.faults:
                due = fault.times > 0 and self.said(fault.method) in ("", method)
                if due and self.said(fault.key) in address:
                    if fault.after:
                        fault.after -= 1
                        continue
                    fault.times -= 1
                    return fault
        return None

    def count(self, method: str, part: str) -> int:
        """Count the requests of a method with a part of their address in S3's words."""
        return sum(1 for seen, address in self.requests if seen == method and self.said(part) in address)

    @contextmanager
    def running(self) -> Iterator["Proxy"]:
        server = QuietServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"proxy": self}))
        self.url = f"http://127.0.0.1:{server.server_address[1]}"
        with serving(server):
            yield self


class _Handler(QuietHandler):
    proxy: Proxy

    def handle_any(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.proxy.down.is_set():
            self.close_connection = True
            return
        fault = self.proxy.take(self.command, self.path)
        if fault is not None:
            code = self.proxy.said(fault.code)
            error = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>as ordered</Message></Error>"
            self._answer(fault.status, {"Content-Type": "application/xml"}, error.encode())
            return
        upstream = HTTPConnection(urlsplit(self.proxy.upstream).netloc, timeout=20)
        try:
            upstream.request(self.command, self.path, body, dict(self.headers))
            found = upstream.getresponse()
            data = found.read()
            headers = {name: value for name, value in found.getheaders() if name.lower() not in _HOP}
            length = found.getheader("Content-Length") if self.command == "HEAD" else None
            self._answer(found.status, headers, data, length)
        finally:
            upstream.close()

    def _answer(self, status: int, headers: dict[str, str], data: bytes, length: str | None = None) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", length or str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = handle_any  # noqa: N815 - the standard library's names


@dataclass
class Bucket:
    """One bucket of a test's own, behind a proxy."""

    name: str
    proxy: Proxy
    scheme: str = "s3"
    token: str = ""
    """A shared access signature instead of the account's key, on Azure."""
    folder: Folder = field(default_factory=lambda: Folder(default_folder(REPOSITORY, COMMIT)))

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.name}"

    def environment(self) -> dict[str, str]:
        """What a process needs to reach it."""
        if self.scheme == "gs":
            names = ("client_email", "private_key", "private_key_id")
            key = json.dumps({"disable_oauth": True, **dict.fromkeys(names, "")})
            return {"GOOGLE_SERVICE_ACCOUNT_KEY": key, "AWS_ENDPOINT_URL": self.proxy.url}
        if self.scheme == "az":
            name, value = ("SAS_TOKEN", self.token) if self.token else ("ACCOUNT_KEY", azurite.KEY)
            place = {"ACCOUNT_NAME": azurite.ACCOUNT, "ENDPOINT": f"{self.proxy.url}/{azurite.ACCOUNT}", name: value}
            return {f"AZURE_STORAGE_{name}": value for name, value in place.items()}
        keys = {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY}
        return {**keys, "AWS_ENDPOINT_URL": self.proxy.url, "AWS_REGION": "us-east-1"}

    def store(self) -> Store:
        """The bucket without the proxy's faults and counts."""
        options = StoreOptions(endpoint=self.proxy.upstream, access_key=ACCESS_KEY, secret_key=SECRET_KEY, retries=1)
        if self.scheme == "az":
            endpoint = f"{self.proxy.upstream}/{azurite.ACCOUNT}"
            options = StoreOptions(account=azurite.ACCOUNT, account_key=azurite.KEY, endpoint=endpoint, retries=1)
        return Store(Location.parse(self.url), options)

    def objects(self, folder: str | None = None) -> dict[str, bytes]:
        """Everything in a folder, by default the model's, by path."""
        prefix, store = folder or self.folder.prefix, self.store()
        return {held.key.removeprefix(f"{prefix}/"): store.get(held.key) or b"" for held in store.list(prefix)}

    def marker(self) -> Marker | None:
        return Marker.decode(self.store().get(self.folder.marker) or b"")
