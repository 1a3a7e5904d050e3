"""What a rehearsal prints."""

import io

import pytest

from rehearsal.bill import Bill
from rehearsal.fakes.meter import Charge
from rehearsal.progress import Progress
from rehearsal.remains import Remains, announced_by, announcements
from rehearsal.report import Report, rendered, table

_NAMESPACE = Remains("Namespace", "", "kimi")
_SERVICE = Remains("Service", "kimi", "api")


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


_PREVIEW = """
    info: Cost per hour   59 - 142 USD
          after destroy   the bucket with the weights (weights.keep): 36 USD a month
          after destroy   the reservation cr-0123456789abcdef0
"""


@pytest.mark.parametrize(
    ("left", "want"),
    [
        (
            Remains("Bucket", "", "kimi"),
            "announced: the bucket with the weights (weights.keep): 36 USD a month",
        ),
        (Remains("CapacityBlock", "", "cr-0123456789abcdef0"), "announced: the reservation cr-0123456789abcdef0"),
        (Remains("Subnet", "", "subnet-0123456789abcdef0"), ""),
    ],
)
def test_what_the_preview_announced_may_be_left(left: Remains, want: str) -> None:
    assert announced_by(announcements(_PREVIEW))(left) == want


@pytest.mark.parametrize(("waited", "want"), [(True, "complete: yes"), (False, "complete: NO"), (None, "")])
def test_the_bill_says_whether_the_gpus_waited_for_the_weights(waited: bool | None, want: str) -> None:
    stream = io.StringIO()
    charge = Charge("gpu", "a", "gpu-nodes", hours=0.5, usd=30, open=False, gpu_hours=4)
    Report(stream, "light", "nothing").bill(Bill([charge], waited))
    rows = [line.split("|")[1].split() for line in stream.getvalue().splitlines()]
    assert rows[1:3] == [["gpu-nodes", "0.50", "4.00", "30.00"], ["all", "of", "it", "4.00", "30.00"]]
    assert want in stream.getvalue()
    assert ("before the weights" in stream.getvalue()) is (waited is not None)
