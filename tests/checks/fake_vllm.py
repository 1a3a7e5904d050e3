"""A server that answers as vLLM 0.33 does, and can be told to fail one check at a time.

Shapes of answers as a real server of vLLM gave them: thinking in `reasoning`, a first chunk with the role, a last one
without choices, 401 as `{"error": "Unauthorized"}`, paths beside /v1 open to everybody.
"""

import base64
import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.weights.loopback import QuietHandler, QuietServer, serving

KEY = "sentinel-key-of-the-api"
MODEL = "Kimi-K3"
CONTEXT = 131_072
_CHARACTERS_PER_TOKEN = 3
_NEEDLE = re.compile(r"The code word of the lighthouse keeper is (\w+)\.")
_PNG = b"\x89PNG\r\n\x1a\n"


@dataclass
class FakeVllm:
    """What it does, and what it saw."""

    broken: str = ""
    """The check that must fail."""
    key: str | None = KEY
    context: int = CONTEXT
    route: bool = False
    """Whether a route stands before it that forwards /v1 and /health alone."""
    text_only: bool = False
    dropped_calls: int = 0
    """Tool calls that the model forgets, one after the other."""
    asked: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    hits: int = 0
    prompts: set[str] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)
    url: str = ""

    @contextmanager
    def running(self) -> Iterator["FakeVllm"]:
        """Answer on loopback until the block ends."""
        server = QuietServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"fake": self}))
        self.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        with serving(server):
            yield self

    def seen(self, prompt: str, tokens: int) -> None:
        """Count a prompt, and its blocks if it was there before."""
        with self.lock:
            if prompt in self.prompts and self.broken != "prefix-cache":
                self.hits += tokens // 1536 * 1536
            self.prompts.add(prompt)

    @property
    def metrics(self) -> str:
        """What it counts, in Prometheus' text form."""
        labels = f'engine="0",model_name="{MODEL}"'
        return "\n".join(
            [
                "# TYPE vllm:num_requests_running gauge",
                f"vllm:num_requests_running{{{labels}}} 0.0",
                f"vllm:prefix_cache_hits_total{{{labels}}} {float(self.hits)}",
                "vllm:prefix_cache_hits_created 1.7e+09",
                'vllm:cache_config_info{block_size="1536",enable_prefix_caching="True",engine="0"} 1.0',
                f"vllm:num_preemptions_total{{{labels}}} 0.0",
            ]
        )


