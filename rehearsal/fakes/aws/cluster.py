"""EKS clusters, and the security group that each brings along."""

from collections.abc import Iterator
from typing import Final

from rehearsal.fakes.account import Ledger, Thing
from rehearsal.fakes.aws import references as ref
from rehearsal.fakes.aws.identity import role_exists
from rehearsal.fakes.aws.naming import arn
from rehearsal.fakes.aws.subnet import vpc_of, zone_of
from rehearsal.fakes.paths import text_at, texts_at
from rehearsal.fakes.resource_kind import ResourceKind, by_the_hour, digest, fits, named
from rehearsal.fakes.rules import Failure, RefusedError, Resource
from rehearsal.fakes.values import Properties, mapping

NEWEST: Final = "1.35"
NOWHERE: Final = "https://127.0.0.1:1"
"""Nothing listens on port 1: a program that asks a cluster past the stand-in is refused at once."""
_VERSIONS: Final = tuple(f"1.{minor}" for minor in range(30, 37))
"""Kubernetes versions of EKS' images in July 2026 (awslabs/amazon-eks-ami, release 20260714)."""
_USD_HOUR: Final = 0.10
# What goes with its cluster; node groups have to be gone before.
_PARTS: Final = ("aws:eks/addon:Addon", "aws:eks/access*:*", "aws:eks/podIdentityAssociation:*")


def version_failures(inputs: Properties) -> Iterator[Failure]:
    """A version that EKS has (EKS, `InvalidParameterException`)."""
    version = text_at(inputs, "version")
    if version and version not in _VERSIONS:
        yield Failure("version", f"InvalidParameterException: unsupported Kubernetes version {version}")


def endpoint_failures(inputs: Properties) -> Iterator[Failure]:
    """Somebody must reach the API server (EKS, `InvalidParameterException`)."""
    config = mapping(inputs.get("vpcConfig"))
    public, private = config.get("endpointPublicAccess", True), config.get("endpointPrivateAccess", False)
    if public is False and private is False:
        yield Failure(
            "vpcConfig",
            "InvalidParameterException: Private and public endpoint access cannot be false at the same time",
        )
    if public is False and config.get("publicAccessCidrs"):
        # pulumi-eks, cluster.ts: its own check of the same.
        yield Failure("vpcConfig.publicAccessCidrs", "can only be set when `endpointPublicAccess` is true")


def refuse_taken_name(resource: Resource, ledger: Ledger) -> None:
    """A name is taken once in a region (EKS, `ResourceInUseException`)."""
    name = text_at(resource.inputs, "name")
    if ledger.find(ref.CLUSTER, name):
        raise RefusedError(
            f"creating {resource.name}: api error ResourceInUseException: Cluster already exists with name: {name}"
        )


def refuse_one_zone(resource: Resource, ledger: Ledger) -> None:
    """A control plane wants subnets in two zones (EKS, `InvalidParameterException`)."""
    subnets = texts_at(resource.inputs, "vpcConfig.subnetIds")
    if len({zone_of(subnet, ledger) for subnet in subnets}) < 2:
        raise RefusedError(
            f"creating {resource.name}: api error InvalidParameterException: Subnets specified must be in at least two "
            "different AZs"
        )


def refuse_with_nodes(thing: Thing, ledger: Ledger) -> None:
    """A cluster goes after its node groups, and never while it is protected (EKS, `ResourceInUseException`)."""
    if any(text_at(group.inputs, "clusterName") == thing.id for group in ledger.of_type(ref.NODE_GROUP)):
        raise RefusedError(f"deleting {thing.name}: api error ResourceInUseException: Cluster has nodegroups attached")
    if thing.inputs.get("deletionProtection") is True:
        raise RefusedError(
            f"deleting {thing.name}: api error InvalidRequestException: Cluster {thing.id} has deletion protection"
        )
    for pattern in _PARTS:
        for part in ledger.of_type(pattern):
            if text_at(part.inputs, "clusterName") == thing.id:
                ledger.remove(part, f"went with Cluster {thing.id}")
    group = ledger.find(ref.SECURITY_GROUP, security_group_of(thing))
    # What Helm leaves in a cluster is gone with it; what the program made there has gone before, or nobody reaches it.
    remains = [each for each in ledger.of_type("kubernetes:*") if each.left_because]
    for each in [*remains, *([group] if group else [])]:
        ledger.remove(each, f"went with Cluster {thing.id}")


def security_group_of(cluster: Thing) -> str:
    """The security group that EKS made for a cluster, without which no node joins it."""
    return text_at(cluster.outputs, "vpcConfig.clusterSecurityGroupId")


def _computed(resource: Resource, identity: str, ledger: Ledger) -> Properties:
    before = ledger.find(ref.CLUSTER, identity)
    number = digest(identity, ledger.clock.now)
    config = mapping(resource.inputs.get("vpcConfig"))
    issuer = f"https://oidc.eks.us-west-2.amazonaws.com/id/{digest(identity, length=32).upper()}"
    return {
        "arn": arn("eks", f"cluster/{identity}", ledger),
        "endpoint": str(ledger.settings.get("server") or NOWHERE),
        "certificateAuthority": {"data": str(ledger.settings.get("authority") or "")},
        "identities": [{"oidcs": [{"issuer": issuer}]}],
        "platformVersion": "eks.1",
        "version": text_at(resource.inputs, "version") or NEWEST,
        "status": "ACTIVE",
        "createdAt": text_at(before.outputs, "createdAt") if before else ledger.clock.stamp(),
        "vpcConfig": {
            "endpointPublicAccess": True,
            "endpointPrivateAccess": False,
            **config,
            "clusterSecurityGroupId": security_group_of(before) if before else f"sg-{number}",
            "vpcId": vpc_of(text_at(config, "subnetIds"), ledger),
        },
    }


def _made(thing: Thing, ledger: Ledger) -> None:
    inputs: Properties = {
        "name": f"eks-cluster-sg-{thing.id}",
        "vpcId": text_at(thing.outputs, "vpcConfig.vpcId"),
    }
    group = Thing(ref.SECURITY_GROUP, security_group_of(thing), f"{thing.name}-eks", inputs, {**inputs})
    ledger.add(group)


KIND: Final = ResourceKind(
    type=ref.CLUSTER,
    identity=named("name"),
    name="name",
    replaced_by=("roleArn", "encryptionConfig", "bootstrapSelfManagedAddons", "kubernetesNetworkConfig.ipFamily"),
    checks=(
        fits("name", r"[0-9A-Za-z][A-Za-z0-9_-]{0,99}", "1 to 100 letters, digits, - and _"),
        version_failures,
        endpoint_failures,
    ),
    admissions=(
        refuse_taken_name,
        role_exists(
            "roleArn", "InvalidParameterException: Role with arn: {}, could not be assumed because it does not exist"
        ),
        ref.exists("vpcConfig.subnetIds", ref.SUBNET),
        ref.exists("vpcConfig.securityGroupIds", ref.SECURITY_GROUP),
        refuse_one_zone,
    ),
    computed=_computed,
    made=_made,
    gone=refuse_with_nodes,
    rate=by_the_hour(_USD_HOUR),
    seconds=600.0,
    patience=1800.0,
)
