"""`python -m benchmarks.preview`: what a preview of our program costs beside one with the same resources alone.

Both go through the real engine and the light rehearsal's stand-in provider, one after the other and in changing order,
so that a machine that grows slower meanwhile slows both. Then both run without an engine, which shows the program's own
share more sharply. The first run of each isn't counted: it fills the disk's cache. Our modules are compiled beforehand,
as they are from the second preview on; a rehearsal's environment keeps Python from doing so.
"""

import argparse
import compileall
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks import bare_program, figures
from benchmarks.process_tree import PeakMemory
from benchmarks.under_mocks import Printed
from rehearsal import stack_file
from rehearsal.depths import Light, Stage
from rehearsal.engine import Engine, EngineError
from rehearsal.stack_file import Contents
from rehearsal.workspace import Workspace
from toolchain import tool

AIM: Final = 1.15
"""How many times the bare program's wall time a preview may take."""
_STACK: Final = "existing"
_BARE: Final = "bare"
_OURS: Final = "ours"


class FailedRunError(Exception):
    """A measured run ended badly; the message is what it printed."""


@dataclass(frozen=True, kw_only=True)
class Took:
    """What one run took."""

    wall: float
    """Seconds."""
    cpu: float
    """Seconds of all processors together, with every process that it started."""
    program_mib: float
    """Greatest resident size of the process that runs the program; 0 where this machine can't tell."""
    tree_mib: float = 0
    """Greatest resident size of all processes together; 0 where this machine can't tell."""


Run = Callable[[], Took]
"""Runs one program once."""


def main(arguments: list[str] | None = None) -> int:
    """Measure and print.

    Returns:
        0 whatever the figures are; 1 if a run failed; 130 if it was interrupted.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.preview", description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="counted runs of each program (default: 5)")
    runs = max(1, parser.parse_args(arguments).runs)
    try:
        with tempfile.TemporaryDirectory() as folder:
            _report(Path(folder), runs)
    except (FailedRunError, EngineError, stack_file.NoSuchStackError, tool.ToolMissingError) as error:
        _say(f"FAILED: {error}")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _report(folder: Path, runs: int) -> None:
    _say(f"Setting up two programs for Pulumi.{_STACK}.yaml and the stand-in for Kubernetes ...")
    compileall.compile_dir(tool.PROJECT / "components", quiet=1)
    contents = stack_file.read(tool.PROJECT, _STACK)
    workspace = Workspace(folder / "stage")
    workspace.create()
    config = stack_file.as_contents(contents.get("config"))
    with Light().stage(config, workspace) as stage:
        contents["config"] = stack_file.merged(config, stage.overrides)
        projects = {_BARE: folder / "program", _OURS: tool.PROJECT}
        values = as_mocked(contents)
        resources = _write_bare_program(projects[_BARE], values)
        previews = {name: _preview(project, folder / name, contents, stage) for name, project in projects.items()}
        alone = {name: _run_alone(project / "__main__.py", values) for name, project in projects.items()}
        shown = [
            *_comparisons("pulumi preview", measured("pulumi preview", previews, runs)),
            *_comparisons("program alone", measured("program alone", alone, runs)),
        ]
    _say(f"\nPulumi.{_STACK}.yaml: {resources} resources and the stack itself; {runs} runs each, in changing order.\n")
    _say("\n".join(figures.table([each for each in shown if each.bare])))
    _say(f"\n{figures.verdict(shown[0].ratio, AIM)}")
    load, processors = os.getloadavg()[0], os.cpu_count() or 1
    if load > processors:
        _say(f"{load:.1f} processes wanted the {processors} processors: trust the CPU seconds, not the wall times.")


def measured(title: str, programs: Mapping[str, Run], runs: int) -> dict[str, list[Took]]:
    """Return what each program's runs took, after one that isn't counted; the order changes with each round."""
    took: dict[str, list[Took]] = {name: [] for name in programs}
    for number in range(runs + 1):
        order = sorted(programs, reverse=number % 2 == 0)
        found = {name: programs[name]() for name in order}
        walls = ", ".join(f"{name} {found[name].wall:.2f} s" for name in programs)
        _say(f"{title}, {f'run {number} of {runs}' if number else 'not counted'}: {walls}")
        if number:
            for name, each in found.items():
                took[name].append(each)
    return took


def as_mocked(contents: Contents) -> Mapping[str, Mapping[str, str]]:
    """Return the stack file's values as the engine hands them to a program: texts, the encrypted ones apart."""
    config = stack_file.as_contents(contents.get("config"))
    secret = {key for key in config if list(stack_file.encrypted_paths(config[key]))}
    opened = stack_file.as_contents(stack_file.without_encryption(contents).get("config"))
    texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in opened.items()}
    return {
        "plain": {key: text for key, text in texts.items() if key not in secret},
        "secret": {key: text for key, text in texts.items() if key in secret},
    }


def _write_bare_program(folder: Path, values: Mapping[str, Mapping[str, str]]) -> int:
    """Write the bare program into a folder; return how many resources each of the two registers."""
    printed, _ = _under_mocks(tool.PROJECT / "__main__.py", values)
    registrations = [bare_program.Registration(*each) for each in printed["registrations"]]
    folder.mkdir()
    (folder / "__main__.py").write_text(bare_program.source(registrations))
    (folder / "Pulumi.yaml").write_text("name: kimi-k3\nruntime: python\n")
    return len(registrations)


def _preview(project: Path, workspace: Path, contents: Contents, stage: Stage) -> Run:
    engine = Engine(project, workspace, _STACK, contents=contents, plugins=stage.plugins)

    def run() -> Took:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with PeakMemory() as peak:
            step = engine.preview()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if not step.ok:
            raise FailedRunError(f"the preview of {project}:\n{step.diagnostics or step.text}")
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return Took(wall=step.seconds, cpu=cpu, program_mib=peak.program_mib, tree_mib=peak.tree_mib)

    return run


def _run_alone(program: Path, values: Mapping[str, Mapping[str, str]]) -> Run:
    def run() -> Took:
        printed, wall = _under_mocks(program, values)
        return Took(wall=wall, cpu=printed["cpu"], program_mib=printed["peak_mib"])

    return run


def _under_mocks(program: Path, values: Mapping[str, Mapping[str, str]]) -> tuple[Printed, float]:
    command = [sys.executable, "-m", "benchmarks.under_mocks", str(program)]
    began = time.monotonic()
    done = subprocess.run(  # noqa: S603 - this interpreter and a module of ours
        command, cwd=tool.PROJECT, input=json.dumps(values), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise FailedRunError(f"{program} under mocks:\n{done.stderr.strip()}")
    return json.loads(done.stdout.splitlines()[-1]), time.monotonic() - began


def _comparisons(title: str, took: Mapping[str, list[Took]]) -> list[figures.Comparison]:
    quantities = {
        "wall (s)": ("wall", 2),
        "CPU (s)": ("cpu", 2),
        "program's peak memory (MiB)": ("program_mib", 1),
        "all processes' peak memory (MiB)": ("tree_mib", 1),
    }
    return [
        figures.Comparison(
            title=f"{title}, {quantity}",
            decimals=decimals,
            bare=[found for each in took[_BARE] if (found := getattr(each, attribute))],
            ours=[found for each in took[_OURS] if (found := getattr(each, attribute))],
        )
        for quantity, (attribute, decimals) in quantities.items()
    ]


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
