"""The keys of a stack that runs on Alibaba Cloud."""

import ipaddress
from typing import Annotated, Final, Literal

from pydantic import Field

from components.alicloud import machines, mainland
from components.alicloud.capacity import ZONE, Capacity, capacity_faults, zone_faults
from components.faults import Fault
from components.plan.cost import Lasting
from components.plan.model import KIMI_K3
from components.plan.planner import HOST_LIMIT, Plan
from components.plan.timing import ColdStart
from components.settings import Block, DnsLabel, Exposure, StackSettings, Weights
from components.weight_pins import source_faults

_SWITCH: Final = r"^vsw-[0-9a-z]{8,32}$"

ADDRESS_MBPS: Final = 200
"""The most that one address takes when it is billed by its traffic (SDK 4.0.0, ecs.EipAddress); its default is 5."""
SERVICE_RANGE: Final = "172.21.0.0/20"
"""Of the cluster's Services; must lie in none of the networks that the VPC has."""
DRIVER: Final = "580.126.09"
"""A driver that ACK lists and that CUDA 13 runs on (public deployment of August 2026)."""
DRIVER_FLOOR: Final = 580
"""vLLM's images for this model are built for CUDA 13 (vllm-project/recipes, Kimi-K3)."""
CONTROL_PLANE_USD_HOUR: Final = 0.09
"""ACK Pro, alibabacloud.com "Billing of ACK clusters", read 2026-12; nodes, NAT gateway and traffic come on top."""

TAG_LIMIT: Final = 10
"""Of a bucket, the smallest limit of what we tag (SDK 4.0.0, oss.Bucket)."""
_OWN_TAGS: Final = 5

Switches = Annotated[tuple[Annotated[str, Field(pattern=_SWITCH)], ...], Field(strict=False)]
"""Ids of vSwitches."""


class Network(Block):
    """A VPC of our own, or one that is there."""

    cidr: str = Field(default="10.20.0.0/16", description="of our own VPC, /16 or /17", examples=["10.20.0.0/16"])
    second_zone: str | None = Field(
        default=None,
        pattern=ZONE,
        description="beside the GPU nodes' own; none: the first other one that has network load balancers",
        examples=["ap-southeast-1b"],
    )
    # With fewer the copy of the weights would not end within its six hours (SyncJob).
    addresses: int = Field(
        default=4, ge=4, le=20, description="public addresses of the NAT gateway, 200 Mbit/s each", examples=[4]
    )
    vpc_id: str | None = Field(
        default=None, pattern=r"^vpc-[0-9a-z]{8,32}$", description="a VPC that is there", examples=["vpc-t4nabcdefgh"]
    )
    vswitch_ids: Switches = Field(
        default=(),
        description="with vpcId: vSwitches of nodes in two zones, one of them the GPU nodes'; with a way out",
        examples=[["vsw-t4nabcdefgh", "vsw-t4nabcdefgi"]],
    )
    pod_vswitch_ids: Switches = Field(
        default=(),
        description="with vpcId: vSwitches of pods in the same zones, /19 or larger",
        examples=[["vsw-t4nabcdefgj", "vsw-t4nabcdefgk"]],
    )


class SystemNodes(Block):
    """The CPU nodes: cluster DNS, controllers, and the copy of the weights."""

    type: str = Field(
        default="ecs.g8i.2xlarge", pattern=r"^ecs\.", description="ECS type, x86-64", examples=["ecs.g8i.2xlarge"]
    )
    count: int = Field(default=2, ge=2, le=20, description="how many", examples=[2])


class Cluster(Block):
    """The ACK cluster."""

    version: str = Field(
        default="1.36.2-aliyun.1",
        pattern=r"^1\.[0-9]{2}\.[0-9]+-aliyun\.[0-9]+$",
        description="Kubernetes, as ACK names it; ACK offers a few at a time",
        examples=["1.36.2-aliyun.1"],
    )
    public_endpoint: bool = Field(
        default=False,
        description="whether the API server has a public address, behind client certificates alone; fixed at creation",
    )
    system_nodes: SystemNodes = Field(default_factory=SystemNodes, description="the CPU nodes")
    addon_versions: dict[str, str] = Field(
        default={}, description="add-ons whose version you pin; ACK's own otherwise, which belong together"
    )
    gpu_driver: str = Field(
        default=DRIVER,
        pattern=r"^[0-9]{3}\.[0-9]+(\.[0-9]+)?$",
        description="NVIDIA driver of the GPU nodes, from ACK's list; one that isn't on it gives ACK's default",
        examples=[DRIVER],
    )
    namespace: DnsLabel = Field(default="kimi-k3", description="the namespace that is created", examples=["kimi-k3"])


