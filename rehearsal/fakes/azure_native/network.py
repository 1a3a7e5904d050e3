"""Virtual networks with their subnets, which go after whatever stands in them."""

import ipaddress
from collections.abc import Iterator
from typing import Final

from rehearsal.fakes.azure_native import references as ref
from rehearsal.fakes.paths import texts_at
from rehearsal.fakes.resource_kind import ResourceKind, fits
from rehearsal.fakes.rules import Failure
from rehearsal.fakes.values import Properties

_IDENTITY: Final = ref.path_of("Microsoft.Network/virtualNetworks/{virtualNetworkName}")


def subnet_failures(inputs: Properties) -> Iterator[Failure]:
    """Subnets are within the network (Network, `NetcfgInvalidSubnet`)."""
    spaces = [ipaddress.IPv4Network(each) for each in texts_at(inputs, "addressSpace.addressPrefixes")]
    for each in texts_at(inputs, "subnets.addressPrefix"):
        if spaces and not any(ipaddress.IPv4Network(each).subnet_of(space) for space in spaces):
            text = f"Subnet '{each}' is not valid because its IP address range is outside the virtual network."
            yield Failure("subnets", f'Status=400 Code="NetcfgInvalidSubnet" Message="{text}"')


KIND: Final = ResourceKind(
    type=ref.NETWORK,
    identity=_IDENTITY,
    replaced_by=("resourceGroupName", "virtualNetworkName", "location"),
    checks=(
        fits("virtualNetworkName", r"[a-zA-Z0-9]([-\w.]{0,62}\w)?", "1 to 64 letters, digits, -, _ and ."),
        subnet_failures,
    ),
    admissions=(ref.group_exists, ref.not_taken(_IDENTITY)),
    fills=True,
    gone=ref.refuse_while_used(
        "InUseSubnetCannotBeDeleted",
        "Subnet of {} is in use and cannot be deleted.",
        (ref.CLUSTER, "agentPoolProfiles.vnetSubnetID"),
        (ref.POOL, "vnetSubnetID"),
    ),
)
