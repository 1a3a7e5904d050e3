"""Values between the engine and a provider: what is secret stays secret, what is unknown stays unknown."""

import pytest

from rehearsal.fakes.values import (
    HIDDEN,
    UNKNOWN,
    Properties,
    Secret,
    contains_unknown,
    from_struct,
    masked,
    plain,
    to_struct,
)


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"a": "text", "b": 1, "c": 1.5, "d": True, "e": None},
        {"list": [1, "two", {"three": 3}], "deep": {"er": {"and": []}}},
        {"key": Secret("hush"), "all": Secret({"a": ["b"]})},
        {"id": UNKNOWN, "list": [UNKNOWN]},
    ],
)
def test_what_is_sent_comes_back_the_same(value: Properties) -> None:
    assert from_struct(to_struct(value)) == value


def test_whole_numbers_come_back_as_integers() -> None:
    got = from_struct(to_struct({"replicas": 2.0}))["replicas"]
    assert isinstance(got, int)


def test_a_secret_never_shows_what_it_holds() -> None:
    assert "hush" not in repr(Secret("hush"))
    assert masked({"a": Secret({"b": "hush", "c": 1234})}) == {"a": {"b": HIDDEN, "c": 0}}


def test_plain_takes_every_wrapper_off() -> None:
    assert plain({"a": Secret([Secret("x")])}) == {"a": ["x"]}


@pytest.mark.parametrize(
    ("value", "want"),
    [("x", False), (UNKNOWN, True), ([{"a": UNKNOWN}], True), (Secret([UNKNOWN]), True), ({"a": [1]}, False)],
)
def test_unknown_is_found_at_any_depth(value: object, want: bool) -> None:
    assert contains_unknown(value) is want
