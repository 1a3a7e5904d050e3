"""Where a model comes from: the contract of the hubs and of another bucket."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from components.weights.manifest import File


class Refused(Exception):  # noqa: N818 - the source's answer, which trying again can't change
    """The source won't give it; the message is one line and says what to do."""


class Interrupted(Exception):  # noqa: N818 - the usual fate of a long transfer
    """The source failed for now; the message is one line."""

    def __init__(self, reason: str, wait_seconds: float | None = None) -> None:
        super().__init__(reason)
        self.wait_seconds = wait_seconds
        """How long the source asks to be left alone; None when it doesn't say."""


@dataclass(frozen=True)
class Listing:
    """What a repository holds at one commit."""

    commit: str
    files: tuple[File, ...]
    """Those that belong into the bucket, sorted by path."""


class Source(Protocol):
    """A place to copy a model from."""

    @property
    def name(self) -> str:
        """Where the bytes come from, for logs: a host or a bucket."""
        ...

    def list(self) -> Listing:
        """Return the files of the pinned revision.

        Raises:
            Refused: No such repository or revision, or no right to read it.
            Interrupted: Try again.
        """
        ...

    def open(self, file: File, offset: int) -> AbstractContextManager[Iterator[bytes]]:
        """Return a file's bytes from `offset` on; the iterator may end early or raise.

        Raises:
            Refused: As above.
            Interrupted: Try again; also from within the iterator.
        """
        ...
