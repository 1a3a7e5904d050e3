"""Differences between two sets of inputs."""

import pytest

from rehearsal.fakes.property_diff import changes, touches
from rehearsal.fakes.values import UNKNOWN, Properties, Secret


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2}, ["update a"]),
        ({"a": 1}, {}, ["delete a"]),
        ({}, {"a": {"b": 1}}, ["add a"]),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, ["update a.b"]),
        ({"a": [1, 2]}, {"a": [1, 3, 4]}, ["update a[1]", "add a[2]"]),
        ({"l": {"x.y/z": "1"}}, {"l": {"x.y/z": "2"}}, ['update l["x.y/z"]']),
        ({"a": True}, {"a": 1}, ["update a"]),
        ({"a": Secret("x")}, {"a": "x"}, []),
        ({"a": Secret("x")}, {"a": Secret("y")}, ["update a"]),
        ({"a": "x"}, {"a": UNKNOWN}, ["update a"]),
        ({"a": UNKNOWN}, {"a": UNKNOWN}, ["update a"]),
    ],
)
def test_changes(old: Properties, new: Properties, want: list[str]) -> None:
    assert [f"{change.kind.value} {change.path}" for change in changes(old, new)] == want


@pytest.mark.parametrize(
    ("path", "prefix", "want"),
    [
        ("spec.selector", "spec.selector", True),
        ("spec.selector.app", "spec.selector", True),
        ("spec", "spec.selector", True),
        ("spec.selectorless", "spec.selector", False),
        ("data[0]", "data", True),
    ],
)
def test_touches(path: str, prefix: str, want: bool) -> None:
    assert touches(path, [prefix]) is want
