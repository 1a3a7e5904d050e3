"""Route tables, single routes, and which subnets they are for."""

from typing import Final

from rehearsal.fakes.account import Ledger
from rehearsal.fakes.aws import references as ref
from rehearsal.fakes.aws.naming import account_id, arn
from rehearsal.fakes.paths import text_at
from rehearsal.fakes.resource_kind import ResourceKind, digest, generated
from rehearsal.fakes.rules import RefusedError, Resource
from rehearsal.fakes.values import Properties


def refuse_second_table(resource: Resource, ledger: Ledger) -> None:
    """A subnet has one table (EC2, `Resource.AlreadyAssociated`)."""
    subnet = text_at(resource.inputs, "subnetId")
    for other in ledger.of_type(ref.ROUTE_TABLE_ASSOCIATION):
        if subnet and text_at(other.inputs, "subnetId") == subnet:
            raise RefusedError(
                f"creating {resource.name}: api error Resource.AlreadyAssociated: the specified association for "
                f"{text_at(other.inputs, 'routeTableId')} and {subnet} already exists"
            )


def _table(resource: Resource, identity: str, ledger: Ledger) -> Properties:
    del resource
    return {"arn": arn("ec2", f"route-table/{identity}", ledger), "ownerId": account_id(ledger)}


def _route(resource: Resource, identity: str, ledger: Ledger) -> Properties:
    del resource, identity, ledger
    return {"state": "active", "origin": "CreateRoute"}


def _route_id(resource: Resource, ledger: Ledger) -> str:
    del ledger
    table, target = text_at(resource.inputs, "routeTableId"), text_at(resource.inputs, "destinationCidrBlock")
    return f"r-{table}{digest(target, length=10)}"


TABLE: Final = ResourceKind(
    type=ref.ROUTE_TABLE,
    identity=generated("rtb"),
    replaced_by=("vpcId",),
    admissions=(
        ref.exists("vpcId", ref.VPC),
        ref.exists("routes.gatewayId", ref.INTERNET_GATEWAY),
        ref.exists("routes.natGatewayId", ref.NAT_GATEWAY),
    ),
    computed=_table,
    gone=ref.refuse_while_used(
        "DependencyViolation: The routeTable '{}' has dependencies and cannot be deleted.",
        (ref.ROUTE_TABLE_ASSOCIATION, "routeTableId"),
    ),
)
ROUTE: Final = ResourceKind(
    type="aws:ec2/route:Route",
    identity=_route_id,
    replaced_by=("routeTableId", "destinationCidrBlock"),
    admissions=(
        ref.exists("routeTableId", ref.ROUTE_TABLE),
        ref.exists("gatewayId", ref.INTERNET_GATEWAY),
        ref.exists("natGatewayId", ref.NAT_GATEWAY),
    ),
    computed=_route,
)
ASSOCIATION: Final = ResourceKind(
    type=ref.ROUTE_TABLE_ASSOCIATION,
    identity=generated("rtbassoc"),
    replaced_by=("subnetId", "gatewayId"),
    admissions=(
        ref.exists("routeTableId", ref.ROUTE_TABLE),
        ref.exists("subnetId", ref.SUBNET),
        refuse_second_table,
    ),
)
