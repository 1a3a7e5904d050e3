"""The network: one subnet with a free way to the weights' account; or a subnet that was there before."""

import ipaddress
from dataclasses import dataclass
from typing import Final

import pulumi
import pulumi_azure_native as azure

from components.azure import settings
from components.azure.provider import Place

STORAGE_ENDPOINT: Final = "Microsoft.Storage"
"""A service endpoint: the way to storage accounts of the region that passes no load balancer and costs nothing."""
_NAME: Final = "cluster"
_SUBNET: Final = "nodes"


@dataclass(frozen=True, kw_only=True)
class NetworkArgs:
    """What the network takes."""

    network: settings.Network
    place: Place


class Network(pulumi.ComponentResource):
    """A subnet with room for the nodes; pods have addresses of their own."""

    subnet_id: pulumi.Input[str]

    def __init__(self, name: str, args: NetworkArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        given = args.network.subnet_id
        super().__init__("kimi:azure:Network", name, {"cidr": args.network.cidr, "subnet": given}, opts)
        self.subnet_id = given if given is not None else self._make(name, args)
        self.register_outputs({"subnetId": self.subnet_id})

    def _make(self, name: str, args: NetworkArgs) -> pulumi.Output[str]:
        network = azure.network.VirtualNetwork(
            f"{name}-vnet",
            resource_group_name=args.place.group,
            virtual_network_name=_NAME,
            location=args.place.region,
            address_space=azure.network.AddressSpaceArgs(address_prefixes=[args.network.cidr]),
            # Within the network: Azure changes one subnet of a network at a time, and refuses the others.
            subnets=[
                azure.network.SubnetArgs(
                    name=_SUBNET,
                    address_prefix=subnet_range(args.network.cidr),
                    service_endpoints=[azure.network.ServiceEndpointPropertiesFormatArgs(service=STORAGE_ENDPOINT)],
                )
            ],
            tags=args.place.tags,
            opts=pulumi.ResourceOptions(parent=self),
        )
        return pulumi.Output.concat(network.id, "/subnets/", _SUBNET)


def subnet_range(cidr: str) -> str:
    """Return the range of the nodes: the first half, so that somebody can still put something beside them.

    Args:
        cidr: Of the network, /8 to /24.
    """
    return str(next(ipaddress.IPv4Network(cidr).subnets()))
