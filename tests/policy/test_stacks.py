"""Every stack that is committed, as it is planned, keeps every rule."""

from collections.abc import Mapping

import pytest
from planned import Planned, parents
from rules import RULES

from tests.clouds.clouds import VARIANTS, program
from tests.conftest import Mocks, run_program
from tests.stacks import values

PUBLIC = {"mode": "public", "allowedRanges": ["203.0.113.0/24"]}
ARN = "arn:aws:acm:us-west-2:111122223333:certificate/12345678-1234-1234-1234-123456789012"
CERTIFICATES = {
    "aws": {"certificateArn": ARN},
    "azure": {"certificateSecret": "tls"},
    "gcp": {"certificateSecret": "tls"},
    "alicloud": {"certificateId": "1234567-ap-southeast-1"},
}
CASES = [
    *[
        pytest.param(cloud, changes, id=f"{cloud}-{name}")
        for cloud in CERTIFICATES
        for name, changes in VARIANTS.items()
    ],
    *[
        pytest.param(cloud, {"exposure": {**PUBLIC, **made}}, id=f"{cloud}-public")
        for cloud, made in CERTIFICATES.items()
    ],
]


def violations(mocks: Mocks) -> list[str]:
    """Return what the pack would report of a program's resources."""
    inputs = {(each.type, each.name): each.inputs for each in mocks.resources}
    found = []
    for urn, request in mocks.requests.items():
        props = inputs.get((request.type, request.name), {})
        planned = Planned(type=request.type, props=props, parents=parents(urn))
        found += [f"{request.name}: {name}: {text}" for name, rule in RULES.items() for text in rule(planned)]
    return found


@pytest.mark.parametrize(("cloud", "changes"), CASES)
def test_a_clouds_stack_keeps_every_rule(cloud: str, changes: Mapping[str, object]) -> None:
    assert violations(program(cloud, changes)) == []


def test_the_stack_of_an_existing_cluster_keeps_every_rule() -> None:
    assert violations(run_program(values("existing"))) == []


@pytest.mark.parametrize("cloud", CERTIFICATES)
def test_a_first_preview_which_knows_no_output_keeps_every_rule(cloud: str) -> None:
    assert violations(program(cloud, unknown=True)) == []
