"""The network: two private subnets, one NAT gateway, and a free way to S3; or one that was there before."""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pulumi
import pulumi_aws as aws

from components.aws import settings

_WITHOUT_EKS: Final = ("use1-az3", "usw1-az2", "cac1-az3")
"""Zone ids where EKS puts no control plane (EKS user guide, network-reqs)."""
_INTERNAL: Final = {"kubernetes.io/role/internal-elb": "1"}
_PUBLIC: Final = {"kubernetes.io/role/elb": "1"}


@dataclass(frozen=True, kw_only=True)
class NetworkArgs:
    """What the network takes."""

    network: settings.Network
    region: str
    zones: tuple[str, str]
    """That of the GPU nodes, and another one, which EKS wants."""
    gpu_subnets: Sequence[str]
    """Private subnets in the first zone, of those that were there before."""


class Network(pulumi.ComponentResource):
    """A VPC with room for the cluster."""

    vpc_id: pulumi.Input[str]
    private_subnet_ids: Sequence[pulumi.Input[str]]
    """In both zones."""
    public_subnet_ids: Sequence[pulumi.Input[str]]
    """In both zones; empty in a network that was there before and has none for us."""
    gpu_subnet_ids: Sequence[pulumi.Input[str]]
    """Private ones in the zone of the GPU nodes: a reservation is good in one zone alone."""

    def __init__(self, name: str, args: NetworkArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        props = {"zones": list(args.zones), "vpc": args.network.vpc_id}
        super().__init__("kimi:aws:Network", name, props, opts)
        if args.network.vpc_id is None:
            self._make(name, args)
        else:
            self.vpc_id = args.network.vpc_id
            self.private_subnet_ids = args.network.private_subnet_ids
            self.public_subnet_ids = args.network.public_subnet_ids
            self.gpu_subnet_ids = args.gpu_subnets
        self.register_outputs({"vpcId": self.vpc_id})

    def _make(self, name: str, args: NetworkArgs) -> None:
        child = pulumi.ResourceOptions(parent=self)
        vpc = aws.ec2.Vpc(
            f"{name}-vpc",
            cidr_block=args.network.cidr,
            enable_dns_hostnames=True,
            enable_dns_support=True,
            tags={"Name": f"{pulumi.get_project()}-{pulumi.get_stack()}"},
            opts=child,
        )
        private_ranges, public_ranges = subnet_ranges(args.network.cidr)
        private = [
            _subnet(f"{name}-private-{zone}", vpc, zone, cidr, _INTERNAL, child)
            for zone, cidr in zip(args.zones, private_ranges, strict=True)
        ]
        public = [
            _subnet(f"{name}-public-{zone}", vpc, zone, cidr, _PUBLIC, child)
            for zone, cidr in zip(args.zones, public_ranges, strict=True)
        ]
        gateway = aws.ec2.InternetGateway(f"{name}-internet", vpc_id=vpc.id, opts=child)
        _route_table(
            f"{name}-public",
            vpc,
            public,
            aws.ec2.RouteTableRouteArgs(cidr_block="0.0.0.0/0", gateway_id=gateway.id),
            child,
        )
        address = aws.ec2.Eip(f"{name}-nat-address", domain="vpc", opts=_after(child, gateway))
        # In the zone of the GPU nodes: traffic between zones costs, and theirs is the most.
        nat = aws.ec2.NatGateway(
            f"{name}-nat", allocation_id=address.id, subnet_id=public[0].id, opts=_after(child, gateway)
        )
        table = _route_table(
            f"{name}-private",
            vpc,
            private,
            aws.ec2.RouteTableRouteArgs(cidr_block="0.0.0.0/0", nat_gateway_id=nat.id),
            child,
        )
        # Without it each load of the weights costs 70 USD of NAT traffic (1,561 GB x 0.045).
        aws.ec2.VpcEndpoint(
            f"{name}-s3",
            vpc_id=vpc.id,
            service_name=f"com.amazonaws.{args.region}.s3",
            vpc_endpoint_type="Gateway",
            route_table_ids=[table.id],
            opts=child,
        )
        self.vpc_id = vpc.id
        self.private_subnet_ids = [subnet.id for subnet in private]
        self.public_subnet_ids = [subnet.id for subnet in public]
        self.gpu_subnet_ids = [private[0].id]


def second_zone(first: str, opts: pulumi.InvokeOptions) -> str:
    """Return another zone of the region in which EKS can put its control plane.

    Args:
        first: The zone of the GPU nodes.
        opts: The provider.
    """
    # Local Zones have to be opted into, and EKS wants none of them.
    own = aws.GetAvailabilityZonesFilterArgs(name="opt-in-status", values=["opt-in-not-required"])
    found = aws.get_availability_zones(state="available", filters=[own], exclude_zone_ids=list(_WITHOUT_EKS), opts=opts)
    # Sorted: another order in another answer must not move the subnet.
    return next(zone for zone in sorted(found.names) if zone != first)


def subnet_ranges(cidr: str) -> tuple[list[str], list[str]]:
    """Return the ranges of the two private and the two public subnets: a quarter and a sixteenth of the whole each.

    Args:
        cidr: Of the VPC, /16 to /20.
    """
    first, second, third, _ = ipaddress.IPv4Network(cidr).subnets(prefixlen_diff=2)
    public = list(third.subnets(prefixlen_diff=2))[:2]
    return [str(first), str(second)], [str(range_) for range_ in public]


def _subnet(
    name: str, vpc: aws.ec2.Vpc, zone: str, cidr: str, role: dict[str, str], opts: pulumi.ResourceOptions
) -> aws.ec2.Subnet:
    tags = {"Name": f"{pulumi.get_project()}-{pulumi.get_stack()}-{name}", **role}
    return aws.ec2.Subnet(name, vpc_id=vpc.id, availability_zone=zone, cidr_block=cidr, tags=tags, opts=opts)


def _route_table(
    name: str,
    vpc: aws.ec2.Vpc,
    subnets: Sequence[aws.ec2.Subnet],
    route: aws.ec2.RouteTableRouteArgs,
    opts: pulumi.ResourceOptions,
) -> aws.ec2.RouteTable:
    table = aws.ec2.RouteTable(f"{name}-routes", vpc_id=vpc.id, routes=[route], opts=opts)
    for index, subnet in enumerate(subnets):
        aws.ec2.RouteTableAssociation(f"{name}-routes-{index}", route_table_id=table.id, subnet_id=subnet.id, opts=opts)
    return table


def _after(opts: pulumi.ResourceOptions, resource: pulumi.Resource) -> pulumi.ResourceOptions:
    return pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=[resource]))
