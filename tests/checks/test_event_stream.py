"""The pieces of a stream that no text comes with, and the times of those that do."""

import json

import pytest

from checks.event_stream import EventStream


def fed(*pieces: tuple[float, bytes]) -> EventStream:
    stream = EventStream()
    for seconds, piece in pieces:
        stream.feed(seconds, piece)
    return stream


def event(**delta: object) -> bytes:
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": delta}]}).encode() + b"\n\n"


def test_a_chunk_without_choices_is_the_usage() -> None:
    """awslabs/llmeter PR #34: choices[0] of the last chunk crashes."""
    stream = fed((1, event(content="a")), (2, b'data: {"choices": [], "usage": {"completion_tokens": 7}}\n\n'))
    assert (stream.tokens, stream.content) == (7, "a")


def test_comments_and_empty_deltas_are_no_tokens() -> None:
    stream = fed((1, b": keep-alive\n\n"), (2, event(role="assistant", content="")), (3, event(content=None)))
    assert stream.times == []


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
def test_thinking_counts_as_the_first_token(field: str) -> None:
    stream = fed((0.5, event(**{field: "hm"})), (0.9, event(content="42")))
    assert (stream.times, stream.reasoning, stream.content) == ([0.5, 0.9], "hm", "42")


def test_an_event_that_is_cut_anywhere_is_whole_in_the_end() -> None:
    whole = event(content="é42")
    for cut in range(len(whole)):
        assert fed((1, whole[:cut]), (2, whole[cut:])).content == "é42"


def test_a_missing_end_is_told_and_no_crash() -> None:
    assert not fed((1, event(content="a"))).done
    assert fed((1, event(content="a")), (2, b"data: [DONE]\n\n")).done


def test_an_error_in_the_midst_is_kept() -> None:
    assert "EngineDead" in str(fed((1, b'data: {"error": {"message": "EngineDeadError"}}\n')).error)
    assert "no JSON" in str(fed((1, b"data: <html>\n")).error)


def test_the_rate_counts_tokens_and_not_pieces() -> None:
    """Speculative decoding brings several tokens at once: 8 more tokens after the first one, in 2 s, are 4 a second."""
    stream = fed((1, event(content="a")), (3, event(content="b")), (3, b'data: {"usage": {"completion_tokens": 9}}\n'))
    assert stream.tokens_per_second == 4.0
    assert stream.gaps == [2.0]
    assert fed((1, event(content="a"))).tokens_per_second is None
