"""A rehearsed account on Alibaba Cloud, in which tests make one thing after the other."""

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rehearsal.fakes.account import Account, Thing
from rehearsal.fakes.alicloud import belongings
from rehearsal.fakes.alicloud import references as ref
from rehearsal.fakes.alicloud.kubernetes import AckKubernetesRules
from rehearsal.fakes.alicloud.provider import AlicloudRules
from rehearsal.fakes.life_cycle import LifeCycle
from rehearsal.fakes.rules import RefusedError, Resource
from rehearsal.fakes.values import Properties

POOL: Final = "crp-bp67acfmxazb4ph0abcd"
MACHINE: Final = "ecs.ebmgn8v.48xlarge"
ZONE: Final = "ap-southeast-1a"
_SERVICE: Final = "kubernetes:core/v1:Service"
_NLB: Final = "service.beta.kubernetes.io/alibaba-cloud-loadbalancer-"


@dataclass
class AlicloudAccount:
    """What there is, and who may ask for more."""

    account: Account
    cloud: LifeCycle
    cluster: LifeCycle

    def make(self, kind: str, label: str = "a", /, **changes: Any) -> Thing:
        """Make a thing of inputs that the account takes as they are; a change of None takes a property away.

        Raises:
            RefusedError: With what the account says.
        """
        inputs = {**copy.deepcopy(self.inputs(kind)), **changes}
        given = {key: value for key, value in inputs.items() if value is not None}
        urn = f"urn:pulumi:dev::kimi-k3::{kind}::{label}"
        completed, failures = self.cloud.check(Resource(urn=urn, type=kind, name=label, inputs=given, seed=b"1"), None)
        if failures:
            raise RefusedError("; ".join(f"{each.property}: {each.reason}" for each in failures))
        asked = Resource(urn=urn, type=kind, name=label, inputs=completed, seed=b"1")
        return self.cloud.create(asked, timeout=0)

    def delete(self, thing: Thing) -> None:
        """Delete a thing."""
        (self.cluster if thing.type.startswith("kubernetes:") else self.cloud).delete(thing.type, thing.id)

    def service(self, **notes: str) -> Thing:
        """Make a Service with a network load balancer; underscores in a note's name are hyphens."""
        switches = {each.inputs["zoneId"]: each.id for each in self.things(ref.SWITCH) if each.name != "pods"}
        maps = ",".join(f"{zone}:{switch}" for zone, switch in switches.items())
        found = {"zone-maps": maps, **{key.replace("_", "-"): value for key, value in notes.items()}}
        manifest: Properties = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {
                "name": "api",
                "namespace": "default",
                "annotations": {f"{_NLB}{key}": value for key, value in found.items()},
            },
            "spec": {"type": "LoadBalancer", "loadBalancerClass": "alibabacloud.com/nlb", "ports": [{"port": 8000}]},
        }
        resource = Resource(urn=f"urn:pulumi:dev::kimi-k3::{_SERVICE}::api", type=_SERVICE, name="api", inputs=manifest)
        return self.cluster.create(resource, timeout=0)

    def reserve(self, instances: int = 3, **facts: Any) -> Thing:
        """Put a private pool into the account."""
        described = {"id": POOL, "machine": MACHINE, "zone": ZONE, "instances": instances, **facts}
        with self.account.open() as ledger:
            return belongings.private_pool(ledger, belongings.Reserved(**described))

    def things(self, kind: str) -> list[Thing]:
        """The things of a type."""
        return self.account.ledger().of_type(kind)

    def id_of(self, kind: str, name: str = "a") -> str:
        """The id of a thing that was made before, or one of nothing."""
        return next((each.id for each in self.things(kind) if each.name == name), "nothing")

    def inputs(self, kind: str) -> Properties:
        """Inputs that the account takes, with the ids of what is there."""
        vpc, switch, pods = self.id_of(ref.VPC), self.id_of(ref.SWITCH), self.id_of(ref.SWITCH, "pods")
        cluster, address = self.id_of(ref.CLUSTER), next(iter(self.things(ref.ADDRESS)), None)
        table = next((str(each.outputs["snatTableIds"]) for each in self.things(ref.NAT)), "nothing")
        pool: Properties = {
            "clusterId": cluster,
            "nodePoolName": "pool",
            "vswitchIds": [switch],
            "instanceTypes": ["ecs.g8i.2xlarge"],
            "desiredSize": "1",
            "imageType": "AliyunLinux3ContainerOptimized",
        }
        trust = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Federated": [self.oidc]}}
        known: Mapping[str, Properties] = {
            ref.VPC: {"vpcName": "kimi", "cidrBlock": "10.20.0.0/16"},
            ref.SWITCH: {"vpcId": vpc, "zoneId": ZONE, "cidrBlock": "10.20.128.0/20"},
            ref.NAT: {"vpcId": vpc, "vswitchId": switch, "natType": "Enhanced", "internetChargeType": "PayByLcu"},
            ref.ADDRESS: {"bandwidth": "200", "internetChargeType": "PayByTraffic", "paymentType": "PayAsYouGo"},
            ref.BINDING: {
                "allocationId": address.id if address else "nothing",
                "instanceId": self.id_of(ref.NAT),
                "instanceType": "Nat",
            },
            ref.SNAT: {
                "snatTableId": table,
                "sourceCidr": "10.20.0.0/16",
                "snatIp": str(address.outputs["ipAddress"]) if address else "",
            },
            ref.CLUSTER: {
                "name": "kimi",
                "clusterSpec": "ack.pro.small",
                "version": "1.36.2-aliyun.1",
                "vswitchIds": [switch],
                "podVswitchIds": [pods],
                "serviceCidr": "172.21.0.0/20",
                "newNatGateway": False,
                "enableRrsa": True,
                "deletionProtection": False,
                "addons": [{"name": "terway-eniip"}, {"name": "terway-controlplane"}],
            },
            ref.NODE_POOL: pool,
            ref.ADDON: {"clusterId": cluster, "name": "ack-pod-identity-webhook"},
            ref.RESERVATION: {
                "capacityReservationName": "kimi",
                "instanceType": MACHINE,
                "instanceAmount": 3,
                "zoneIds": [ZONE],
                "matchCriteria": "Target",
                "endTimeType": "Limited",
                "endTime": "2099-01-31T16:00:00Z",
            },
            ref.ROLE: {
                "roleName": "kimi",
                "assumeRolePolicyDocument": json.dumps({"Version": "1", "Statement": [trust]}),
            },
            ref.POLICY: {
                "policyName": "kimi",
                "policyDocument": json.dumps({"Version": "1", "Statement": [{"Effect": "Allow"}]}),
            },
            ref.ATTACHMENT: {"roleName": "kimi", "policyName": "kimi", "policyType": "Custom"},
            ref.BUCKET: {"bucket": "kimi-weights", "forceDestroy": True},
            ref.GROUP: {"vpcId": vpc},
            ref.GROUP_RULE: {
                "securityGroupId": self.id_of(ref.GROUP),
                "type": "ingress",
                "ipProtocol": "tcp",
                "portRange": "8000/8000",
                "cidrIp": "10.0.0.0/8",
            },
        }
        return known[kind]

    @property
    def oidc(self) -> str:
        """The identity provider of the cluster."""
        return f"acs:ram::1234567890123456:oidc-provider/ack-rrsa-{self.id_of(ref.CLUSTER)}"

    def gpu_pool(self, **changes: Any) -> Thing:
        """Make a pool of three GPU nodes out of the private pool."""
        wanted = {
            "instanceTypes": [MACHINE],
            "desiredSize": "3",
            "taints": [{"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}],
            "resourcePoolOptions": {"strategy": "PrivatePoolOnly", "privatePoolIds": [POOL]},
        }
        return self.make(ref.NODE_POOL, "gpu", **{**wanted, **changes})


def account(folder: Path, *, until: str = "") -> AlicloudAccount:
    """Return an account, with everything up to a type in the order in which it is made.

    Args:
        folder: Where the account's file is.
        until: The last type that is made; empty makes nothing.
    """
    kept = Account(folder / "account.json")
    kept.configure(region="ap-southeast-1")
    found = AlicloudAccount(kept, LifeCycle(AlicloudRules(), kept), LifeCycle(AckKubernetesRules(), kept))
    order = (ref.VPC, ref.SWITCH, ref.NAT, ref.ADDRESS, ref.BINDING, ref.SNAT, ref.CLUSTER, ref.NODE_POOL)
    for kind in order[: order.index(until) + 1] if until else ():
        found.make(kind)
        if kind == ref.SWITCH:
            found.make(ref.SWITCH, "second", zoneId="ap-southeast-1b", cidrBlock="10.20.144.0/20")
            found.make(ref.SWITCH, "pods", cidrBlock="10.20.0.0/18")
    return found
