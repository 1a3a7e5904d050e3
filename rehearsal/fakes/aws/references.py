"""Ids that lead nowhere, and things that something else still needs: the two reasons that most refusals have."""

from collections.abc import Mapping, Sequence
from typing import Final

from rehearsal.fakes.account import Ledger, Thing
from rehearsal.fakes.paths import texts_at
from rehearsal.fakes.resource_kind import Admission, Consequence
from rehearsal.fakes.rules import RefusedError, Resource

VPC: Final = "aws:ec2/vpc:Vpc"
SUBNET: Final = "aws:ec2/subnet:Subnet"
SECURITY_GROUP: Final = "aws:ec2/securityGroup:SecurityGroup"
INTERNET_GATEWAY: Final = "aws:ec2/internetGateway:InternetGateway"
ADDRESS: Final = "aws:ec2/eip:Eip"
NAT_GATEWAY: Final = "aws:ec2/natGateway:NatGateway"
ROUTE_TABLE: Final = "aws:ec2/routeTable:RouteTable"
ROUTE_TABLE_ASSOCIATION: Final = "aws:ec2/routeTableAssociation:RouteTableAssociation"
ENDPOINT: Final = "aws:ec2/vpcEndpoint:VpcEndpoint"
LAUNCH_TEMPLATE: Final = "aws:ec2/launchTemplate:LaunchTemplate"
INSTANCE: Final = "aws:ec2/instance:Instance"
LOAD_BALANCER: Final = "aws:lb/loadBalancer:LoadBalancer"
ROLE: Final = "aws:iam/role:Role"
POLICY: Final = "aws:iam/policy:Policy"
BUCKET: Final = "aws:s3/bucket:Bucket"
CLUSTER: Final = "aws:eks/cluster:Cluster"
NODE_GROUP: Final = "aws:eks/nodeGroup:NodeGroup"

# EC2's error codes and texts: API reference, "Error codes for the Amazon EC2 API".
_MISSING: Final[Mapping[str, str]] = {
    VPC: "InvalidVpcID.NotFound: The vpc ID '{}' does not exist",
    SUBNET: "InvalidSubnetID.NotFound: The subnet ID '{}' does not exist",
    SECURITY_GROUP: "InvalidGroup.NotFound: The security group '{}' does not exist",
    INTERNET_GATEWAY: "InvalidInternetGatewayID.NotFound: The internetGateway ID '{}' does not exist",
    ADDRESS: "InvalidAllocationID.NotFound: The allocation ID '{}' does not exist",
    NAT_GATEWAY: "NatGatewayNotFound: The Nat Gateway {} was not found",
    ROUTE_TABLE: "InvalidRouteTableID.NotFound: The routeTable ID '{}' does not exist",
    LAUNCH_TEMPLATE: "InvalidLaunchTemplateId.NotFound: The specified launch template {} does not exist",
    # IAM, S3 and EKS: botocore's models name the codes; texts as in hashicorp/terraform-provider-aws' issues.
    ROLE: "NoSuchEntity: The role with name {} cannot be found.",
    POLICY: "NoSuchEntity: Policy {} does not exist or is not attachable.",
    BUCKET: "NoSuchBucket: The specified bucket does not exist: {}",
    CLUSTER: "ResourceNotFoundException: No cluster found for name: {}.",
}


def exists(path: str, token: str) -> Admission:
    """An admission that refuses ids of nothing.

    Args:
        path: Where the ids stand in the inputs; none there is fine.
        token: The type of what they must be.
    """

    def admit(resource: Resource, ledger: Ledger) -> None:
        for identity in texts_at(resource.inputs, path):
            if ledger.find(token, identity) is None:
                raise RefusedError(f"creating {resource.name}: api error {_MISSING[token].format(identity)}")

    return admit


def users_of(thing: Thing, users: Sequence[tuple[str, str]], ledger: Ledger) -> list[Thing]:
    """What names a thing's id.

    Args:
        thing: What is used.
        users: Types, each with the path at which it names the id.
        ledger: The account.
    """
    return [
        other for token, path in users for other in ledger.of_type(token) if thing.id in texts_at(other.inputs, path)
    ]


def refuse_while_used(text: str, *users: tuple[str, str]) -> Consequence:
    """A consequence of a deletion: it is refused while something else names the id.

    Args:
        text: The service's own, with `{}` for the id; who uses it is added.
        users: Types, each with the path at which it names the id.
    """

    def refuse(thing: Thing, ledger: Ledger) -> None:
        if found := users_of(thing, users, ledger):
            named = ", ".join(f"{other.type.rsplit(':', 1)[-1]} {other.id}" for other in found)
            raise RefusedError(f"deleting {thing.name}: api error {text.format(thing.id)} (in use by {named})")

    return refuse
