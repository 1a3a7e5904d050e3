"""Compiled kernels in the bucket: what one node saved another restores, and what isn't ours is never unpacked."""

import json
import os
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from components.weights import kernel_cache
from components.weights.kernel_archive import Seal, pack, unpack
from tests.weights.bucket import Bucket, BucketFault
from tests.weights.loopback import QuietHandler, QuietServer, serving

pytestmark = pytest.mark.servers

SECRET = "of this stack"
KEY = "0123456789abcdef"
KERNELS = {"triton/a/kernel.cubin": b"\x7fELF" + os.urandom(2000), "vllm/torch_compile_cache/graph.py": b"graph = 1\n"}


class Health(QuietHandler):
    """An engine that answers 503 so many times before it serves."""

    waits: list[int]

    def do_GET(self) -> None:  # noqa: N802 - the standard library's name
        """Answer /health."""
        ready = not self.waits
        if self.waits:
            self.waits.pop()
        self.send_response(200 if ready else 503)
        self.send_header("Content-Length", "0")
        self.end_headers()


@dataclass
class Node:
    """One pod's folders."""

    root: Path
    bucket: Bucket
    capture: pytest.CaptureFixture[str]
    health: str

    @property
    def kernels(self) -> Path:
        return self.root / "cache"

    def run(self, verb: str, *extra: str, key: str = KEY) -> str:
        """Run one of the two, which never fails, and return what it says."""
        (self.root / "scratch").mkdir(exist_ok=True)
        self.kernels.mkdir(exist_ok=True)
        self.capture.readouterr()
        place = ["--bucket", f"{self.bucket.url}/kernel-cache", "--key", key, "--folder", str(self.kernels)]
        place += ["--scratch", str(self.root / "scratch"), "--health", self.health, "--quiet", "0.01"]
        assert kernel_cache.main([verb, *place, *extra]) == 0
        return self.capture.readouterr().err

    def compile(self, files: dict[str, bytes] | None = None) -> None:
        for name, data in (KERNELS if files is None else files).items():
            path = self.kernels / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

    def files(self) -> dict[str, bytes]:
        found = [path for path in self.kernels.rglob("*") if path.is_file()]
        return {str(path.relative_to(self.kernels)): path.read_bytes() for path in found}


@pytest.fixture
def waits() -> list[int]:
    return []


@pytest.fixture
def health(waits: list[int]) -> Iterator[str]:
    server: ThreadingHTTPServer = QuietServer(("127.0.0.1", 0), type("Handler", (Health,), {"waits": waits}))
    with serving(server):
        yield f"http://127.0.0.1:{server.server_address[1]}/health"


@pytest.fixture
def node(
    tmp_path: Path, bucket: Bucket, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, health: str
) -> Callable[[str], Node]:
    """Return a function that makes nodes of one stack."""
    for name, value in {**bucket.environment(), "KERNEL_CACHE_SECRET": SECRET}.items():
        monkeypatch.setenv(name, value)

    def make(name: str) -> Node:
        (tmp_path / name).mkdir()
        return Node(tmp_path / name, bucket, capsys, health)

    return make


MakeNode = Callable[[str], Node]


def test_a_new_node_starts_with_what_another_compiled(node: MakeNode) -> None:
    first, second = node("first"), node("second")
    assert "none for this image" in first.run("restore")
    first.compile()
    assert "saved" in first.run("save")
    assert "restored" in second.run("restore")
    assert second.files() == KERNELS
    assert "nothing new" in second.run("save")


def test_other_flags_or_another_image_find_nothing(node: MakeNode) -> None:
    first, second = node("first"), node("second")
    first.compile()
    first.run("save")
    assert "none for this image" in second.run("restore", key="another")
    assert second.files() == {}


def test_each_pod_of_a_group_has_its_own(node: MakeNode) -> None:
    leader, worker = node("leader"), node("worker")
    leader.compile()
    leader.run("save", "--rank", "0")
    assert "none for this image" in worker.run("restore", "--rank", "1")


def test_nothing_is_saved_before_the_group_serves(node: MakeNode, waits: list[int]) -> None:
    first = node("first")
    first.compile()
    waits += [503, 503, 503]
    assert "saved" in first.run("save")
    assert waits == []


def test_the_tokenizers_code_is_no_kernel(node: MakeNode) -> None:
    first, second = node("first"), node("second")
    first.compile({**KERNELS, "huggingface/modules/tokenization.py": b"print()"})
    first.run("save")
    second.run("restore")
    assert second.files() == KERNELS


def _seals(bucket: Bucket) -> tuple[str, dict[str, object]]:
    (name,) = [name for name in bucket.objects("kernel-cache") if name.endswith(".json")]
    return name, json.loads(bucket.objects("kernel-cache")[name])


