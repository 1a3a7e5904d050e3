"""HTTP as the hubs want it: redirects by hand, the token to the hub alone, and their own signals of when to return."""

import json
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from typing import Final
from urllib.parse import urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

import urllib3
from urllib3.exceptions import HTTPError

from components.weights.backoff import Timing
from components.weights.source import Interrupted, Refused

_CHUNK: Final = 1 << 20
_CONNECTIONS: Final = 32
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_MOST_REDIRECTS: Final = 5
_BUSY: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
_AGENT: Final = "kimi-k3-weight-sync"
# `RateLimit: "resolvers";r=0;t=87` (huggingface.co/docs/hub/rate-limits): requests left, seconds to the next window.
_LIMIT_RESET: Final = re.compile(r"\bt=(\d+)")
_CONTENT_RANGE: Final = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")


class HubClient:
    """Requests to one hub and to wherever it sends the client."""

    def __init__(self, endpoint: str, token: str | None, timing: Timing, token_variable: str) -> None:
        self._endpoint = endpoint.rstrip("/")
        self._origin = _origin(endpoint)
        self._token = token
        self._token_variable = token_variable
        self._timeout = urllib3.Timeout(connect=timing.connect, read=timing.stall)
        self._pools: dict[str | None, urllib3.PoolManager] = {}

    @property
    def host(self) -> str:
        """The hub's host, for logs."""
        return urlsplit(self._endpoint).netloc

    def json(self, path: str) -> object:
        """Return the answer of the hub's API.

        Raises:
            Refused: 401, 403 or 404, with what to do.
            Interrupted: Anything else that isn't JSON.
        """
        response, _ = self._follow(self._endpoint + path, {})
        try:
            return json.loads(response.read(decode_content=True))
        except (HTTPError, OSError, ValueError) as error:
            raise Interrupted(f"{self.host} gave no JSON ({_brief(error)})") from None
        finally:
            response.close()

    @contextmanager
    def open(self, path: str, offset: int, size: int) -> Iterator[Iterator[bytes]]:
        """Yield the bytes of a file from `offset` on; it has `size` bytes in all.

        Raises:
            Refused: The hub itself refused.
            Interrupted: Try again, which gets a new signed address.
        """
        response, host = self._follow(self._endpoint + path, {"Range": f"bytes={offset}-"} if offset else {})
        try:
            start = _start(response, host, size)
            if start > offset:
                raise Interrupted(f"{host} began at byte {start:,} instead of {offset:,}")
            yield _from(_chunks(response, host), offset - start)
        finally:
            # The rest of a body is never read: a connection with bytes under way can't be used again.
            response.close()

    def _follow(self, url: str, headers: Mapping[str, str]) -> tuple[urllib3.BaseHTTPResponse, str]:
        """Return the answer at the end of the redirects and its host."""
        for _ in range(_MOST_REDIRECTS + 1):
            response = self._get(url, headers)
            host = urlsplit(url).netloc
            if response.status not in _REDIRECTS:
                self._check(response, host, own=_origin(url) == self._origin)
                return response, host
            target = urljoin(url, response.headers.get("Location", ""))
            response.close()
            if url.startswith("https:") and not target.startswith("https:"):
                raise Interrupted(f"{host} redirected to an address without TLS")
            url = target
        raise Interrupted(f"{self.host} redirects in a circle")

    def _get(self, url: str, headers: Mapping[str, str]) -> urllib3.BaseHTTPResponse:
        own = {"Authorization": f"Bearer {self._token}"} if self._token and _origin(url) == self._origin else {}
        # A compressed body would have other bytes than those whose sum is known.
        always = {"User-Agent": _AGENT, "Accept-Encoding": "identity"}
        try:
            return self._pool(url).urlopen(
                "GET",
                url,
                headers={**headers, **always, **own},
                redirect=False,
                retries=False,
                preload_content=False,
                decode_content=False,
                timeout=self._timeout,
            )
        except (HTTPError, OSError) as error:
            raise Interrupted(f"{urlsplit(url).netloc} didn't answer ({_brief(error)})") from None

    def _pool(self, url: str) -> urllib3.PoolManager:
        """Return the connections for a URL, through the environment's proxy where there is one."""
        parts = urlsplit(url)
        proxy = None if proxy_bypass(parts.hostname or "") else getproxies().get(parts.scheme)
        if proxy not in self._pools:
            self._pools[proxy] = (
                urllib3.ProxyManager(proxy, maxsize=_CONNECTIONS)
                if proxy
                else urllib3.PoolManager(maxsize=_CONNECTIONS)
            )
        return self._pools[proxy]

    def _check(self, response: urllib3.BaseHTTPResponse, host: str, *, own: bool) -> None:
        """Sort an answer that isn't the bytes into what can be mended and what can't."""
        status = response.status
        if status in (200, 206):
            return
        wait = _asked_wait(response.headers)
        response.close()
        if status in _BUSY:
            raise Interrupted(f"{host} answered {status}", wait)
        if own and status in (401, 403, 404):
            raise Refused(self._advice(status))
        # The CDN's 403 and 404 mean a signed address that has expired; 416 comes from a stale copy.
        raise Interrupted(f"{host} answered {status}")

    def _advice(self, status: int) -> str:
        name = self._token_variable
        who = f"the token in {name}" if self._token else f"a request without a token ({name} isn't set)"
        return {
            401: f"{self.host} refused {who} (401): set {name} to a valid read token, or correct --repository",
            403: f"{self.host} refused {who} (403): accept the model's terms on its page, or take another token",
            404: f"{self.host} has no such repository, revision or file (404): correct --repository or --revision,"
            f" or set {name} if it is private",
        }[status]


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc


def _start(response: urllib3.BaseHTTPResponse, host: str, size: int) -> int:
    """Return the first byte's position of an answer that promises the file to its end."""
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise Interrupted(f"{host} compressed the file")
    start = 0
    if response.status == 206:
        given = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
        if given is None or given[3] not in (str(size), "*"):
            raise Interrupted(f"{host} answered with the range {response.headers.get('Content-Range')!r}")
        start = int(given[1])
    length = response.headers.get("Content-Length")
    if length is not None and int(length) != size - start:
        raise Interrupted(f"{host} announced {int(length):,} bytes instead of {size - start:,}")
    return start


def _chunks(response: urllib3.BaseHTTPResponse, host: str) -> Iterator[bytes]:
    try:
        yield from response.stream(_CHUNK, decode_content=False)
    except (HTTPError, OSError) as error:
        raise Interrupted(f"{host} broke off ({_brief(error)})") from None


def _from(chunks: Iterator[bytes], surplus: int) -> Iterator[bytes]:
    """Drop the bytes before the wanted ones: some servers ignore ranges."""
    for chunk in chunks:
        kept = chunk[surplus:]
        surplus = max(0, surplus - len(chunk))
        if kept:
            yield kept


def _asked_wait(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that an answer asks to wait: Hugging Face's RateLimit, or Retry-After in either form."""
    limit = _LIMIT_RESET.search(headers.get("RateLimit", ""))
    if limit:
        return float(limit[1])
    after = headers.get("Retry-After", "")
    if after.isdigit():
        return float(after)
    try:
        return max(0.0, parsedate_to_datetime(after).timestamp() - time.time()) if after else None
    except ValueError:
        return None


def _brief(error: Exception) -> str:
    """Return an error's kind and the kind of its cause, for urllib3 writes signed addresses into its messages."""
    cause = error.args[0] if error.args and isinstance(error.args[0], Exception) else error.__cause__
    return type(error).__name__ if cause is None else f"{type(error).__name__}: {type(cause).__name__}"