class Disk(Block):
    """The cloud disk that holds a node's copy of the weights: these machines have none of their own."""

    gib: int = Field(default=2000, ge=40, le=32768, description="GiB", examples=[2000])
    performance_level: Literal["PL1", "PL2", "PL3"] = Field(
        default="PL3", description="ESSD level: PL3 reads 4 GB/s where the machine does", examples=["PL3"]
    )


class AlicloudWeights(Weights):
    """The bucket, and how the weights get from there to the GPUs."""

    delivery: Literal["mounted", "disk", "stream"] = Field(
        default="mounted",
        description="mounted: the bucket as a file system; disk: copied onto each node's cloud disk; stream: into the "
        "GPUs through OSS' S3 interface, with fixed keys, never tried with this model",
        examples=["mounted"],
    )
    bucket: str | None = Field(
        default=None,
        pattern=r"^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$",
        description="a bucket of yours in the region, instead of a new one; it is filled where it isn't complete",
        examples=["my-models"],
    )
    disk: Disk = Field(default_factory=Disk, description="the disk of delivery disk")


class AlicloudExposure(Exposure):
    """Who can reach the API; a public one ends TLS at the load balancer."""

    certificate_id: str | None = Field(
        default=None,
        pattern=r"^[0-9]+-[a-z0-9-]+$",
        description="public: the certificate of the load balancer, as Certificate Management Service names it",
        examples=["1234567-ap-southeast-1"],
    )

    @property
    def certificate(self) -> tuple[str, str | None]:
        """The key of the certificate that a public API needs, and its value: the load balancer's own."""
        return "certificateId", self.certificate_id


Check = Literal["instance-type", "kubernetes-version", "reservation"]
"""The named checks of a preview, see `preflight.py`."""


class Preflight(Block):
    """What a preview asks Alibaba Cloud before anything is made."""

    skip: Annotated[tuple[Check, ...], Field(strict=False)] = Field(
        default=(),
        description="checks to leave out: instance-type, kubernetes-version, reservation",
        examples=[["instance-type"]],
    )


