"""The committed AWS stack under recorded registrations, and the variants that the tests share."""

from collections.abc import Mapping
from typing import Any

import pulumi
import pytest

from tests.aws.answers import AwsAnswers
from tests.conftest import Mocks, Registered, run_program
from tests.stacks import values

Changes = Mapping[str, object]
PAIR: Changes = {"machine": "p6-b200.48xlarge", "serving": {"image": "registry.example.com/vllm-efa:0.33.0"}}
"""Two nodes of 8 x B200 a replica, which talk over EFA."""
PAIR_BLOCK: Mapping[str, Any] = {"instanceType": "p6-b200.48xlarge", "instanceCount": 2}
CERTIFICATE = "arn:aws:acm:us-west-2:111122223333:certificate/12345678-1234-1234-1234-123456789012"
PUBLIC: Changes = {
    "exposure": {
        "mode": "public",
        "allowedRanges": ["203.0.113.0/24", "198.51.100.7/32"],
        "certificateArn": CERTIFICATE,
    }
}
SUBNETS = {
    "subnet-0123456789abcdef0": ("us-west-2a", "vpc-0123456789abcdef0"),
    "subnet-0123456789abcdef1": ("us-west-2b", "vpc-0123456789abcdef0"),
    "subnet-0123456789abcdef2": ("us-west-2c", "vpc-0123456789abcdef0"),
}
"""Zone and VPC of private subnets that were there before."""
EXISTING_NETWORK: Changes = {"network": {"vpcId": "vpc-0123456789abcdef0", "privateSubnetIds": list(SUBNETS)}}
SCHEDULED: Mapping[str, Any] = {
    "state": "scheduled",
    "instanceCount": 0,
    "startDate": "2099-12-01T11:30:00Z",
    "endDate": "2099-12-14T11:30:00Z",
}
"""A block that is paid and hasn't started: EC2 says no count yet."""


def program(changes: Changes | None = None, answers: AwsAnswers | None = None, *, unknown: bool = False) -> Mocks:
    """Run the program with the committed stack file and these changes."""
    return run_program(values("aws", **(changes or {})), unknown=unknown, cloud=answers or AwsAnswers())


def refusal(changes: Changes | None = None, answers: AwsAnswers | None = None) -> str:
    """Return what the program refuses the stack with, before it has registered anything but the provider."""
    with pytest.raises(pulumi.RunError) as caught:
        program(changes, answers)
    return str(caught.value)


def only(found: list[Registered], name: str = "") -> Registered:
    """Return the one resource, or the one of that name."""
    (resource,) = [each for each in found if name in ("", each.name)]
    return resource


def gpu_nodes(mocks: Mocks) -> Registered:
    """Return the GPU node group."""
    return only(mocks.of("NodeGroup"), "gpu-nodes")


def template(mocks: Mocks) -> Mapping[str, Any]:
    """Return the GPU nodes' launch template."""
    return only(mocks.of("LaunchTemplate")).inputs
