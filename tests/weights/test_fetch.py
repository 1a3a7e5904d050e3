"""The fetch against a bucket on loopback that goes wrong in every way that buckets do."""

import errno
import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from components.weights.fetch import run
from components.weights.fetch_options import Options
from components.weights.manifest import Folder, Marker
from components.weights.pace import Patience
from tests.weights.objects import BUCKET, COMMIT, OTHER_COMMIT, REPOSITORY, Bucket, seeded, serving

pytestmark = pytest.mark.servers

MIB = 1 << 20
SHARD = "model-00002-of-00003.safetensors"
FOLDER = Folder(f"{REPOSITORY}/{COMMIT}")


def model(seed: int = 7) -> dict[str, bytes]:
    """Return the files of a small model: shards of a few parts, an odd size, an empty file, a path with a space."""
    source = seeded(seed)
    shards = {f"model-{number:05}-of-00003.safetensors": source.randbytes(3 * MIB + number) for number in (1, 2, 3)}
    return {**shards, "config.json": b"{}", "empty.txt": b"", "assets/a chat template.jinja": b"{{ x }}"}


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    with serving(Bucket()) as served:
        served.fill(model())
        monkeypatch.setenv("AWS_ENDPOINT_URL", served.url)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "id")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        yield served


@pytest.fixture
def options(tmp_path: Path) -> Options:
    return Options(
        source=f"s3://{BUCKET}/{REPOSITORY}/{COMMIT}",
        to=tmp_path / COMMIT,
        connections=6,
        part_mib=1,
        patience=Patience(shortest_seconds=0.1, silence_seconds=0.4),
        deadline_minutes=0.25,
        identity_minutes=0.01,
        longest_pause_seconds=0.05,
        style="none",
    )


def right(to: Path, files: dict[str, bytes] | None = None) -> bool:
    """Return whether a folder holds exactly these files, and a marker, and nothing unfinished."""
    files = model() if files is None else files
    found = [path for path in to.rglob("*") if path.is_file() and ".weight-sync" not in path.parts]
    same = {str(path.relative_to(to)): path.read_bytes() for path in found} == files
    marker = Marker.decode((to / ".weight-sync/_COMPLETE.json").read_bytes())
    return same and marker is not None and not list(to.rglob("*.part"))


def visible(to: Path) -> list[str]:
    """Return the files that an engine would see."""
    return sorted(str(path.relative_to(to)) for path in to.glob("*") if path.name != ".weight-sync")


