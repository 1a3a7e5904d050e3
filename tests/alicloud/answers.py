"""What Alibaba Cloud answers under mocks: the look-ups of a preview, and what it computes for a resource."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.conftest import Refused

POOL: Mapping[str, Any] = {
    "id": "crp-bp67acfmxazb4ph0abcd",
    "zoneIds": ["ap-southeast-1a"],
    "instanceType": "ecs.ebmgn8v.48xlarge",
    "instanceAmount": "3",
    "matchCriteria": "Target",
    "status": "Active",
    "endTime": "2099-12-14T11:30:00Z",
}
"""A capacity reservation that the committed stack file can use."""
ASSURANCE: Mapping[str, Any] = {
    "allocatedResources": [
        {
            "instanceType": "ecs.ebmgn8v.48xlarge",
            "totalAmount": 3,
            "usedAmount": 0,
            "zoneId": "ap-southeast-1a",
        }
    ],
    "privatePoolOptionsMatchCriteria": "Target",
    "status": "Active",
    "endTime": "2099-12-14T11:30:00Z",
}
RRSA: Mapping[str, Any] = {
    "enabled": True,
    "rrsaOidcIssuerUrl": "https://oidc-ack-ap-southeast-1.oss-ap-southeast-1.aliyuncs.com/c0123",
    "ramOidcProviderName": "ack-rrsa-c0123",
    "ramOidcProviderArn": "acs:ram::1234567890123456:oidc-provider/ack-rrsa-c0123",
}


@dataclass
class AlicloudAnswers:
    """An account with one private pool; every answer can be changed."""

    pools: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Changes to capacity reservations, by id; further ones are made of these."""
    assurances: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Changes to elasticity assurances, by id."""
    unknown: Sequence[str] = ()
    """Private pools that aren't there."""
    sold: bool = True
    """Whether the zone sells the machine by the hour."""
    versions: Sequence[str] = ("1.35.1-aliyun.1", "1.36.2-aliyun.1")
    balancer_zones: Sequence[str] = ("ap-southeast-1c", "ap-southeast-1a", "ap-southeast-1b")
    switches: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Zone and VPC of each vSwitch."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """What Alibaba Cloud says instead of an answer, by the last part of the look-up's name."""
    asked: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    """Every look-up, in order."""

    def computed(self, kind: str, name: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return what Alibaba Cloud adds to a resource."""
        match kind.rpartition(":")[2]:
            case "ManagedKubernetes":
                return {"rrsaMetadata": RRSA}
            case "NatGateway":
                return {"snatTableIds": f"stb-{name}"}
            case "EipAddress":
                return {"ipAddress": f"203.0.113.{name[-1]}"}
            case "Policy":
                return {"type": "Custom"}
            case "NodePool":
                return {"nodePoolId": f"np-{name}"}
            case _:
                return {}

    def look_up(self, token: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """Answer one look-up."""
        question = token.rsplit(":", 1)[-1]
        self.asked.append((question, args))
        if question in self.refused:
            raise Refused(self.refused[question])
        ids = [identity for identity in args.get("ids") or [] if identity not in self.unknown]
        zones = [{"id": zone, "zoneId": zone, "localName": zone} for zone in self.balancer_zones]
        switches = [{"id": each, "zoneId": zone, "vpcId": vpc} for each, (zone, vpc) in self.switches.items()]
        return {
            "getCapacityReservations": {
                "reservations": [{**POOL, "id": each, **self.pools.get(each, {})} for each in ids]
            },
            "getElasticityAssurances": {
                "assurances": [{**ASSURANCE, "id": each, **self.assurances.get(each, {})} for each in ids]
            },
            "getInstanceTypes": {"ids": [args.get("instanceType")] if self.sold else []},
            "getKubernetesVersion": {"metadatas": [{"version": each, "runtimes": []} for each in self.versions]},
            "getZones": {"zones": zones},
            "getSwitches": {"vswitches": [switch for switch in switches if switch["id"] in ids]},
            "getAccount": {"id": "1234567890123456"},
            "getClusterCredential": {"kubeConfig": "sentinel-of-the-kubeconfig"},
        }[question]
