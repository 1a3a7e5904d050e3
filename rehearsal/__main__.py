"""`python -m rehearsal STACK`: plan, deploy and destroy a stack without an account, and show each step."""

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from rehearsal import stack_file
from rehearsal.depths import Depth, Light
from rehearsal.engine import EngineError
from rehearsal.full_depth import Full
from rehearsal.performance import Performance
from rehearsal.report import Report
from rehearsal.workspace import Workspace
from toolchain import tool

PROJECT: Final = Path(__file__).resolve().parent.parent
DEPTHS: Final[Mapping[str, Depth]] = {"light": Light(), "full": Full()}
"""The depths that `--depth` offers."""
_NOT_DONE: Final = 1
_WRONG_USE: Final = 2
_INTERRUPTED: Final = 130


def main(arguments: list[str] | None = None) -> int:
    """Rehearse what the command line says.

    Returns:
        0 if every step went well and nothing was left; 1 if not; 2 for a stack that doesn't exist.
    """
    parser = argparse.ArgumentParser(prog="python -m rehearsal", description=__doc__)
    parser.add_argument("stack", help="name of a stack file: existing for Pulumi.existing.yaml")
    parser.add_argument("--depth", choices=sorted(DEPTHS), default="light", help="what plays the cloud")
    parser.add_argument("--keep", action="store_true", help="keep the workspace, and say where it is")
    given = parser.parse_args(arguments)
    depth = DEPTHS[given.depth]
    report = Report(sys.stdout, depth.name, depth.touches)
    try:
        return rehearse(PROJECT, given.stack, depth, report, keep=given.keep)
    except stack_file.NoSuchStackError as error:
        report.line(str(error))
        return _WRONG_USE
    except (EngineError, tool.ToolMissingError) as error:
        report.lines(str(error))
        return _NOT_DONE
    except KeyboardInterrupt:
        report.line("stopped; nothing was touched outside the workspace")
        return _INTERRUPTED


def rehearse(project: Path, stack: str, depth: Depth, report: Report, *, keep: bool) -> int:
    """Rehearse one stack of a project in a workspace of its own; returns the exit code."""
    started = time.monotonic()
    contents = stack_file.read(project, stack)
    parent = project / ".rehearsal"
    parent.mkdir(exist_ok=True)
    workspace = Workspace(Path(tempfile.mkdtemp(prefix=f"{stack}-", dir=parent)))
    workspace.create()
    try:
        config = stack_file.as_contents(contents.get("config"))
        with depth.stage(config, workspace) as stage:
            contents["config"] = stack_file.merged(config, stage.overrides)
            report.line(f"laid over Pulumi.{stack}.yaml: {', '.join(stack_file.paths(stage.overrides))}")
            done = Performance(project, stack, workspace, stage, report).run(contents)
    finally:
        if not keep:
            shutil.rmtree(workspace.root, ignore_errors=True)
    report.heading("Result")
    if keep:
        report.line(f"workspace: {workspace.root}")
    report.line(f"{'all steps went well' if done else 'FAILED, see above'}; {time.monotonic() - started:.0f} s")
    return 0 if done else _NOT_DONE


if __name__ == "__main__":
    sys.exit(main())
