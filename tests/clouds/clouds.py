"""The clouds that the shared suite runs over: one line each, with what the cloud answers under mocks."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from tests.alicloud.answers import AlicloudAnswers
from tests.aws.answers import AwsAnswers
from tests.azure.answers import AzureAnswers
from tests.conftest import CloudAnswers, Mocks, run_program
from tests.gcp.answers import GcpAnswers
from tests.stacks import PROJECT, values

ANSWERS: Final[Mapping[str, Callable[[], CloudAnswers]]] = {
    "aws": AwsAnswers,
    "azure": AzureAnswers,
    "gcp": lambda: GcpAnswers(healthy=18),
    "alicloud": AlicloudAnswers,
}
"""Answers with which the committed stack file of the cloud can be served."""
VARIANTS: Final[Mapping[str, Mapping[str, object]]] = {
    "committed": {},
    "internal": {"exposure": {"mode": "internal"}},
    "streamed": {"weights": {"delivery": "stream", "keep": False}},
    "parked": {"serve": False},
}
"""Changes of the stack file that every cloud takes."""

NEEDED: Final[Mapping[str, Mapping[str, str]]] = {
    # OSS is streamed through its S3 interface, which knows nothing of the pods' roles.
    "alicloud": {"bucketAccessKeyId": "sentinel-of-the-id", "bucketSecretAccessKey": "sentinel-of-the-key"},
}
"""Secrets without which a cloud's variants are refused."""


def folder(cloud: str) -> Path:
    """Return where a cloud's pieces are."""
    return PROJECT / "components" / cloud


def program(
    cloud: str,
    changes: Mapping[str, object] | None = None,
    *,
    unknown: bool = False,
    secrets: Mapping[str, str] | None = None,
) -> Mocks:
    """Run the program with a cloud's committed stack file, these changes and these secrets beside the needed ones."""
    given = {**NEEDED.get(cloud, {}), **(secrets or {})}
    return run_program(values(cloud, **(changes or {})), unknown=unknown, secrets=given, cloud=ANSWERS[cloud]())
