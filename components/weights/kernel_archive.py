"""A folder of compiled kernels as one sealed object: what may be unpacked on a GPU node and run there."""

import hashlib
import hmac
import json
import shutil
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

_CHUNK: Final = 4 << 20
_LEVEL: Final = 1
"""Of gzip: machine code shrinks to a third at once, and little more with patience."""
_NOT_KERNELS: Final = frozenset({"huggingface", "pip"})
"""Folders of the cache that hold other things; the tokenizer's code comes with the weights, by its own digest."""


@dataclass(frozen=True, kw_only=True)
class Seal:
    """What a rank's archive is, signed by whoever knows the stack's secret: kernels are code."""

    key: str
    """Everything that decides whether the kernels fit."""
    rank: int
    """The pod in its group."""
    sha256: str
    size: int
    """In bytes, packed."""

    def encode(self, secret: str) -> bytes:
        """Return the seal as JSON with its signature."""
        return json.dumps({**vars(self), "signature": self._signature(secret)}).encode()

    @classmethod
    def decode(cls, data: bytes, secret: str) -> Self:
        """Read a seal.

        Raises:
            ValueError: It isn't one, or somebody else made it.
        """
        found = json.loads(data)
        seal = cls(key=str(found["key"]), rank=int(found["rank"]), sha256=str(found["sha256"]), size=int(found["size"]))
        if not hmac.compare_digest(str(found.get("signature")), seal._signature(secret)):
            raise ValueError("it isn't signed by this stack")
        return seal

    def _signature(self, secret: str) -> str:
        said = "\n".join([self.key, str(self.rank), self.sha256, str(self.size)])
        return hmac.new(secret.encode(), said.encode(), hashlib.sha256).hexdigest()


def pack(folder: Path, archive: Path) -> None:
    """Write the kernels below a folder into an archive."""
    with tarfile.open(archive, "w:gz", compresslevel=_LEVEL) as tar:
        for child in sorted(folder.iterdir()):
            if child.name not in _NOT_KERNELS:
                tar.add(child, arcname=child.name)


def unpack(archive: Path, folder: Path) -> None:
    """Put an archive's files into a folder, all or none; links and paths that lead out of it are refused.

    What the folder has already stays: a container that starts again finds its own kernels.

    Raises:
        OSError, tarfile.TarError: It can't be read, or there is no room; nothing is left of it then.
    """
    beside = folder / ".restoring"
    try:
        with tarfile.open(archive, "r:gz") as tar:
            tar.extractall(beside, filter="data")
        for child in beside.iterdir():
            if not (folder / child.name).exists():
                child.rename(folder / child.name)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def digest(file: Path) -> str:
    """Return a file's sha256."""
    found = hashlib.sha256()
    for chunk in chunks(file):
        found.update(chunk)
    return found.hexdigest()


def chunks(file: Path) -> Iterator[bytes]:
    """Yield a file's bytes."""
    with file.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            yield chunk


def newest(folder: Path) -> float:
    """Return when a file below a folder changed last, in seconds of the epoch; 0 when there is none."""
    return max((path.stat().st_mtime for path in folder.rglob("*") if path.is_file()), default=0.0)
