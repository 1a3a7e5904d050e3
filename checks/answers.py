"""Whether the model answers: text, thinking, tools, structure, pictures and a stream, each as a client asks for them.

Questions have one right answer, so that weights which load but are wrong don't pass.
"""

import base64
import json
import struct
import zlib
from collections.abc import Mapping
from typing import Any, Final

import jsonschema

from checks.check import FailedError, Finding, SkippedError, Subject
from checks.endpoint import CallError, Json
from checks.event_stream import thinking

# The model thinks first: with few tokens the content is empty and finish_reason is "length".
_MAX_TOKENS: Final = 4096
_SUM: Final = "What is 17 + 25? Reply with the number alone."
_THINK_MARKS: Final = ("<think>", "</think>", "<|think|>")
_BUFFERED_SHARE: Final = 0.05
_BUFFERED_PIECES: Final = 8
_TOOL_TRIES: Final = 2
_TOOL: Final[Json] = {
    "type": "function",
    "function": {
        "name": "tide_at",
        "description": "The height of the tide in a harbour",
        "parameters": {
            "type": "object",
            "properties": {"harbour": {"type": "string"}, "hour": {"type": "integer", "minimum": 0, "maximum": 23}},
            "required": ["harbour", "hour"],
            "additionalProperties": False,
        },
    },
}
_SHIP: Final[Json] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "masts": {"type": "integer"}},
    "required": ["name", "masts"],
    "additionalProperties": False,
}


def answer(subject: Subject) -> Finding:
    """Expect the right sum in the content of a plain answer."""
    reply = subject.endpoint.chat(_body(subject, _SUM))
    content = _content(reply)
    if any(mark in content for mark in _THINK_MARKS):
        raise FailedError(f"thinking stands in the answer: {content[:80]!r}", _PARSER_HINT)
    if "42" not in content:
        raise FailedError(
            f"17 + 25 is {content[:80]!r}",
            "the weights load but are wrong: compare the revision and run the weights' sync again, which verifies each "
            "file; --load-format dummy and a quantisation that the release doesn't know end like this, too",
        )
    return Finding(detail=f"17 + 25 = 42, by {reply.get('system_fingerprint') or 'an engine without a fingerprint'}")


_PARSER_HINT: Final = "the engine needs --reasoning-parser kimi_k3; see that serving.extraArgs doesn't take it away"


def reasoning(subject: Subject) -> Finding:
    """Expect the thinking in a field of its own."""
    message = _message(subject.endpoint.chat(_body(subject, _SUM)))
    thought = thinking(message)
    if not thought:
        raise FailedError("no thinking in `reasoning` or `reasoning_content`", _PARSER_HINT)
    field = "reasoning" if message.get("reasoning") else "reasoning_content"
    return Finding(detail=f"{len(thought)} characters in `{field}`", data={"field": field})


def tools(subject: Subject) -> Finding:
    """Expect a call of the tool with arguments that its schema allows, at the second try at the latest."""
    question = "How high is the tide in Busan at 3 in the afternoon? Use the tool."
    trouble = ""
    for attempt in range(_TOOL_TRIES):
        trouble = _tool_trouble(subject.endpoint.chat(_body(subject, question, tools=[_TOOL], tool_choice="auto")))
        if not trouble:
            again = "" if attempt == 0 else ", at the second try"
            return Finding(detail=f"a call with arguments that fit the schema{again}", data={"tries": attempt + 1})
    raise FailedError(
        trouble,
        "the engine needs --enable-auto-tool-choice and --tool-call-parser kimi_k3; one failure in a while is known "
        "(vllm-project/vllm #53246): clients check the schema and ask again",
    )


def structured(subject: Subject) -> Finding:
    """Expect an object that a JSON schema allows."""
    wanted = {"type": "json_schema", "json_schema": {"name": "ship", "schema": _SHIP, "strict": True}}
    question = "A ship with three masts is called Hanbada. Describe it as JSON with name and masts."
    content = _content(subject.endpoint.chat(_body(subject, question, response_format=wanted)))
    trouble = _schema_trouble(content, _SHIP)
    if trouble:
        raise FailedError(
            f"the answer doesn't fit its schema: {trouble}",
            "the grammar isn't enforced: see --structured-outputs-config in serving.extraArgs, and the leader's log",
        )
    return Finding(detail="an object that fits its schema")


