"""The ways out of a VPC: internet gateways, NAT gateways and their addresses."""

from typing import Final

from rehearsal.fakes.account import Ledger, Thing
from rehearsal.fakes.aws import references as ref
from rehearsal.fakes.aws.naming import account_id, arn
from rehearsal.fakes.aws.subnet import vpc_of
from rehearsal.fakes.paths import text_at
from rehearsal.fakes.resource_kind import ResourceKind, by_the_hour, digest, generated
from rehearsal.fakes.rules import RefusedError, Resource
from rehearsal.fakes.values import Properties

# AWS price pages, us-west-2, read 2026-08. A public IPv4 address bills whether something uses it or not.
_NAT_USD_HOUR: Final = 0.045
_ADDRESS_USD_HOUR: Final = 0.005
_ADDRESSES: Final = 254


def public_address(identity: str) -> str:
    """An address for documentation (RFC 5737), so that nobody takes it for a real one."""
    return f"203.0.113.{int(digest(identity), 16) % _ADDRESSES + 1}"


def refuse_without_internet(resource: Resource, ledger: Ledger) -> None:
    """A public NAT gateway needs its VPC's internet gateway (EC2, `Gateway.NotAttached`)."""
    vpc = vpc_of(text_at(resource.inputs, "subnetId"), ledger)
    private = text_at(resource.inputs, "connectivityType") == "private"
    if not private and not any(text_at(g.inputs, "vpcId") == vpc for g in ledger.of_type(ref.INTERNET_GATEWAY)):
        raise RefusedError(
            f"creating {resource.name}: api error Gateway.NotAttached: Network {vpc} has no Internet gateway attached"
        )


def refuse_mapped_addresses(thing: Thing, ledger: Ledger) -> None:
    """An internet gateway stays while something in its VPC has a public address (EC2, `DependencyViolation`)."""
    vpc = text_at(thing.inputs, "vpcId")
    gateways = [
        nat for nat in ledger.of_type(ref.NAT_GATEWAY) if vpc_of(text_at(nat.inputs, "subnetId"), ledger) == vpc
    ]
    balancers = [
        each
        for each in ledger.of_type(ref.LOAD_BALANCER)
        if text_at(each.inputs, "vpcId") == vpc and text_at(each.inputs, "scheme") == "internet-facing"
    ]
    if gateways or balancers:
        raise RefusedError(
            f"deleting {thing.name}: api error DependencyViolation: Network {vpc} has some mapped public address(es). "
            "Please unmap those public address(es) before detaching the gateway."
        )


def _internet(resource: Resource, identity: str, ledger: Ledger) -> Properties:
    del resource
    return {"arn": arn("ec2", f"internet-gateway/{identity}", ledger), "ownerId": account_id(ledger)}


def _address(resource: Resource, identity: str, ledger: Ledger) -> Properties:
    del resource
    return {
        "allocationId": identity,
        "arn": arn("ec2", f"elastic-ip/{identity}", ledger),
        "publicIp": public_address(identity),
        "domain": "vpc",
    }


def _nat(resource: Resource, identity: str, ledger: Ledger) -> Properties:
    del ledger
    allocation = text_at(resource.inputs, "allocationId")
    interface = f"eni-{digest(identity)}"
    return {"publicIp": public_address(allocation), "networkInterfaceId": interface, "connectivityType": "public"}


INTERNET: Final = ResourceKind(
    type=ref.INTERNET_GATEWAY,
    identity=generated("igw"),
    admissions=(ref.exists("vpcId", ref.VPC),),
    computed=_internet,
    gone=refuse_mapped_addresses,
)
ADDRESS: Final = ResourceKind(
    type=ref.ADDRESS,
    identity=generated("eipalloc"),
    computed=_address,
    rate=by_the_hour(_ADDRESS_USD_HOUR),
    gone=ref.refuse_while_used(
        "InvalidIPAddress.InUse: The allocation {} is in use", (ref.NAT_GATEWAY, "allocationId")
    ),
)
NAT: Final = ResourceKind(
    type=ref.NAT_GATEWAY,
    identity=generated("nat"),
    replaced_by=("allocationId", "subnetId", "connectivityType"),
    admissions=(
        ref.exists("subnetId", ref.SUBNET),
        ref.exists("allocationId", ref.ADDRESS),
        refuse_without_internet,
    ),
    computed=_nat,
    rate=by_the_hour(_NAT_USD_HOUR),
    seconds=120.0,
)
