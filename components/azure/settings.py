"""The keys of a stack that runs on Azure."""

import ipaddress
import itertools
from collections.abc import Mapping
from typing import Annotated, Final, Literal

from pydantic import Field

from components.azure import kubernetes_version
from components.faults import Fault
from components.mode_keys import mode_key_faults
from components.plan.cost import Lasting
from components.plan.model import KIMI_K3
from components.plan.planner import Plan
from components.plan.timing import ColdStart
from components.settings import Block, Cidrs, DnsLabel, StackSettings, Weights
from components.weight_pins import source_faults

_UUID: Final = r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_IN_GROUP: Final = rf"^/subscriptions/{_UUID}/resourceGroups/[-\w._()]{{1,90}}/providers"
_SUBNET: Final = rf"{_IN_GROUP}/Microsoft\.Network/virtualNetworks/[^/]+/subnets/[^/]+$"
_GROUP: Final = rf"{_IN_GROUP}/Microsoft\.Compute/capacityReservationGroups/[^/]+$"
_ACCOUNT: Final = rf"{_IN_GROUP}/Microsoft\.Storage/storageAccounts/[a-z0-9]{{3,24}}$"
_EXAMPLE: Final = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/shared/providers"

CONTROL_PLANE_USD_HOUR: Final = 0.10
"""AKS' Standard tier, the one with an uptime agreement (Azure price page)."""
LOAD_BALANCER_USD_HOUR: Final = 0.025
ADDRESS_USD_HOUR: Final = 0.005
"""The way out of the cluster: a Standard load balancer and its public address (Azure price pages); traffic on top."""
_SYSTEM_NODE_USD_HOUR: Final[Mapping[str, float]] = {
    "Standard_D4s_v5": 0.192,
    "Standard_D8s_v5": 0.384,
    "Standard_D16s_v5": 0.768,
}
"""Linux in eastus, Azure price page, not re-checked; other sizes are left out of the sum."""


class Capacity(Block):
    """Where the GPU nodes come from."""

    mode: Literal["existing", "none", "targeted"] = Field(
        description="existing: a capacity reservation group by its id; none: what the quota and the region give; "
        "targeted: a reservation that this stack makes, billed like the machines from then on",
        examples=["existing"],
    )
    id: str | None = Field(
        default=None,
        pattern=_GROUP,
        description="existing: the group's resource id",
        examples=[f"{_EXAMPLE}/Microsoft.Compute/capacityReservationGroups/gpus"],
    )
    zone: Literal["1", "2", "3"] | None = Field(
        default=None, description="the availability zone of the nodes; none: wherever the size is", examples=["1"]
    )
    allow_unsupported_size: bool = Field(
        default=False, description="targeted: Azure has told you that your subscription may reserve this ND size"
    )


_CAPACITY_KEYS: Final[Mapping[str, tuple[str, ...]]] = {"existing": ("id",), "none": (), "targeted": ()}
"""What each mode needs."""


class Network(Block):
    """A virtual network of our own, or a subnet that is there; and the ranges inside the cluster."""

    cidr: str = Field(default="10.20.0.0/16", description="of our own network, /8 to /24", examples=["10.20.0.0/16"])
    subnet_id: str | None = Field(
        default=None,
        pattern=_SUBNET,
        description="a subnet that is there, with the service endpoint Microsoft.Storage",
        examples=[f"{_EXAMPLE}/Microsoft.Network/virtualNetworks/hub/subnets/aks"],
    )
    pod_cidr: str = Field(default="10.244.0.0/16", description="addresses of pods", examples=["10.244.0.0/16"])
    service_cidr: str = Field(default="172.30.0.0/16", description="addresses of Services", examples=["172.30.0.0/16"])


class SystemNodes(Block):
    """The CPU nodes: cluster DNS, controllers, and the copy of the weights."""

    type: str = Field(default="Standard_D8s_v5", description="VM size, x86-64", examples=["Standard_D8s_v5"])
    count: int = Field(default=2, ge=2, le=20, description="how many; set once, at the creation", examples=[2])


