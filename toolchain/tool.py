"""What all tools share: where they land, how they report progress, how their absence is said."""

import contextlib
import fcntl
from collections.abc import Callable, Iterator
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
"""The project's root folder."""

MODULES = Path(__file__).resolve().parent
"""The folder that holds what pins a tool's parts, such as a Go module, one a folder."""

TOOLS = PROJECT / ".tools"
"""Where tools land; ignored by git, safe to delete."""

Say = Callable[[str], None]
"""Takes one line for the user."""


def silent(line: str) -> None:
    """Drops a line: the default where nobody listens."""


class ToolMissingError(Exception):
    """A tool is not there and could not be made; the message says what would help."""


@contextlib.contextmanager
def alone(work: str, say: Say) -> Iterator[None]:
    """Keeps two processes from the same work, such as "Go build": the second one waits and says so."""
    TOOLS.mkdir(parents=True, exist_ok=True)
    with (TOOLS / f"{work.lower().replace(' ', '-')}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"Another {work} of this project is running; waiting for it to end.")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
