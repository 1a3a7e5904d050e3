"""What the sync writes is what the fetch reads: hub, bucket of another make, disk."""

from pathlib import Path

import pytest

from components.weights import fetch
from components.weights.fetch_options import Options
from tests.weights.conftest import Copy
from tests.weights.tiny_model import COMMIT, REPOSITORY, Model, tiny_model

pytestmark = pytest.mark.servers


def test_a_synced_model_arrives_on_the_node_byte_for_byte(copy: Copy, tmp_path: Path) -> None:
    assert copy.run().status == 0
    source = f"{copy.bucket.url}/{REPOSITORY}/{COMMIT}"
    assert fetch.run(Options(source=source, to=tmp_path / COMMIT, revision=COMMIT, style="none")) == 0
    files = [path for path in (tmp_path / COMMIT).rglob("*") if path.is_file() and ".weight-sync" not in path.parts]
    assert {str(path.relative_to(tmp_path / COMMIT)): path.read_bytes() for path in files} == copy.wanted()


@pytest.mark.parametrize("model", [tiny_model(2, 12 << 20)], ids=["12MiB"])
def test_shards_of_several_parts_arrive_in_ranges(copy: Copy, model: Model, tmp_path: Path) -> None:
    assert copy.run("--part-mib", "5").status == 0
    copy.bucket.proxy.requests.clear()
    source = f"{copy.bucket.url}/{REPOSITORY}/{COMMIT}"
    assert fetch.run(Options(source=source, to=tmp_path / COMMIT, part_mib=5, style="none")) == 0
    for path, data in copy.wanted().items():
        assert (tmp_path / COMMIT / path).read_bytes() == data
        if model.large(path):
            assert copy.bucket.proxy.count("GET", path) == 3


def test_a_copy_that_is_still_running_is_refused(
    copy: Copy, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert copy.run("--index", "0", "--of", "2").status == 0
    source = f"{copy.bucket.url}/{REPOSITORY}/{COMMIT}"
    assert fetch.run(Options(source=source, to=tmp_path / COMMIT, style="none")) == 42
    assert "isn't a complete copy" in capsys.readouterr().err
