"""The keys of a stack that runs on GCP."""

import re
from collections.abc import Mapping
from typing import Annotated, Final, Literal

from pydantic import Field

from components.faults import Fault
from components.gcp import address_ranges, kubernetes_version, machine_faults
from components.gcp.machine_type import TYPES
from components.mode_keys import mode_key_faults
from components.plan.cost import Lasting
from components.plan.model import KIMI_K3
from components.plan.planner import Plan
from components.plan.timing import ColdStart
from components.settings import Block, Cidrs, DnsLabel, Exposure, Serving, StackSettings, Weights
from components.weight_pins import source_faults

_NAME: Final = r"^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$"
_PROJECT: Final = r"^([a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]$"
_REGION: Final = r"[a-z]+(-[a-z]+)+[0-9]+"
_LABEL: Final = r"^[a-z][a-z0-9_-]{0,62}$"
_BUCKET: Final = r"^[a-z0-9][a-z0-9_-]{1,61}[a-z0-9]$"
_TIME: Final = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$"

CONTROL_PLANE_USD_HOUR: Final = 0.10
"""GKE's management fee (price page of GKE); a NAT gateway bills by the machine and the byte, and isn't in the sum."""
_SYSTEM_NODE_USD_HOUR: Final[Mapping[str, float]] = {"e2-standard-8": 0.268, "e2-standard-16": 0.536}
"""On demand in us-central1, price page of Compute Engine, not re-checked; other types are left out of the sum."""


class Capacity(Block):
    """Where the GPU nodes come from."""

    mode: Literal["existing", "flexStart", "future"] = Field(
        description="existing: a reservation by its name; flexStart: machines for seven days at most; "
        "future: a stack that only asks for a reservation",
        examples=["existing"],
    )
    zone: str = Field(
        pattern=rf"^{_REGION}-[a-z]$",
        description="the zone of the nodes, the reservation's",
        examples=["us-central1-b"],
    )
    reservation: str | None = Field(
        default=None, pattern=_NAME, description="existing, future: its name", examples=["kimi-k3"]
    )
    reservation_project: str | None = Field(
        default=None,
        pattern=_PROJECT,
        description="existing: the project that owns it, where it is shared",
        examples=["gpu-pool"],
    )
    block: str | None = Field(
        default=None, pattern=_NAME, description="existing: a block of it", examples=["kimi-k3-block-0001"]
    )
    sub_block: str | None = Field(
        default=None,
        pattern=_NAME,
        description="existing: a sub-block of that, which is one rack of A4X and A4X Max",
        examples=["kimi-k3-block-0001-subblock-0001"],
    )
    max_run_hours: int | None = Field(
        default=None, ge=1, le=168, description="flexStart: the nodes go after as many hours; none: 168", examples=[168]
    )
    start: str | None = Field(
        default=None, pattern=_TIME, description="future: when it begins, in UTC", examples=["2027-01-11T00:00:00Z"]
    )
    days: int | None = Field(default=None, ge=1, le=90, description="future: how long", examples=[14])
    accept_non_refundable: bool = Field(
        default=False,
        description="future: once approved, it is charged from its start to its end, used or not",
        examples=[True],
    )


_CAPACITY_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "existing": ("reservation",),
    "flexStart": (),
    "future": ("reservation", "start", "days", "accept_non_refundable"),
}
"""What each mode needs."""
_CAPACITY_OPTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "existing": ("reservation_project", "block", "sub_block"),
    "flexStart": ("max_run_hours",),
    "future": (),
}
"""What it takes beside that, and the zone."""


class Network(Block):
    """A VPC of our own, or one that is there."""

    cidr: str = Field(default="10.20.0.0/16", description="of our own VPC, /13 to /18", examples=["10.20.0.0/16"])
    name: str | None = Field(default=None, pattern=_NAME, description="a VPC that is there", examples=["shared"])
    subnet: str | None = Field(
        default=None,
        pattern=_NAME,
        description="with name: its subnet in the region, with Private Google Access",
        examples=["gke"],
    )
    pods_range: str | None = Field(
        default=None, pattern=_NAME, description="with name: the subnet's secondary range of pods", examples=["pods"]
    )
    services_range: str | None = Field(
        default=None, pattern=_NAME, description="with name: likewise of Services", examples=["services"]
    )
    proxy_range: str | None = Field(
        default=None,
        pattern=r"^[0-9.]+/[0-9]+$",
        description="with name and exposure.inferenceGateway: CIDR range of the region's proxy-only subnet",
        examples=["10.129.0.0/23"],
    )


