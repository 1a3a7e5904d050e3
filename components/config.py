"""The only reader of `pulumi.Config`: plain keys become checked settings and a plan, secret ones stay secret."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Final

import pulumi
from pulumi.runtime import config as runtime

from components import stack_file
from components.faults import Fault, Faulty
from components.plan.planner import Plan

PROJECT: Final = "kimi-k3"


@dataclass(frozen=True, kw_only=True)
class Secrets:
    """What a stack keeps encrypted: `pulumi config set --secret kimi-k3:<key>`. None where it isn't set."""

    api_key: pulumi.Output[str] | None = None
    """The API's key; generated when there is none."""
    kubeconfig: pulumi.Output[str] | None = None
    """Contents of a kubeconfig, where there is no file of it."""
    bucket_access_key_id: pulumi.Output[str] | None = None
    """Key of the weights' bucket."""
    bucket_secret_access_key: pulumi.Output[str] | None = None
    """Its secret part."""
    hub_token: pulumi.Output[str] | None = None
    """Token of the hub that the weights come from; a higher rate limit, the model itself is public."""


SECRET_KEYS: Final[Mapping[str, str]] = {
    "apiKey": "api_key",
    "kubeconfig": "kubeconfig",
    "bucketAccessKeyId": "bucket_access_key_id",
    "bucketSecretAccessKey": "bucket_secret_access_key",
    "hubToken": "hub_token",
}
"""Config key by field of `Secrets`."""


def read() -> tuple[stack_file.Settings, Secrets, Plan]:
    """Return the stack's settings, secrets and plan.

    Raises:
        pulumi.RunError: With every fault of the configuration, one line each and no traceback.
    """
    found, values = _split(_raw())
    try:
        settings, plan = stack_file.load(values)
    except Faulty as faulty:
        found += faulty.faults
    else:
        if not found:
            return settings, _secrets(), plan
    raise pulumi.RunError(str(Faulty(found)))


def _raw() -> dict[str, str]:
    """Return the raw values below the project's namespace; `pulumi.Config` can get keys but not list them."""
    every = {**runtime.get_config_env(), **runtime.CONFIG.get()}
    prefix = f"{PROJECT}:"
    return {key.removeprefix(prefix): str(value) for key, value in every.items() if key.startswith(prefix)}


def _split(raw: Mapping[str, str]) -> tuple[list[Fault], dict[str, object]]:
    """Return the plain values, and a fault for each secret in a plain key and each plain text in a secret one."""
    found: list[Fault] = []
    values: dict[str, object] = {}
    for key, value in raw.items():
        encrypted = runtime.is_config_secret(f"{PROJECT}:{key}")
        if key in SECRET_KEYS:
            if value and not encrypted:
                found.append(_plain_secret(key))
        elif encrypted:
            found.append(
                Fault(
                    key=key,
                    given="a secret",
                    allowed="this key is no secret; secrets have keys of their own: " + ", ".join(SECRET_KEYS),
                    instead=f"pulumi config set {PROJECT}:{key} ... without --secret",
                )
            )
        else:
            values[key] = decoded(value)
    return found, values


def _plain_secret(key: str) -> Fault:
    return Fault(
        key=key,
        given="plain text",
        allowed="a secret must be encrypted, and what was committed in plain text must be changed",
        instead=f"pulumi config set --secret {PROJECT}:{key}",
    )


def decoded(value: str) -> object:
    """Return a raw value of the engine as the YAML of the stack file meant it: JSON where it is, else the text."""
    try:
        return json.loads(value)
    except ValueError:
        return value


def _secrets() -> Secrets:
    config = pulumi.Config(PROJECT)
    given = {field: config.get_secret(key) for key, field in SECRET_KEYS.items() if config.get(key)}
    return Secrets(**{field.name: given.get(field.name) for field in fields(Secrets)})
