"""The fetch as a process: killed at any moment, told to end, and two of them at once."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from components.weights.fetch_options import parse
from tests.stacks import PROJECT
from tests.weights.objects import BUCKET, COMMIT, REPOSITORY, Bucket, seeded, serving
from tests.weights.test_fetch import MIB, right

pytestmark = pytest.mark.servers

SHARDS, SHARD_MIB = 12, 2


def model() -> dict[str, bytes]:
    """Return shards of a few parts each."""
    source = seeded(3)
    names = [f"model-{number:05}-of-{SHARDS:05}.safetensors" for number in range(1, SHARDS + 1)]
    return {name: source.randbytes(SHARD_MIB * MIB) for name in names} | {"config.json": b"{}"}


@pytest.fixture
def bucket() -> Iterator[Bucket]:
    with serving(Bucket()) as served:
        served.fill(model())
        yield served


def start(bucket: Bucket, to: Path) -> subprocess.Popen[str]:
    """Start a fetch as an init container would."""
    environment = {
        "AWS_ENDPOINT_URL": bucket.url,
        "AWS_ACCESS_KEY_ID": "id",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "PYTHONUNBUFFERED": "1",
        "PATH": os.environ["PATH"],
    }
    source = f"s3://{BUCKET}/{REPOSITORY}/{COMMIT}"
    command = [sys.executable, "-m", "components.weights.fetch", "--from", source, "--to", str(to)]
    command += ["--connections", "4", "--part-mib", "1", "--interval", "0.1"]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=PROJECT, env=environment, text=True, stderr=pipe, stdout=pipe)  # noqa: S603


def until_sent(bucket: Bucket, count: int) -> None:
    """Wait until so many bytes went out."""
    end = time.monotonic() + 20
    while bucket.sent < count and time.monotonic() < end:
        time.sleep(0.002)


def test_killed_at_random_moments_it_ends_complete_and_fetches_no_file_twice(bucket: Bucket, tmp_path: Path) -> None:
    to, moments = tmp_path / COMMIT, seeded(11)
    bucket.faults.bytes_per_second = 40e6
    for _ in range(6):
        process = start(bucket, to)
        until_sent(bucket, bucket.sent + moments.randrange(1, 5 * MIB))
        process.kill()
        process.communicate()
        whole = list(to.glob("*.safetensors"))
        # Whatever an engine can see is whole.
        assert all(path.read_bytes() == model()[path.name] for path in whole)
        assert not (to / ".weight-sync/_COMPLETE.json").exists()
    recorded = {path.name.removesuffix(".json") for path in (to / ".weight-sync").glob("*.json")}
    before = bucket.sent
    process = start(bucket, to)
    assert (process.communicate(), process.returncode)[1] == 0
    assert right(to, model())
    assert len(recorded) >= 3
    assert bucket.sent - before == sum(len(data) for name, data in model().items() if name not in recorded)


def test_sigterm_ends_it_at_once_with_nothing_half_visible(bucket: Bucket, tmp_path: Path) -> None:
    to = tmp_path / COMMIT
    bucket.faults.bytes_per_second = 2e6
    process = start(bucket, to)
    end = time.monotonic() + 20
    while not list(to.rglob("*.part")) and time.monotonic() < end:
        time.sleep(0.01)
    told = time.monotonic()
    process.send_signal(signal.SIGTERM)
    _, log = process.communicate()
    assert process.returncode == 143
    assert time.monotonic() - told < 1.5
    assert log.splitlines()[-1] == "fetch: ended by a signal; whole files stay, the next run fetches the others"
    assert not list(to.rglob("*.part"))
    assert all(path.read_bytes() == model()[path.name] for path in to.glob("*.safetensors"))


def test_of_two_at_once_one_waits_and_every_byte_is_fetched_once(bucket: Bucket, tmp_path: Path) -> None:
    to = tmp_path / COMMIT
    bucket.faults.bytes_per_second = 20e6
    first = start(bucket, to)
    until_sent(bucket, MIB)
    second = start(bucket, to)
    logs = [process.communicate()[1] for process in (first, second)]
    assert (first.returncode, second.returncode) == (0, 0)
    assert right(to, model())
    assert bucket.sent == sum(map(len, model().values()))
    assert f"(process {first.pid}, since " in logs[1]
    assert f"{to} is complete already" in logs[1]


def test_when_the_holder_is_killed_the_waiting_one_takes_over(bucket: Bucket, tmp_path: Path) -> None:
    to = tmp_path / COMMIT
    bucket.faults.bytes_per_second = 5e6
    first = start(bucket, to)
    until_sent(bucket, MIB)
    second = start(bucket, to)
    waiting = threading.Timer(0.5, first.kill)
    waiting.start()
    first.communicate()
    bucket.faults.bytes_per_second = None
    second.communicate()
    assert (first.returncode, second.returncode) == (-signal.SIGKILL, 0)
    assert right(to, model())


@pytest.mark.parametrize(
    "wrong", [["--connections", "0"], ["--link-gbps", "-1"], ["--link-gbps", "inf"], ["--part-mib", "x"]]
)
def test_a_wrong_command_line_ends_with_usage(wrong: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(["--from", "s3://b/f", "--to", "/x", *wrong])
    assert ended.value.code == 2