class SystemNodes(Block):
    """The CPU nodes: cluster DNS, controllers, and the copy of the weights."""

    type: str = Field(default="e2-standard-8", description="Compute Engine type, x86-64", examples=["e2-standard-8"])
    count: int = Field(default=2, ge=2, le=20, description="how many", examples=[2])


class Cluster(Block):
    """The GKE cluster."""

    version: str = Field(
        default=kubernetes_version.DEFAULT,
        pattern=kubernetes_version.PATTERN,
        description="GKE's at least: a minor version for its newest patch, or a whole one",
        examples=[kubernetes_version.DEFAULT],
    )
    gpu_node_version: str | None = Field(
        default=None,
        pattern=kubernetes_version.PATTERN,
        description="of the GPU nodes, which decides their kernel and driver; none: the control plane's",
        examples=["1.35.0-gke.2745000"],
    )
    gpu_auto_repair: bool = Field(default=False, description="GKE may swap a GPU node that it takes for broken")
    public_access_ranges: Cidrs = Field(
        default=(),
        description="CIDR ranges that reach the API server from outside the VPC; none: the VPC alone",
        examples=[["203.0.113.0/24"]],
    )
    kubeconfig: Literal["plugin", "token"] = Field(
        default="plugin",
        description="plugin: gke-gcloud-auth-plugin signs in; token: one that lasts an hour, for short runs",
        examples=["plugin"],
    )
    node_service_account: str | None = Field(
        default=None,
        pattern=r"^[^@]+@[a-z0-9.-]+\.gserviceaccount\.com$",
        description="e-mail of the nodes' service account, with roles/container.defaultNodeServiceAccount; none: ours",
        examples=["gke-nodes@my-project.iam.gserviceaccount.com"],
    )
    deletion_protection: bool = Field(default=False, description="GKE's; `destroy` then needs an `up` with false first")
    system_nodes: SystemNodes = Field(default_factory=SystemNodes, description="the CPU nodes")
    namespace: DnsLabel = Field(default="kimi-k3", description="the namespace that is created", examples=["kimi-k3"])


class GcpWeights(Weights):
    """The bucket, and how the weights get from there to the GPUs."""

    delivery: Literal["nvme", "stream", "mount"] = Field(
        default="nvme",
        description="nvme: copied onto each node's disks; stream: into the GPUs; mount: through Cloud Storage FUSE",
        examples=["nvme"],
    )
    bucket: str | None = Field(
        default=None,
        pattern=_BUCKET,
        description="a bucket of yours in the region, instead of a new one; it is filled where it isn't complete",
        examples=["my-models"],
    )
    hierarchical_namespace: bool = Field(
        default=False, description="real folders in a new bucket; can't be changed afterwards"
    )


class GcpExposure(Exposure):
    """Who can reach the API, and whether through GKE's Inference Gateway."""

    inference_gateway: bool = Field(
        default=False, description="from two replicas on: one address in the VPC, which knows each replica's cache"
    )


Check = Literal["auth-plugin", "machine-type", "reservation", "subnet", "version"]
"""The named checks of a preview, see `preflight.py`."""


class Preflight(Block):
    """What a preview asks Google before anything is made."""

    skip: Annotated[tuple[Check, ...], Field(strict=False)] = Field(
        default=(),
        description="checks to leave out: auth-plugin, machine-type, reservation, subnet, version",
        examples=[["machine-type"]],
    )