class AlicloudSettings(StackSettings):
    """Every key of a stack with `cloud: alicloud`."""

    cloud: Literal["alicloud"] = Field(description="where it runs", examples=["alicloud"])
    region: str = Field(
        pattern=r"^[a-z]{2}(-[a-z0-9]+)+$", description="the Alibaba Cloud region", examples=["ap-southeast-1"]
    )
    profile: str | None = Field(
        default=None, min_length=1, description="profile of the aliyun CLI; none: the environment's own identity"
    )
    capacity: Capacity = Field(description="where the GPU nodes come from")
    network: Network = Field(default_factory=Network, description="a VPC of our own, or one that is there")
    cluster: Cluster = Field(default_factory=Cluster, description="the ACK cluster")
    weights: AlicloudWeights = Field(default_factory=AlicloudWeights, description="the bucket, and the way to the GPUs")
    # Frozen, so that a narrower type is safe; pyright doesn't see that here.
    exposure: AlicloudExposure = Field(  # pyright: ignore[reportIncompatibleVariableOverride]
        default_factory=AlicloudExposure, description="who can reach the API"
    )
    preflight: Preflight = Field(default_factory=Preflight, description="what a preview asks Alibaba Cloud")

    def faults(self) -> list[Fault]:
        """Return what is wrong between the keys of this cloud alone."""
        return [
            *self._machine_faults(),
            *capacity_faults(self.capacity, self.region, looked_up="reservation" not in self.preflight.skip),
            *network_faults(self.network, self.region),
            *cluster_faults(self.cluster),
            *mainland.mirror_faults(self.region, self.mirror, self.weights),
            *source_faults(self.weights, self.serving),
            *self._exposure_faults(),
            *self._tag_faults(),
        ]

    def plan_faults(self, plan: Plan) -> list[Fault]:
        """Refuse machines of another cloud, a way of buying that isn't the machine's, and what the nodes lack."""
        machine = plan.machine.name
        if plan.machine.cloud != "alicloud":
            others = "ecs.ebmgn8v.48xlarge, ecs.gn8v-8x.48xlarge, or GX8SF of Lingjun"
            return [_fault("machine", machine, "must be a type of Alibaba Cloud that the catalogue knows", others)]
        found: list[Fault] = []
        if machines.lingjun(machine) != (self.capacity.mode == "lingjun"):
            series = machines.lingjun(machine)
            allowed = "comes from a Lingjun node group" if series else "is an ECS type; Lingjun has series, as GX8SF"
            instead = "capacity: {mode: lingjun, ...}" if series else "existing, none or reserve"
            found.append(_fault("capacity.mode", self.capacity.mode, f"{machine} {allowed}", instead))
        return [*found, *self._rdma_faults(plan), *self._disk_faults(plan)]

    def _machine_faults(self) -> list[Fault]:
        why = machines.refusal(self.machine.name)
        return [] if why is None else [_fault("machine", self.machine.name, why, machines.DEFAULT)]

    def _rdma_faults(self, plan: Plan) -> list[Fault]:
        """RDMA between nodes needs libraries in the image and the nodes' own network; without either NCCL takes TCP."""
        if plan.layout.interconnect != "rdma" or plan.layout.nodes == 1:
            return []
        tcp = "topology: {interconnect: tcp}"
        found: list[Fault] = []
        if not self.serving.host_network:
            allowed = "RDMA interfaces of Alibaba Cloud are the node's own"
            found.append(_fault("serving.hostNetwork", "false", allowed, f"true with socketInterface, or {tcp}"))
        if plan.machine.fabric == "erdma" and plan.image.partition(":")[0] == "vllm/vllm-openai":
            allowed = "has no libraries of eRDMA: NCCL would silently fall back to TCP"
            instead = f"an image made from it with Alibaba's rdma-core, or {tcp}"
            found.append(_fault("serving.image", plan.image, allowed, instead))
        return found

    def _disk_faults(self, plan: Plan) -> list[Fault]:
        if self.weights.delivery == "disk" and machines.lingjun(plan.machine.name):
            return [
                _fault("weights.delivery", "disk", "Lingjun's nodes are yours, and no disk is added to them", "mounted")
            ]
        disk = self.weights.disk
        weights = KIMI_K3.weight_bytes / 1e9 + (KIMI_K3.draft_gb if plan.draft_tokens else 0.0)
        limit = HOST_LIMIT * disk.gib * 2**30 / 1e9
        if self.weights.delivery != "disk" or weights <= limit:
            return []
        allowed = f"{weights:,.0f} GB of weights, and 90 % of {disk.gib} GiB is {limit:,.0f} GB"
        return [_fault("weights.disk.gib", disk.gib, allowed, "2000")]

    def _exposure_faults(self) -> list[Fault]:
        given = self.exposure.certificate_secret
        if given is None:
            return []
        allowed = "the load balancer speaks TLS on Alibaba Cloud"
        return [_fault("exposure.certificateSecret", given, allowed, "certificateId")]

    def _tag_faults(self) -> list[Fault]:
        """Alibaba Cloud's own limits of tags, which its APIs tell one resource at a time."""
        found = [
            _fault(f"tags.{key}", value, "no tag begins with aliyun or acs:, or holds http:// or https://", "another")
            for key, value in self.tags.items()
            if any(text.lower().startswith(("aliyun", "acs:")) or "://" in text for text in (key, value))
        ]
        if len(self.tags) > TAG_LIMIT - _OWN_TAGS:
            allowed = f"a bucket has room for {TAG_LIMIT} tags, and {_OWN_TAGS} are ours"
            found.append(_fault("tags", sorted(self.tags), allowed, f"at most {TAG_LIMIT - _OWN_TAGS}"))
        return found

    @property
    def cold_start(self) -> ColdStart:
        """From no cluster and an empty bucket."""
        weights, network = self.weights, self.network
        # Another bucket doesn't lie behind the gateway, and that of a VPC of theirs is the person's to know.
        narrow = network.vpc_id is None and not weights.source.startswith("oss://")
        line = network.addresses * ADDRESS_MBPS / 1000 if narrow else None
        return ColdStart(cloud="alicloud", delivery=weights.delivery, workers=weights.workers, line_gbps=line)

    @property
    def storage_usd_month(self) -> float:
        """The bucket's storage; a bucket of the person's own is theirs."""
        owned = self.weights.bucket is None
        return KIMI_K3.weight_bytes / 1e9 * self.prices.storage_per_gb_month if owned else 0.0

    @property
    def platform_usd_hour(self) -> float:
        """The control plane; nobody publishes the price of the rest in one place."""
        return CONTROL_PLANE_USD_HOUR

    @property
    def after_destroy(self) -> tuple[Lasting, ...]:
        """Private pools that were there bill on, and a kept bucket; what a stack reserves it releases."""
        found: list[Lasting] = []
        if self.capacity.mode == "existing":
            pools = " and ".join(self.capacity.ids)
            found.append(Lasting(what=f"the private pools {pools}, until you release them", usd_per_month=None))
        if self.capacity.mode == "lingjun":
            what = "the Lingjun nodes, which are a subscription until their contract ends"
            found.append(Lasting(what=what, usd_per_month=None))
        if self.storage_usd_month and self.weights.keep:
            what = "the bucket with the weights (weights.keep)"
            found.append(Lasting(what=what, usd_per_month=round(self.storage_usd_month, 2)))
        return tuple(found)


