"""A tiny program of its own for each test, run by the real engine against the stand-in for Kubernetes."""

import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from rehearsal.clouds.cloud import ApiServer
from rehearsal.depths import stand_in
from rehearsal.engine import Engine
from rehearsal.fakes.account import Account
from rehearsal.stack_file import Contents

_HEAD = """
import os
import pulumi
import pulumi_kubernetes as k8s
from pulumi import ResourceOptions as Opts

config = pulumi.Config()
cluster = k8s.Provider("cluster", kubeconfig={kubeconfig!r}, context="gpu", cluster_identifier="gpu")
there = Opts(provider=cluster)
"""


@dataclass
class Rehearsed:
    """A program, its stack and the account that it deploys to."""

    project: Path
    engine: Engine
    account: Account
    kubeconfig: Path
    lines: list[str] = field(default_factory=list)

    def program(self, body: str) -> None:
        """Replace the program; `there` are the options of a resource in the cluster."""
        head = _HEAD.format(kubeconfig=str(self.kubeconfig))
        (self.project / "__main__.py").write_text(head + textwrap.dedent(body))

    def journal(self, *verbs: str) -> list[str]:
        """What happened, oldest first: `create ns`, `delete ns`."""
        events = self.account.ledger().events
        return [f"{event.verb} {event.name}" for event in events if not verbs or event.verb in verbs]

    def existing(self) -> list[str]:
        """The logical names of what exists."""
        return sorted(thing.name for thing in self.account.ledger().things)


Rehearse = Callable[..., Rehearsed]
"""Sets a stack up: the program's body, and the `config` of its stack file."""


@pytest.fixture(scope="session")
def rehearse(tmp_path_factory: pytest.TempPathFactory) -> Rehearse:
    """Set up stacks, each in folders of its own."""

    def set_up(body: str, config: Contents | None = None) -> Rehearsed:
        folder = tmp_path_factory.mktemp("stack")
        project, workspace = folder / "program", folder / "workspace"
        project.mkdir()
        (project / "Pulumi.yaml").write_text("name: tiny\nruntime: python\n")
        (project / "Pulumi.dev.yaml").write_text(yaml.safe_dump({"config": config or {}}))
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_text(ApiServer().kubeconfig("gpu"))
        account = Account(folder / "account" / "account.json")
        lines: list[str] = []
        plugins = {"kubernetes": stand_in("kubernetes", account)}
        engine = Engine(project, workspace, "dev", plugins=plugins, on_line=lines.append, timeout=120)
        rehearsed = Rehearsed(project, engine, account, kubeconfig, lines)
        rehearsed.program(body)
        return rehearsed

    return set_up
