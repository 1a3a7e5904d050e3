"""What the log says: for a person, for a program, on a terminal, and about what stands still."""

import json
import threading

import pytest

from components.weights.backoff import Backoff, Timing, TriesExhausted
from components.weights.progress import Progress, Snapshot
from components.weights.report import Report
from components.weights.source import Interrupted
from components.weights.stop import Stop, Stopped

NOW = Snapshot(
    bytes=390_000_000_000,
    total_bytes=1_560_000_000_000,
    rate=1_250_000_000.4,
    left_seconds=936,
    files_done=24,
    files=118,
    retries=3,
    doing={"a": "waiting for the hub"},
)


def test_a_line_for_a_person() -> None:
    assert str(NOW) == " 25.0 %  390.0 of 1,560.0 GB at 1,250 MB/s, 16 min left; 24 of 118 files, 3 retries"


def test_a_line_for_a_program() -> None:
    found = json.loads(NOW.encode())
    assert (found["event"], found["bytes"], found["rate"], found["left_seconds"]) == (
        "progress",
        NOW.bytes,
        1.25e9,
        936,
    )
    assert found["doing"] == {"a": "waiting for the hub"}


def test_bytes_that_came_in_vain_are_taken_out_again() -> None:
    progress = Progress()
    progress.plan(2, 100)
    progress.moved(50)
    progress.moved(-50)
    progress.moved(60)
    progress.settled("a", 60, "copied")
    progress.settled("b", 40, "skipped")
    found = progress.snapshot()
    assert (found.bytes, found.files_done, json.loads(progress.result())["bytes"]) == (100, 2, 60)


def report_of(style: str, capsys: pytest.CaptureFixture[str], *, silence: float = 60.0) -> tuple[str, str]:
    progress = Progress()
    progress.plan(1, 100)
    progress.doing("a.safetensors", "waiting for huggingface.co")
    ticks = threading.Event()
    report = Report(progress, style, 0.01, silence)  # type: ignore[arg-type]
    with report.running():
        ticks.wait(0.1)
        report.say("a line")
    found = capsys.readouterr()
    return found.out, found.err


def test_a_bar_stays_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    out, log = report_of("bar", capsys)
    assert out == ""
    assert log.count("\n") == 2
    assert log.startswith("\r\x1b[K  0.0 %")
    assert "\r\x1b[Ka line\n" in log


def test_json_goes_to_stdout_and_the_log_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    out, log = report_of("json", capsys)
    assert {json.loads(line)["event"] for line in out.splitlines()} == {"progress"}
    assert log == "a line\n"


def test_a_wait_is_named_once_a_silence(capsys: pytest.CaptureFixture[str]) -> None:
    _, log = report_of("none", capsys, silence=0.06)
    assert log.count("a.safetensors: no byte for 0 s: waiting for huggingface.co") == 1


def backoff(waits: list[float], **timing: float) -> Backoff:
    return Backoff(Timing(**timing), Stop(0.0), lambda _why, seconds: waits.append(seconds))  # type: ignore[arg-type]


def test_waits_double_and_end() -> None:
    waits: list[float] = []
    patience = backoff(waits, first_wait=0.001)
    for _ in range(4):
        patience.wait(Interrupted("broken"))
    with pytest.raises(TriesExhausted, match="broken; gave up after 5 tries without progress"):
        patience.wait(Interrupted("broken"))
    assert all(
        unit <= seconds <= unit * 1.25 for unit, seconds in zip((0.001, 0.002, 0.004, 0.008), waits, strict=True)
    )


def test_progress_renews_the_patience() -> None:
    waits: list[float] = []
    patience = backoff(waits, first_wait=0.001)
    for _ in range(9):
        patience.wait(Interrupted("broken"))
        patience.progressed()
    assert max(waits) <= 0.00125


@pytest.mark.parametrize(("asked", "longest", "waited"), [(87, 300, 87), (9999, 300, 300), (0, 300, 0)])
def test_the_hub_is_left_alone_as_long_as_it_asks(asked: float, longest: float, waited: float) -> None:
    stop, waits = Stop(0.0), []
    stop.now()
    patience = Backoff(Timing(longest_asked=longest), stop, lambda _why, seconds: waits.append(seconds))
    with pytest.raises(Stopped):
        patience.wait(Interrupted("429", asked))
    assert waited <= waits[0] <= waited * 1.25


def test_a_stop_gives_running_files_their_grace() -> None:
    stop = Stop(0.05)
    stop.request()
    stop.check()
    assert stop.requested
    with pytest.raises(Stopped):
        stop.wait(2)
    with pytest.raises(Stopped):
        stop.check()
