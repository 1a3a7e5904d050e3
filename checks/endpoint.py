"""The served API as a client sees it: one request, no retry, and an error that says how far the answer came.

A retry would make the same GPUs think about the same question twice, and hide what a check is there to find.
"""

import json
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import urllib3

from checks.event_stream import EventStream

_CONNECT_SECONDS: Final = 10
_LOOK_SECONDS: Final = 30
PATIENCE_SECONDS: Final = 600.0
"""For an answer of a few thousand tokens, thinking included."""

Json = Mapping[str, Any]
Reach = Literal["unreachable", "no headers", "no token", "stalled", "cut", "status"]
"""How far a failed request came."""

_PIECE: Final = 1 << 16
_HINTS: Final[Mapping[Reach, str]] = {
    "unreachable": "see that the leaders are ready (`kubectl get pods`), that your address is in "
    "exposure.allowedRanges, and for a private address add --port-forward",
    "no headers": "the request was taken and nothing came: a queue that is full (vllm:num_requests_waiting), or a load "
    "balancer whose idle time is shorter than the prefill",
    "no token": "the engine answers but is still in the prefill: give it more time, or a shorter prompt",
    "stalled": "tokens came and then none: look for preemptions (vllm:num_preemptions_total) and a lost worker; "
    "/health stays 200 for minutes after one",
    "cut": "something between here and the pod closed the connection: raise its idle time, and see whether the leader "
    "restarted (`kubectl get pods`)",
    "status": "see the leader's log: `kubectl logs -l leaderworkerset.sigs.k8s.io/worker-index=0 --tail 100`",
}
_STATUS_HINTS: Final[Mapping[int, str]] = {
    401: "the pods run with another key: `pulumi up` puts the stack's key back into their Secret; a line break at its "
    "end is enough to be refused",
    403: "your address isn't allowed on the way in: exposure.allowedRanges",
    404: "the name of the model or the path isn't served: compare /v1/models with the stack's output `model`",
    502: "the load balancer has no healthy leader behind it",
    503: "the engine has ended: `kubectl logs --previous` of the leader says why; its group starts anew",
    504: "the load balancer's idle time is shorter than the answer takes: raise it in exposure.annotations",
}


class CallError(Exception):
    """A request that wasn't answered as it should have been."""

    def __init__(self, reach: Reach, what: str, status: int | None = None) -> None:
        super().__init__(what)
        self.reach: Reach = reach
        self.status = status

    @property
    def hint(self) -> str:
        """What to do about it."""
        return _STATUS_HINTS.get(self.status or 0, _HINTS[self.reach])


@dataclass(frozen=True)
class Answer:
    """A status and a text."""

    status: int
    text: str

    def json(self) -> Json:
        """Return the body as an object.

        Raises:
            CallError: It isn't one.
        """
        try:
            found = json.loads(self.text)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise CallError("status", f"status {self.status} with a body that is no JSON object: {self.text[:200]!r}")
        return found


class Endpoint:
    """One base URL with its key."""

    def __init__(
        self,
        url: str,
        key: str | None,
        server_name: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Connect to nothing yet.

        Args:
            url: With /v1.
            key: Of the API; None where it has none.
            server_name: The certificate's name, where the URL leads through a forwarded port.
            clock: Seconds; only differences count.
        """
        self.url = url.rstrip("/")
        self.origin = self.url.removesuffix("/v1")
        self.key = key
        self.clock = clock
        names = {"assert_hostname": server_name, "server_hostname": server_name} if server_name else {}
        tls = {"ssl_context": ssl.create_default_context(), **names} if urlsplit(url).scheme == "https" else {}
        # One connection goes to one replica: what is asked twice meets the same cache.
        self._pool = urllib3.PoolManager(retries=False, maxsize=64, **tls)

    def get(self, path: str, *, keyed: bool = True) -> Answer:
        """Return what a path beside /v1 or below it answers, whatever its status."""
        return self._asked("GET", path, None, self.key if keyed else None, _LOOK_SECONDS)

    def post(self, path: str, body: Json, *, key: str | None, seconds: float = PATIENCE_SECONDS) -> Answer:
        """Return what is answered to an object with this key, whatever its status."""
        return self._asked("POST", path, body, key, seconds)

    def chat(self, body: Json, seconds: float = PATIENCE_SECONDS) -> Json:
        """Return a chat completion.

        Raises:
            CallError: Another status than 200, or no answer.
        """
        return _well(self.post("/v1/chat/completions", body, key=self.key, seconds=seconds)).json()

    def stream(self, body: Json, seconds: float = PATIENCE_SECONDS) -> EventStream:
        """Return a chat completion with the times of its tokens; `seconds` may pass before each piece.

        Raises:
            CallError: Another status than 200, or the stream ended in its midst.
        """
        asked = {**body, "stream": True, "stream_options": {"include_usage": True}}
        started, events = self.clock(), EventStream()
        reach: Reach = "no headers"
        try:
            response = self._send("POST", "/v1/chat/completions", asked, self.key, seconds)
            reach = "no token"
            if response.status != 200:
                _well(Answer(response.status, response.data.decode(errors="replace")))
            while piece := response.read1(_PIECE):
                events.feed(self.clock() - started, piece)
                reach = "stalled" if events.times else reach
        except urllib3.exceptions.ReadTimeoutError as error:
            raise CallError(reach, f"{reach} within {seconds:.0f} s") from error
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise _lost(error) from error
        events.seconds = self.clock() - started
        response.release_conn()
        return events

    def _asked(self, method: str, path: str, body: Json | None, key: str | None, seconds: float) -> Answer:
        try:
            response = self._send(method, path, body, key, seconds)
            return Answer(response.status, response.data.decode(errors="replace"))
        except urllib3.exceptions.ReadTimeoutError as error:
            raise CallError("no headers", f"{path} gave no answer within {seconds:.0f} s") from error
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise _lost(error) from error

    def _send(
        self, method: str, path: str, body: Json | None, key: str | None, seconds: float
    ) -> urllib3.BaseHTTPResponse:
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        return self._pool.request(
            method,
            f"{self.origin}{path}",
            body=None if body is None else json.dumps(body),
            headers=headers,
            redirect=False,
            preload_content=False,
            timeout=urllib3.Timeout(connect=_CONNECT_SECONDS, read=seconds),
        )


def _well(answer: Answer) -> Answer:
    if answer.status != 200:
        raise CallError("status", f"status {answer.status}: {_message(answer.text)}", answer.status)
    return answer


def _message(text: str) -> str:
    """Return what an error of the API says, in one line."""
    try:
        error = json.loads(text)["error"]
        said = error if isinstance(error, str) else error["message"]
    except (ValueError, KeyError, TypeError):
        said = text
    return " ".join(str(said).split())[:300]


def _lost(error: Exception) -> CallError:
    before = (
        urllib3.exceptions.NewConnectionError,
        urllib3.exceptions.ConnectTimeoutError,
        urllib3.exceptions.SSLError,
    )
    return CallError("unreachable" if isinstance(error, before) else "cut", str(error))
