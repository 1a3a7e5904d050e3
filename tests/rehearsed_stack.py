"""A committed stack file with changes, on a rehearsal's stage: what the tests of all clouds drive."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rehearsal import stack_file
from rehearsal.depths import Stage
from rehearsal.engine import Engine
from rehearsal.fakes.account import Ledger
from tests.stacks import PROJECT, values


@dataclass
class RehearsedStack:
    """One stack of the program, and the account that it deploys to."""

    engine: Engine
    stage: Stage
    lines: list[str] = field(default_factory=list)
    """What the engine has printed."""

    @property
    def ledger(self) -> Ledger:
        """The account at this moment."""
        return self.stage.ledger()

    def journal(self, verb: str) -> list[str]:
        """What happened, oldest first, by the names of the program."""
        return [event.name for event in self.ledger.events if event.verb == verb]

    def dependencies(self) -> Mapping[str, frozenset[str]]:
        """By the resource's name, the names of all resources that exist before it, however far away."""
        deployment = stack_file.as_contents(self.engine.export_state()["deployment"])
        resources = deployment["resources"]
        assert isinstance(resources, list)
        found: dict[str, frozenset[str]] = {}
        # The state lists each resource after those that it needs.
        for each in map(stack_file.as_contents, resources):
            needed = each.get("dependencies")
            urns = [*(needed if isinstance(needed, list) else []), each.get("parent"), each.get("provider")]
            names = {_name(str(urn)) for urn in urns if urn}
            found[_name(str(each["urn"]))] = frozenset(names).union(*(found.get(name, frozenset()) for name in names))
        return found


def config_of(stack: str, **changes: object) -> stack_file.Contents:
    """The configuration of a committed stack file, with changes."""
    given = {f"kimi-k3:{key}": value for key, value in values(stack, **changes).items()}
    return {**given, "pulumi:disable-default-providers": ["*"]}


def rehearsed(stack: str, config: stack_file.Contents, stage: Stage, workspace: Path) -> RehearsedStack:
    """Return a stack on a stage, not yet deployed."""
    lines: list[str] = []
    contents: stack_file.Contents = {"config": stack_file.merged(config, stage.overrides)}
    engine = Engine(
        PROJECT,
        workspace,
        stack,
        contents=contents,
        plugins=stage.plugins,
        commands=stage.commands,
        on_line=lines.append,
        timeout=300,
    )
    return RehearsedStack(engine, stage, lines)


def _name(urn: str) -> str:
    """The name at the end of a URN, or of a provider's reference, which is `urn::id`."""
    parts = urn.split("::")
    return parts[3]
