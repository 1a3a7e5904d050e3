"""What somebody has in the project before the program comes."""

from dataclasses import dataclass
from typing import Final

from rehearsal.fakes.account import Ledger, Thing
from rehearsal.fakes.gcp import references as ref
from rehearsal.fakes.gcp.bucket import facts
from rehearsal.fakes.gcp.naming import project, region
from rehearsal.fakes.values import Properties

_BEFORE: Final = "it was there before"


@dataclass(frozen=True, kw_only=True)
class Reserved:
    """Machines that were reserved, as the stack file names them."""

    name: str
    owner: str
    """The project that they belong to."""
    zone: str
    machine: str
    hosts: int
    block: str = ""
    sub_block: str = ""


def reservation(ledger: Ledger, reserved: Reserved, *, status: str = "READY", specific: bool = True) -> Thing:
    """Put a reservation into the project, all hosts of which are in its one sub-block and healthy."""
    described: Properties = {
        "name": reserved.name,
        "owner": reserved.owner,
        "zone": reserved.zone,
        "machine": reserved.machine,
        "hosts": reserved.hosts,
        "sub_block_hosts": reserved.hosts,
        "degraded": 0,
        "block": reserved.block,
        "sub_block": reserved.sub_block,
        "status": status,
        "specific": specific,
    }
    identity = f"projects/{reserved.owner}/zones/{reserved.zone}/reservations/{reserved.name}"
    return _put(ledger, ref.RESERVATION, identity, described, f"{_BEFORE}, and is billed until it ends")


def network(ledger: Ledger, name: str, subnet: str, ranges: list[str]) -> None:
    """Put a VPC with one subnet into the project, which has secondary ranges of these names."""
    below = f"projects/{project(ledger)}"
    vpc = f"{below}/global/networks/{name}"
    _put(ledger, ref.NETWORK, vpc, {"name": name})
    described: Properties = {
        "name": subnet,
        "network": vpc,
        "region": region(ledger),
        "ipCidrRange": "10.64.0.0/20",
        "privateIpGoogleAccess": True,
        "secondaryIpRanges": [
            {"rangeName": each, "ipCidrRange": f"10.{80 + index * 4}.0.0/14"} for index, each in enumerate(ranges)
        ],
    }
    _put(ledger, ref.SUBNETWORK, f"{below}/regions/{region(ledger)}/subnetworks/{subnet}", described)


def bucket(ledger: Ledger, name: str) -> None:
    """Put an empty bucket into the project."""
    _put(ledger, ref.BUCKET, name, {"name": name, **facts(name)})


def service_account(ledger: Ledger, email: str) -> None:
    """Put the nodes' service account into the project."""
    _put(ledger, ref.SERVICE_ACCOUNT, f"projects/{project(ledger)}/serviceAccounts/{email}", {"email": email})


def _put(ledger: Ledger, kind: str, identity: str, described: Properties, because: str = _BEFORE) -> Thing:
    thing = Thing(kind, identity, identity, described, dict(described), left_because=because)
    ledger.things.append(thing)
    return thing
