"""Finds the program through which the Pulumi engine runs Python, or writes a small one.

The official installation brings `pulumi-language-python` beside the CLI. A CLI built from its Go module comes
without, since the module proxy doesn't serve the host's module; then a script stands in for it, which runs
`language_server.py`.
"""

import shlex
import shutil
import sys
from pathlib import Path

from toolchain import pulumi_cli, tool

NAME = "pulumi-language-python"


def ensure(say: tool.Say = tool.silent) -> Path:
    """Returns the path of the language host that the engine will use: the real one wherever there is one.

    Raises:
        ToolMissingError: There is no Pulumi CLI, so nothing to host for.
    """
    cli = pulumi_cli.ensure(say)
    built_here = tool.TOOLS / "bin"
    elsewhere = tool.TOOLS / "language-host"
    for candidate in (cli.with_name(NAME), Path(shutil.which(NAME) or elsewhere / NAME)):
        if candidate.exists() and candidate.parent not in (built_here, elsewhere):
            return candidate
    # Beside a CLI of our own the engine takes it without the warning that it gives about one on PATH.
    ours = (built_here if cli.parent == built_here else elsewhere) / NAME
    _write(ours)
    return ours


def _write(script: Path) -> None:
    # The interpreter is the one that runs now, not resolved: a virtual environment's python is a link.
    text = (
        "#!/bin/sh\n"
        "# Written by toolchain/language_host.py.\n"
        f"cd {shlex.quote(str(tool.PROJECT))} && "
        f'exec {shlex.quote(sys.executable)} -m toolchain.language_server "$@"\n'
    )
    if script.exists() and script.read_text() == text:
        return
    script.parent.mkdir(parents=True, exist_ok=True)
    unfinished = script.with_suffix(".unfinished")
    unfinished.write_text(text)
    unfinished.chmod(0o755)
    unfinished.replace(script)
