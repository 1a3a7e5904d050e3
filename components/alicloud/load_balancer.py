"""How ACK's network load balancer is asked for, and the security group that says who reaches it.

It hides the callers' addresses from the pods (what keeps them doesn't go with TLS), so neither the Service's ranges nor
a NetworkPolicy can tell callers apart: the security group of its listeners does.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pulumi
import pulumi_alicloud as alicloud

from components.alicloud.network import Network
from components.alicloud.provider import physical_name
from components.alicloud.settings import AlicloudExposure
from components.inference_cluster import API_PORT, LoadBalancer

_CLASS: Final = "alibabacloud.com/nlb"
"""Without it a Service gets a classic load balancer, and it stays one (ACK, "Configure NLB by annotations")."""
_PREFIX: Final = "service.beta.kubernetes.io/alibaba-cloud-loadbalancer"
IDLE_SECONDS: Final = 900
"""The longest that it keeps a silent connection."""
_DRAIN_SECONDS: Final = 120
PRIVATE_RANGES: Final = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")
"""RFC 1918."""


@dataclass(frozen=True, kw_only=True)
class LoadBalancerArgs:
    """What the load balancer takes."""

    exposure: AlicloudExposure
    network: Network
    ranges: Sequence[str]
    """Where its own addresses are: those of our VPC, or anywhere private in one that was there."""
    tags: Mapping[str, str]


def load_balancer(name: str, args: LoadBalancerArgs, opts: pulumi.ResourceOptions) -> LoadBalancer:
    """Return how the Service asks for its load balancer, and make the security group where there is one.

    Args:
        name: In the names of the resources.
        args: What it takes.
        opts: Its provider.
    """
    if args.exposure.mode == "none":
        return LoadBalancer()
    group = alicloud.ecs.SecurityGroup(
        f"{name}-group",
        security_group_name=physical_name("-api"),
        description="Who may call the API",
        vpc_id=args.network.vpc_id,
        tags=args.tags,
        opts=opts,
    )
    rules = [
        alicloud.ecs.SecurityGroupRule(
            f"{name}-callers-{index}",
            security_group_id=group.id,
            type="ingress",
            ip_protocol="tcp",
            port_range=f"{API_PORT}/{API_PORT}",
            cidr_ip=cidr,
            policy="accept",
            opts=opts,
        )
        for index, cidr in enumerate(callers(args.exposure))
    ]
    # Not before the rules are there: a listener without any lets everybody in or nobody.
    identity = pulumi.Output.all(group.id, *(rule.id for rule in rules)).apply(lambda ids: f"{ids[0]}")
    return LoadBalancer(
        annotations={**annotations(args.exposure, args.tags), **_places(args.network, identity)},
        load_balancer_class=_CLASS,
        sources=args.ranges,
        tls=args.exposure.mode == "public",
    )


def callers(exposure: AlicloudExposure) -> Sequence[str]:
    """Return the ranges that may call the API; a public one has ranges of its own, or the settings refuse it."""
    return exposure.allowed_ranges or PRIVATE_RANGES


def annotations(exposure: AlicloudExposure, tags: Mapping[str, str]) -> dict[str, str]:
    """Return what the Service says of its load balancer; deletion with the Service is what ACK does by itself.

    Args:
        exposure: Internal or public.
        tags: Of the load balancer, which the provider doesn't make.
    """
    found = {
        # Its default is the internet.
        f"{_PREFIX}-address-type": "internet" if exposure.mode == "public" else "intranet",
        f"{_PREFIX}-idle-timeout": str(IDLE_SECONDS),
        f"{_PREFIX}-connection-drain": "on",
        f"{_PREFIX}-connection-drain-timeout": str(_DRAIN_SECONDS),
        f"{_PREFIX}-additional-resource-tags": ",".join(f"{key}={value}" for key, value in tags.items()),
    }
    if exposure.mode == "public":
        found[f"{_PREFIX}-protocol-port"] = f"tcpssl:{API_PORT}"
        found[f"{_PREFIX}-cert-id"] = exposure.certificate_id or ""
    return found


def _places(network: Network, group: pulumi.Input[str]) -> dict[str, pulumi.Input[str]]:
    zones = list(network.node_switches)
    switches = pulumi.Output.all(*network.node_switches.values())
    maps = switches.apply(lambda ids: ",".join(f"{zone}:{switch}" for zone, switch in zip(zones, ids, strict=True)))
    return {f"{_PREFIX}-zone-maps": maps, f"{_PREFIX}-security-group-ids": group}
