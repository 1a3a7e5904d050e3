"""A rehearsed AWS account, in which tests make one thing after the other."""

import base64
import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rehearsal.fakes.account import Account, Rate, Thing
from rehearsal.fakes.aws import belongings
from rehearsal.fakes.aws import references as ref
from rehearsal.fakes.aws.kubernetes import EksKubernetesRules
from rehearsal.fakes.aws.load_balancer import CHART
from rehearsal.fakes.aws.provider import AwsRules
from rehearsal.fakes.kubernetes.kinds import RELEASE
from rehearsal.fakes.life_cycle import LifeCycle
from rehearsal.fakes.rules import RefusedError, Resource
from rehearsal.fakes.values import Properties
from rehearsal.fakes.weights import OBJECTS

BLOCK: Final = "cr-0123456789abcdef0"
MACHINE: Final = "p6-b300.48xlarge"
ATTACHMENT: Final = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
ADDON: Final = "aws:eks/addon:Addon"
ENTRY: Final = "aws:eks/accessEntry:AccessEntry"
ENTRY_POLICY: Final = "aws:eks/accessPolicyAssociation:AccessPolicyAssociation"
POD_IDENTITY: Final = "aws:eks/podIdentityAssociation:PodIdentityAssociation"
LIFECYCLE: Final = "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration"
BUCKET_POLICY: Final = "aws:s3/bucketPolicy:BucketPolicy"
PUBLIC_ACCESS: Final = "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock"
ON_DEMAND: Final = "aws:ec2/capacityReservation:CapacityReservation"
PURCHASE: Final = "aws:ec2/capacityBlockReservation:CapacityBlockReservation"
SCHEDULE: Final = "aws:autoscaling/schedule:Schedule"
_SERVICE: Final = "kubernetes:core/v1:Service"
_WORKER: Final = "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"


def trust(service: str, *actions: str) -> str:
    """A role's trust in a service."""
    statement = {"Effect": "Allow", "Principal": {"Service": service}, "Action": list(actions)}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def encoded(text: str) -> str:
    """User data as EC2 takes it."""
    return base64.b64encode(text.encode()).decode()


