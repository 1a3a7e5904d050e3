"""The folder that one rehearsal lives in: its state, its home, its plugins, its copy of the stack file."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Plugin:
    """A provider plugin of the rehearsal: a command, and what its environment needs beside the engine's."""

    command: Sequence[str | Path]
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Workspace:
    """The folders below `root`; nothing that a rehearsal writes lies elsewhere."""

    root: Path

    @property
    def account(self) -> Path:
        """The file of the rehearsed account."""
        return self.root / "account" / "account.json"

    @property
    def plugins(self) -> Path:
        """The folder that comes first on the engine's PATH."""
        return self.root / "bin"

    @property
    def home(self) -> Path:
        """HOME of the engine and the program."""
        return self.root / "home"

    @property
    def pulumi_home(self) -> Path:
        """PULUMI_HOME."""
        return self.root / "pulumi"

    @property
    def state(self) -> Path:
        """Where the file backend keeps the stack."""
        return self.root / "state"

    @property
    def project(self) -> Path:
        """Copies of Pulumi.yaml and the stack file."""
        return self.root / "project"

    @property
    def temporary(self) -> Path:
        """TMPDIR: the real Kubernetes provider writes kubeconfigs there and leaves them."""
        return self.root / "tmp"

    def create(self) -> None:
        """Make the folders that aren't there."""
        for folder in (
            self.plugins,
            self.home,
            self.temporary,
            self.pulumi_home,
            self.state,
            self.project,
            self.account.parent,
        ):
            folder.mkdir(parents=True, exist_ok=True)

    def write_plugin(self, package: str, plugin: Plugin) -> None:
        """Put the executable into place that the engine starts for a package."""
        exports = [f"export {name}={shlex.quote(value)}" for name, value in plugin.environment.items()]
        command = shlex.join(map(str, plugin.command))
        script = self.plugins / f"pulumi-resource-{package}"
        script.write_text("\n".join(["#!/bin/sh", *exports, f'exec {command} "$@"', ""]))
        script.chmod(0o755)

    def write_command(self, name: str, script: str) -> None:
        """Put a script on the engine's PATH, in front of a command of the same name on this machine."""
        command = self.plugins / name
        command.write_text(script)
        command.chmod(0o755)

    def link(self, executable: Path) -> None:
        """Put an executable on the engine's PATH without the rest of its folder."""
        link = self.plugins / executable.name
        link.unlink(missing_ok=True)
        link.symlink_to(executable)
