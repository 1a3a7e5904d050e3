"""The real Pulumi engine, in isolation: no account, no cluster and no credential of the caller is in its reach.

What keeps it apart:
- the environment is made of a short list, nothing is inherited beside it;
- only the workspace's own folder holds provider plugins, and none is downloaded;
- state, home and stack file lie in the workspace; the project's folder is only read;
- what asks for a proxy gets one that answers to nobody.
"""

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

import yaml

from rehearsal import stack_file
from rehearsal.stack_file import Contents
from rehearsal.workspace import Plugin, Workspace
from toolchain import language_host, pulumi_cli

_HARMLESS: Final = ("LANG", "LC_ALL", "LC_CTYPE", "TERM", "TZ")
_SYSTEM_PATH: Final = ("/usr/local/bin", "/usr/bin", "/bin")
_PLUGINS: Final = "pulumi-resource-*"
# Port 9 is `discard`; nothing listens there, so whoever asks is refused at once.
_NOWHERE: Final = "http://127.0.0.1:9"
_LOCAL: Final = "127.0.0.1,localhost"


class EngineError(Exception):
    """The engine could not be set up or asked; the message is its own text."""


@dataclass(frozen=True)
class Step:
    """One command of the engine: what it printed, how it ended, how many seconds it took."""

    command: str
    exit_code: int
    text: str
    seconds: float

    @property
    def ok(self) -> bool:
        """Whether the command succeeded."""
        return self.exit_code == 0

    @property
    def diagnostics(self) -> str:
        """What the program and the engine had to say: errors, warnings, information."""
        _, _, after = self.text.partition("\nDiagnostics:\n")
        lines = after.splitlines()
        end = next((n for n, line in enumerate(lines) if line and not line.startswith(" ")), len(lines))
        return "\n".join(lines[:end]).rstrip()


