"""What somebody has in the account before the program comes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rehearsal.fakes.account import Ledger, Thing
from rehearsal.fakes.alicloud import references as ref
from rehearsal.fakes.alicloud.bucket import facts
from rehearsal.fakes.values import Properties

_BEFORE: Final = "it was there before"


@dataclass(frozen=True, kw_only=True)
class Reserved:
    """A private pool, as the stack file names it."""

    id: str
    machine: str
    zone: str
    instances: int
    criteria: str = "Target"
    status: str = "Active"


def private_pool(ledger: Ledger, reserved: Reserved) -> Thing:
    """Put a private pool into the account: a capacity reservation, or an elasticity assurance."""
    described: Properties = {
        "instanceType": reserved.machine,
        "zoneIds": [reserved.zone],
        "instanceAmount": reserved.instances,
        "matchCriteria": reserved.criteria,
    }
    kind = ref.RESERVATION if reserved.id.startswith("crp-") else ref.ASSURANCE
    thing = _put(ledger, kind, reserved.id, described, f"{_BEFORE}, and bills until it is released")
    thing.outputs["status"] = reserved.status
    return thing


def network(ledger: Ledger, vpc: str, nodes: Sequence[str], pods: Sequence[str], zones: Sequence[str]) -> None:
    """Put a VPC into the account, with vSwitches of nodes and of pods in these zones, and a way out."""
    _put(ledger, ref.VPC, vpc, {"cidrBlock": "10.64.0.0/16"})
    for index, switch in enumerate([*nodes, *pods]):
        described: Properties = {
            "vpcId": vpc,
            "zoneId": zones[index % len(zones)],
            "cidrBlock": f"10.64.{32 * index}.0/19",
            "reachesOut": True,
        }
        _put(ledger, ref.SWITCH, switch, described)


def bucket(ledger: Ledger, name: str) -> None:
    """Put an empty bucket into the account."""
    _put(ledger, ref.BUCKET, name, {"bucket": name, **facts(name, ledger)})


def _put(ledger: Ledger, kind: str, identity: str, described: Properties, because: str = _BEFORE) -> Thing:
    thing = Thing(kind, identity, identity, described, dict(described), left_because=because)
    ledger.things.append(thing)
    return thing
