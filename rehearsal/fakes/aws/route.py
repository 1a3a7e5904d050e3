"""Where the packets of a subnet go."""

from typing import Final

from rehearsal.fakes.account import Ledger
from rehearsal.fakes.aws import references as ref
from rehearsal.fakes.paths import text_at
from rehearsal.fakes.values import Properties, mapping, sequence

_EVERYWHERE: Final = "0.0.0.0/0"
_WAYS_OUT: Final = ("gatewayId", "natGatewayId", "transitGatewayId", "networkInterfaceId", "vpcPeeringConnectionId")


def table_of(subnet: str, ledger: Ledger) -> str:
    """The route table that a subnet is associated with; empty for the VPC's main one."""
    for association in ledger.of_type(ref.ROUTE_TABLE_ASSOCIATION):
        if text_at(association.inputs, "subnetId") == subnet:
            return text_at(association.inputs, "routeTableId")
    return ""


def routes_of(table: str, ledger: Ledger) -> list[Properties]:
    """The routes of a table: its own, and those that were made by themselves."""
    found = ledger.find(ref.ROUTE_TABLE, table)
    own = [mapping(route) for route in sequence(found.inputs.get("routes"))] if found else []
    single = [
        {**route.inputs, "cidrBlock": text_at(route.inputs, "destinationCidrBlock")}
        for route in ledger.of_type("aws:ec2/route:Route")
        if text_at(route.inputs, "routeTableId") == table
    ]
    return [*own, *single]


def reaches_out(subnet: str, ledger: Ledger) -> bool:
    """Whether a packet from a subnet to anywhere finds a way."""
    return any(
        text_at(route, "cidrBlock") == _EVERYWHERE and any(text_at(route, way) for way in _WAYS_OUT)
        for route in routes_of(table_of(subnet, ledger), ledger)
    )
