"""Peak memory of what a command starts, watched from outside while it runs; Linux only, since it reads /proc."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Final, Self

_PROC: Final = Path("/proc")
_LOOK_SECONDS: Final = 0.02
_KIB_A_PAGE: Final = os.sysconf("SC_PAGE_SIZE") // 1024
# Our own language host and the official one's interpreter: in both the program runs inside that process.
_LANGUAGE_HOSTS: Final = ("toolchain.language_server", "pulumi-language-python-exec")


class PeakMemory:
    """Looks at every descendant of this process fifty times a second, as a context.

    Attributes:
        program_mib: The greatest resident size of the process that runs the program, as the kernel recorded it.
        tree_mib: The greatest sum of the resident sizes of all descendants at one look. Pages that two of them share
            count twice.

    Both stay 0 where there is no /proc.
    """

    def __init__(self) -> None:
        self.program_mib = 0.0
        self.tree_mib = 0.0
        self._ended = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        """Begin to look."""
        self._watcher.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Look no more."""
        self._ended.set()
        self._watcher.join()

    def _watch(self) -> None:
        while not self._ended.wait(_LOOK_SECONDS):
            tree = descendants(parents(), os.getpid())
            self.tree_mib = max(self.tree_mib, sum(map(_resident_kib, tree)) / 1024)
            for process in filter(_is_language_host, tree):
                self.program_mib = max(self.program_mib, _peak_kib(process) / 1024)


def parents() -> dict[int, int]:
    """Return the parent of every process that there is."""
    found: dict[int, int] = {}
    for folder in _PROC.glob("[0-9]*"):
        # `12 (a name) S 7 ...`: the name may hold anything, so what follows its last bracket is read.
        fields = _text(folder / "stat").rpartition(")")[2].split()
        if len(fields) > 1:
            found[int(folder.name)] = int(fields[1])
    return found


def descendants(parent_of: dict[int, int], root: int) -> list[int]:
    """Return the children of a process, their children and so on."""
    return list(_below(parent_of, root))


def _below(parent_of: dict[int, int], root: int) -> Iterator[int]:
    for process, parent in parent_of.items():
        if parent == root:
            yield process
            yield from _below(parent_of, process)


def _is_language_host(process: int) -> bool:
    command = _text(_PROC / str(process) / "cmdline")
    return any(host in command for host in _LANGUAGE_HOSTS)


def _resident_kib(process: int) -> int:
    fields = _text(_PROC / str(process) / "statm").split()
    return int(fields[1]) * _KIB_A_PAGE if fields else 0


def _peak_kib(process: int) -> int:
    # `VmHWM:   112156 kB`
    _, _, after = _text(_PROC / str(process) / "status").partition("VmHWM:")
    return int(after.split(maxsplit=1)[0]) if after else 0


def _text(file: Path) -> str:
    """Return a file's text; nothing of a process that has just ended."""
    try:
        return file.read_text(errors="replace")
    except OSError:
        return ""
