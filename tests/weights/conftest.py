"""The servers of these tests, and the sync run against them in this process or in one of its own."""

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from moto.server import ThreadedMotoServer

from components.weights import sync
from tests.conftest import PROJECT
from tests.weights import azurite, versitygw
from tests.weights.bucket import ACCESS_KEY, AZURES_WORDS, SECRET_KEY, Bucket, Proxy, make_bucket
from tests.weights.gcs import Objects, gcs_server
from tests.weights.hub import Hub
from tests.weights.loopback import serving
from tests.weights.tiny_model import COMMIT, REPOSITORY, Model, tiny_model

TOKEN = "hf_sentinel_token"
_IMPATIENT = ("--first-wait", "0.01", "--stall", "0.5", "--interval", "60", "--bucket-retry", "2")
_OWN = ("AWS_", "AZURE_", "SOURCE_", "HF_", "MODELSCOPE_", "JOB_COMPLETION_INDEX", "WEIGHT_SYNC_")


@dataclass(frozen=True)
class Ended:
    """How a run of the sync ended."""

    status: int
    out: str
    log: str

    @property
    def result(self) -> dict[str, object]:
        """The JSON line at the end."""
        return json.loads(self.out.splitlines()[-1])

    def counts(self, *names: str) -> tuple[object, ...]:
        return tuple(self.result[name] for name in names)


@dataclass
class Copy:
    """A hub, a bucket and the sync between them."""

    hub: Hub
    bucket: Bucket
    capture: pytest.CaptureFixture[str]
    patch: pytest.MonkeyPatch
    environment: dict[str, str] = field(default_factory=dict)
    """Besides the bucket's and the token."""

    def arguments(self, *extra: str) -> list[str]:
        fixed = ["--repository", REPOSITORY, "--revision", COMMIT, "--to", self.bucket.url]
        return [*fixed, "--endpoint", self.hub.url(), *_IMPATIENT, *extra]

    def run(self, *extra: str, token: str = TOKEN) -> Ended:
        """Run it here."""
        for name in [name for name in os.environ if name.startswith(_OWN)]:
            self.patch.delenv(name)
        for name, value in {**self.bucket.environment(), **self.environment, "HF_TOKEN": token}.items():
            self.patch.setenv(name, value)
        self.capture.readouterr()
        status = sync.run(self.arguments(*extra))
        found = self.capture.readouterr()
        return Ended(status, found.out, found.err)

    def start(self, *extra: str, folder: Path = PROJECT) -> subprocess.Popen[str]:
        """Run it in a process of its own, with nothing of this one's environment."""
        environment = {"PYTHONPATH": str(PROJECT), "PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}
        environment |= {**self.bucket.environment(), "HF_TOKEN": TOKEN}
        command = [sys.executable, "-m", "components.weights.sync", *self.arguments(*extra)]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, env=environment, cwd=folder, stdout=pipe, stderr=pipe, text=True)  # noqa: S603

    def finish(self, process: subprocess.Popen[str]) -> Ended:
        out, log = process.communicate(timeout=30)
        return Ended(process.returncode, out, log)

    def wanted(self) -> dict[str, bytes]:
        """The files that belong into the bucket."""
        files = self.hub.model.files.items()
        return {path: data for path, data in files if not path.startswith((".git", "original/"))}

    def assert_complete(self) -> None:
        """The bucket holds the model, byte for byte, and the marker says so."""
        assert self.bucket.objects() == self.wanted()
        marker = self.bucket.marker()
        assert marker is not None
        assert {file.path: file.sha256 for file in marker.files} == {
            path: self.hub.model.sha256(path) for path in self.wanted()
        }
        assert (marker.repository, marker.commit) == (REPOSITORY, COMMIT)


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    """One S3 server for all tests; each has a bucket of its own."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(scope="session")
def strict_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The S3 server that checks what AWS checks."""
    with versitygw.running(tmp_path_factory.mktemp("versitygw"), ACCESS_KEY, SECRET_KEY) as url:
        yield url


@pytest.fixture(scope="session")
def azure_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The server of Azure Blob Storage."""
    with azurite.running(tmp_path_factory.mktemp("azurite")) as url:
        yield url


@pytest.fixture(params=["moto", *(pytest.param(name, marks=pytest.mark.cluster) for name in ("versitygw", "azurite"))])
def bucket(request: pytest.FixtureRequest) -> Iterator[Bucket]:
    """A fresh bucket on each server of S3 and Azure, or on Google's stand-in where a test asks for `gcs`."""
    name = f"bucket-{uuid.uuid4().hex[:12]}"
    if request.param == "gcs":
        server = gcs_server(Objects())
        with serving(server), Proxy(f"http://127.0.0.1:{server.server_address[1]}").running() as proxy:
            yield Bucket(name, proxy, scheme="gs")
        return
    scheme, words = ("az", AZURES_WORDS) if request.param == "azurite" else ("s3", {})
    server = {"moto": "s3_server", "versitygw": "strict_server", "azurite": "azure_server"}[request.param]
    upstream = request.getfixturevalue(server)
    make_bucket(upstream, name, scheme)
    with Proxy(upstream, words=words).running() as proxy:
        yield Bucket(name, proxy, scheme)


@pytest.fixture
def model() -> Model:
    return tiny_model()


@pytest.fixture
def hub(model: Model) -> Iterator[Hub]:
    with Hub(model).running() as running:
        yield running


@pytest.fixture
def copy(
    hub: Hub, bucket: Bucket, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Copy]:
    """The sync between a fresh hub and a fresh bucket."""
    assert threading.current_thread() is threading.main_thread()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield Copy(hub, bucket, capsys, monkeypatch)
    for number, handler in handlers.items():
        signal.signal(number, handler)