class Engine:
    """One stack of a project, driven through the CLI.

    Args:
        project: Folder of the program; only read.
        workspace: Folder of the rehearsal; everything is written there.
        stack: Name of the stack, the same as the real one so that names come out the same.
        contents: The stack file to use; by default a copy of the project's own.
        plugins: The provider plugins that there are, by package.
        commands: Scripts on the engine's PATH, by name.
        on_line: Called with each line of output as it comes.
        timeout: Seconds that one command may take before it is stopped.

    Raises:
        EngineError: The stack could not be made.
        NoSuchStackError: The project has no such stack file, and no contents were given.
        toolchain.tool.ToolMissingError: There is no Pulumi CLI, and none could be got.
    """

    def __init__(
        self,
        project: Path,
        workspace: Path,
        stack: str,
        *,
        contents: Contents | None = None,
        plugins: Mapping[str, Plugin],
        commands: Mapping[str, str] = MappingProxyType({}),
        on_line: Callable[[str], None] = lambda _: None,
        timeout: float = 1800,
    ) -> None:
        self.workspace = Workspace(workspace)
        self.workspace.create()
        self._project = project.resolve()
        self._stack = stack
        self._on_line = on_line
        self._timeout = timeout
        self._cli = pulumi_cli.ensure()
        self.workspace.link(language_host.ensure())
        for package, plugin in plugins.items():
            self.workspace.write_plugin(package, plugin)
        for name, script in commands.items():
            self.workspace.write_command(name, script)
        self._environment = environment(self.workspace)
        # The CLI warns of every plugin that it finds on PATH; here all of them are meant to be there.
        self._says_ambient = f" from $PATH at {self.workspace.plugins}"
        self._create_stack(stack_file.read(project, stack) if contents is None else contents)

    def reconfigure(self, contents: Contents) -> None:
        """Take another stack file, without encrypted values, for the steps that follow."""
        written = stack_file.as_contents(yaml.safe_load(self._stack_file.read_text()))
        salt = {key: value for key, value in written.items() if key == "encryptionsalt"}
        self._stack_file.write_text(yaml.safe_dump(contents | salt))

    def preview(self, *, expect_no_changes: bool = False) -> Step:
        """Plan, and change nothing."""
        return self._run(self._project, ["preview", *_expecting(no_changes=expect_no_changes)])

    def up(self, *, expect_no_changes: bool = False) -> Step:
        """Create, change and delete until the account is as the program says."""
        return self._run(self._project, ["up", "--yes", "--skip-preview", *_expecting(no_changes=expect_no_changes)])

    def refresh(self, *, expect_no_changes: bool = False) -> Step:
        """Read what exists into the state."""
        return self._run(
            self._project, ["refresh", "--yes", "--skip-preview", *_expecting(no_changes=expect_no_changes)]
        )

    def destroy(self, *, spare_protected: bool = False) -> Step:
        """Delete everything; the program doesn't run.

        Args:
            spare_protected: Leave protected resources instead of refusing because of them.
        """
        flags = ["--exclude-protected"] if spare_protected else []
        return self._run(self._project, ["destroy", "--yes", "--skip-preview", *flags])

    def outputs(self, *, show_secrets: bool = False) -> Contents:
        """What the stack exports; secrets read `[secret]` unless they are asked for.

        Raises:
            EngineError: The CLI refused.
        """
        flags = ["--show-secrets"] if show_secrets else []
        return stack_file.as_contents(json.loads(self._ask(["stack", "output", "--json", *flags])))

    def export_state(self) -> Contents:
        """The stack's state as the engine writes it; secrets stay encrypted.

        Raises:
            EngineError: The CLI refused.
        """
        return stack_file.as_contents(json.loads(self._ask(["stack", "export"])))

    def protected(self) -> list[str]:
        """The names of the resources that `destroy` refuses to delete."""
        deployment = stack_file.as_contents(self.export_state().get("deployment"))
        resources = deployment.get("resources")
        found = map(stack_file.as_contents, resources if isinstance(resources, list) else [])
        return [str(each.get("urn")).rsplit("::", 1)[-1] for each in found if each.get("protect")]

    @property
    def _stack_file(self) -> Path:
        return self.workspace.project / f"Pulumi.{self._stack}.yaml"

    def _create_stack(self, contents: Contents) -> None:
        shutil.copy(self._project / "Pulumi.yaml", self.workspace.project)
        # In the workspace, since `stack init` writes the salt of the passphrase beside Pulumi.yaml.
        self._stack_file.write_text(yaml.safe_dump(stack_file.without_encryption(contents)))
        self._ask(["stack", "init", self._stack])
        if paths := list(stack_file.encrypted_paths(stack_file.as_contents(contents.get("config")))):
            pairs = [arg for path in paths for arg in ("--secret", f"{path}={stack_file.PLACEHOLDER}")]
            self._ask(["config", "set-all", "--stack", self._stack, "--path", *pairs])

    def _ask(self, arguments: list[str]) -> str:
        stack = [] if arguments[:1] == ["config"] or "init" in arguments else ["--stack", self._stack]
        command = [str(self._cli), "-C", str(self.workspace.project), *arguments, *stack, "--non-interactive"]
        result = subprocess.run(  # noqa: S603 — the CLI that the toolchain found
            command, env=self._environment, capture_output=True, text=True, timeout=self._timeout, check=False
        )
        if result.returncode != 0:
            raise EngineError(f"pulumi {' '.join(arguments[:2])}: {result.stderr.strip()}")
        return result.stdout

    def _run(self, folder: Path, arguments: list[str]) -> Step:
        flags = ["--stack", self._stack, "--config-file", str(self._stack_file)]
        quiet = ["--non-interactive", "--color", "never", "--suppress-progress", "--suppress-outputs"]
        command = [str(self._cli), "-C", str(folder), *arguments, *flags, *quiet]
        started = time.monotonic()
        lines: list[str] = []
        with subprocess.Popen(  # noqa: S603 — the CLI that the toolchain found
            command, env=self._environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            watchdog = threading.Timer(self._timeout, process.kill)
            watchdog.start()
            for line in process.stdout or ():
                if self._says_ambient in line:
                    continue
                lines.append(line)
                self._on_line(line.rstrip("\n"))
            watchdog.cancel()
        return Step(arguments[0], process.returncode, "".join(lines), time.monotonic() - started)


def environment(workspace: Workspace, caller: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The whole environment of the engine, the program and the plugins.

    Args:
        workspace: Where everything lies.
        caller: The environment of whoever started the rehearsal; only harmless variables are taken from it.

    Raises:
        EngineError: A system folder holds a provider plugin that the engine would take for one of ours.
    """
    python = str(Path(sys.executable).parent)
    path = [str(workspace.plugins), *dict.fromkeys([python, *_SYSTEM_PATH])]
    foreign = [str(plugin) for folder in path[1:] for plugin in Path(folder).glob(_PLUGINS)]
    if foreign:
        raise EngineError(f"a real provider plugin would be found from a rehearsal: {', '.join(foreign)}")
    kept = {name: caller[name] for name in _HARMLESS if name in caller}
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), _NOWHERE)
    return (
        kept
        | proxies
        | {
            "NO_PROXY": _LOCAL,
            "no_proxy": _LOCAL,
            "PATH": os.pathsep.join(path),
            "HOME": str(workspace.home),
            "TMPDIR": str(workspace.temporary),
            "PULUMI_HOME": str(workspace.pulumi_home),
            "PULUMI_BACKEND_URL": workspace.state.as_uri(),
            "PULUMI_CONFIG_PASSPHRASE": "rehearsal",
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
            # The program's folder is only read: no __pycache__ of a rehearsal appears in it.
            "PYTHONDONTWRITEBYTECODE": "1",
        }
    )


def _expecting(*, no_changes: bool) -> list[str]:
    return ["--expect-no-changes"] if no_changes else []
