"""Which of the engine's lines a reader wants while it works: each resource once, and the sums."""

import re
from collections.abc import Callable
from typing import Final

# ` +  kubernetes:core/v1:Namespace namespace created (0.01s)`: sign, type, name, what happens.
_RESOURCE: Final = re.compile(r"\s{0,2}[-+~<>=]{1,2}\s+(?P<type>\S+:\S*)\s+\S+\s+(?P<what>.*)")
_BEGINS: Final = re.compile(r"\w+ \(0s\)\s*")
_STACK: Final = "pulumi:pulumi:Stack"
_SUMMARY: Final = "Resources:"


class Progress:
    """Passes on the lines of one command that show a resource or a sum; drops what is said again at the end.

    Args:
        say: Takes each line that is worth showing.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._summing = False

    def __call__(self, line: str) -> None:
        """Take the next line of the engine."""
        if line.startswith(("Previewing", "Updating", "Refreshing", "Destroying")):
            self._summing = False
        elif line.startswith(_SUMMARY):
            self._summing = True
        elif self._summing:
            if line.startswith(" "):
                self._say(f"{_SUMMARY} {line.strip()}")
        elif (match := _RESOURCE.match(line)) and match["type"] != _STACK and not _BEGINS.fullmatch(match["what"]):
            self._say(line)