def result(capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    """Return the last line of stdout."""
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def last_line(capsys: pytest.CaptureFixture[str]) -> str:
    """Return the last line of stderr, which becomes the container's termination message."""
    return capsys.readouterr().err.splitlines()[-1]


def test_a_model_arrives_whole_and_each_byte_is_sent_once(
    bucket: Bucket, options: Options, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(options) == 0
    assert right(options.to)
    total = sum(map(len, model().values()))
    # Each shard has 3 MiB and a few bytes: four parts of 1 MiB, and one for each small file that isn't empty.
    assert (bucket.sent, bucket.requests) == (total, 3 * 4 + 2)
    found = result(capsys)
    assert (found["complete"], found["fetched"], found["bytes"]) == (True, 6, total)


def test_a_complete_folder_costs_one_request(bucket: Bucket, options: Options) -> None:
    run(options)
    before = (bucket.requests, bucket.notes)
    assert run(options) == 0
    assert (bucket.requests, bucket.notes) == (before[0], before[1] + 1)


def test_with_its_revision_known_a_complete_folder_needs_no_bucket(bucket: Bucket, options: Options) -> None:
    run(options)
    bucket.objects.clear()
    assert run(replace(options, revision=COMMIT)) == 0


def test_only_what_is_missing_is_fetched(bucket: Bucket, options: Options, capsys: pytest.CaptureFixture[str]) -> None:
    run(options)
    (options.to / SHARD).write_bytes(b"cut")
    before = bucket.sent
    assert run(options) == 0
    assert right(options.to)
    assert bucket.sent - before == len(model()[SHARD])
    found = result(capsys)
    assert (found["fetched"], found["skipped"]) == (1, 5)


def test_a_copy_that_changed_in_the_bucket_is_fetched_where_it_changed(bucket: Bucket, options: Options) -> None:
    run(options)
    changed = {**model(), SHARD: model(8)[SHARD]}
    bucket.fill(changed)
    before = bucket.sent
    assert run(options) == 0
    assert right(options.to, changed)
    assert bucket.sent - before == len(changed[SHARD])


def test_a_bucket_without_a_marker_is_refused(
    bucket: Bucket, options: Options, capsys: pytest.CaptureFixture[str]
) -> None:
    del bucket.objects[FOLDER.marker]
    assert run(options) == 42
    line = last_line(capsys)
    assert f"isn't a complete copy, for there is no {FOLDER.marker} in the bucket" in line
    assert "run `python -m components.weights.sync` to the end" in line
    assert not options.to.exists()


def test_a_marker_that_is_none_is_refused(bucket: Bucket, options: Options, capsys: pytest.CaptureFixture[str]) -> None:
    bucket.objects[FOLDER.marker] = bucket.objects[FOLDER.marker].replace(b'"size":2', b'"size":3')
    assert run(options) == 42
    assert "is no marker of a complete copy" in last_line(capsys)


def test_a_bucket_with_another_revision_is_refused(
    bucket: Bucket, options: Options, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(replace(options, revision=OTHER_COMMIT)) == 42
    assert f"holds revision {COMMIT} and not --revision {OTHER_COMMIT}" in last_line(capsys)


def test_a_marker_without_its_objects_is_refused(
    bucket: Bucket, options: Options, capsys: pytest.CaptureFixture[str]
) -> None:
    del bucket.objects[FOLDER.model(SHARD)]
    assert run(options) == 42
    assert f"{SHARD} isn't there, though the marker says that the copy is complete" in last_line(capsys)
    assert SHARD not in visible(options.to)


def test_an_object_that_is_cut_short_is_never_kept(
    bucket: Bucket, options: Options, capsys: pytest.CaptureFixture[str]
) -> None:
    bucket.objects[FOLDER.model(SHARD)] = model()[SHARD][:-5]
    assert run(options) == 1
    assert "has 3,145,725 bytes and the marker says 3,145,730; run the sync again" in last_line(capsys)
    assert SHARD not in visible(options.to)


def test_wrong_bytes_of_the_right_size_are_fetched_once_more_and_then_given_up(
    bucket: Bucket, options: Options, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = model()[SHARD]
    bucket.objects[FOLDER.model(SHARD)] = bytes([whole[0] ^ 1]) + whole[1:]
    assert run(options) == 1
    assert f"{SHARD} has wrong bytes, twice in a row" in last_line(capsys)
    assert SHARD not in visible(options.to)
    assert not (options.to / ".weight-sync/_COMPLETE.json").exists()


def test_a_byte_that_was_spoilt_on_the_way_is_mended(
    bucket: Bucket, options: Options, capsys: pytest.CaptureFixture[str]
) -> None:
    bucket.faults.spoil = lambda number: number == 3
    assert run(options) == 0
    assert right(options.to)
    assert result(capsys)["refetched"] == 1


@pytest.mark.parametrize("status", [500, 503])
def test_errors_of_the_store_are_outlasted(
    status: int, bucket: Bucket, options: Options, capsys: pytest.CaptureFixture[str]
) -> None:
    bucket.faults.status = lambda number: status if number % 3 == 0 else None
    bucket.faults.marker_status = lambda number: status if number < 3 else None
    assert run(options) == 0
    assert right(options.to)
    retried = result(capsys)["retried"]
    assert isinstance(retried, int)
    assert retried >= 5


def test_answers_that_end_early_go_on_where_they_ended(bucket: Bucket, options: Options) -> None:
    bucket.faults.cut = lambda number: number % 3 == 0
    assert run(options) == 0
    assert right(options.to)


def test_an_answer_with_another_range_is_no_source_of_wrong_bytes(bucket: Bucket, options: Options) -> None:
    bucket.faults.whole = lambda number: number % 2 == 0
    assert run(options) == 0
    assert right(options.to)


@pytest.mark.parametrize("where", ["stall", "stall_in_body"])
def test_silent_requests_are_abandoned_for_another_connection(
    where: str, bucket: Bucket, options: Options, capsys: pytest.CaptureFixture[str]
) -> None:
    setattr(bucket.faults, where, lambda number: number % 5 == 0)
    assert run(options) == 0
    assert right(options.to)
    found = result(capsys)
    assert isinstance(found["abandoned"], int)
    assert isinstance(found["retried"], int)
    assert found["abandoned"] + found["retried"] >= 3


def test_one_slow_connection_does_not_hold_up_the_others(
    bucket: Bucket, options: Options, capsys: pytest.CaptureFixture[str]
) -> None:
    # Twenty parts teach the pace; the next would take 100 s.
    files = {"a.safetensors": seeded(1).randbytes(24 * MIB)}
    bucket.fill(files)
    bucket.faults.crawl = lambda number: number == 20
    assert run(replace(options, connections=2)) == 0
    assert result(capsys)["abandoned"] == 1
    assert (options.to / "a.safetensors").read_bytes() == files["a.safetensors"]


def test_a_store_that_stays_down_ends_with_the_deadline(
    bucket: Bucket, options: Options, capsys: pytest.CaptureFixture[str]
) -> None:
    bucket.faults.status = lambda _: 503
    assert run(replace(options, deadline_minutes=0.01)) == 1
    line = last_line(capsys)
    assert "the deadline is over with 0 bytes fetched; last: s3://models" in line


def test_a_refused_identity_is_tried_again_for_a_while_because_it_may_be_new(bucket: Bucket, options: Options) -> None:
    bucket.faults.marker_status = lambda number: 403 if number < 4 else None
    bucket.faults.status = lambda number: 403 if number < 4 else None
    assert run(replace(options, identity_minutes=1)) == 0


@pytest.mark.parametrize("where", ["marker_status", "status"])
def test_an_identity_that_stays_refused_is_a_matter_for_a_person(
    where: str, bucket: Bucket, options: Options, capsys: pytest.CaptureFixture[str]
) -> None:
    setattr(bucket.faults, where, lambda _: 403)
    assert run(options) == 42
    assert "the identity may not do that" in last_line(capsys)


def test_a_store_that_cannot_be_reached_at_first_is_waited_for(
    options: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "id")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    assert run(replace(options, deadline_minutes=0.005)) == 1


def test_what_is_no_bucket_is_refused(options: Options) -> None:
    assert run(replace(options, source="ftp://models/x")) == 42


def test_too_little_space_is_found_before_the_first_byte(
    bucket: Bucket, options: Options, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "statvfs", lambda _: os.statvfs_result((4096, 4096, 9, 10, 10, 0, 0, 0, 0, 255)))
    assert run(options) == 42
    assert "0.0 GB are free" in last_line(capsys)
    assert bucket.requests == 0


@pytest.mark.parametrize(("call", "after"), [("posix_fallocate", 2), ("pwrite", 6), ("fsync", 6)])
def test_a_disk_that_fills_up_meanwhile_ends_with_one_line(
    call: str,
    after: int,
    bucket: Bucket,
    options: Options,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    original, calls = getattr(os, call), list[int]()

    def full(*given: object) -> object:
        calls.append(1)
        if len(calls) > after:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return original(*given)

    monkeypatch.setattr(os, call, full)
    assert run(options) == 42
    assert "the disk is full; make room" in last_line(capsys)
    assert not (options.to / ".weight-sync/_COMPLETE.json").exists()
    assert not list(options.to.rglob("*.part"))


def test_a_disk_that_cannot_be_written_is_named(
    bucket: Bucket, options: Options, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert run(replace(options, to=tmp_path / "file" / COMMIT)) == 42
    assert "Not a directory" in last_line(capsys)


def test_other_revisions_stay_unless_they_are_pruned(bucket: Bucket, options: Options) -> None:
    bucket.fill(model(9), OTHER_COMMIT)
    other = replace(options, source=f"s3://{BUCKET}/{REPOSITORY}/{OTHER_COMMIT}", to=options.to.parent / OTHER_COMMIT)
    assert run(other) == 0
    assert run(options) == 0
    assert right(other.to, model(9))
    assert run(replace(options, prune=True)) == 0
    assert right(options.to)
    assert not other.to.exists()


def test_the_log_says_how_many_streams_and_why(
    bucket: Bucket, options: Options, capsys: pytest.CaptureFixture[str]
) -> None:
    run(replace(options, connections=None, link_gbps=10, style="text"))
    lines = capsys.readouterr().err.splitlines()
    assert any("10 Gbit/s (link) = 1,250 MB/s, at 90 MB/s a stream and 10% spare 16" in line for line in lines)
    assert lines[-1].startswith("100.0 %")
