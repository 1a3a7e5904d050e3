"""`python -m toolchain.preview STACK`: what `pulumi up` would do with a stack file, and what is wrong with the file.

Somebody who is logged in to a Pulumi backend and has the stack previews that stack. Everybody else previews against
an empty state in a folder of its own, as before the first `up`; the stack file is then a copy, because making a stack
writes into it.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from toolchain import kubernetes_provider, search_path, tool

_EMPTY_STATE: Final = (
    "There is no Pulumi stack {stack} here: previewing against an empty state, as before the first up."
)
_WRONG_USE: Final = 2


def main(arguments: list[str] | None = None, project: Path = tool.PROJECT) -> int:
    """Preview a stack of a project.

    Returns:
        The exit code of `pulumi preview`; 2 for a stack without a file; 1 without a CLI.
    """
    parser = argparse.ArgumentParser(prog="python -m toolchain.preview", description=__doc__)
    parser.add_argument("stack", help="name of a stack file: existing for Pulumi.existing.yaml")
    stack = parser.parse_args(arguments).stack
    file = project / f"Pulumi.{stack}.yaml"
    if not file.is_file():
        names = sorted(path.name.split(".")[1] for path in project.glob("Pulumi.*.yaml"))
        _say(f"There is no {file.name}. Stacks with a file: {', '.join(names) or 'none'}.")
        return _WRONG_USE
    try:
        environment = {**os.environ, **search_path.environment(_say)}
    except tool.ToolMissingError as error:
        _say(str(error))
        return 1
    environment["PATH"] = _with_providers(environment["PATH"])
    if stack in _stacks(project, environment):
        return _pulumi(project, ["preview", "--stack", stack], environment)
    _say(_EMPTY_STATE.format(stack=stack))
    return _on_empty_state(project, file, environment)


def _on_empty_state(project: Path, file: Path, environment: Mapping[str, str]) -> int:
    stack = file.name.split(".")[1]
    with tempfile.TemporaryDirectory() as folder:
        state, copies = Path(folder, "state"), Path(folder, "project")
        state.mkdir()
        copies.mkdir()
        for source in (project / "Pulumi.yaml", file):
            shutil.copy(source, copies)
        local = {
            **environment,
            "PULUMI_BACKEND_URL": state.as_uri(),
            "PULUMI_CONFIG_PASSPHRASE": environment.get("PULUMI_CONFIG_PASSPHRASE", "preview"),
            "PULUMI_SKIP_UPDATE_CHECK": "true",
        }
        made = _pulumi(copies, ["stack", "init", stack, "--non-interactive"], local, quiet=True)
        if made != 0:
            return made
        return _pulumi(project, ["preview", "--stack", stack, "--config-file", str(copies / file.name)], local)


def _stacks(project: Path, environment: Mapping[str, str]) -> list[str]:
    """Return the stacks of the project in the backend that somebody is logged in to; none without one."""
    command = [_cli(environment), "-C", str(project), "stack", "ls", "--json", "--non-interactive"]
    found = subprocess.run(command, env=dict(environment), capture_output=True, text=True, check=False)  # noqa: S603 - the CLI that the toolchain found
    if found.returncode != 0:
        return []
    return [str(entry["name"]).rsplit("/", 1)[-1] for entry in json.loads(found.stdout)]


def _pulumi(project: Path, arguments: list[str], environment: Mapping[str, str], *, quiet: bool = False) -> int:
    done = subprocess.run(  # noqa: S603 - the CLI that the toolchain found
        [_cli(environment), "-C", str(project), *arguments],
        env=dict(environment),
        capture_output=quiet,
        text=True,
        check=False,
    )
    if quiet and done.returncode != 0:
        _say(done.stderr)
    return done.returncode


def _cli(environment: Mapping[str, str]) -> str:
    return shutil.which("pulumi", path=environment["PATH"]) or "pulumi"


def _with_providers(path: str) -> str:
    """Add the provider that was built here: the CLI would download it where there is a way to do so."""
    built = kubernetes_provider.folder()
    return os.pathsep.join([path, str(built)]) if built.is_dir() else path


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - a command's output


if __name__ == "__main__":
    sys.exit(main())
