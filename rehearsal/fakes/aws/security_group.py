"""Security groups, and those that EKS makes for its clusters."""

from collections.abc import Iterator
from typing import Final

from rehearsal.fakes.account import Ledger
from rehearsal.fakes.aws import references as ref
from rehearsal.fakes.aws.naming import account_id, arn
from rehearsal.fakes.paths import text_at
from rehearsal.fakes.resource_kind import ResourceKind, generated
from rehearsal.fakes.rules import Failure, RefusedError, Resource
from rehearsal.fakes.values import Properties

_LONGEST: Final = 255


def name_failures(inputs: Properties) -> Iterator[Failure]:
    """At most 255 characters, and `sg-` belongs to ids (botocore, CreateSecurityGroup)."""
    name = text_at(inputs, "name")
    if len(name) > _LONGEST or name.startswith("sg-"):
        yield Failure("name", f"{name[:60]}: at most {_LONGEST} characters, not beginning with sg-")


def refuse_duplicate(resource: Resource, ledger: Ledger) -> None:
    """A name is taken once in a VPC (EC2, `InvalidGroup.Duplicate`)."""
    name, vpc = text_at(resource.inputs, "name"), text_at(resource.inputs, "vpcId")
    taken = [(text_at(other.inputs, "name"), text_at(other.inputs, "vpcId")) for other in ledger.of_type(KIND.type)]
    if (name, vpc) in taken:
        raise RefusedError(
            f"creating {resource.name}: api error InvalidGroup.Duplicate: The security group '{name}' already exists "
            f"for VPC '{vpc}'"
        )


def _computed(resource: Resource, identity: str, ledger: Ledger) -> Properties:
    description = text_at(resource.inputs, "description") or "Managed by Pulumi"
    group = arn("ec2", f"security-group/{identity}", ledger)
    return {"arn": group, "ownerId": account_id(ledger), "description": description}


KIND: Final = ResourceKind(
    type=ref.SECURITY_GROUP,
    identity=generated("sg"),
    name="name",
    replaced_by=("description", "vpcId"),
    checks=(name_failures,),
    admissions=(ref.exists("vpcId", ref.VPC), refuse_duplicate),
    computed=_computed,
    gone=ref.refuse_while_used(
        "DependencyViolation: resource {} has a dependent object",
        (ref.CLUSTER, "vpcConfig.securityGroupIds"),
        (ref.ENDPOINT, "securityGroupIds"),
        (ref.INSTANCE, "securityGroups"),
        (ref.LOAD_BALANCER, "securityGroups"),
    ),
)
