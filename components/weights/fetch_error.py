"""How a fetch ends when it doesn't end well: one line, and an exit code that says whether trying again helps."""

import errno
from typing import Final

BROKEN: Final = 1
"""Wrong bytes in the bucket, or the deadline is over."""
REFUSED: Final = 42
"""A person has to change something first: the bucket, the disk or the identity."""
TERMINATED: Final = 143
"""SIGTERM."""

_FULL: Final = (errno.ENOSPC, errno.EDQUOT)


class FetchError(Exception):
    """A fetch that can't go on; the message is one line."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def disk_error(error: OSError, folder: object) -> FetchError:
    """Return one line for what the node's disk refused."""
    if error.errno in _FULL:
        return FetchError(f"{folder}: the disk is full; make room, use --prune or a larger disk", REFUSED)
    return FetchError(f"{folder}: the disk refuses: {error.strerror or error}; check its mount and its owner", REFUSED)