def test_kernels_that_somebody_else_signed_never_run_here(node: MakeNode, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = node("first"), node("second")
    first.compile()
    monkeypatch.setenv("KERNEL_CACHE_SECRET", "guessed")
    first.run("save")
    monkeypatch.setenv("KERNEL_CACHE_SECRET", SECRET)
    assert "it isn't signed by this stack" in second.run("restore")
    assert second.files() == {}


@pytest.mark.parametrize("field", ["sha256", "size", "rank", "key"])
def test_a_seal_vouches_for_every_field(node: MakeNode, bucket: Bucket, field: str) -> None:
    first, second = node("first"), node("second")
    first.compile()
    first.run("save")
    name, seal = _seals(bucket)
    seal[field] = 7 if field in ("size", "rank") else "0" * 64
    bucket.store().put_small(f"kernel-cache/{name}", json.dumps(seal).encode())
    assert "it isn't signed by this stack" in second.run("restore")


def test_an_older_seal_can_not_be_moved_to_another_key(node: MakeNode, bucket: Bucket) -> None:
    first, second = node("first"), node("second")
    first.compile()
    first.run("save")
    name, _ = _seals(bucket)
    bucket.store().put_small("kernel-cache/other/0.json", bucket.objects("kernel-cache")[name])
    assert "moved here" in second.run("restore", key="other")


@pytest.mark.parametrize("harm", ["changed", "cut", "longer", "gone", "no seal at all"])
def test_a_damaged_archive_is_a_miss_and_the_next_save_mends_it(node: MakeNode, bucket: Bucket, harm: str) -> None:
    first, second, third = node("first"), node("second"), node("third")
    first.compile()
    first.run("save")
    store = bucket.store()
    (key,) = [held.key for held in store.list("kernel-cache") if held.key.endswith(".tar.gz")]
    data = store.get(key) or b""
    match harm:
        case "changed":
            store.put_small(key, bytes([data[0] ^ 1]) + data[1:])
        case "cut":
            store.put_small(key, data[:-1])
        case "longer":
            store.put_small(key, data + b"\0")
        case "gone":
            store.delete(key)
        case _:
            store.put_small(f"kernel-cache/{_seals(bucket)[0]}", b"not json")
    assert "no kernels restored" in second.run("restore")
    assert second.files() == {}
    second.compile()
    assert "saved" in second.run("save")
    assert "restored" in third.run("restore")


def test_a_bucket_that_refuses_costs_the_cache_alone(node: MakeNode, bucket: Bucket) -> None:
    first = node("first")
    bucket.proxy.faults.append(BucketFault(403, "AccessDenied", times=100))
    assert "no kernels restored" in first.run("restore")
    first.compile()
    assert "no kernels saved" in first.run("save")


def test_what_is_too_large_is_left(node: MakeNode, bucket: Bucket) -> None:
    first, second = node("first"), node("second")
    first.compile()
    assert "not saved" in first.run("save", "--max-gib", "0.000001")
    assert bucket.objects("kernel-cache") == {}
    first.run("save")
    assert "are more than" in second.run("restore", "--max-gib", "0.000001")
    assert second.files() == {}


def test_two_replicas_that_save_at_once_leave_one_that_is_whole(node: MakeNode) -> None:
    first, second, third = node("first"), node("second"), node("third")
    first.compile()
    second.compile({"triton/b/other.cubin": b"other"})
    first.run("save")
    second.run("save")
    third.run("restore")
    assert third.files() == {"triton/b/other.cubin": b"other"}


@pytest.mark.parametrize("name", ["../outside", "/outside"])
def test_an_archive_can_not_write_outside_its_folder(tmp_path: Path, name: str) -> None:
    archive, folder = tmp_path / "a.tar.gz", tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "file").write_text("x")
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(tmp_path / "file", arcname=name)
        tar.getmembers()[0].name = name
    if name.startswith("/"):
        # Python's filter takes the root off: it lands inside.
        unpack(archive, folder)
        assert (folder / "outside").exists()
    else:
        with pytest.raises(tarfile.TarError):
            unpack(archive, folder)
    assert not (tmp_path / "outside").exists()
    assert not (folder / ".restoring").exists()


def test_a_container_that_starts_again_keeps_its_own_kernels(tmp_path: Path) -> None:
    there, here = tmp_path / "there", tmp_path / "here"
    for folder, text in ((there, "old"), (here, "new")):
        (folder / "triton").mkdir(parents=True)
        (folder / "triton" / "kernel").write_text(text)
    pack(there, tmp_path / "archive.tar.gz")
    unpack(tmp_path / "archive.tar.gz", here)
    assert (here / "triton" / "kernel").read_text() == "new"


def test_a_seal_is_read_back() -> None:
    seal = Seal(key=KEY, rank=3, sha256="ab", size=5)
    assert Seal.decode(seal.encode(SECRET), SECRET) == seal
