"""Builds commands of a Go module, once.

A machine that reaches only package registries still reaches the Go module proxy, so a build is the way that
works everywhere. It is slow when Go's cache is cold (minutes each) and a link takes up to 3 GB of memory:
hence the stamps, which skip what is current, and the lock, which keeps two `make` calls from linking at once.
"""

import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from toolchain import tool

REPORT_SECONDS = 30.0
"""How often a running build says that it is still alive."""

_SHOWN_LINES = 20


@dataclass(frozen=True, kw_only=True)
class GoCommand:
    """A command that `go build` turns into one executable."""

    name: str
    """File name of the executable."""
    package: str
    """Import path of its main package, or "." for the module itself."""
    module: Path
    """Folder with the go.mod that pins its version."""
    ldflags: str
    """Flags for the linker, such as the version that the command shall print."""
    minutes: float
    """How long a cold build takes on two cores, as measured on 2026-12-01."""


def build(commands: Sequence[GoCommand], folder: Path, say: tool.Say = tool.silent) -> list[Path]:
    """Builds those of the commands that are not current, one after the other.

    Args:
        commands: What to build.
        folder: Where the executables and their stamps go.
        say: Takes a line when a build begins, and every 30 seconds while it goes on.

    Returns:
        The executables, in the order of `commands`.

    Raises:
        ToolMissingError: `go` is not on PATH, or a build failed.
    """
    go = _go(", ".join(command.name for command in commands))
    version = _output(go, "version", folder=tool.MODULES)
    if _stale(commands, folder, version):
        with tool.alone("Go build", say):
            # Asked again: whoever held the lock may just have built some of them.
            for command in _stale(commands, folder, version):
                _build_one(go, version, command, folder, say)
    return [folder / command.name for command in commands]


def module_folder(module: Path, path: str, version: str) -> Path:
    """Returns the folder with the source of a module that another one requires, downloaded if need be.

    Args:
        module: Folder with the go.mod (and the go.sum that vouches for the download).
        path: Path of the required module, such as "sigs.k8s.io/lws".
        version: Its version without the leading "v".

    Raises:
        ToolMissingError: `go` is not on PATH, or the download failed.
    """
    go = _go(path)
    _output(go, "mod", "download", f"{path}@v{version}", folder=module)
    return Path(_output(go, "list", "-m", "-f={{.Dir}}", path, folder=module))


def _go(wanted: str) -> str:
    go = shutil.which("go")
    if go is None:
        raise tool.ToolMissingError(
            f"{wanted} would be built from source, but there is no `go`: "
            "put Go 1.26 or newer on PATH (https://go.dev/dl)."
        )
    return go


def _output(go: str, *arguments: str, folder: Path) -> str:
    result = subprocess.run(  # noqa: S603 - `go` of the user's PATH with our own arguments
        [go, *arguments], cwd=folder, env=_environment(), capture_output=True, text=True, check=False
    )
    if result.returncode:
        raise tool.ToolMissingError(f"`go {' '.join(arguments)}` failed in {folder}:\n{result.stderr.strip()}")
    return result.stdout.strip()


def _environment() -> dict[str, str]:
    """The caller's, without a workspace file that would overrule the versions of our go.mod."""
    return {**os.environ, "GOWORK": "off"}


def _stale(commands: Sequence[GoCommand], folder: Path, go_version: str) -> list[GoCommand]:
    return [command for command in commands if not _is_current(command, folder, go_version)]


def _is_current(command: GoCommand, folder: Path, go_version: str) -> bool:
    stamp = _stamp_file(command, folder)
    return (folder / command.name).exists() and stamp.exists() and stamp.read_text() == _stamp(command, go_version)


def _stamp_file(command: GoCommand, folder: Path) -> Path:
    return folder / f".{command.name}.stamp"


def _stamp(command: GoCommand, go_version: str) -> str:
    digest = hashlib.sha256()
    for file in ("go.mod", "go.sum", "main.go"):
        path = command.module / file
        digest.update(path.read_bytes() if path.exists() else b"")
        digest.update(b"\0")
    digest.update("\0".join([command.package, command.ldflags, go_version]).encode())
    return digest.hexdigest()


def _build_one(go: str, go_version: str, command: GoCommand, folder: Path, say: tool.Say) -> None:
    say(
        f"Building {command.name}: about {command.minutes:g} min on two cores the first time, "
        "seconds when Go's build cache is warm."
    )
    folder.mkdir(parents=True, exist_ok=True)
    _stamp_file(command, folder).unlink(missing_ok=True)
    # Renamed at the end: a build cut short leaves no half executable, and one in use can be replaced.
    unfinished = folder / f".{command.name}.unfinished"
    flags = ["-buildvcs=false", f"-ldflags={command.ldflags}", f"-o={unfinished}"]
    _run([go, "build", *flags, command.package], command, say)
    unfinished.replace(folder / command.name)
    _stamp_file(command, folder).write_text(_stamp(command, go_version))


def _run(arguments: list[str], command: GoCommand, say: tool.Say) -> None:
    started = time.monotonic()
    with (
        tempfile.TemporaryFile("w+") as log,
        subprocess.Popen(  # noqa: S603 - `go` of the user's PATH with our own arguments
            arguments, cwd=command.module, env=_environment(), stdout=log, stderr=log
        ) as process,
    ):
        try:
            while not _ended(process):
                say(f"Building {command.name}: {time.monotonic() - started:.0f} s so far.")
        except BaseException:
            process.send_signal(signal.SIGINT)
            raise
        log.seek(0)
        output = log.read().splitlines()
    if process.returncode:
        shown = "\n".join(output[-_SHOWN_LINES:])
        raise tool.ToolMissingError(f"`go build {command.package}` failed in {command.module}:\n{shown}")


def _ended(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(timeout=REPORT_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return True
