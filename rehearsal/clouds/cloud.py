"""The contract between the depths of a rehearsal and its clouds: neither knows the other's details."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import yaml

from components.config import SECRET_KEYS
from components.faults import Faulty
from components.plan.planner import Plan
from components.stack_file import Settings, load
from rehearsal.control_plane.api import Json
from rehearsal.fakes.account import Account
from rehearsal.remains import Remains
from rehearsal.stack_file import Contents
from rehearsal.workspace import Workspace

PREFIX: Final = "kimi-k3:"


@dataclass(frozen=True, kw_only=True)
class ApiServer:
    """The API server of the rehearsed cluster; by default one that doesn't exist."""

    # Nothing listens on port 1: a program that asks the cluster past the stand-in is refused at once.
    url: str = "https://127.0.0.1:1"
    authority: str = ""
    """The certificate (PEM) that signed its own."""
    token: str = "rehearsal"  # noqa: S105 - opens nothing but the local control plane, if there is one

    @property
    def authority_data(self) -> str:
        """The certificate as kubeconfigs have it."""
        return base64.b64encode(self.authority.encode()).decode()

    def kubeconfig(self, context: str) -> str:
        """A kubeconfig with one context."""
        cluster: Contents = {"server": self.url}
        if self.authority:
            cluster["certificate-authority-data"] = self.authority_data
        return yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "rehearsal", "cluster": cluster}],
                "users": [{"name": "rehearsal", "user": {"token": self.token}}],
                "contexts": [{"name": context, "context": {"cluster": "rehearsal", "user": "rehearsal"}}],
                "current-context": context,
            }
        )


@dataclass(frozen=True)
class Scene:
    """Where one rehearsal takes place."""

    config: Contents
    """The `config` part of the person's stack file."""
    workspace: Workspace
    account: Account
    server: ApiServer


class Cloud(Protocol):
    """What a rehearsal needs to know of one cloud."""

    packages: Sequence[str]
    """Provider packages that stand-ins play in both depths, each the module of that name in `rehearsal/fakes`.

    A hyphen is an underscore there.
    """
    cluster_module: str
    """The module in `rehearsal/fakes` that plays the Kubernetes provider of this cloud's cluster in the light depth."""

    def furnish(self, scene: Scene) -> None:
        """Put into the account what the person has before the program comes."""
        ...

    def overrides(self, scene: Scene) -> Contents:
        """What is laid over the stack file's `config`, by full key, so that the program finds the rehearsed cluster."""
        ...

    def commands(self, scene: Scene) -> Mapping[str, str]:
        """Shell scripts for the engine's PATH, by name: commands that the program or a kubeconfig runs."""
        ...

    def served(self, config: Contents) -> Sequence[str]:
        """Names of the custom definitions that the cluster has before the program comes."""
        ...

    def nodes(self, config: Contents) -> Sequence[Json]:
        """The nodes that a real control plane has before the program comes."""
        ...

    def has_cluster(self, account: Account) -> bool:
        """Whether there is a cluster now, so that what is in it exists."""
        ...

    def remains(self, account: Account) -> list[Remains]:
        """What exists in the account now, without what is a mere part of something else."""
        ...


def plain_values(config: Contents) -> Contents:
    """Return the keys of the stack file below the project's namespace, without the secret ones."""
    keys = {key.removeprefix(PREFIX): value for key, value in config.items() if key.startswith(PREFIX)}
    return {key: value for key, value in keys.items() if key not in SECRET_KEYS}


def loaded(config: Contents) -> tuple[Settings, Plan] | None:
    """Return settings and plan; None for a file with faults, which the preview is about to list."""
    try:
        return load(plain_values(config))
    except Faulty:
        return None
