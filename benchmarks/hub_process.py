"""The tests' stand-in of Hugging Face in a process of its own, with a model of 1.5 GiB."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Final

from benchmarks.stand_in import apart
from tests.weights.hub import Hub
from tests.weights.tiny_model import Model

SHARDS: Final = 24
SHARD_BYTES: Final = 64 << 20
_CHUNK_BYTES: Final = 64 << 10
"""Of the stand-in's bodies, before each of which it can wait."""


@dataclass(frozen=True)
class Listed:
    """One file of the model."""

    size: int
    sha256: str


@dataclass
class HubProcess:
    """The hub as its clients' process sees it."""

    pipe: Connection
    url: str
    files: Mapping[str, Listed]

    def throttle(self, bytes_per_second: float | None) -> None:
        """Limit each connection, or none."""
        self.pipe.send(0.0 if bytes_per_second is None else _CHUNK_BYTES / bytes_per_second)

    def sent(self) -> int:
        """Return how many bytes of large files went out so far."""
        self.pipe.send("sent")
        return self.pipe.recv()

    def take_requests(self) -> list[str]:
        """Return the large files that were asked for, once a request, since the last call."""
        self.pipe.send("requests")
        return self.pipe.recv()


@contextmanager
def hub_process() -> Iterator[HubProcess]:
    """Run the hub until the block ends."""
    with apart(_serve) as pipe:
        url, files = pipe.recv()
        yield HubProcess(pipe, url, files)


@dataclass
class _Large(Model):
    """A model whose sums are computed once."""

    sums: dict[str, str] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)

    def sha256(self, path: str) -> str:
        if path not in self.sums:
            self.sums[path] = super().sha256(path)
        return self.sums[path]

    def git_id(self, path: str) -> str:
        if path not in self.ids:
            self.ids[path] = super().git_id(path)
        return self.ids[path]


def _model() -> Model:
    """Return shards of noise and four small files."""
    names = [f"model-{number:05}-of-{SHARDS:05}.safetensors" for number in range(1, SHARDS + 1)]
    index = {"metadata": {}, "weight_map": {f"layers.{number}.weight": name for number, name in enumerate(names)}}
    small = {"config.json": b"{}", "tokenizer.json": b'{"model": {}}', "README.md": b"# Noise"}
    small["model.safetensors.index.json"] = json.dumps(index).encode()
    model = _Large({**{name: os.urandom(SHARD_BYTES) for name in names}, **small})
    for path in model.files:
        model.sibling(path)
    return model


def _serve(pipe: Connection) -> None:
    model = _model()
    with Hub(model).running() as hub:
        pipe.send((hub.url(), {path: Listed(len(data), model.sha256(path)) for path, data in model.files.items()}))
        try:
            while True:
                _obey(hub, pipe.recv(), pipe)
        except (EOFError, KeyboardInterrupt):
            return


def _obey(hub: Hub, order: object, pipe: Connection) -> None:
    if isinstance(order, float):
        hub.chunk_seconds = order
    elif order == "sent":
        pipe.send(hub.sent)
    else:
        with hub.lock:
            asked = hub.asked("cdn")
            hub.requests.clear()
        pipe.send(asked)
