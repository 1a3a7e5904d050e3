"""Subnets: a range of a VPC in one zone."""

import ipaddress
from typing import Final

from rehearsal.fakes.account import Ledger
from rehearsal.fakes.aws import references as ref
from rehearsal.fakes.aws.naming import account_id, arn
from rehearsal.fakes.aws.zone import refuse_foreign_zone, zone_id, zones
from rehearsal.fakes.paths import text_at
from rehearsal.fakes.resource_kind import ResourceKind, generated
from rehearsal.fakes.rules import RefusedError, Resource
from rehearsal.fakes.values import Properties


def zone_of(identity: str, ledger: Ledger) -> str:
    """The zone of a subnet; empty if there is no such subnet."""
    found = ledger.find(ref.SUBNET, identity)
    return text_at(found.outputs, "availabilityZone") if found else ""


def vpc_of(identity: str, ledger: Ledger) -> str:
    """The VPC of a subnet; empty if there is no such subnet."""
    found = ledger.find(ref.SUBNET, identity)
    return text_at(found.inputs, "vpcId") if found else ""


def refuse_bad_range(resource: Resource, ledger: Ledger) -> None:
    """A subnet lies in its VPC and overlaps no other (EC2, `InvalidSubnet.Range`, `InvalidSubnet.Conflict`)."""
    cidr, vpc = text_at(resource.inputs, "cidrBlock"), text_at(resource.inputs, "vpcId")
    network = ledger.find(ref.VPC, vpc)
    if not cidr or network is None:
        return
    wanted = ipaddress.IPv4Network(cidr)
    if not wanted.subnet_of(ipaddress.IPv4Network(text_at(network.inputs, "cidrBlock"))):
        raise RefusedError(f"creating {resource.name}: api error InvalidSubnet.Range: The CIDR '{cidr}' is invalid.")
    for other in ledger.of_type(ref.SUBNET):
        taken = text_at(other.inputs, "cidrBlock")
        if text_at(other.inputs, "vpcId") == vpc and taken and wanted.overlaps(ipaddress.IPv4Network(taken)):
            raise RefusedError(
                f"creating {resource.name}: api error InvalidSubnet.Conflict: The CIDR '{cidr}' conflicts with "
                "another subnet"
            )


def _computed(resource: Resource, identity: str, ledger: Ledger) -> Properties:
    zone = text_at(resource.inputs, "availabilityZone") or zones(ledger)[0]
    return {
        "arn": arn("ec2", f"subnet/{identity}", ledger),
        "ownerId": account_id(ledger),
        "availabilityZone": zone,
        "availabilityZoneId": zone_id(zone),
    }


KIND: Final = ResourceKind(
    type=ref.SUBNET,
    identity=generated("subnet"),
    replaced_by=("vpcId", "availabilityZone", "cidrBlock"),
    admissions=(ref.exists("vpcId", ref.VPC), refuse_foreign_zone, refuse_bad_range),
    computed=_computed,
    gone=ref.refuse_while_used(
        "DependencyViolation: The subnet '{}' has dependencies and cannot be deleted.",
        (ref.NAT_GATEWAY, "subnetId"),
        (ref.ENDPOINT, "subnetIds"),
        (ref.CLUSTER, "vpcConfig.subnetIds"),
        (ref.NODE_GROUP, "subnetIds"),
        (ref.INSTANCE, "subnetId"),
        (ref.LOAD_BALANCER, "subnets"),
    ),
)