def network_faults(network: Network, region: str) -> list[Fault]:
    """Check the range of a VPC of our own, or the ids of one that is there."""
    found = zone_faults("network.secondZone", network.second_zone, region)
    switches = {"vswitchIds": network.vswitch_ids, "podVswitchIds": network.pod_vswitch_ids}
    if network.vpc_id is None:
        found += [
            _fault(f"network.{key}", list(ids), "belongs to a VPC that is there", "vpcId as well")
            for key, ids in switches.items()
            if ids
        ]
        return found + _range_faults(network.cidr)
    return found + [
        _fault(f"network.{key}", list(ids), "nodes, pods and load balancers stand in two zones", "two ids")
        for key, ids in switches.items()
        if len(ids) < 2
    ]


def cluster_faults(cluster: Cluster) -> list[Fault]:
    """Check the driver, and the two halves of the network add-on, which refuse each other in different versions."""
    found: list[Fault] = []
    if int(cluster.gpu_driver.partition(".")[0]) < DRIVER_FLOOR:
        allowed = f"the images of vLLM are built for CUDA 13, which needs driver {DRIVER_FLOOR} or later"
        found.append(_fault("cluster.gpuDriver", cluster.gpu_driver, allowed, DRIVER))
    halves = [cluster.addon_versions.get(name) for name in ("terway-eniip", "terway-controlplane")]
    if halves[0] != halves[1]:
        allowed = "terway-eniip and terway-controlplane must have one version (AddonDependencyNotMet)"
        found.append(_fault("cluster.addonVersions", cluster.addon_versions, allowed, "the same for both, or neither"))
    return found


def _range_faults(cidr: str) -> list[Fault]:
    try:
        network = ipaddress.IPv4Network(cidr)
    except ValueError:
        network = ipaddress.IPv4Network("0.0.0.0/0")
    fits = network.prefixlen in (16, 17) and network.is_private
    if fits and not network.overlaps(ipaddress.IPv4Network(SERVICE_RANGE)):
        return []
    allowed = f"a private IPv4 range of /16 or /17 outside the Services' {SERVICE_RANGE}, its host bits zero"
    return [_fault("network.cidr", cidr, allowed, "10.20.0.0/16")]


def _fault(key: str, given: object, allowed: str, instead: str) -> Fault:
    return Fault(key=key, given=given, allowed=allowed, instead=instead)
