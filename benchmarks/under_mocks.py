"""Runs a program once in this process, without engine and providers, and prints what that took as JSON.

`python -m benchmarks.under_mocks PROGRAM < values.json` is started anew for each run, because a module is imported
only once in a process; whoever starts it measures the time.
"""

import json
import resource
import runpy
import sys
from dataclasses import dataclass, field
from typing import Final, TypedDict

import pulumi

# macOS counts bytes, Linux KiB.
_UNITS_A_MIB: Final = 2**20 if sys.platform == "darwin" else 2**10


class Printed(TypedDict):
    """What the last line of output holds."""

    cpu: float
    """Seconds."""
    peak_mib: float
    registrations: list[tuple[str, str, dict[str, object]]]
    """Type, name and inputs of each resource."""


@dataclass
class Recorder(pulumi.runtime.Mocks):
    """Answers each registration with its inputs, and keeps them."""

    registrations: list[tuple[str, str, dict[str, object]]] = field(default_factory=list)

    def new_resource(self, args: pulumi.runtime.MockResourceArgs) -> tuple[str, dict[str, object]]:
        """Take one registration."""
        self.registrations.append((args.typ, args.name, args.inputs))
        return f"{args.name}-id", args.inputs

    def call(self, args: pulumi.runtime.MockCallArgs) -> tuple[dict[str, object], None]:
        """Answer a look-up with its arguments."""
        return args.args, None


def main(program: str) -> None:
    """Run the program; the last line of output is a `Printed` as JSON.

    Args:
        program: Path of a `__main__.py`.
    """
    recorder = Recorder()
    config: dict[str, dict[str, str]] = json.load(sys.stdin)
    pulumi.runtime.set_mocks(recorder, project="kimi-k3", stack="existing", preview=False)
    pulumi.runtime.set_all_config({**config["plain"], **config["secret"]}, list(config["secret"]))

    @pulumi.runtime.test
    def run() -> None:
        runpy.run_path(program, run_name="__main__")

    run()
    used = resource.getrusage(resource.RUSAGE_SELF)
    printed: Printed = {
        "cpu": used.ru_utime + used.ru_stime,
        "peak_mib": used.ru_maxrss / _UNITS_A_MIB,
        "registrations": recorder.registrations,
    }
    sys.stdout.write(json.dumps(printed) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
