"""What somebody has in the account before the program comes."""

from collections.abc import Sequence
from typing import Final

from rehearsal.fakes.account import Ledger, Thing
from rehearsal.fakes.aws import references as ref
from rehearsal.fakes.aws.bucket import facts
from rehearsal.fakes.aws.reservation import BLOCK, ON_DEMAND
from rehearsal.fakes.aws.zone import zones
from rehearsal.fakes.resource_kind import digest
from rehearsal.fakes.values import Properties

_BEFORE: Final = "it was there before"
_DAY: Final = 24 * 3600.0


def block(
    ledger: Ledger, identity: str, *, machine: str, instances: int, zone: str, starts: float = -_DAY, days: float = 15
) -> Thing:
    """Put a Capacity Block into the account that was bought before.

    Args:
        ledger: The account.
        identity: Such as `cr-0123456789abcdef0`.
        machine: Its instance type.
        instances: How many.
        zone: Its Availability Zone.
        starts: Seconds from now; negative for one that has started.
        days: From its start to its end.
    """
    end = ledger.clock.stamp(starts + days * _DAY)
    described = _reservation(machine, instances, zone)
    described |= {"startDate": ledger.clock.stamp(starts), "endDate": end}
    return _put(ledger, BLOCK, identity, described, f"{_BEFORE}, and is paid until {end} whoever destroys what")


def on_demand(ledger: Ledger, identity: str, *, machine: str, instances: int, zone: str) -> Thing:
    """Put an On-Demand Capacity Reservation into the account that bills already."""
    described = {**_reservation(machine, instances, zone), "startDate": ledger.clock.stamp(-_DAY)}
    return _put(ledger, ON_DEMAND, identity, described, f"{_BEFORE}, and bills until somebody cancels it")


def network(ledger: Ledger, vpc: str, private: Sequence[str], public: Sequence[str], gpu_zone: str) -> None:
    """Put a VPC into the account, with its gateways; the first private subnet is in the zone of the GPU nodes."""
    others = [zone for zone in zones(ledger) if zone != gpu_zone]
    order = [gpu_zone, *others]
    _put(ledger, ref.VPC, vpc, {"cidrBlock": "10.64.0.0/16"})
    gateway, nat = f"igw-{digest(vpc)}", f"nat-{digest(vpc)}"
    _put(ledger, ref.INTERNET_GATEWAY, gateway, {"vpcId": vpc})
    for role, subnets, way, offset in (
        ("internal-elb", private, {"natGatewayId": nat}, 0),
        ("elb", public, {"gatewayId": gateway}, 128),
    ):
        table = f"rtb-{digest(vpc, role)}"
        _put(ledger, ref.ROUTE_TABLE, table, {"vpcId": vpc, "routes": [{"cidrBlock": "0.0.0.0/0", **way}]})
        for index, subnet in enumerate(subnets):
            place: Properties = {"vpcId": vpc, "availabilityZone": order[index % len(order)]}
            tags = {f"kubernetes.io/role/{role}": "1"}
            _put(ledger, ref.SUBNET, subnet, {**place, "cidrBlock": f"10.64.{offset + index}.0/24", "tags": tags})
            _put(
                ledger,
                ref.ROUTE_TABLE_ASSOCIATION,
                f"rtbassoc-{digest(subnet)}",
                {"routeTableId": table, "subnetId": subnet},
            )


def bucket(ledger: Ledger, name: str) -> None:
    """Put an empty bucket into the account."""
    _put(ledger, ref.BUCKET, name, {"bucket": name, **facts(name, ledger)})


def _reservation(machine: str, instances: int, zone: str) -> Properties:
    return {"instanceType": machine, "instanceCount": instances, "availabilityZone": zone}


def _put(ledger: Ledger, kind: str, identity: str, described: Properties, because: str = _BEFORE) -> Thing:
    thing = Thing(kind, identity, identity, described, dict(described), left_because=because)
    ledger.things.append(thing)
    return thing
