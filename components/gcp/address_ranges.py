"""How a VPC's range is cut: pods, nodes, Services, and the proxies of a gateway."""

import ipaddress
from dataclasses import dataclass
from typing import Final

from components.faults import Fault

_WIDEST: Final = 13
"""GKE takes no range of Services wider than a /16."""
_NARROWEST: Final = 18
_NODE_PODS: Final = 24
"""GKE gives a node of up to 110 pods a /24."""


@dataclass(frozen=True, kw_only=True)
class Ranges:
    """The parts, as CIDR."""

    pods: str
    """Half of the whole."""
    nodes: str
    """An eighth; the control plane's private address is in it too."""
    services: str
    proxies: str
    """A sixty-fourth: Google asks for a /26 at least and recommends a /23."""


def cut(cidr: str) -> Ranges:
    """Return the parts of a range."""
    pods, rest = ipaddress.IPv4Network(cidr).subnets()
    nodes, services, proxies, _ = rest.subnets(prefixlen_diff=2)
    return Ranges(
        pods=str(pods),
        nodes=str(nodes),
        services=str(services),
        proxies=str(next(proxies.subnets(prefixlen_diff=3))),
    )


def faults(cidr: str) -> list[Fault]:
    """Refuse what isn't a range, or is too narrow or too wide."""
    try:
        fits = _WIDEST <= ipaddress.IPv4Network(cidr).prefixlen <= _NARROWEST
    except ValueError:
        fits = False
    if fits:
        return []
    allowed = f"an IPv4 range from /{_WIDEST} to /{_NARROWEST}, its host bits zero"
    return [Fault(key="network.cidr", given=cidr, allowed=allowed, instead="10.20.0.0/16")]


def room_faults(cidr: str, nodes: int) -> list[Fault]:
    """Refuse a range whose pods' half has no /24 for each node and for those that come while others go."""
    if faults(cidr):
        return []
    room, needed = 2 ** (_NODE_PODS - ipaddress.IPv4Network(cut(cidr).pods).prefixlen), nodes + 2
    if needed <= room:
        return []
    allowed = f"a node takes a /24 for its pods: {nodes} nodes + 2 on the way = {needed}, and there is room for {room}"
    return [Fault(key="network.cidr", given=cidr, allowed=allowed, instead="a wider range")]
