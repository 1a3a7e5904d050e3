"""How deep a rehearsal goes: what plays the cloud, what the stack file must say for it, what exists afterwards."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

import yaml

from rehearsal.fakes.account import ACCOUNT_VARIABLE, Account
from rehearsal.stack_file import Contents, as_contents
from rehearsal.workspace import Plugin, Workspace
from toolchain import control_plane_binaries, tool

_ROOT: Final = Path(__file__).resolve().parent
_CHARTS: Final = _ROOT / "charts"
# Nothing listens on port 1: a program that asks the cluster past the stand-in is refused at once.
_NO_SERVER: Final = "https://127.0.0.1:1"
_CONTENTS_KEY: Final = "kimi-k3:kubeconfig"
_DEFINITIONS: Final = _ROOT / "definitions"
_COMPUTE_DOMAINS: Final = "computedomains.resource.nvidia.com"
"""A cluster with NVLink between its nodes has NVIDIA's DRA driver."""
_DEFINITIONS_OF_LWS: Final = [
    "disaggregatedsets.disaggregatedset.x-k8s.io",
    "leaderworkersets.leaderworkerset.x-k8s.io",
]


@dataclass(frozen=True, order=True)
class Existing:
    """Something that exists in the rehearsed cloud or cluster."""

    kind: str
    namespace: str
    """Empty for what lives outside namespaces."""
    name: str
    left_because: str = ""
    """Why the real tool leaves it behind on destroy; empty for what should go."""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """What a depth has set up for the engine."""

    plugins: Mapping[str, Plugin]
    """The provider plugins, by package."""
    overrides: Mapping[str, object]
    """What is laid over the `config` of the stack file, by full key (`kimi-k3:cluster`)."""
    existing: Callable[[], list[Existing]]
    """Lists what exists at this moment, without what a cluster has from the start."""
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
        """Set up the account, the stand-in providers and a kubeconfig that leads nowhere."""
        account = Account(workspace.account)
        definitions, notes = _definitions_of_lws()
        cluster = as_contents(config.get("kimi-k3:cluster"))
        served = [_COMPUTE_DOMAINS, *(_DEFINITIONS_OF_LWS if cluster.get("leaderWorkerSet") == "present" else [])]
        account.configure(definitions=[*definitions, str(_DEFINITIONS)], served=served)
        kubeconfig = workspace.root / "kubeconfig"
        kubeconfig.write_text(yaml.safe_dump(unreachable_kubeconfig(str(cluster.get("context") or "rehearsal"))))
        yield Stage(
            plugins={"kubernetes": stand_in("kubernetes", account)},
            overrides=existing_cluster_overrides(kubeconfig, config),
            existing=lambda: listed(account),
            notes=notes,
        )


def stand_in(package: str, account: Account) -> Plugin:
    """The plugin that plays a package's provider against an account."""
    environment = {"PYTHONPATH": str(_ROOT.parent), ACCOUNT_VARIABLE: str(account.path)}
    return Plugin([sys.executable, "-m", f"rehearsal.fakes.{package}"], environment)


def existing_cluster_overrides(kubeconfig: Path, config: Contents) -> Contents:
    """What the stack file of `cloud: existing` must say in a rehearsal: our cluster, our charts."""
    overrides: Contents = {
        "kimi-k3:cluster": {"kubeconfig": str(kubeconfig)},
        "kimi-k3:mirror": {"charts": str(_CHARTS)},
    }
    # Contents in the stack file would win over the path; what is empty counts as not set.
    return overrides | ({_CONTENTS_KEY: ""} if _CONTENTS_KEY in config else {})


def unreachable_kubeconfig(context: str) -> Contents:
    """A kubeconfig with the context that the stack file names, for a cluster that doesn't exist."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "rehearsal", "cluster": {"server": _NO_SERVER}}],
        "users": [{"name": "rehearsal", "user": {}}],
        "contexts": [{"name": context, "context": {"cluster": "rehearsal", "user": "rehearsal"}}],
        "current-context": context,
    }


def listed(account: Account) -> list[Existing]:
    """What exists in the account, sorted."""
    return sorted(
        Existing(thing.type.rsplit(":", 1)[-1], *_place(thing.id), thing.left_because)
        for thing in account.ledger().things
    )


def _place(identity: str) -> tuple[str, str]:
    namespace, _, name = identity.rpartition("/")
    return namespace, name


def _definitions_of_lws() -> tuple[list[str], list[str]]:
    try:
        return [str(control_plane_binaries.lws_crds())], []
    except tool.ToolMissingError as error:
        reason = str(error).splitlines()[0]
        return [], [f"fields of the LeaderWorkerSet were not checked, only its pods: {reason}"]
