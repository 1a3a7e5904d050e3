"""Virtual private clouds."""

import ipaddress
from collections.abc import Iterator
from typing import Final

from rehearsal.fakes.account import Ledger
from rehearsal.fakes.aws import references as ref
from rehearsal.fakes.aws.naming import account_id, arn
from rehearsal.fakes.paths import text_at
from rehearsal.fakes.resource_kind import ResourceKind, digest, generated
from rehearsal.fakes.rules import Failure, Resource
from rehearsal.fakes.values import Properties

_LARGEST, _SMALLEST = 16, 28


def cidr_failures(inputs: Properties) -> Iterator[Failure]:
    """A VPC has a range from /16 to /28, its host bits zero (EC2, `InvalidVpc.Range`)."""
    cidr = text_at(inputs, "cidrBlock")
    try:
        fits = not cidr or _LARGEST <= ipaddress.IPv4Network(cidr).prefixlen <= _SMALLEST
    except ValueError:
        fits = False
    if not fits:
        yield Failure("cidrBlock", f"InvalidVpc.Range: The CIDR '{cidr}' is invalid.")


def _computed(resource: Resource, identity: str, ledger: Ledger) -> Properties:
    del resource
    return {
        "arn": arn("ec2", f"vpc/{identity}", ledger),
        "ownerId": account_id(ledger),
        "mainRouteTableId": f"rtb-{digest(identity, 'main')}",
        "defaultRouteTableId": f"rtb-{digest(identity, 'main')}",
        "defaultSecurityGroupId": f"sg-{digest(identity, 'default')}",
        "defaultNetworkAclId": f"acl-{digest(identity)}",
        "dhcpOptionsId": "dopt-0123456789abcdef0",
    }


KIND: Final = ResourceKind(
    type=ref.VPC,
    identity=generated("vpc"),
    replaced_by=("cidrBlock", "instanceTenancy"),
    checks=(cidr_failures,),
    computed=_computed,
    gone=ref.refuse_while_used(
        "DependencyViolation: The vpc '{}' has dependencies and cannot be deleted.",
        (ref.SUBNET, "vpcId"),
        (ref.INTERNET_GATEWAY, "vpcId"),
        (ref.ROUTE_TABLE, "vpcId"),
        (ref.ENDPOINT, "vpcId"),
        (ref.SECURITY_GROUP, "vpcId"),
        (ref.LOAD_BALANCER, "vpcId"),
    ),
)