# Inputs that the account takes as they are, in an order in which it takes them; a test changes one thing of them.
# `@type` is the id of the newest thing of a type, `@type.path` one of its outputs.
INPUTS: Final[Mapping[str, Properties]] = {
    ref.VPC: {"cidrBlock": "10.20.0.0/16"},
    ref.INTERNET_GATEWAY: {"vpcId": f"@{ref.VPC}"},
    ref.SUBNET: {"vpcId": f"@{ref.VPC}", "availabilityZone": "us-west-2b", "cidrBlock": "10.20.1.0/24"},
    ref.ADDRESS: {"domain": "vpc"},
    ref.NAT_GATEWAY: {"subnetId": f"@{ref.SUBNET}", "allocationId": f"@{ref.ADDRESS}"},
    ref.ROUTE_TABLE: {
        "vpcId": f"@{ref.VPC}",
        "routes": [{"cidrBlock": "0.0.0.0/0", "natGatewayId": f"@{ref.NAT_GATEWAY}"}],
    },
    ref.ROUTE_TABLE_ASSOCIATION: {"routeTableId": f"@{ref.ROUTE_TABLE}", "subnetId": f"@{ref.SUBNET}"},
    ref.ENDPOINT: {
        "vpcId": f"@{ref.VPC}",
        "serviceName": "com.amazonaws.us-west-2.s3",
        "routeTableIds": [f"@{ref.ROUTE_TABLE}"],
    },
    ref.SECURITY_GROUP: {"name": "own", "vpcId": f"@{ref.VPC}"},
    ref.ROLE: {"name": "kimi", "assumeRolePolicy": trust("ec2.amazonaws.com", "sts:AssumeRole")},
    ATTACHMENT: {"role": "kimi", "policyArn": _WORKER},
    ref.CLUSTER: {
        "name": "kimi",
        "roleArn": f"@{ref.ROLE}.arn",
        "version": "1.35",
        "vpcConfig": {"subnetIds": [f"@{ref.SUBNET}", f"@{ref.SUBNET}/first"], "endpointPrivateAccess": True},
        "accessConfig": {"authenticationMode": "API"},
    },
    ref.LAUNCH_TEMPLATE: {
        "name": "gpu",
        "instanceType": MACHINE,
        "instanceMarketOptions": {"marketType": "capacity-block"},
        "capacityReservationSpecification": {"capacityReservationTarget": {"capacityReservationId": BLOCK}},
        "networkInterfaces": [
            {"networkCardIndex": 0, "deviceIndex": 0, "securityGroups": [f"@{ref.CLUSTER}.vpcConfig"]},
        ],
        "userData": encoded("MIME-Version: 1.0\n"),
    },
    ref.NODE_GROUP: {
        "clusterName": "kimi",
        "nodeGroupName": "gpu",
        "nodeRoleArn": f"@{ref.ROLE}.arn",
        "subnetIds": [f"@{ref.SUBNET}"],
        "amiType": "AL2023_x86_64_NVIDIA",
        "capacityType": "CAPACITY_BLOCK",
        "scalingConfig": {"minSize": 0, "desiredSize": 1, "maxSize": 1},
        "launchTemplate": {"id": f"@{ref.LAUNCH_TEMPLATE}", "version": "1"},
        "labels": {"nvidia.com/gpu.present": "true"},
        "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}],
        "updateConfig": {"maxUnavailable": 1, "updateStrategy": "MINIMAL"},
    },
    ADDON: {"clusterName": "kimi", "addonName": "vpc-cni"},
    ENTRY: {"clusterName": "kimi", "principalArn": "arn:aws:iam::123456789012:role/platform"},
    ENTRY_POLICY: {
        "clusterName": "kimi",
        "principalArn": "arn:aws:iam::123456789012:role/platform",
        "policyArn": "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy",
        "accessScope": {"type": "cluster"},
    },
    POD_IDENTITY: {
        "clusterName": "kimi",
        "namespace": "kimi-k3",
        "serviceAccount": "kimi-k3",
        "roleArn": f"@{ref.ROLE}.arn",
    },
    ref.BUCKET: {"bucket": "kimi-weights-1"},
    PUBLIC_ACCESS: {"bucket": "kimi-weights-1", "blockPublicPolicy": True},
    LIFECYCLE: {"bucket": "kimi-weights-1", "rules": [{"id": "parts", "status": "Enabled"}]},
    BUCKET_POLICY: {"bucket": "kimi-weights-1", "policy": json.dumps({"Statement": []})},
    ON_DEMAND: {
        "instanceType": MACHINE,
        "instanceCount": 1,
        "instancePlatform": "Linux/UNIX",
        "availabilityZone": "us-west-2b",
    },
    PURCHASE: {"capacityBlockOfferingId": "cb-1", "instancePlatform": "Linux/UNIX"},
    SCHEDULE: {
        "scheduledActionName": "start",
        "autoscalingGroupName": "",
        "desiredCapacity": 1,
        "startTime": "2026-01-02T00:00:00Z",
    },
}
_NETWORK: Final = (ref.VPC, ref.INTERNET_GATEWAY)
_REST: Final = (
    ref.SUBNET,
    ref.ADDRESS,
    ref.NAT_GATEWAY,
    ref.ROUTE_TABLE,
    ref.ROUTE_TABLE_ASSOCIATION,
    ref.ROLE,
    ATTACHMENT,
    ref.CLUSTER,
)


