"""The network: one subnet for private nodes, a NAT gateway, and a free way to Cloud Storage; or one that was there."""

from dataclasses import dataclass
from typing import Final

import pulumi
import pulumi_gcp as gcp

from components import naming
from components.gcp import address_ranges, settings
from components.gcp.provider import identity

_NAME_MAX: Final = 63
_PODS: Final = "pods"
_SERVICES: Final = "services"
_LEFTOVERS: Final = pulumi.CustomTimeouts(delete="40m")
"""GKE takes its endpoint groups and firewall rules away after the cluster, and they hold the network until then
(terraform-provider-google #5948, #7637)."""


@dataclass(frozen=True, kw_only=True)
class NetworkArgs:
    """What the network takes."""

    network: settings.Network
    region: str
    gateway: bool
    """Whether an Inference Gateway needs a subnet for its proxies."""


class Network(pulumi.ComponentResource):
    """A VPC with room for the cluster."""

    vpc: pulumi.Input[str]
    subnet: pulumi.Input[str]
    pods_range: str
    """Name of the subnet's secondary range."""
    services_range: str
    proxies: str | None
    """CIDR range that a gateway's proxies speak from; None without a gateway."""

    def __init__(self, name: str, args: NetworkArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        props = {"vpc": args.network.name, "cidr": args.network.cidr if args.network.name is None else None}
        super().__init__("kimi:gcp:Network", name, props, opts)
        given = args.network
        if given.name is None:
            self._make(name, args)
        else:
            self.vpc, self.subnet = given.name, given.subnet or ""
            self.pods_range, self.services_range = given.pods_range or "", given.services_range or ""
            self.proxies = given.proxy_range if args.gateway else None
        self.register_outputs({"vpc": self.vpc})

    def _make(self, name: str, args: NetworkArgs) -> None:
        child = pulumi.ResourceOptions(parent=self)
        lasting = pulumi.ResourceOptions(parent=self, custom_timeouts=_LEFTOVERS)
        physical, ranges = naming.fit(identity(), _NAME_MAX), address_ranges.cut(args.network.cidr)
        vpc = gcp.compute.Network(f"{name}-vpc", name=physical, auto_create_subnetworks=False, opts=lasting)
        subnet = gcp.compute.Subnetwork(
            f"{name}-subnet",
            name=physical,
            network=vpc.id,
            region=args.region,
            ip_cidr_range=ranges.nodes,
            secondary_ip_ranges=[
                gcp.compute.SubnetworkSecondaryIpRangeArgs(range_name=_PODS, ip_cidr_range=ranges.pods),
                gcp.compute.SubnetworkSecondaryIpRangeArgs(range_name=_SERVICES, ip_cidr_range=ranges.services),
            ],
            # Without it each load of the weights goes through the NAT gateway, which bills every byte.
            private_ip_google_access=True,
            opts=lasting,
        )
        router = gcp.compute.Router(f"{name}-router", name=physical, network=vpc.id, region=args.region, opts=child)
        gcp.compute.RouterNat(
            f"{name}-nat",
            name=physical,
            router=router.name,
            region=args.region,
            nat_ip_allocate_option="AUTO_ONLY",
            source_subnetwork_ip_ranges_to_nat="ALL_SUBNETWORKS_ALL_IP_RANGES",
            # The copy of the weights holds dozens of connections a node; the default of 64 ports would starve it.
            enable_dynamic_port_allocation=True,
            min_ports_per_vm=512,
            max_ports_per_vm=32768,
            # Dynamic ports exclude it.
            enable_endpoint_independent_mapping=False,
            opts=child,
        )
        if args.gateway:
            gcp.compute.Subnetwork(
                f"{name}-proxies",
                name=naming.fit(f"{identity()}-proxies", _NAME_MAX),
                network=vpc.id,
                region=args.region,
                ip_cidr_range=ranges.proxies,
                purpose="REGIONAL_MANAGED_PROXY",
                role="ACTIVE",
                opts=lasting,
            )
        self.vpc, self.subnet = vpc.id, subnet.id
        self.pods_range, self.services_range = _PODS, _SERVICES
        self.proxies = ranges.proxies if args.gateway else None
