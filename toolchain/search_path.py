"""The PATH with which a Pulumi command finds the CLI and the language host."""

import os
import shutil
from pathlib import Path

from toolchain import language_host, pulumi_cli, tool


def environment(say: tool.Say = tool.silent) -> dict[str, str]:
    """Returns the variables for a process that runs `pulumi`: PATH, with what is missing from it put first.

    Raises:
        ToolMissingError: No Pulumi CLI is there and none could be got.
    """
    path = os.environ.get("PATH", os.defpath)
    additions: list[str] = []
    for executable in (pulumi_cli.ensure(say), language_host.ensure(say)):
        folder = str(executable.parent)
        # A folder that is there already keeps its place: in front it could hide the user's own python.
        if _found(executable.name, path) != executable and folder not in additions:
            additions.append(folder)
    return {"PATH": os.pathsep.join([*additions, path])}


def _found(name: str, path: str) -> Path | None:
    found = shutil.which(name, path=path)
    return Path(found) if found else None
