"""What a stack hands out: where its model answers, the key, and what its plan lets one expect."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from checks.expectation import Expectation, expectation
from toolchain import search_path, tool

_PENDING: Final = "address-pending"
_MODEL: Final = "Kimi-K3"


class NothingServedError(Exception):
    """There is no endpoint to ask, and why."""


@dataclass(frozen=True, kw_only=True)
class StackOutputs:
    """The outputs that a client needs."""

    endpoint: str
    """With /v1."""
    key: str | None = field(default=None, repr=False)
    model: str = _MODEL
    expectation: Expectation = field(default_factory=Expectation)


def outputs(said: Mapping[str, Any]) -> StackOutputs:
    """Return the outputs of a stack.

    Raises:
        NothingServedError: It serves nothing, or its load balancer has no address yet.
    """
    endpoint = said.get("endpoint")
    if not endpoint:
        raise NothingServedError(str(said.get("status") or "the stack has no output `endpoint`: run `pulumi up` first"))
    if _PENDING in endpoint:
        raise NothingServedError(
            "the load balancer had no address when `up` ended: `pulumi up` again, or look at the Service's events"
        )
    return StackOutputs(
        endpoint=endpoint,
        key=said.get("apiKey"),
        model=said.get("model") or _MODEL,
        expectation=expectation(said.get("expects") or {}),
    )


def read(stack: str) -> StackOutputs:
    """Ask the Pulumi CLI for the outputs of a stack.

    Raises:
        NothingServedError: There is no such stack, or it serves nothing.
        ToolMissingError: There is no CLI.
    """
    environment = {**os.environ, **search_path.environment()}
    cli = shutil.which("pulumi", path=environment["PATH"]) or "pulumi"
    command = [cli, "-C", str(tool.PROJECT), "stack", "output", "--json", "--show-secrets", "--stack", stack]
    done = subprocess.run(  # noqa: S603 - the CLI that the toolchain found
        [*command, "--non-interactive"], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise NothingServedError(f"the outputs of the stack {stack!r} can't be read: {done.stderr.strip()}")
    return outputs(json.loads(done.stdout))
