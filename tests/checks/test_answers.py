"""What a real stack shows and a fake server doesn't: a truncated thought, a proxy that buffers, a picture's bytes."""

import struct
import zlib
from collections.abc import Mapping
from typing import Any

import pytest

from checks import answers
from checks.answers import _red_square
from checks.check import FailedError, Subject
from checks.endpoint import Endpoint
from checks.event_stream import EventStream
from checks.expectation import Expectation


class Canned(Endpoint):
    """Gives one answer."""

    def __init__(self, reply: Mapping[str, Any], stream: EventStream | None = None) -> None:
        super().__init__("http://127.0.0.1:1/v1", None)
        self.reply, self.events = reply, stream or EventStream()

    def chat(self, body: Mapping[str, Any], seconds: float = 0) -> Mapping[str, Any]:
        return self.reply

    def stream(self, body: Mapping[str, Any], seconds: float = 0) -> EventStream:
        return self.events


def subject(message: Mapping[str, Any], reason: str = "stop", stream: EventStream | None = None) -> Subject:
    reply = {"choices": [{"message": message, "finish_reason": reason}]}
    return Subject(endpoint=Canned(reply, stream), model="m", expectation=Expectation())


def test_a_thought_that_was_cut_is_not_taken_for_a_missing_parser() -> None:
    with pytest.raises(FailedError, match="length") as failed:
        answers.answer(subject({"content": None, "reasoning": "17 and"}, "length"))
    assert "still thinking" in failed.value.hint


def test_thinking_in_the_answer_is_a_missing_parser() -> None:
    with pytest.raises(FailedError, match="thinking stands in the answer") as failed:
        answers.answer(subject({"content": "<think>17 and</think>42"}))
    assert "--reasoning-parser" in failed.value.hint


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
def test_thinking_is_accepted_under_both_names(field: str) -> None:
    assert answers.reasoning(subject({"content": "42", field: "hm"})).data == {"field": field}


@pytest.mark.parametrize(("times", "held_back"), [([9.9 + n / 1000 for n in range(9)], True), (range(1, 10), False)])
def test_a_proxy_that_holds_the_stream_back_is_found(times: list[float], held_back: bool) -> None:
    stream = EventStream(times=[*times], finish_reason="stop", seconds=10.0, done=True, usage={"completion_tokens": 9})
    if held_back:
        with pytest.raises(FailedError, match="all at once") as failed:
            answers.streaming(subject({}, stream=stream))
        assert "buffering" in failed.value.hint
    else:
        assert answers.streaming(subject({}, stream=stream)).data["done"]


def test_a_missing_done_is_reported_and_no_fault() -> None:
    stream = EventStream(times=[1.0, 2.0], finish_reason="stop", seconds=2.0)
    assert "no [DONE]" in answers.streaming(subject({}, stream=stream)).detail


def test_the_picture_is_a_red_png() -> None:
    data = _red_square(2)
    assert struct.unpack(">II", data[16:24]) == (2, 2)
    start = data.index(b"IDAT") + 4
    assert zlib.decompress(data[start : data.index(b"IEND") - 8]) == (b"\x00" + b"\xff\x00\x00" * 2) * 2