class Cluster(Block):
    """The AKS cluster."""

    version: str = Field(
        default=kubernetes_version.DEFAULT,
        pattern=r"^1\.[0-9]{2}$",
        description="Kubernetes, as AKS offers it in the region",
        examples=[kubernetes_version.DEFAULT],
    )
    admins: Annotated[tuple[Annotated[str, Field(pattern=f"^{_UUID}$")], ...], Field(strict=False)] = Field(
        default=(),
        description="object ids of Entra groups that administer the cluster",
        examples=[["00000000-0000-0000-0000-000000000000"]],
    )
    public_access_ranges: Cidrs = Field(
        default=(),
        description="CIDR ranges that reach the API server from outside; none: it has a private address alone",
        examples=[["203.0.113.0/24"]],
    )
    system_nodes: SystemNodes = Field(default_factory=SystemNodes, description="the CPU nodes")
    namespace: DnsLabel = Field(default="kimi-k3", description="the namespace that is created", examples=["kimi-k3"])


class AzureWeights(Weights):
    """The container with the weights, and how they get from there to the GPUs."""

    delivery: Literal["nvme", "stream"] = Field(
        default="nvme", description="nvme: copied onto each node's disks; stream: into the GPUs", examples=["nvme"]
    )
    account_id: str | None = Field(
        default=None,
        pattern=_ACCOUNT,
        description="a storage account of yours in the region, instead of a new one; it must let the subnet in",
        examples=[f"{_EXAMPLE}/Microsoft.Storage/storageAccounts/mymodels"],
    )
    container: str = Field(
        default="models",
        pattern=r"^[a-z0-9](-?[a-z0-9]){2,62}$",
        description="the blob container; it is made in a new account, and must be there in yours",
        examples=["models"],
    )


Check = Literal["infiniband", "reservation", "subnet"]
"""The named checks of a preview, see `preflight.py`."""


class Preflight(Block):
    """What a preview asks Azure before anything is made."""

    skip: Annotated[tuple[Check, ...], Field(strict=False)] = Field(
        default=(),
        description="checks to leave out: infiniband, reservation, subnet",
        examples=[["infiniband"]],
    )


class AzureSettings(StackSettings):
    """Every key of a stack with `cloud: azure`."""

    cloud: Literal["azure"] = Field(description="where it runs", examples=["azure"])
    region: str = Field(pattern=r"^[a-z]+[0-9]?$", description="the Azure region", examples=["eastus2"])
    subscription: str | None = Field(
        default=None, pattern=f"^{_UUID}$", description="the subscription's id; none: the environment's own"
    )
    capacity: Capacity = Field(description="where the GPU nodes come from")
    network: Network = Field(default_factory=Network, description="a network of our own, or a subnet that is there")
    cluster: Cluster = Field(default_factory=Cluster, description="the AKS cluster")
    weights: AzureWeights = Field(default_factory=AzureWeights, description="the container, and the way to the GPUs")
    preflight: Preflight = Field(default_factory=Preflight, description="what a preview asks Azure")

    def faults(self) -> list[Fault]:
        """Return what is wrong between the keys of this cloud alone."""
        return [
            *mode_key_faults("capacity", self.capacity, self.capacity.mode, _CAPACITY_KEYS, optional=("zone",)),
            *access_faults(self.cluster),
            *bucket_source_faults(self.weights),
            *source_faults(self.weights, self.serving),
            *network_faults(self.network),
            *kubernetes_version.faults("cluster.version", self.cluster.version),
        ]

    def plan_faults(self, plan: Plan) -> list[Fault]:
        """Refuse machines of another cloud, and a reservation that Azure doesn't take."""
        machine, found = plan.machine.name, list[Fault]()
        if plan.machine.cloud != "azure":
            allowed = "must be a VM size that the catalogue knows"
            instead = "Standard_ND128isr_GB300_v6, Standard_ND128isr_NDR_GB200_v6 or Standard_ND96isr_H200_v5"
            found.append(Fault(key="machine", given=machine, allowed=allowed, instead=instead))
        elif self.capacity.mode == "targeted" and not self.capacity.allow_unsupported_size:
            allowed = (
                f"on-demand capacity reservations don't take ND sizes such as {machine} "
                "(Azure, capacity-reservation-overview, 2026-02)"
            )
            instead = "existing or none; or allowUnsupportedSize: true where Azure has enabled your subscription"
            found.append(Fault(key="capacity.mode", given="targeted", allowed=allowed, instead=instead))
        return found

    @property
    def cold_start(self) -> ColdStart:
        """From no cluster and an empty bucket."""
        return ColdStart(cloud="azure", delivery=self.weights.delivery, workers=self.weights.workers)

    @property
    def storage_usd_month(self) -> float:
        """The account's storage; an account of the person's own is theirs."""
        owned = self.weights.account_id is None
        return KIMI_K3.weight_bytes / 1e9 * self.prices.storage_per_gb_month if owned else 0.0

    @property
    def platform_usd_hour(self) -> float:
        """Control plane, CPU nodes and the way out."""
        nodes = self.cluster.system_nodes
        way_out = LOAD_BALANCER_USD_HOUR + ADDRESS_USD_HOUR
        return CONTROL_PLANE_USD_HOUR + way_out + nodes.count * _SYSTEM_NODE_USD_HOUR.get(nodes.type, 0.0)

    @property
    def after_destroy(self) -> tuple[Lasting, ...]:
        """A group of the person's own bills until it is empty, and a kept account until it is deleted."""
        found: list[Lasting] = []
        if self.capacity.mode == "existing":
            group = (self.capacity.id or "").rpartition("/")[2]
            what = f"the reservations of the group {group}: billed like their machines until you delete them"
            found.append(Lasting(what=what, usd_per_month=None))
        if self.storage_usd_month and self.weights.keep:
            what = "the storage account with the weights, in a resource group of its own (weights.keep)"
            found.append(Lasting(what=what, usd_per_month=round(self.storage_usd_month, 2)))
        return tuple(found)