class _Handler(QuietHandler, BaseHTTPRequestHandler):
    fake: FakeVllm
    # Each piece of a stream leaves at once, as an API server's does.
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        if not self._let_in():
            return
        if self.path == "/health":
            self._reply(503 if self.fake.broken == "health" else 200, b"")
        elif self.path == "/metrics":
            self._reply(200, self.fake.metrics.encode())
        elif self.path == "/v1/models":
            length = self.fake.context // 2 if self.fake.broken == "models" else self.fake.context
            self._json(200, {"object": "list", "data": [{"id": MODEL, "max_model_len": length}]})
        else:
            self._json(404, {"detail": "Not Found"})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.fake.asked.append((self.path, body))
        if not self._let_in():
            return
        if self.path == "/tokenize":
            self._json(200, {"tokens": [1], "count": 1})
        elif self.path in ("/v1/chat/completions", "/invocations"):
            self._chat(body)
        else:
            self._json(404, {"detail": "Not Found"})

    def _let_in(self) -> bool:
        if self.fake.route and not self.path.startswith(("/v1/", "/health")):
            self._json(404, {"message": "no route"})
            return False
        key = None if self.fake.broken == "key" else self.fake.key
        if self.path.startswith("/v1/") and key and self.headers.get("Authorization") != f"Bearer {key}":
            self._json(401, {"error": "Unauthorized"})
            return False
        return True

    def _chat(self, body: Mapping[str, Any]) -> None:
        prompt = _text(body)
        tokens = len(prompt) // _CHARACTERS_PER_TOKEN
        if body["model"] != MODEL:
            self._error(404, f"The model `{body['model']}` does not exist.")
        elif tokens + body["max_tokens"] > self.fake.context:
            self._error(400, f"This model's maximum context length is {self.fake.context} tokens.")
        elif self.fake.text_only and not isinstance(body["messages"][0]["content"], str):
            self._error(400, "At most 0 image(s) may be provided in one prompt.")
        elif self.fake.broken == "load" and body.get("ignore_eos"):
            self._error(500, "EngineCore encountered an issue.")
        else:
            self.fake.seen(prompt, tokens)
            message = {"role": "assistant", **self._message(body, prompt)}
            length = body["max_tokens"] == 1
            message = {"role": "assistant", "content": None} if length else message
            usage = {"prompt_tokens": tokens, "completion_tokens": body["max_tokens"] if "ignore_eos" in body else 12}
            reason = "length" if length else "tool_calls" if message.get("tool_calls") else "stop"
            if body.get("stream"):
                self._stream(body, message, usage)
                return
            choice = {"index": 0, "message": message, "finish_reason": reason}
            fingerprint = "vllm-0.33.0-tp8-0a1b2c3d"
            self._json(200, {"choices": [choice], "usage": usage, "system_fingerprint": fingerprint})

    def _message(self, body: Mapping[str, Any], prompt: str) -> dict[str, Any]:
        thought = {} if self.fake.broken == "reasoning" else {"reasoning": "Let me think about it."}
        if body.get("tools"):
            return {**thought, "content": None, **self._calls()}
        return {**thought, "content": self._content(body, prompt)}

    def _content(self, body: Mapping[str, Any], prompt: str) -> str:
        needle = _NEEDLE.search(prompt)
        if body.get("response_format"):
            return "A fine ship!" if self.fake.broken == "structured" else '{"name": "Hanbada", "masts": 3}'
        if not isinstance(body["messages"][0]["content"], str):
            return "Blue" if self.fake.broken == "image" else "Red."
        if needle:
            return "I don't know." if self.fake.broken == "long-context" else needle[1]
        return "!!!!!!!!" if self.fake.broken == "answer" else "42"

    def _calls(self) -> dict[str, Any]:
        if self.fake.broken == "tools":
            return {"tool_calls": [_call('{"harbour": "Busan", "hour": "3 pm"}')]}
        if self.fake.dropped_calls:
            self.fake.dropped_calls -= 1
            return {}
        return {"tool_calls": [_call('{"harbour": "Busan", "hour": 15}')]}

    def _stream(self, body: Mapping[str, Any], message: Mapping[str, Any], usage: Mapping[str, Any]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self._event({"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]})
        for word in (message.get("reasoning") or "").split():
            self._event({"choices": [{"index": 0, "delta": {"reasoning": word}}]})
        if self.fake.broken == "streaming" and len(_text(body)) < 100:
            self.close_connection = True
            return
        for _ in range(int(usage["completion_tokens"]) if "ignore_eos" in body else 0):
            self._event({"choices": [{"index": 0, "delta": {"content": "x"}}]})
        self._event({"choices": [{"index": 0, "delta": {"content": message["content"]}, "finish_reason": "stop"}]})
        self._event({"choices": [], "usage": usage})
        self._chunk(b"data: [DONE]\n\n")
        self._chunk(b"")

    def _event(self, event: Mapping[str, Any]) -> None:
        self._chunk(b"data: " + json.dumps(event).encode() + b"\n\n")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def _error(self, status: int, message: str) -> None:
        self._json(status, {"error": {"message": message, "type": "BadRequestError", "code": status}})

    def _json(self, status: int, body: Mapping[str, Any]) -> None:
        self._reply(status, json.dumps(body).encode())

    def _reply(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _call(arguments: str) -> dict[str, Any]:
    return {"id": "call_1", "type": "function", "function": {"name": "tide_at", "arguments": arguments}}


def _text(body: Mapping[str, Any]) -> str:
    """Return the prompt; a picture must be a PNG."""
    content = body["messages"][0]["content"]
    if isinstance(content, str):
        return content
    assert base64.b64decode(content[0]["image_url"]["url"].partition(",")[2]).startswith(_PNG)
    return content[1]["text"]
