"""What all tools share: where they land, how they report progress, how their absence is said."""

from collections.abc import Callable
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
"""The project's root folder."""

MODULES = Path(__file__).resolve().parent
"""The folder that holds the Go modules, one a folder."""

TOOLS = PROJECT / ".tools"
"""Where tools land; ignored by git, safe to delete."""

Say = Callable[[str], None]
"""Takes one line for the user."""


def silent(line: str) -> None:
    """Drops a line: the default where nobody listens."""


class ToolMissingError(Exception):
    """A tool is not there and could not be made; the message says what would help."""
