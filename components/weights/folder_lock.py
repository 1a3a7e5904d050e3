"""One fetch a folder at a time, also between pods of a node: a lock that the kernel drops with its holder."""

import fcntl
import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from components.weights.fetch_error import BROKEN, FetchError

_LOOK_SECONDS: Final = 0.2
_SAY_SECONDS: Final = 15.0


@contextmanager
def folder_lock(path: Path, deadline: float, say: Callable[[str], None]) -> Iterator[None]:
    """Hold a folder, waiting for whoever holds it.

    Args:
        path: The lock file; it stays.
        deadline: Until when to wait, on the monotonic clock.
        say: Gets a line at first and every 15 s on what is waited for.

    Raises:
        FetchError: The deadline came first.
        OSError: The file can't be written.
    """
    descriptor = _hold(path, deadline, say)
    try:
        note = {"host": socket.gethostname(), "pid": os.getpid(), "since": time.strftime("%H:%M:%SZ", time.gmtime())}
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(note).encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _hold(path: Path, deadline: float, say: Callable[[str], None]) -> int:
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            _wait(descriptor, path, deadline, say)
        except BaseException:
            os.close(descriptor)
            raise
        if _is(descriptor, path):
            return descriptor
        # Who held it removed the whole folder; a lock on a removed file keeps nobody out.
        os.close(descriptor)


def _is(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _wait(descriptor: int, path: Path, deadline: float, say: Callable[[str], None]) -> None:
    began, said = time.monotonic(), -_SAY_SECONDS
    while not _taken(descriptor):
        waited = time.monotonic() - began
        if waited - said >= _SAY_SECONDS:
            said = waited
            say(f"waiting for {_holder(descriptor)}, which fetches into the same folder; {waited:.0f} s so far")
        if time.monotonic() > deadline:
            raise FetchError(f"{path}: the deadline is over and {_holder(descriptor)} still holds the folder", BROKEN)
        time.sleep(_LOOK_SECONDS)


def _taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(descriptor: int) -> str:
    try:
        note = json.loads(os.pread(descriptor, 4096, 0))
        return f"{note['host']} (process {note['pid']}, since {note['since']})"
    except (ValueError, TypeError, KeyError):
        return "another process"