def access_faults(cluster: Cluster) -> list[Fault]:
    """Refuse an API server that everybody reaches."""
    if not any(cidr.endswith("/0") for cidr in cluster.public_access_ranges):
        return []
    given, instead = list(cluster.public_access_ranges), "[203.0.113.0/24], or none for a private address alone"
    allowed = "the API server must not be open to everybody"
    return [Fault(key="cluster.publicAccessRanges", given=given, allowed=allowed, instead=instead)]


def bucket_source_faults(weights: AzureWeights) -> list[Fault]:
    """Refuse to copy from another bucket: no identity of this stack may read one."""
    if "://" not in weights.source:
        return []
    allowed = "on Azure the weights come from a hub: nothing here may read another bucket"
    instead = "huggingface, or accountId and container where the weights are"
    return [Fault(key="weights.source", given=weights.source, allowed=allowed, instead=instead)]


def network_faults(network: Network) -> list[Fault]:
    """Check that the ranges are ranges, and that no address means two things."""
    given = {"cidr": network.cidr, "podCidr": network.pod_cidr, "serviceCidr": network.service_cidr}
    if network.subnet_id is not None:
        del given["cidr"]
    known = {key: range_ for key, text in given.items() if (range_ := _range(text)) is not None}
    found = [
        Fault(
            key=f"network.{key}",
            given=text,
            allowed="an IPv4 range from /8 to /24, its host bits zero",
            instead=f"{Network.model_fields[_FIELDS[key]].default}",
        )
        for key, text in given.items()
        if key not in known
    ]
    return found + [
        Fault(
            key=f"network.{second}",
            given=given[second],
            allowed=f"overlaps network.{first} {given[first]}: packets would go astray",
            instead="a range of its own",
        )
        for first, second in itertools.combinations(known, 2)
        if known[first].overlaps(known[second])
    ]


_FIELDS: Final[Mapping[str, str]] = {field.alias or name: name for name, field in Network.model_fields.items()}


def _range(text: str) -> ipaddress.IPv4Network | None:
    try:
        found = ipaddress.IPv4Network(text)
    except ValueError:
        return None
    return found if 8 <= found.prefixlen <= 24 else None