class GcpSettings(StackSettings):
    """Every key of a stack with `cloud: gcp`."""

    cloud: Literal["gcp"] = Field(description="where it runs", examples=["gcp"])
    project: str = Field(pattern=_PROJECT, description="id of the Google Cloud project", examples=["my-project"])
    region: str = Field(pattern=f"^{_REGION}$", description="the region", examples=["us-central1"])
    capacity: Capacity = Field(description="where the GPU nodes come from")
    network: Network = Field(default_factory=Network, description="a VPC of our own, or one that is there")
    cluster: Cluster = Field(default_factory=Cluster, description="the GKE cluster")
    weights: GcpWeights = Field(default_factory=GcpWeights, description="the bucket, and the way to the GPUs")
    exposure: GcpExposure = Field(  # pyright: ignore[reportIncompatibleVariableOverride]
        default_factory=GcpExposure, description="who can reach the API"
    )
    preflight: Preflight = Field(default_factory=Preflight, description="what a preview asks Google")

    def faults(self) -> list[Fault]:
        """Return what is wrong between the keys of this cloud alone."""
        return [
            *capacity_faults(self.capacity, self.region),
            *network_faults(self.network, gateway=self.exposure.inference_gateway),
            *_gateway_faults(self),
            *_label_faults(self.tags),
            *_access_faults(self.cluster),
            *_identity_faults(self.serving),
            *source_faults(self.weights, self.serving),
            *bucket_source_faults(self.weights),
        ]

    def plan_faults(self, plan: Plan) -> list[Fault]:
        """Refuse machines of another cloud, and what GKE refuses or runs badly."""
        if plan.machine.name not in TYPES:
            allowed = "must be a Google machine type that the catalogue knows"
            return [Fault(key="machine", given=plan.machine.name, allowed=allowed, instead=", ".join(TYPES))]
        machine, nodes = plan.machine.name, plan.layout.nodes * self.replicas
        found = kubernetes_version.faults("cluster.version", self.cluster.version, machine)
        if self.cluster.gpu_node_version is not None:
            found += kubernetes_version.faults("cluster.gpuNodeVersion", self.cluster.gpu_node_version, machine)
        if self.network.name is None:
            found += address_ranges.room_faults(self.network.cidr, self.cluster.system_nodes.count + nodes)
        found += machine_faults.sale_faults(plan, self.capacity.mode)
        if self.capacity.mode == "existing":
            found += machine_faults.rack_faults(plan, nodes, self.capacity.sub_block)
        return found

    @property
    def buys_capacity(self) -> bool:
        """Whether this stack asks for a reservation and makes nothing else."""
        return self.capacity.mode == "future"

    @property
    def cold_start(self) -> ColdStart:
        """From no cluster and an empty bucket."""
        return ColdStart(cloud="gcp", delivery=self.weights.delivery, workers=self.weights.workers)

    @property
    def storage_usd_month(self) -> float:
        """The bucket's storage; a bucket of the person's own is theirs."""
        owned = self.weights.bucket is None and not self.buys_capacity
        return KIMI_K3.weight_bytes / 1e9 * self.prices.storage_per_gb_month if owned else 0.0

    @property
    def platform_usd_hour(self) -> float:
        """Control plane and CPU nodes."""
        if self.buys_capacity:
            return 0.0
        nodes = self.cluster.system_nodes
        return CONTROL_PLANE_USD_HOUR + nodes.count * _SYSTEM_NODE_USD_HOUR.get(nodes.type, 0.0)

    @property
    def after_destroy(self) -> tuple[Lasting, ...]:
        """Reservations bill until they end, and a kept bucket until it is deleted."""
        what = {
            "existing": f"the reservation {self.capacity.reservation}: billed until it ends, used or not; most of "
            "Google's GPU reservations can't be given back early",
            "future": f"the future reservation {self.capacity.reservation}, which `destroy` only forgets: once "
            "approved, it is charged from its start to its end",
        }
        found = [Lasting(what=what[self.capacity.mode], usd_per_month=None)] if self.capacity.mode in what else []
        if self.storage_usd_month and self.weights.keep:
            bucket = "the bucket with the weights (weights.keep)"
            found.append(Lasting(what=bucket, usd_per_month=round(self.storage_usd_month, 2)))
        return tuple(found)


