"""Kernels that an engine compiled, kept in the bucket: the next node restores them instead of compiling while it bills.

    python -m components.weights.kernel_cache restore ...   before the engine starts
    python -m components.weights.kernel_cache save ...      beside it, once it answers

Neither ever fails: a cache that can't be had is a slow start, and a container that fails costs the whole group.
"""

import argparse
import os
import ssl
import sys
import time
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from components.weights.kernel_archive import Seal, chunks, digest, newest, pack, unpack
from components.weights.store import Store
from components.weights.store_connection import Location

SECRET_VARIABLE: Final = "KERNEL_CACHE_SECRET"  # noqa: S105 - the variable's name
"""Signs what is saved and is asked of what is restored; who can only write the bucket doesn't know it."""

_PART: Final = 32 << 20
_ASK_SECONDS: Final = 10.0


@dataclass(frozen=True, kw_only=True)
class Options:
    """What one run has to do."""

    verb: str
    """`restore` or `save`."""
    place: Location
    """The caches' folder in the bucket."""
    key: str
    rank: int
    folder: Path
    """Where the engine keeps its kernels."""
    scratch: Path
    """Room for one archive, shared by restore and save."""
    max_bytes: int
    health: str
    """URL that answers once the group serves."""
    quiet_seconds: float
    """Without a change in the folder before it is packed."""

    @property
    def seal(self) -> str:
        """Object that vouches for the rank's archive."""
        return f"{self.place.folder}/{self.key}/{self.rank}.json"

    def archive(self, sha256: str) -> str:
        """Object that holds the rank's kernels; named by its bytes, so that two writers never mix theirs."""
        return f"{self.place.folder}/{self.key}/{self.rank}-{sha256}.tar.gz"

    @property
    def restored(self) -> Path:
        """File that says that there is nothing new to save."""
        return self.scratch / "kernels-restored"


def main(arguments: Sequence[str] | None = None) -> int:
    """Restore or save, and say how it went; the status is 0 either way."""
    options = _parse(arguments)
    began = time.monotonic()
    try:
        said = (_restore if options.verb == "restore" else _save)(options, os.environ[SECRET_VARIABLE])
    except Exception as error:  # noqa: BLE001 - whatever it is, the engine starts without the cache
        said = f"no kernels {options.verb}d: {type(error).__name__}: {error}"
    sys.stderr.write(f"kernel cache: {said} ({time.monotonic() - began:.1f} s)\n")
    return 0


def _restore(options: Options, secret: str) -> str:
    options.restored.unlink(missing_ok=True)
    store = Store(options.place)
    data = store.get(options.seal)
    if data is None:
        return "none for this image, GPU and layout yet; the engine compiles its own"
    seal = Seal.decode(data, secret)
    if (seal.key, seal.rank) != (options.key, options.rank):
        raise ValueError("it is another's, moved here")
    if seal.size > options.max_bytes:
        raise ValueError(f"{seal.size:,} bytes are more than {options.max_bytes:,}")
    archive = options.scratch / "kernels.tar.gz"
    try:
        with archive.open("wb") as file:
            for chunk in store.stream(options.archive(seal.sha256)):
                file.write(chunk)
                if file.tell() > seal.size:
                    raise ValueError("it is longer than its seal says")
        if digest(archive) != seal.sha256:
            raise ValueError("its bytes aren't the ones that were sealed")
        unpack(archive, options.folder)
    finally:
        archive.unlink(missing_ok=True)
    options.restored.touch()
    return f"restored {seal.size / 1e6:,.0f} MB"


def _save(options: Options, secret: str) -> str:
    if options.restored.exists():
        return "nothing new: they were restored"
    _wait(options)
    archive = options.scratch / "kernels.tar.gz"
    try:
        pack(options.folder, archive)
        size = archive.stat().st_size
        if size > options.max_bytes:
            return f"not saved: {size:,} bytes are more than {options.max_bytes:,}"
        seal = Seal(key=options.key, rank=options.rank, sha256=digest(archive), size=size)
        store = Store(options.place)
        store.put_stream(options.archive(seal.sha256), chunks(archive), size=size, part_bytes=_PART, concurrency=2)
    finally:
        archive.unlink(missing_ok=True)
    # Last, so that nobody finds a seal before its archive.
    store.put_small(options.seal, seal.encode(secret))
    return f"saved {size / 1e6:,.0f} MB"


def _wait(options: Options) -> None:
    """Wait until the group serves and the compilers are silent."""
    while not _answers(options.health):
        time.sleep(min(_ASK_SECONDS, options.quiet_seconds))
    while (quiet := time.time() - newest(options.folder)) < options.quiet_seconds:
        time.sleep(options.quiet_seconds - quiet)


def _answers(url: str) -> bool:
    # The certificate is for the API's public name; nothing is sent, and nothing but the status is believed.
    context = ssl._create_unverified_context() if url.startswith("https:") else None  # noqa: S323, SLF001
    try:
        with urllib.request.urlopen(url, timeout=_ASK_SECONDS, context=context) as answer:  # noqa: S310 - http or https
            return answer.status == 200
    except OSError:
        return False


def _parse(arguments: Sequence[str] | None) -> Options:
    parser = argparse.ArgumentParser(prog="python -m components.weights.kernel_cache", description=__doc__)
    parser.add_argument("verb", choices=["restore", "save"])
    parser.add_argument("--bucket", required=True, metavar="URL", help="the caches' folder: s3://bucket/folder, ...")
    parser.add_argument("--key", required=True, help="what decides whether kernels fit, as a digest")
    parser.add_argument("--rank", type=int, default=0, help="the pod in its group")
    parser.add_argument("--folder", type=Path, required=True, help="where the engine keeps them")
    parser.add_argument("--scratch", type=Path, default=Path("/work"), help="room for an archive")
    parser.add_argument("--max-gib", type=float, default=8.0, help="larger archives are left (8)")
    parser.add_argument("--health", default="", metavar="URL", help="save: answers once the group serves")
    parser.add_argument("--quiet", type=float, default=60.0, help="save: seconds without a change (60)")
    given = parser.parse_args(arguments)
    return Options(
        verb=given.verb,
        place=Location.parse(given.bucket),
        key=given.key,
        rank=given.rank,
        folder=given.folder,
        scratch=given.scratch,
        max_bytes=int(given.max_gib * (1 << 30)),
        health=given.health,
        quiet_seconds=given.quiet,
    )


if __name__ == "__main__":
    sys.exit(main())
