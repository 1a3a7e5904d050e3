"""The steps of a rehearsal, in their order, and what each of them must show."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from rehearsal.bill import bill
from rehearsal.depths import Stage
from rehearsal.engine import Engine, Step
from rehearsal.progress import Progress
from rehearsal.remains import Remains, announced_by, announcements
from rehearsal.report import Report
from rehearsal.stack_file import Contents
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
            commands=self._stage.commands,
            on_line=Progress(self._report.line),
        )
        self._report.heading("Preview")
        preview = engine.preview()
        if not self._went_well(preview):
            return False
        self._report.heading("Plan and cost")
        self._report.lines(preview.diagnostics)
        try:
            deployed = self._deploy(engine)
        finally:
            self._report.heading("Destroy")
            destroyed = self._destroy(engine)
        left_nothing = self._show_left(announced_by(announcements(preview.diagnostics)))
        in_order = self._show_bill()
        self._show_limits()
        return deployed and destroyed and left_nothing and in_order

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

    def _destroy(self, engine: Engine) -> bool:
        protected = engine.protected()
        if protected:
            self._report.line(f"`pulumi destroy` refuses while these are protected: {', '.join(protected)};")
            self._report.line("shown is `pulumi destroy --exclude-protected`, which spares them")
        return self._went_well(engine.destroy(spare_protected=bool(protected)))

    def _went_well(self, step: Step) -> bool:
        if not step.ok:
            self._report.line(f"FAILED: pulumi {step.command} ended with exit code {step.exit_code}:")
            self._report.lines(step.diagnostics or step.text)
        return step.ok

    def _show_left(self, announced: Callable[[Remains], str]) -> bool:
        """Show what is left; True if all of it may be."""
        self._report.heading("What is left")
        left = [(each, each.left_because or announced(each)) for each in self._stage.existing()]
        for each, reason in left:
            where = f"{each.kind} {each.namespace}/{each.name}" if each.namespace else f"{each.kind} {each.name}"
            self._report.line(f"{where}: {reason or 'NOBODY MEANT TO LEAVE IT'}")
        if not left:
            self._report.line("nothing")
        return all(reason for _, reason in left)

    def _show_bill(self) -> bool:
        """Show the money; False if a GPU billed while the weights were still being copied."""
        self._report.heading("What it would have cost, by the account's own clock")
        found = bill(self._stage.ledger())
        self._report.bill(found)
        return found.waited is not False

    def _show_limits(self) -> None:
        self._report.heading("What a rehearsal can't show")
        for line in (*_NOT_SHOWN, *self._stage.notes):
            self._report.line(f"- {line}")