def capacity_faults(capacity: Capacity, region: str) -> list[Fault]:
    """Check that a mode has its own keys and no others, and that nothing is asked for by a half-filled form."""
    options = {name for names in _CAPACITY_OPTIONS.values() for name in names}
    found = mode_key_faults(
        "capacity",
        capacity,
        capacity.mode,
        {**_CAPACITY_KEYS, "with options": options},
        optional=_CAPACITY_OPTIONS[capacity.mode],
    )
    if capacity.sub_block is not None and capacity.block is None:
        allowed = "a sub-block is found by its block; the short name alone is a 404 (cluster-toolkit PR #5043)"
        found.append(Fault(key="capacity.block", given=None, allowed=allowed, instead="the sub-block's block"))
    if capacity.zone.rpartition("-")[0] != region:
        allowed = f"must be a zone of the region {region}"
        found.append(Fault(key="capacity.zone", given=capacity.zone, allowed=allowed, instead=f"{region}-a"))
    return found


def network_faults(network: Network, *, gateway: bool) -> list[Fault]:
    """Check the range of a VPC of our own, or that one which is there is named whole."""
    parts = {"subnet": network.subnet, "podsRange": network.pods_range, "servicesRange": network.services_range}
    if network.name is None:
        given = {key: value for key, value in {**parts, "proxyRange": network.proxy_range}.items() if value}
        belongs = "belongs to a VPC that is there"
        found = [
            Fault(key=f"network.{key}", given=value, allowed=belongs, instead="network.name as well")
            for key, value in given.items()
        ]
        return found + address_ranges.faults(network.cidr)
    if gateway:
        parts["proxyRange"] = network.proxy_range
    return [
        Fault(key=f"network.{key}", given=None, allowed=f"{network.name} is used through it", instead="its name")
        for key, value in parts.items()
        if value is None
    ]


def _gateway_faults(settings: GcpSettings) -> list[Fault]:
    if not settings.exposure.inference_gateway:
        return []
    found: list[Fault] = []
    if settings.replicas < 2:
        allowed = f"chooses among replicas, and there is {settings.replicas}"
        found.append(
            Fault(key="exposure.inferenceGateway", given=True, allowed=allowed, instead="false, or replicas: 2")
        )
    if settings.exposure.mode != "none" or settings.exposure.certificate_secret is not None:
        allowed = "the gateway is the way in: an address in the VPC that forwards /v1 and /health alone"
        found.append(
            Fault(
                key="exposure.mode", given=settings.exposure.mode, allowed=allowed, instead="mode: none, no certificate"
            )
        )
    return found


def bucket_source_faults(weights: GcpWeights) -> list[Fault]:
    """Refuse a bucket of another cloud to copy from: the pods' identity is Google's, and opens none of those."""
    scheme, found, _ = weights.source.partition("://")
    if not found or scheme == "gs":
        return []
    allowed = "the pods have an identity of Google's, which opens no bucket of another cloud"
    return [Fault(key="weights.source", given=weights.source, allowed=allowed, instead="huggingface, or gs://...")]


def _label_faults(tags: Mapping[str, str]) -> list[Fault]:
    allowed = "a label's key on Google Cloud is lower-case letters, digits, _ and -, and begins with a letter"
    return [
        Fault(key=f"tags.{key}", given=value, allowed=allowed, instead="such a key")
        for key, value in tags.items()
        if not re.fullmatch(_LABEL, key)
    ]


def _identity_faults(serving: Serving) -> list[Fault]:
    if not serving.host_network:
        return []
    allowed = "on the host's network a pod is the node to Google, which may not read the bucket, and has no RDMA claims"
    return [Fault(key="serving.hostNetwork", given=True, allowed=allowed, instead="false")]


def _access_faults(cluster: Cluster) -> list[Fault]:
    ranges = cluster.public_access_ranges
    if not any(cidr.endswith("/0") for cidr in ranges):
        return []
    allowed = "would open the API server to everybody"
    return [
        Fault(
            key="cluster.publicAccessRanges",
            given=list(ranges),
            allowed=allowed,
            instead="[203.0.113.0/24], or none for the VPC alone",
        )
    ]
