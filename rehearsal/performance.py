"""The steps of a rehearsal, in their order, and what each of them must show."""

from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from rehearsal.depths import Existing, Stage
from rehearsal.engine import Engine, Step
from rehearsal.progress import Progress
from rehearsal.report import Report
from rehearsal.stack_file import Contents, as_contents
from rehearsal.workspace import Workspace

_PLAN_OUTPUTS: Final = ("plan", "cost")
_NOT_SHOWN: Final = (
    "whether drivers, NCCL and the network between the nodes work",
    "whether vLLM starts, how fast it answers, and what the model says",
    "whether the account has the quota, the rights and the reservation",
)


class Performance:
    """One stack from its preview to what is left of it.

    Args:
        project: Folder of the program.
        stack: Name of the stack.
        workspace: Where the rehearsal lives.
        stage: What the depth has set up.
        report: Where the steps are shown.
    """

    def __init__(self, project: Path, stack: str, workspace: Workspace, stage: Stage, report: Report) -> None:
        self._project = project
        self._stack = stack
        self._workspace = workspace
        self._stage = stage
        self._report = report

    def run(self, contents: Contents) -> bool:
        """Go through all steps; whatever fails, what was made is destroyed again.

        Args:
            contents: The stack file with the stage's overrides.

        Returns:
            Whether every step went well and nothing was left.

        Raises:
            EngineError: There was no stack to rehearse with.
        """
        engine = Engine(
            self._project,
            self._workspace.root,
            self._stack,
            contents=contents,
            plugins=self._stage.plugins,
            on_line=Progress(self._report.line),
        )
        self._report.heading("Preview")
        preview = engine.preview()
        if not self._went_well(preview):
            return False
        self._report.heading("Plan and cost")
        self._report.lines(preview.diagnostics)
        outputs: Contents = {}
        try:
            deployed = self._deploy(engine)
            outputs = engine.outputs()
        finally:
            self._report.heading("Destroy")
            destroyed = self._went_well(engine.destroy())
        left_nothing = self._show_left(kept_by_plan(outputs))
        self._show_limits()
        return deployed and destroyed and left_nothing

    def _deploy(self, engine: Engine) -> bool:
        self._report.heading("Up")
        if not self._went_well(engine.up()):
            return False
        outputs = engine.outputs()
        self._report.heading("What exists")
        self._report.existing(self._stage.existing())
        self._report.heading("Outputs (plan and cost: see above)")
        self._report.values({name: value for name, value in outputs.items() if name not in _PLAN_OUTPUTS})
        self._report.heading("A second up changes nothing")
        return self._went_well(engine.up(expect_no_changes=True))

    def _went_well(self, step: Step) -> bool:
        if not step.ok:
            self._report.line(f"FAILED: pulumi {step.command} ended with exit code {step.exit_code}:")
            self._report.lines(step.diagnostics or step.text)
        return step.ok

    def _show_left(self, kept: Callable[[Existing], bool]) -> bool:
        """Show what is left; True if all of it may be."""
        self._report.heading("What is left")
        left = self._stage.existing()
        for thing in left:
            where = f"{thing.kind} {thing.namespace}/{thing.name}" if thing.namespace else f"{thing.kind} {thing.name}"
            reason = thing.left_because or ("the plan keeps it" if kept(thing) else "NOBODY MEANT TO LEAVE IT")
            self._report.line(f"{where}: {reason}")
        if not left:
            self._report.line("nothing")
        return all(thing.left_because or kept(thing) for thing in left)

    def _show_limits(self) -> None:
        self._report.heading("What a rehearsal can't show")
        for line in (*_NOT_SHOWN, *self._stage.notes):
            self._report.line(f"- {line}")


def kept_by_plan(outputs: Contents) -> Callable[[Existing], bool]:
    """Whether the plan says that something is kept.

    Args:
        outputs: The stack's outputs; `plan.keeps` lists shell patterns for `kind/namespace/name` (the namespace is
            empty for what lives outside namespaces).
    """
    keeps = as_contents(outputs.get("plan")).get("keeps")
    patterns = [str(pattern) for pattern in keeps] if isinstance(keeps, list) else []

    def kept(thing: Existing) -> bool:
        identity = f"{thing.kind}/{thing.namespace}/{thing.name}"
        return any(fnmatchcase(identity, pattern) for pattern in patterns)

    return kept
