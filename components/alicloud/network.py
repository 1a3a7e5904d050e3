"""The network: vSwitches for nodes and pods in two zones and one NAT gateway; or one that was there before.

OSS needs no endpoint of its own: its internal addresses are reachable from every VPC of the region, for free.
"""

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pulumi
import pulumi_alicloud as alicloud

from components.alicloud import settings
from components.alicloud.provider import physical_name

_BY_TRAFFIC: Final = "PayByTraffic"
"""What comes in is free then, and weights come in (Alibaba Cloud, "Billing of EIPs")."""


@dataclass(frozen=True, kw_only=True)
class NetworkArgs:
    """What the network takes."""

    network: settings.Network
    zones: tuple[str, str]
    """That of the GPU nodes, and another one, which network load balancers want."""
    switch_zones: Mapping[str, str]
    """Zone of each vSwitch that was there before."""
    tags: Mapping[str, str]


class Network(pulumi.ComponentResource):
    """A VPC with room for the cluster, and a way out of it."""

    vpc_id: pulumi.Input[str]
    node_switches: Mapping[str, pulumi.Input[str]]
    """One a zone, the GPU nodes' own first: nodes, the control plane and load balancers stand in them."""
    pod_switch_ids: Sequence[pulumi.Input[str]]

    def __init__(self, name: str, args: NetworkArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("kimi:alicloud:Network", name, {"zones": list(args.zones), "vpc": args.network.vpc_id}, opts)
        given = args.network
        if given.vpc_id is None:
            self._make(name, args)
        else:
            self.vpc_id = given.vpc_id
            by_zone = {args.switch_zones.get(switch, ""): switch for switch in reversed(given.vswitch_ids)}
            self.node_switches = {zone: by_zone[zone] for zone in args.zones}
            self.pod_switch_ids = given.pod_vswitch_ids
        self.register_outputs({"vpcId": self.vpc_id})

    def _make(self, name: str, args: NetworkArgs) -> None:
        child = pulumi.ResourceOptions(parent=self)
        vpc = alicloud.vpc.Network(
            f"{name}-vpc", vpc_name=physical_name(), cidr_block=args.network.cidr, tags=args.tags, opts=child
        )
        node_ranges, pod_ranges = switch_ranges(args.network.cidr)
        nodes = [
            _switch(f"{name}-nodes-{zone}", vpc, zone, cidr, args, child)
            for zone, cidr in zip(args.zones, node_ranges, strict=True)
        ]
        pods = [
            _switch(f"{name}-pods-{zone}", vpc, zone, cidr, args, child)
            for zone, cidr in zip(args.zones, pod_ranges, strict=True)
        ]
        _way_out(name, vpc, nodes[0], args, child)
        self.vpc_id = vpc.id
        self.node_switches = {zone: switch.id for zone, switch in zip(args.zones, nodes, strict=True)}
        self.pod_switch_ids = [switch.id for switch in pods]

    @property
    def node_switch_ids(self) -> list[pulumi.Input[str]]:
        """In both zones."""
        return list(self.node_switches.values())


def load_balancer_zones(opts: pulumi.InvokeOptions) -> list[str]:
    """Return the zones of the region that have network load balancers, sorted: another answer must move nothing."""
    return sorted(zone.zone_id for zone in alicloud.nlb.get_zones(opts=opts).zones)


def switch_ranges(cidr: str) -> tuple[list[str], list[str]]:
    """Return the ranges of the nodes' and the pods' vSwitches: a sixteenth and a quarter of the whole each.

    ACK wants /19 or more for pods that have addresses of the VPC (CreateCluster, pod_vswitch_ids).

    Args:
        cidr: Of the VPC, /16 or /17.
    """
    first, second, third, _ = ipaddress.IPv4Network(cidr).subnets(prefixlen_diff=2)
    nodes = list(third.subnets(prefixlen_diff=2))[:2]
    return [str(range_) for range_ in nodes], [str(first), str(second)]


def _switch(
    name: str, vpc: alicloud.vpc.Network, zone: str, cidr: str, args: NetworkArgs, opts: pulumi.ResourceOptions
) -> alicloud.vpc.Switch:
    return alicloud.vpc.Switch(
        name,
        vswitch_name=physical_name(f"-{name}"),
        vpc_id=vpc.id,
        zone_id=zone,
        cidr_block=cidr,
        tags=args.tags,
        opts=opts,
    )


def _way_out(
    name: str,
    vpc: alicloud.vpc.Network,
    switch: alicloud.vpc.Switch,
    args: NetworkArgs,
    opts: pulumi.ResourceOptions,
) -> None:
    """Make the NAT gateway, its addresses and its rule: a node without a way out never becomes ready."""
    gateway = alicloud.vpc.NatGateway(
        f"{name}-nat",
        nat_gateway_name=physical_name(),
        vpc_id=vpc.id,
        vswitch_id=switch.id,
        nat_type="Enhanced",
        payment_type="PayAsYouGo",
        internet_charge_type="PayByLcu",
        tags=args.tags,
        opts=opts,
    )
    addresses = [
        alicloud.ecs.EipAddress(
            f"{name}-address-{index}",
            address_name=physical_name(f"-{index}"),
            payment_type="PayAsYouGo",
            internet_charge_type=_BY_TRAFFIC,
            # A string in the SDK. Its default of 5 would bring the weights in 29 days.
            bandwidth=str(settings.ADDRESS_MBPS),
            tags=args.tags,
            opts=opts,
        )
        for index in range(args.network.addresses)
    ]
    bound = [
        alicloud.ecs.EipAssociation(
            f"{name}-binding-{index}",
            allocation_id=address.id,
            instance_id=gateway.id,
            instance_type="Nat",
            opts=opts,
        )
        for index, address in enumerate(addresses)
    ]
    alicloud.vpc.SnatEntry(
        f"{name}-way-out",
        snat_table_id=gateway.snat_table_ids,
        source_cidr=args.network.cidr,
        # All of them: connections are spread over the addresses, each of which is a limit of its own.
        snat_ip=pulumi.Output.all(*(address.ip_address for address in addresses)).apply(",".join),
        opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=bound)),
    )