@dataclass
class AwsAccount:
    """What there is, and who may ask for more."""

    account: Account
    cloud: LifeCycle
    cluster: LifeCycle

    def make(self, kind: str, **changes: Any) -> Thing:
        """Make a thing; a change by `a__b` goes into a nested block, and None takes a property away.

        Raises:
            RefusedError: With what the account says.
            UnreadyError: It exists, and isn't well.
        """
        asked = self.asked(kind, **changes)
        completed, failures = self.cloud.check(asked, None)
        if failures:
            raise RefusedError("; ".join(f"{each.property}: {each.reason}" for each in failures))
        return self.cloud.create(_resource(kind, completed), timeout=0)

    def asked(self, kind: str, **changes: Any) -> Resource:
        """What a program would ask for."""
        inputs: Any = copy.deepcopy(INPUTS.get(kind, {}))
        for path, value in changes.items():
            *blocks, key = path.split("__")
            block = inputs
            for name in blocks:
                block = block.setdefault(name, {})
            block[key] = value
        return _resource(kind, self._resolved({key: value for key, value in inputs.items() if value is not None}))

    def delete(self, thing: Thing) -> None:
        """Delete a thing."""
        (self.cluster if thing.type.startswith("kubernetes:") else self.cloud).delete(thing.type, thing.id)

    def service(self, **spec: object) -> Thing:
        """Make a Service of type LoadBalancer in the cluster."""
        manifest: Properties = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "api", "namespace": "default"},
            "spec": {"type": "LoadBalancer", "ports": [{"port": 8000}], **spec},
        }
        return self.cluster.create(_resource(_SERVICE, manifest), timeout=0)

    def controller(self) -> Thing:
        """Have the load balancer controller in the cluster."""
        with self.account.open() as ledger:
            return ledger.add(Thing(RELEASE, "kube-system/lbc", "lbc", {}, {"status": {"chart": CHART}}))

    def reserve(self, instances: int = 1, **facts: Any) -> Thing:
        """Have a Capacity Block of that many machines."""
        with self.account.open() as ledger:
            return belongings.block(ledger, BLOCK, machine=MACHINE, instances=instances, zone="us-west-2b", **facts)

    def fill(self, bucket: Thing) -> None:
        """Have the weights in a bucket."""
        with self.account.open() as ledger:
            ledger.add(Thing(OBJECTS, bucket.id, "weights", {}, {}, rate=Rate(usd_per_hour=0.05)))

    def wait(self, seconds: float) -> None:
        """Let time pass, and the account do what it does by itself."""
        with self.account.open() as ledger:
            ledger.clock.advance(seconds)
            self.cloud.rules.catch_up(ledger)

    def offering(self, hours: int = 168) -> Properties:
        """Look an offering up."""
        arguments: Properties = {"instanceType": MACHINE, "instanceCount": 1, "capacityDurationHours": hours}
        return self.cloud.invoke("aws:ec2/getCapacityBlockOffering:getCapacityBlockOffering", arguments)

    def things(self, kind: str) -> list[Thing]:
        """The things of a type."""
        return self.account.ledger().of_type(kind)

    def only(self, kind: str) -> Thing:
        """The one thing of a type."""
        (thing,) = self.things(kind)
        return thing

    def _resolved(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._resolved(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._resolved(item) for item in value]
        if not isinstance(value, str) or not value.startswith("@"):
            return value
        token, _, output = value[1:].partition(".")
        first = token.endswith("/first")
        things = self.things(token.removesuffix("/first"))
        if not things:
            return "missing"
        thing = things[0] if first else things[-1]
        if output == "vpcConfig":
            return thing.outputs["vpcConfig"]["clusterSecurityGroupId"]  # pyright: ignore[reportIndexIssue]
        return thing.outputs[output] if output else thing.id


def aws_account(folder: Path, *, with_cluster: bool = False) -> AwsAccount:
    """Return an account, empty or with a cluster in two zones, a way out and a Capacity Block of one machine.

    Args:
        folder: Where the account's file is.
        with_cluster: Whether the cluster and whatever it stands on are there.
    """
    account = Account(folder / "account.json")
    rules = AwsRules()
    found = AwsAccount(account, LifeCycle(rules, account), LifeCycle(EksKubernetesRules(), account))
    if with_cluster:
        for kind in _NETWORK:
            found.make(kind)
        tags = {"kubernetes.io/role/internal-elb": "1", "kubernetes.io/role/elb": "1"}
        found.make(ref.SUBNET, availabilityZone="us-west-2a", cidrBlock="10.20.0.0/24", tags=tags)
        for kind in _REST:
            found.make(kind)
    return found


def _resource(kind: str, inputs: Properties) -> Resource:
    return Resource(urn=f"urn:pulumi:dev::kimi-k3::{kind}::a", type=kind, name="a", inputs=inputs, seed=b"1")
