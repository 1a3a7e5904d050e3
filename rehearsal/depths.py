"""How deep a rehearsal goes: what plays the cloud, what the stack file must say for it, what exists afterwards."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from rehearsal.clouds import cloud_of
from rehearsal.clouds.cloud import ApiServer, Scene
from rehearsal.fakes.account import ACCOUNT_VARIABLE, Account, Ledger
from rehearsal.fakes.clock import Clock, current_stamp
from rehearsal.fakes.control_plane import KUBECONFIG_VARIABLE
from rehearsal.remains import Remains
from rehearsal.stack_file import Contents, merged
from rehearsal.workspace import Plugin, Workspace
from toolchain import control_plane_binaries, tool

_ROOT: Final = Path(__file__).resolve().parent
_CHARTS: Final = _ROOT / "charts"
_DEFINITIONS: Final = _ROOT / "definitions"


@dataclass(frozen=True, kw_only=True)
class Stage:
    """What a depth has set up for the engine."""

    plugins: Mapping[str, Plugin]
    """The provider plugins, by package."""
    overrides: Mapping[str, object]
    """What is laid over the `config` of the stack file, by full key (`kimi-k3:cluster`)."""
    existing: Callable[[], list[Remains]]
    """Lists what exists at this moment, without what a cluster has from the start."""
    ledger: Callable[[], Ledger] = Ledger
    """The rehearsed account at this moment: its journal and its meter."""
    commands: Mapping[str, str] = field(default_factory=dict)
    """Scripts on the engine's PATH, by name."""
    notes: list[str] = field(default_factory=list)
    """What this run can't show because something was missing on this machine."""


class Depth(Protocol):
    """Sets a stage in a workspace for a stack file, and clears it when the context ends."""

    name: str
    """As `--depth` takes it."""
    touches: str
    """What was not touched, for the headings: `no cloud was touched`."""

    def stage(self, config: Contents, workspace: Workspace) -> AbstractContextManager[Stage]:
        """Set the stage; `config` is the `config` part of the user's stack file."""
        ...


class Light:
    """The engine and the stand-ins: a minute on a fresh machine, no pod runs."""

    name = "light"
    touches = "no cloud and no cluster was touched"

    @contextmanager
    def stage(self, config: Contents, workspace: Workspace) -> Iterator[Stage]:
        """Set up the account, the stand-in providers and a cluster that leads nowhere."""
        cloud, scene = cloud_of(config), opened(config, workspace, ApiServer())
        definitions, notes = _definitions_of_lws()
        scene.account.configure(definitions=[*definitions, str(_DEFINITIONS)], served=[*cloud.served(config)])
        cloud.furnish(scene)
        modules = {"kubernetes": cloud.cluster_module} | {package: package for package in cloud.packages}
        yield Stage(
            plugins={package: stand_in(module, scene.account) for package, module in modules.items()},
            overrides=overrides(scene),
            existing=lambda: cloud.remains(scene.account),
            ledger=scene.account.ledger,
            commands=cloud.commands(scene),
            notes=notes,
        )


def opened(config: Contents, workspace: Workspace, server: ApiServer) -> Scene:
    """Return the scene of a rehearsal, with an account that was opened at this moment."""
    account = Account(workspace.account)
    with account.open() as ledger:
        ledger.clock = Clock(opened=current_stamp())
        ledger.settings |= {"server": server.url, "authority": server.authority_data, "token": server.token}
    return Scene(config, workspace, account, server)


def overrides(scene: Scene) -> Contents:
    """What the stack file must say in a rehearsal: our charts, and what its cloud needs."""
    return merged({"kimi-k3:mirror": {"charts": str(_CHARTS)}}, cloud_of(scene.config).overrides(scene))


def stand_in(module: str, account: Account, kubeconfig: Path | None = None) -> Plugin:
    """The plugin that plays a provider against an account.

    Args:
        module: Below `rehearsal.fakes`: `kubernetes`, `aws`, `aws.kubernetes`, `azure-native` for `azure_native`.
        account: What exists.
        kubeconfig: An administrator's, for the control plane that the account's cluster is played by.
    """
    environment = {"PYTHONPATH": str(_ROOT.parent), ACCOUNT_VARIABLE: str(account.path)}
    plane = {KUBECONFIG_VARIABLE: str(kubeconfig)} if kubeconfig else {}
    return Plugin([sys.executable, "-m", f"rehearsal.fakes.{module.replace('-', '_')}"], environment | plane)


def _definitions_of_lws() -> tuple[list[str], list[str]]:
    try:
        return [str(control_plane_binaries.lws_crds())], []
    except tool.ToolMissingError as error:
        reason = str(error).splitlines()[0]
        return [], [f"fields of the LeaderWorkerSet were not checked, only its pods: {reason}"]
