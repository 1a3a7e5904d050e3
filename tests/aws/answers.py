"""What AWS answers under mocks: the look-ups of a preview, and what it computes for a resource."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.conftest import Refused

BLOCK: dict[str, Any] = {
    "id": "cr-0123456789abcdef0",
    "availabilityZone": "us-west-2b",
    "state": "active",
    "instanceType": "p6-b300.48xlarge",
    "instanceCount": 1,
    "startDate": "2026-11-30T11:30:00Z",
    "endDate": "2099-12-14T11:30:00Z",
}
"""A Capacity Block that the committed stack file can use."""
OFFERING: dict[str, Any] = {
    "capacityBlockOfferingId": "cb-0123456789abcdef0",
    "upfrontFee": "18869.76",
    "currencyCode": "USD",
}
"""168 hours of a p6-b300.48xlarge at 112.32 USD, in the committed stack file of a purchase."""


@dataclass
class AwsAnswers:
    """An account with one Capacity Block; every answer can be changed."""

    block: Mapping[str, Any] = field(default_factory=dict)
    """Changes to the block."""
    on_demand: Mapping[str, Any] = field(default_factory=dict)
    """Properties of an On-Demand Capacity Reservation, as Cloud Control names them."""
    offered: bool = True
    """Whether the zone has the machine."""
    quota: float = 10_000
    zones: Sequence[str] = ("us-west-2d", "us-west-2a", "us-west-2b", "us-west-2c")
    offering: Mapping[str, Any] = field(default_factory=dict)
    """Changes to the offering of a Capacity Block."""
    asked: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    """Every look-up, in order."""
    subnets: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Zone and VPC of each subnet."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """What AWS says instead of an answer, by the last part of the look-up's name."""

    def computed(self, kind: str, name: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return what AWS adds to a resource."""
        match kind:
            case "eks:index:Cluster":
                return {"clusterSecurityGroupId": "sg-0123456789abcdef0", "kubeconfigJson": "{}", "kubeconfig": {}}
            case "aws:ec2/launchTemplate:LaunchTemplate":
                return {"latestVersion": 1}
            case "aws:eks/nodeGroup:NodeGroup":
                return {"resources": [{"autoscalingGroups": [{"name": f"eks-{name}"}]}], "nodeGroupName": name}
            case "aws:iam/role:Role":
                return {"arn": f"arn:aws:iam::111122223333:role/{name}", "name": name}
            case _:
                return {}

    def look_up(self, token: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """Answer one look-up."""
        question = token.rsplit(":", 1)[-1]
        self.asked.append((question, args))
        if question in self.refused:
            raise Refused(self.refused[question])
        subnet = self.subnets.get(str(args.get("id")), ("", ""))
        return {
            "getCapacityBlockReservation": {**BLOCK, **self.block},
            "getResource": {"properties": json.dumps(self.on_demand)},
            "getCapacityBlockOffering": {**OFFERING, **self.offering},
            "getInstanceTypeOfferings": {"instanceTypes": ["p6-b300.48xlarge"] if self.offered else []},
            "getServiceQuota": {"value": self.quota},
            "getAvailabilityZones": {"names": list(self.zones)},
            "getCallerIdentity": {"accountId": "111122223333"},
            "getSubnet": dict(zip(("availabilityZone", "vpcId"), subnet, strict=True)),
        }[question]
