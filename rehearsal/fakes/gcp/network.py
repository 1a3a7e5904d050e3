"""Networks: subnets, routers with NAT, and addresses."""

import ipaddress
import itertools
from collections.abc import Iterator
from typing import Final

from rehearsal.fakes.account import Ledger
from rehearsal.fakes.gcp import references as ref
from rehearsal.fakes.gcp.naming import RFC1035, fits, link, path_of
from rehearsal.fakes.paths import number_at, text_at, texts_at
from rehearsal.fakes.resource_kind import ResourceKind, by_the_hour, digest
from rehearsal.fakes.rules import Failure, Resource
from rehearsal.fakes.values import Properties

_NAME: Final = fits("name", RFC1035, "1 to 63 lower-case letters, digits and -, beginning with a letter")
# Google Cloud price list, us-central1, 2026: a gateway for the first machines; its traffic comes on top.
_NAT_USD_HOUR: Final = 0.0056


def range_failures(inputs: Properties) -> Iterator[Failure]:
    """Ranges have their host bits zero (compute.v1, `ipCidrRange`)."""
    for path in ("ipCidrRange", "secondaryIpRanges.ipCidrRange"):
        for cidr in texts_at(inputs, path):
            try:
                ipaddress.IPv4Network(cidr)
            except ValueError:
                yield Failure(path, f"Invalid IPCidrRange: '{cidr}'")


def refuse_overlap(resource: Resource, ledger: Ledger) -> None:
    """No range of a network overlaps another (Compute Engine, `Invalid IPCidrRange: … conflicts`)."""
    network = ref.found(ref.NETWORK, text_at(resource.inputs, "network"), ledger)
    others = [
        each
        for each in ledger.of_type(ref.SUBNETWORK)
        if ref.found(ref.NETWORK, text_at(each.inputs, "network"), ledger) is network
    ]
    for ours, other in itertools.product(_ranges(resource.inputs), others):
        if any(ours.overlaps(theirs) for theirs in _ranges(other.inputs)):
            raise ref.refused(
                resource.name,
                f"Error 400: Invalid IPCidrRange: {ours} conflicts with subnetwork '{other.id}', invalid",
            )


def nat_failures(inputs: Properties) -> Iterator[Failure]:
    """Dynamic ports exclude endpoint-independent mapping, and are powers of two (Cloud NAT, ports and addresses)."""
    dynamic = inputs.get("enableDynamicPortAllocation") is True
    if dynamic and inputs.get("enableEndpointIndependentMapping") is True:
        yield Failure("enableEndpointIndependentMapping", "can't be on with dynamic port allocation")
    for key in ("minPortsPerVm", "maxPortsPerVm"):
        ports = number_at(inputs, key)
        if dynamic and ports & (ports - 1):
            yield Failure(key, f"{ports} is no power of two, which dynamic port allocation wants")


def _ranges(inputs: Properties) -> list[ipaddress.IPv4Network]:
    texts = [*texts_at(inputs, "ipCidrRange"), *texts_at(inputs, "secondaryIpRanges.ipCidrRange")]
    return [ipaddress.IPv4Network(text) for text in texts]


def _computed(resource: Resource, identity: str, ledger: Ledger) -> Properties:
    del resource, ledger
    return {"selfLink": link(identity)}


def _address(resource: Resource, identity: str, ledger: Ledger) -> Properties:
    subnet = ref.found(ref.SUBNETWORK, text_at(resource.inputs, "subnetwork"), ledger)
    cidr = text_at(subnet.inputs, "ipCidrRange") if subnet else "203.0.113.0/24"
    host = int(digest(identity, length=2), 16) + 4
    return {"selfLink": link(identity), "address": str(ipaddress.IPv4Network(cidr)[host])}


NETWORK: Final = ResourceKind(
    type=ref.NETWORK,
    identity=path_of("global/networks"),
    name="name",
    checks=(_NAME,),
    computed=_computed,
    gone=ref.refuse_while_used(
        "network",
        (ref.SUBNETWORK, "network"),
        (ref.ROUTER, "network"),
        (ref.ENDPOINT_GROUP, "network"),
        (ref.CLUSTER, "network"),
    ),
    seconds=20.0,
)
SUBNETWORK: Final = ResourceKind(
    type=ref.SUBNETWORK,
    identity=path_of("regions/{}/subnetworks"),
    name="name",
    replaced_by=("network", "region", "purpose"),
    checks=(_NAME, range_failures),
    admissions=(ref.exists("network", ref.NETWORK), refuse_overlap),
    computed=_computed,
    gone=ref.refuse_while_used(
        "subnetwork", (ref.CLUSTER, "subnetwork"), (ref.ENDPOINT_GROUP, "subnetwork"), (ref.ADDRESS, "subnetwork")
    ),
    seconds=20.0,
)
ROUTER: Final = ResourceKind(
    type=ref.ROUTER,
    identity=path_of("regions/{}/routers"),
    name="name",
    replaced_by=("network", "region"),
    checks=(_NAME,),
    admissions=(ref.exists("network", ref.NETWORK),),
    computed=_computed,
    gone=ref.refuse_while_used("router", (ref.NAT, "router")),
)
NAT: Final = ResourceKind(
    type=ref.NAT,
    identity=path_of("regions/{}/routerNats"),
    name="name",
    replaced_by=("router", "region"),
    checks=(_NAME, nat_failures),
    admissions=(ref.exists("router", ref.ROUTER),),
    rate=by_the_hour(_NAT_USD_HOUR),
)
ADDRESS: Final = ResourceKind(
    type=ref.ADDRESS,
    identity=path_of("regions/{}/addresses"),
    name="name",
    replaced_by=("addressType", "network", "purpose", "region", "subnetwork"),
    checks=(_NAME,),
    admissions=(ref.exists("subnetwork", ref.SUBNETWORK),),
    computed=_address,
)
