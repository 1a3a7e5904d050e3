"""What is left of a run that was killed, and who goes on with it: processes of their own, ended at any moment."""

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from components.weights.manifest import Sidecar
from tests.weights.conftest import Copy
from tests.weights.tiny_model import Model, tiny_model

pytestmark = pytest.mark.servers

# A hundred in the nightly run: KILLS=100.
KILLS = int(os.environ.get("KILLS", "10"))
PACE = ("--parallel", "2")


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Wait until something is seen or the process has ended."""
    while process.poll() is None and not condition():
        time.sleep(0.002)


def kill(copy: Copy, condition: Callable[[], bool], *extra: str) -> None:
    """Start a process and kill it when something is seen."""
    process = copy.start(*PACE, *extra)
    wait_for(condition, process)
    process.kill()
    copy.finish(process)


@pytest.mark.parametrize("model", [tiny_model(96)], ids=["96"])
def test_a_second_pod_transfers_only_the_shards_that_arent_there(copy: Copy, model: Model) -> None:
    names = sorted(path for path in model.files if path.endswith(".safetensors"))
    for name in names[:40]:
        etag = copy.bucket.store().put_small(copy.bucket.folder.model(name), model.files[name])
        note = Sidecar(path=name, size=3000, sha256=model.sha256(name), git_sha1=None, etag=etag, commit=model.commit)
        copy.bucket.store().put_small(copy.bucket.folder.sidecar(name), note.encode())
    ended = copy.run()
    assert sorted(copy.hub.asked("cdn")) == names[40:]
    assert ended.counts("copied", "skipped") == (56 + 5, 40)
    copy.assert_complete()


@pytest.mark.parametrize("model", [tiny_model(20, 200 << 10)], ids=["20x200KiB"])
def test_killed_after_each_tenth_it_still_completes(copy: Copy, model: Model) -> None:
    total = sum(len(data) for path, data in model.files.items() if path.endswith(".safetensors"))
    copy.hub.chunk_seconds = 0.003
    for tenth in range(1, 10):
        kill(copy, lambda tenth=tenth: copy.hub.sent >= tenth * total / 10)
    copy.hub.chunk_seconds = 0
    assert copy.run().status == 0
    copy.assert_complete()
    # Two files run at once, so each kill costs two at most.
    assert copy.hub.sent <= total + 9 * 2 * (200 << 10)


@pytest.mark.parametrize("model", [tiny_model(24, 100 << 10)], ids=["24x100KiB"])
def test_killed_at_random_again_and_again(copy: Copy, model: Model) -> None:
    chance = random.Random(4)  # noqa: S311 - a test's luck has to be repeatable
    copy.hub.chunk_seconds = 0.004
    for _ in range(KILLS):
        moment = copy.hub.sent + chance.randrange(0, 600 << 10)
        requests = len(copy.bucket.proxy.requests) + chance.randrange(20, 90)
        kill(copy, lambda moment=moment, n=requests: copy.hub.sent >= moment or len(copy.bucket.proxy.requests) >= n)
        for path, data in copy.bucket.objects().items():
            assert data == model.files[path]
        marker = copy.bucket.marker()
        if marker is not None:
            copy.assert_complete()
            copy.bucket.store().delete(copy.bucket.folder.marker)
            copy.bucket.store().delete(copy.bucket.folder.model(chance.choice(sorted(model.files))))
    assert copy.run().status == 0
    copy.assert_complete()


def test_killed_between_object_and_sidecar_nothing_comes_from_the_hub_again(copy: Copy) -> None:
    proxy = copy.bucket.proxy
    kill(copy, lambda: proxy.count("PUT", ".weight-sync") > 0, "--parallel", "1")
    for held in copy.bucket.store().list(copy.bucket.folder.state):
        copy.bucket.store().delete(held.key)
    there = {path for path in copy.bucket.objects() if path.endswith(".safetensors")}
    copy.hub.requests.clear()
    assert copy.run().status == 0
    copy.assert_complete()
    assert there
    assert not there & set(copy.hub.asked("cdn"))


def test_killed_between_the_last_sidecar_and_the_marker(copy: Copy) -> None:
    copy.run()
    copy.bucket.store().delete(copy.bucket.folder.marker)
    copy.hub.requests.clear()
    assert copy.run().counts("copied", "skipped", "complete") == (0, 9, True)
    assert copy.hub.asked("cdn") == []


@pytest.mark.parametrize("model", [tiny_model(8, 300 << 10)], ids=["8x300KiB"])
def test_sigterm_lets_the_running_files_end(copy: Copy, model: Model) -> None:
    copy.hub.chunk_seconds = 0.04
    process = copy.start(*PACE)
    wait_for(lambda: copy.hub.sent > 350 << 10, process)
    process.send_signal(signal.SIGTERM)
    ended = copy.finish(process)
    assert ended.status == 143
    assert ended.result["copied"] == len(copy.bucket.objects())
    assert 2 <= len(copy.bucket.objects()) < 8
    assert copy.bucket.marker() is None
    copy.hub.chunk_seconds = 0
    assert copy.run().result["skipped"] == ended.result["copied"]
    copy.assert_complete()


@pytest.mark.parametrize("model", [tiny_model(4, 2 << 20)], ids=["4x2MiB"])
def test_sigterm_gives_up_at_the_end_of_the_grace(copy: Copy, model: Model) -> None:
    copy.hub.chunk_seconds = 0.3
    process = copy.start(*PACE, "--grace", "0.2")
    wait_for(lambda: copy.hub.sent > 64 << 10, process)
    process.send_signal(signal.SIGTERM)
    began = time.monotonic()
    ended = copy.finish(process)
    assert (ended.status, ended.result["copied"]) == (143, 0)
    assert time.monotonic() - began < 2
    assert copy.bucket.objects() == {}


def test_two_writers_of_the_same_share(copy: Copy) -> None:
    copy.hub.chunk_seconds = 0.02
    processes = [copy.start(), copy.start()]
    assert [copy.finish(process).status for process in processes] == [0, 0]
    copy.assert_complete()


@pytest.mark.parametrize("model", [tiny_model(2, 12 << 20)], ids=["12MiB"])
def test_two_writers_of_the_same_parts(copy: Copy, model: Model) -> None:
    copy.hub.chunk_seconds = 0.005
    processes = [copy.start("--part-mib", "5"), copy.start("--part-mib", "5")]
    ended = [copy.finish(process) for process in processes]
    assert [each.status for each in ended] == [0, 0], ended
    copy.assert_complete()


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (2, 0, 3, 1)], ids=str)
def test_the_last_to_end_writes_the_marker(copy: Copy, order: tuple[int, ...]) -> None:
    for position, index in enumerate(order):
        assert copy.bucket.marker() is None
        ended = copy.run("--index", str(index), "--of", "4")
        assert (ended.status, ended.result["complete"]) == (0, position == 3)
    copy.assert_complete()
    assert sorted(copy.hub.asked("cdn")) == sorted(path for path in copy.hub.model.files if "-of-" in path)


def truncate(copy: Copy, path: str) -> None:
    copy.bucket.store().put_small(copy.bucket.folder.model(path), b"short")


def forget(copy: Copy, path: str) -> None:
    copy.bucket.store().delete(copy.bucket.folder.sidecar(path))


def mistake(copy: Copy, path: str) -> None:
    store, key = copy.bucket.store(), copy.bucket.folder.sidecar(path)
    store.put_small(key, (store.get(key) or b"").replace(copy.hub.model.sha256(path).encode(), b"0" * 64))


@pytest.mark.parametrize("spoil", [truncate, forget, mistake])
def test_no_marker_while_another_pods_file_isnt_right(copy: Copy, spoil: Callable[[Copy, str], None]) -> None:
    assert copy.run("--index", "0", "--of", "2").status == 0
    spoil(copy, "model-00001-of-00004.safetensors")
    ended = copy.run("--index", "1", "--of", "2")
    assert (ended.status, ended.result["complete"]) == (0, False)
    assert "1 files of other processes aren't there yet" in ended.log
    assert copy.bucket.marker() is None
    assert copy.run("--index", "0", "--of", "2").result["complete"]
    copy.assert_complete()


@pytest.mark.parametrize("model", [tiny_model(12)], ids=["12"])
def test_fewer_pods_than_before_fetch_nothing_twice(copy: Copy, model: Model) -> None:
    for index in (0, 2):
        assert copy.run("--index", str(index), "--of", "4").status == 0
    for index in range(3):
        assert copy.run("--index", str(index), "--of", "3").status == 0
    copy.assert_complete()
    shards = copy.hub.asked("cdn")
    assert len(shards) == len(set(shards)) == 12


def test_a_pod_of_an_indexed_job_takes_its_share_from_the_environment(copy: Copy) -> None:
    copy.environment = {"JOB_COMPLETION_INDEX": "1", "WEIGHT_SYNC_WORKERS": "4"}
    assert copy.run().counts("files", "copied", "complete") == (2, 2, False)


@pytest.mark.parametrize("model", [tiny_model(2, 60 << 20)], ids=["60MiB"])
def test_memory_is_bounded_and_no_file_is_written(copy: Copy, model: Model, tmp_path: Path) -> None:
    process = copy.start("--parallel", "2", "--part-mib", "5", "--part-concurrency", "2", folder=tmp_path)
    peaks = [0]
    wait_for(lambda: bool(peaks.append(peak_bytes(process.pid))), process)
    ended = copy.finish(process)
    assert ended.status == 0, ended.log
    # 2 files x 2 parts x 5 MiB, and at most 70 MB for the rest.
    assert max(peaks) < 20 * (1 << 20) + 70e6
    assert list(tmp_path.iterdir()) == []
    copy.assert_complete()


def peak_bytes(pid: int) -> int:
    """Return a process's largest resident memory so far; 0 before it is itself and after its end."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
        # Between fork and exec a child is still as large as this process.
        if b"components.weights.sync" not in Path(f"/proc/{pid}/cmdline").read_bytes():
            return 0
    except OSError:
        return 0
    lines = [line.split() for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(lines[0][1]) * 1024 if lines else 0
