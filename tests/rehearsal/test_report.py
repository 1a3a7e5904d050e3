"""What a rehearsal prints."""

import io

import pytest

from rehearsal.depths import Existing
from rehearsal.performance import kept_by_plan
from rehearsal.progress import Progress
from rehearsal.report import Report, rendered, table

_NAMESPACE = Existing("Namespace", "", "kimi")
_SERVICE = Existing("Service", "kimi", "api")


def test_every_line_says_that_it_is_a_rehearsal() -> None:
    stream = io.StringIO()
    report = Report(stream, "light", "no cloud was touched")
    report.heading("Up")
    report.lines("one\ntwo")
    report.existing([_NAMESPACE, _SERVICE])
    report.values({"endpoint": "http://x", "plan": {"layout": "TP8", "notes": ["a", "b"]}})
    lines = stream.getvalue().splitlines()
    assert all(line.startswith("rehearsal |") for line in lines)
    assert "rehearsal | == Up == REHEARSAL (light): no cloud was touched" in lines


def test_table() -> None:
    assert [row.rstrip() for row in table(("KIND", "NAME"), [("A", "x"), ("Longer", "y")])] == [
        "KIND    NAME",
        "A       x",
        "Longer  y",
    ]


@pytest.mark.parametrize(
    ("value", "want"),
    [
        ("text", ["text"]),
        (None, ["None"]),
        ({"a": 1, "b": {"c": 2, "d": 3}}, ["a: 1", "b:", "  c: 2", "  d: 3"]),
        ([1, {"a": 1, "b": 2}], ["- 1", "-", "  a: 1", "  b: 2"]),
        ({"a": []}, ["a:"]),
    ],
)
def test_rendered(value: object, want: list[str]) -> None:
    assert list(rendered(value)) == want


@pytest.mark.parametrize(
    ("lines", "want"),
    [
        (
            [" +  kubernetes:core/v1:Namespace ns created (0.01s) "],
            [" +  kubernetes:core/v1:Namespace ns created (0.01s) "],
        ),
        ([" +  kubernetes:core/v1:Namespace ns creating (0s) "], []),
        ([" +  a:b:C x creating (0s) error: refused"], [" +  a:b:C x creating (0s) error: refused"]),
        (
            [" +- a:b:C x replaced (0.1s)", "++ a:b:C x created replacement"],
            [" +- a:b:C x replaced (0.1s)", "++ a:b:C x created replacement"],
        ),
        (["    pulumi:pulumi:Stack t-dev  info: plan", " +  pulumi:pulumi:Stack t-dev created"], []),
        (["Diagnostics:", "  a:b:C (x):", "    error: refused"], []),
        (
            ["Resources:", "    + 6 created", "    1 unchanged", "", "Duration: 1s"],
            ["Resources: + 6 created", "Resources: 1 unchanged"],
        ),
        (["Resources:", "    6 unchanged", "Updating (dev):", "    advice"], ["Resources: 6 unchanged"]),
    ],
)
def test_progress_shows_each_resource_once(lines: list[str], want: list[str]) -> None:
    got: list[str] = []
    progress = Progress(got.append)
    for line in lines:
        progress(line)
    assert got == want


@pytest.mark.parametrize(
    ("outputs", "thing", "want"),
    [
        ({}, _SERVICE, False),
        ({"plan": {"keeps": []}}, _SERVICE, False),
        ({"plan": {"keeps": ["Service/kimi/api"]}}, _SERVICE, True),
        ({"plan": {"keeps": ["Service/*"]}}, _NAMESPACE, False),
        ({"plan": {"keeps": ["Namespace//kimi"]}}, _NAMESPACE, True),
        ({"plan": "text"}, _SERVICE, False),
    ],
)
def test_what_the_plan_keeps(outputs: dict[str, object], thing: Existing, want: bool) -> None:
    assert kept_by_plan(outputs)(thing) is want
