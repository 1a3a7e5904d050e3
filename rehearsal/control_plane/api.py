"""A small client of the Kubernetes API: paths and JSON, no models."""

import base64
import json
import ssl
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import Any

import yaml

Json = dict[str, Any]
"""A JSON object; its shape is the API's, which this client doesn't know."""

FIELD_MANAGER = "rehearsal"
"""The owner of the fields that `Api.apply` sets."""

_POLL_SECONDS = 0.1


class ApiError(Exception):
    """The API server refused a request."""

    def __init__(self, request: str, status: int, reason: str, message: str) -> None:
        super().__init__(f"{request}: {status} {reason}: {message}")
        self.status = status
        """HTTP status, such as 403."""
        self.reason = reason
        """Machine-readable reason, such as "Invalid"."""
        self.message = message
        """What the server says to people."""


class Api:
    """The API of one control plane; safe to share between threads."""

    def __init__(self, server: str, context: ssl.SSLContext) -> None:
        """Takes the server's URL, and a context that knows its authority and holds the client's certificate."""
        self._server = server
        # No proxy: the server is on this machine.
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
        )

    @classmethod
    def from_kubeconfig(cls, path: Path) -> "Api":
        """Returns a client for the only cluster and user of a kubeconfig with embedded certificates."""
        configuration = yaml.safe_load(path.read_text())
        cluster = configuration["clusters"][0]["cluster"]
        user = configuration["users"][0]["user"]
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        context = ssl.create_default_context(cadata=authority)
        # The ssl module reads a client's certificate from files only.
        with tempfile.NamedTemporaryFile() as pair:
            for part in ("client-certificate-data", "client-key-data"):
                pair.write(base64.b64decode(user[part]))
            pair.flush()
            context.load_cert_chain(pair.name)
        return cls(cluster["server"], context)

    def get(self, path: str) -> Json:
        """Returns the object, or the list, at a path.

        Raises:
            ApiError: The server refused, with status 404 where there is nothing.
        """
        return self._call("GET", path)

    def find(self, path: str) -> Json | None:
        """Returns the object at a path, or None where there is nothing."""
        try:
            return self.get(path)
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise

    def items(self, path: str, label_selector: str = "") -> list[Json]:
        """Returns the objects of a collection that match a selector such as "app=web,tier!=db"."""
        query = f"?{urllib.parse.urlencode({'labelSelector': label_selector})}" if label_selector else ""
        return self.get(f"{path}{query}")["items"]

    def create(self, path: str, body: Json | bytes) -> Json:
        """Creates an object in a collection; bytes are sent as the YAML that they are.

        Raises:
            ApiError: The server or a webhook refused it.
        """
        return self._call("POST", path, body)

    def apply(self, path: str, body: Json) -> Json:
        """Creates or changes the object at a path by server-side apply, taking over fields that others own."""
        query = urllib.parse.urlencode({"fieldManager": FIELD_MANAGER, "force": "true"})
        return self._call("PATCH", f"{path}?{query}", body, "application/apply-patch+yaml")

    def patch(self, path: str, body: Json) -> Json:
        """Changes the object, or its subresource, at a path by JSON merge patch."""
        return self._call("PATCH", path, body, "application/merge-patch+json")

    def delete(self, path: str) -> None:
        """Asks for the deletion of the object at a path; nothing there is fine. Finalizers may delay the end."""
        try:
            self._call("DELETE", path, {"propagationPolicy": "Background"})
        except ApiError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise

    def wait_for(self, path: str, predicate: Callable[[Json], bool], seconds: float = 30) -> Json:
        """Returns the object, or the list, at a path as soon as it satisfies the predicate.

        Raises:
            TimeoutError: It did not within `seconds`; the message shows what was there last.
        """
        deadline = time.monotonic() + seconds
        while True:
            found = self.find(path)
            if found is not None and predicate(found):
                return found
            if time.monotonic() > deadline:
                raise TimeoutError(f"GET {path}: not as awaited after {seconds:.0f} s: {_shown(found)}")
            time.sleep(_POLL_SECONDS)

    def wait_until_gone(self, path: str, seconds: float = 30) -> None:
        """Returns when there is nothing at a path.

        Raises:
            TimeoutError: The object was still there after `seconds`.
        """
        deadline = time.monotonic() + seconds
        while (found := self.find(path)) is not None:
            if time.monotonic() > deadline:
                raise TimeoutError(f"GET {path}: still there after {seconds:.0f} s: {_shown(found)}")
            time.sleep(_POLL_SECONDS)

    def _call(self, method: str, path: str, body: Json | bytes | None = None, content: str = "") -> Json:
        data = json.dumps(body).encode() if isinstance(body, dict) else body
        content = content or ("application/yaml" if isinstance(body, bytes) else "application/json")
        request = urllib.request.Request(  # noqa: S310 - the scheme is the kubeconfig's https
            f"{self._server}{path}", data=data, method=method, headers={"Content-Type": content}
        )
        try:
            with self._opener.open(request, timeout=30) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            raise _api_error(f"{method} {path}", error) from None


def _api_error(request: str, error: urllib.error.HTTPError) -> ApiError:
    with error:
        text = error.read().decode(errors="replace")
    try:
        status = json.loads(text)
    except ValueError:
        status = {"message": text}
    return ApiError(request, error.code, status.get("reason", error.reason), status.get("message", text))


def _shown(found: Json | None) -> str:
    if found is None:
        return "nothing there"
    return json.dumps(found.get("status") or [item.get("status") for item in found.get("items", [])])[:2000]