def image(subject: Subject) -> Finding:
    """Expect the colour of a picture."""
    picture = f"data:image/png;base64,{base64.b64encode(_red_square()).decode()}"
    parts = [
        {"type": "image_url", "image_url": {"url": picture}},
        {"type": "text", "text": "Which colour is this? Reply with one word."},
    ]
    try:
        content = _content(subject.endpoint.chat(_body(subject, parts)))
    except CallError as error:
        # What vLLM says under --language-model-only.
        if error.status == 400 and "At most 0 image" in str(error):
            raise SkippedError("the engine was started for text alone (serving.textOnly)") from error
        raise
    if "red" not in content.lower():
        raise FailedError(
            f"a red square is called {content[:80]!r}",
            "the vision encoder is wrong: see --mm-encoder-tp-mode and that the sync brought every file that isn't a "
            "shard; serving.textOnly leaves the encoder out",
        )
    return Finding(detail="a red square is red")


def streaming(subject: Subject) -> Finding:
    """Expect an answer in pieces that come as they are made, with an end and a usage."""
    stream = subject.endpoint.stream(_body(subject, _SUM))
    if stream.error:
        raise FailedError(f"the stream ended in an error: {stream.error[:200]}", CallError("status", "").hint)
    if stream.finish_reason is None:
        raise FailedError(f"the stream broke off after {len(stream.times)} pieces", CallError("cut", "").hint)
    span = stream.times[-1] - stream.times[0] if stream.times else 0.0
    if len(stream.times) >= _BUFFERED_PIECES and stream.seconds >= 1 and span < _BUFFERED_SHARE * stream.seconds:
        raise FailedError(
            f"{len(stream.times)} pieces came all at once after {stream.times[0]:.1f} s",
            "a proxy on the way holds the answer back: switch its buffering off (proxy-buffering, X-Accel-Buffering)",
        )
    missing = [] if stream.done else ["no [DONE] at its end"]
    missing += [] if stream.usage else ["no usage"]
    first = f"the first of {len(stream.times)} pieces after {stream.times[0]:.2f} s" if stream.times else "no text"
    return Finding(detail="; ".join([first, *missing]), data={"pieces": len(stream.times), "done": stream.done})


def _body(subject: Subject, content: object, **more: object) -> Json:
    asked = {"role": "user", "content": content}
    return {"model": subject.model, "max_tokens": _MAX_TOKENS, "messages": [asked], **more}


def _message(reply: Json) -> dict[str, Any]:
    choices = reply.get("choices") or [{}]
    return choices[0].get("message") or {}


def _content(reply: Json) -> str:
    """Return what was answered.

    Raises:
        FailedError: Nothing was.
    """
    content = _message(reply).get("content")
    if content:
        return content
    reason = (reply.get("choices") or [{}])[0].get("finish_reason")
    hint = f"the model was still thinking after {_MAX_TOKENS} tokens: a smaller effort, or wrong weights"
    raise FailedError(f"no content, finish_reason {reason!r}", hint if reason == "length" else _PARSER_HINT)


def _tool_trouble(reply: Json) -> str:
    """Return why this isn't the call that was asked for; empty when it is."""
    calls = _message(reply).get("tool_calls") or []
    if not calls:
        reason = (reply.get("choices") or [{}])[0].get("finish_reason")
        return f"no tool call, finish_reason {reason!r}"
    function = calls[0]["function"]
    if function["name"] != _TOOL["function"]["name"]:
        return f"a call of {function['name']!r}, which was not offered"
    trouble = _schema_trouble(function["arguments"], _TOOL["function"]["parameters"])
    return f"arguments {function['arguments'][:80]!r}: {trouble}" if trouble else ""


def _schema_trouble(text: str, schema: Mapping[str, Any]) -> str:
    try:
        jsonschema.validate(json.loads(text), schema)
    except json.JSONDecodeError as error:
        return f"no JSON: {error}"
    except jsonschema.ValidationError as error:
        return error.message
    return ""


def _red_square(size: int = 64) -> bytes:
    """Return a PNG (https://www.w3.org/TR/png-3/): signature, header, one compressed block of rows, end."""
    header = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
    rows = (b"\x00" + b"\xff\x00\x00" * size) * size
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    )
