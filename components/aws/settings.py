"""The keys of a stack that runs on AWS."""

import ipaddress
from collections.abc import Mapping
from typing import Annotated, Final, Literal

from pydantic import Field

from components.aws import kubernetes_version
from components.faults import Fault
from components.mode_keys import mode_key_faults
from components.plan.cost import Lasting
from components.plan.model import KIMI_K3
from components.plan.planner import Plan
from components.plan.timing import ColdStart
from components.settings import Block, Cidrs, DnsLabel, Exposure, StackSettings, Weights
from components.weight_pins import source_faults

_SUBNET: Final = r"^subnet-[0-9a-f]{8,17}$"
_PRINCIPAL: Final = r"^arn:aws[a-z-]*:iam::[0-9]{12}:(role|user)/.+$"
_TIME: Final = r"^[0-9]{4}(-[0-9]{2}){2}T[0-9]{2}(:[0-9]{2}){2}(Z|[+-][0-9]{2}:[0-9]{2})$"
_BUCKET: Final = r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$"

_STOCK_IMAGE: Final = "vllm/vllm-openai"

_LONGEST_IN_DAYS: Final = 14 * 24
_WEEK_HOURS: Final = 7 * 24

CONTROL_PLANE_USD_HOUR: Final = 0.10
NAT_USD_HOUR: Final = 0.045
"""AWS price pages, us-west-2, read 2026-08; a NAT gateway's traffic comes on top."""
_SYSTEM_NODE_USD_HOUR: Final[Mapping[str, float]] = {"m7i.xlarge": 0.2016, "m7i.2xlarge": 0.4032, "m7i.4xlarge": 0.8064}
"""On-demand Linux in us-west-2, AWS price page, read 2026-08; other types are left out of the sum."""


class Capacity(Block):
    """Where the GPU nodes come from."""

    mode: Literal["existing", "none", "purchase"] = Field(
        description="existing: a reservation by its id; none: on demand; purchase: a stack that only buys a block",
        examples=["existing"],
    )
    id: str | None = Field(
        default=None,
        pattern=r"^cr-[0-9a-f]{17}$",
        description="existing: the reservation",
        examples=["cr-0123456789abcdef0"],
    )
    kind: Literal["block", "on-demand"] = Field(
        default="block", description="existing: a Capacity Block or an On-Demand Capacity Reservation"
    )
    zone: str | None = Field(
        default=None,
        pattern=r"^[a-z]{2}(-[a-z]+)+-[0-9][a-z]$",
        description="none: the Availability Zone of the nodes; existing: only where its lookup is skipped",
        examples=["us-west-2b"],
    )
    offering_id: str | None = Field(
        default=None,
        pattern=r"^cb-[0-9a-f]{17}$",
        description="purchase: the offering, as `aws ec2 describe-capacity-block-offerings` names it",
        examples=["cb-0123456789abcdef0"],
    )
    duration_hours: int | None = Field(
        default=None, ge=24, le=4368, multiple_of=24, description="purchase: the offering's length", examples=[168]
    )
    max_upfront_fee: float | None = Field(
        default=None, gt=0, description="purchase: USD; a dearer offering is not bought", examples=[20000]
    )
    starts_at: str | None = Field(
        default=None,
        pattern=_TIME,
        description="purchase: the offering's StartDate, since EC2 mostly has several",
        examples=["2026-12-07T11:30:00Z"],
    )
    ends_at: str | None = Field(
        default=None, pattern=_TIME, description="purchase: its EndDate", examples=["2026-12-14T11:30:00Z"]
    )
    accept_non_refundable: bool = Field(
        default=False, description="purchase: a block is paid at once and can't be given back"
    )


_CAPACITY_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "existing": ("id",),
    "none": ("zone",),
    "purchase": ("offering_id", "duration_hours", "max_upfront_fee"),
    "a purchase among several offerings": ("starts_at", "ends_at"),
}
"""What each mode needs; the last is none, but nothing that another mode takes."""
_CAPACITY_OPTIONS: Final[Mapping[str, tuple[str, ...]]] = {"existing": ("zone",), "purchase": ("starts_at", "ends_at")}
"""What a mode takes beside that; the zone of a reservation is needed where it isn't looked up."""


class Network(Block):
    """A VPC of our own, or one that is there."""

    cidr: str = Field(default="10.20.0.0/16", description="of our own VPC, /16 to /20", examples=["10.20.0.0/16"])
    vpc_id: str | None = Field(
        default=None,
        pattern=r"^vpc-[0-9a-f]{8,17}$",
        description="a VPC that is there",
        examples=["vpc-0123456789abcdef0"],
    )
    private_subnet_ids: Annotated[tuple[Annotated[str, Field(pattern=_SUBNET)], ...], Field(strict=False)] = Field(
        default=(),
        description="with vpcId: private subnets in two zones or more, one of them the reservation's",
        examples=[["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"]],
    )
    public_subnet_ids: Annotated[tuple[Annotated[str, Field(pattern=_SUBNET)], ...], Field(strict=False)] = Field(
        default=(),
        description="with vpcId and a public exposure: public subnets in two zones",
        examples=[["subnet-0123456789abcdef2", "subnet-0123456789abcdef3"]],
    )


class SystemNodes(Block):
    """The CPU nodes: cluster DNS, controllers, and the copy of the weights."""

    type: str = Field(default="m7i.2xlarge", description="EC2 type, x86-64", examples=["m7i.2xlarge"])
    count: int = Field(default=2, ge=2, le=20, description="how many", examples=[2])


class Cluster(Block):
    """The EKS cluster."""

    version: str = Field(
        default=kubernetes_version.DEFAULT,
        pattern=r"^1\.[0-9]{2}$",
        description="Kubernetes, in EKS standard support",
        examples=[kubernetes_version.DEFAULT],
    )
    admins: Annotated[tuple[Annotated[str, Field(pattern=_PRINCIPAL)], ...], Field(strict=False)] = Field(
        default=(),
        description="IAM roles or users that administer the cluster; whoever creates it always does",
        examples=[["arn:aws:iam::111122223333:role/platform"]],
    )
    public_access_ranges: Cidrs = Field(
        default=(),
        description="CIDR ranges that reach the API server from outside the VPC; none: the VPC alone",
        examples=[["203.0.113.0/24"]],
    )
    system_nodes: SystemNodes = Field(default_factory=SystemNodes, description="the CPU nodes")
    addon_versions: dict[str, str] = Field(default={}, description="EKS add-ons whose pinned version you change")
    namespace: DnsLabel = Field(default="kimi-k3", description="the namespace that is created", examples=["kimi-k3"])


class AwsWeights(Weights):
    """The bucket, and how the weights get from there to the GPUs."""

    delivery: Literal["nvme", "stream"] = Field(
        default="nvme", description="nvme: copied onto each node's disks; stream: into the GPUs", examples=["nvme"]
    )
    bucket: str | None = Field(
        default=None,
        pattern=_BUCKET,
        description="a bucket of yours in the region, instead of a new one; it is filled where it isn't complete",
        examples=["my-models"],
    )


class AwsExposure(Exposure):
    """Who can reach the API; a public one goes through a load balancer that knows HTTP."""

    certificate_arn: str | None = Field(
        default=None,
        pattern=r"^arn:aws[a-z-]*:acm:[a-z0-9-]+:[0-9]{12}:certificate/.+$",
        description="public: the certificate of the load balancer, in ACM",
        examples=["arn:aws:acm:us-west-2:111122223333:certificate/12345678-1234-1234-1234-123456789012"],
    )

    @property
    def certificate(self) -> tuple[str, str | None]:
        """The key of the certificate that a public API needs, and its value: the load balancer's own."""
        return "certificateArn", self.certificate_arn


Check = Literal["aws-command", "instance-type", "quota", "reservation"]
"""The named checks of a preview, see `preflight.py`."""


class Preflight(Block):
    """What a preview asks AWS before anything is made."""

    skip: Annotated[tuple[Check, ...], Field(strict=False)] = Field(
        default=(),
        description="checks to leave out: aws-command, instance-type, quota, reservation",
        examples=[["quota"]],
    )


class AwsSettings(StackSettings):
    """Every key of a stack with `cloud: aws`."""

    cloud: Literal["aws"] = Field(description="where it runs", examples=["aws"])
    region: str = Field(pattern=r"^[a-z]{2}(-[a-z]+)+-[0-9]$", description="the AWS region", examples=["us-west-2"])
    profile: str | None = Field(
        default=None, min_length=1, description="profile of the AWS configuration; none: the environment's own identity"
    )
    capacity: Capacity = Field(description="where the GPU nodes come from")
    network: Network = Field(default_factory=Network, description="a VPC of our own, or one that is there")
    cluster: Cluster = Field(default_factory=Cluster, description="the EKS cluster")
    weights: AwsWeights = Field(default_factory=AwsWeights, description="the bucket, and the way to the GPUs")
    # Frozen, so that a narrower type is safe; pyright doesn't see that here.
    exposure: AwsExposure = Field(  # pyright: ignore[reportIncompatibleVariableOverride]
        default_factory=AwsExposure, description="who can reach the API"
    )
    preflight: Preflight = Field(default_factory=Preflight, description="what a preview asks AWS")

    def faults(self) -> list[Fault]:
        """Return what is wrong between the keys of this cloud alone."""
        return [
            *capacity_faults(self.capacity, self.region, looked_up="reservation" not in self.preflight.skip),
            *network_faults(self.network, self.exposure),
            *kubernetes_version.faults("cluster.version", self.cluster.version),
            *self._exposure_faults(),
            *self._access_faults(),
            *source_faults(self.weights, self.serving),
        ]

    def plan_faults(self, plan: Plan) -> list[Fault]:
        """Refuse machines of another cloud, and nodes that would talk over TCP while they pay for EFA."""
        found: list[Fault] = []
        if plan.machine.cloud != "aws":
            found.append(
                Fault(
                    key="machine",
                    given=plan.machine.name,
                    allowed="must be an EC2 type that the catalogue knows",
                    instead="p6-b300.48xlarge, p6-b200.48xlarge or p5en.48xlarge",
                )
            )
        stock = plan.image.removeprefix("docker.io/").partition("@")[0].partition(":")[0] == _STOCK_IMAGE
        if plan.layout.interconnect == "rdma" and plan.layout.nodes > 1 and stock:
            found.append(
                Fault(
                    key="serving.image",
                    given=plan.image,
                    allowed="has no aws-ofi-nccl: NCCL would silently fall back to TCP (vllm-project/vllm #55635)",
                    instead="an image made from it with EFA's libraries, or topology: {interconnect: tcp}",
                )
            )
        return found

    def _exposure_faults(self) -> list[Fault]:
        if self.exposure.certificate_secret is None:
            return []
        return [
            Fault(
                key="exposure.certificateSecret",
                given=self.exposure.certificate_secret,
                allowed="the load balancer speaks TLS on AWS",
                instead="certificateArn, a certificate in ACM",
            )
        ]

    def _access_faults(self) -> list[Fault]:
        ranges = self.cluster.public_access_ranges
        if not any(cidr.endswith("/0") for cidr in ranges):
            return []
        return [
            Fault(
                key="cluster.publicAccessRanges",
                given=list(ranges),
                allowed="the API server must not be open to everybody",
                instead="[203.0.113.0/24], or none for the VPC alone",
            )
        ]

    @property
    def buys_capacity(self) -> bool:
        """Whether this stack buys a Capacity Block and makes nothing else."""
        return self.capacity.mode == "purchase"

    @property
    def cold_start(self) -> ColdStart:
        """From no cluster and an empty bucket."""
        return ColdStart(cloud="aws", delivery=self.weights.delivery, workers=self.weights.workers)

    @property
    def storage_usd_month(self) -> float:
        """The bucket's storage; a bucket of the person's own is theirs."""
        owned = self.weights.bucket is None and not self.buys_capacity
        return KIMI_K3.weight_bytes / 1e9 * self.prices.storage_per_gb_month if owned else 0.0

    @property
    def platform_usd_hour(self) -> float:
        """Control plane, CPU nodes and NAT gateway."""
        if self.buys_capacity:
            return 0.0
        nodes = self.cluster.system_nodes
        gateway = NAT_USD_HOUR if self.network.vpc_id is None else 0.0
        return CONTROL_PLANE_USD_HOUR + gateway + nodes.count * _SYSTEM_NODE_USD_HOUR.get(nodes.type, 0.0)

    @property
    def after_destroy(self) -> tuple[Lasting, ...]:
        """Reservations bill until they end, and a kept bucket until it is deleted."""
        found: list[Lasting] = []
        if self.capacity.mode == "purchase":
            found.append(Lasting(what="the Capacity Block, which is paid and can't be given back", usd_per_month=None))
        elif self.capacity.mode == "existing":
            block = self.capacity.kind == "block"
            what = "paid until its end" if block else "billed by the hour until you cancel it"
            found.append(Lasting(what=f"the reservation {self.capacity.id}: {what}", usd_per_month=None))
        if self.storage_usd_month and self.weights.keep:
            found.append(
                Lasting(
                    what="the bucket with the weights (weights.keep)", usd_per_month=round(self.storage_usd_month, 2)
                )
            )
        return tuple(found)


def capacity_faults(capacity: Capacity, region: str, *, looked_up: bool = True) -> list[Fault]:
    """Check that a mode has its own keys and no others, and that nothing is bought by a half-filled form.

    Args:
        capacity: The block.
        region: The stack's.
        looked_up: Whether a reservation's zone comes from EC2.
    """
    own = _CAPACITY_KEYS[capacity.mode]
    if capacity.mode == "existing" and not looked_up:
        own += ("zone",)
    optional = _CAPACITY_OPTIONS.get(capacity.mode, ())
    needed = {**_CAPACITY_KEYS, capacity.mode: own}
    found = mode_key_faults("capacity", capacity, capacity.mode, needed, optional=optional)
    if capacity.mode == "purchase" and not capacity.accept_non_refundable:
        found.append(
            Fault(
                key="capacity.acceptNonRefundable",
                given=False,
                allowed="a Capacity Block is paid at once, can't be changed and can't be given back",
                instead="true, when you mean it",
            )
        )
    found += _duration_faults(capacity.duration_hours or 0)
    if capacity.zone is not None and capacity.zone[:-1] != region:
        found.append(
            Fault(
                key="capacity.zone",
                given=capacity.zone,
                allowed=f"must be a zone of the region {region}",
                instead=f"{region}a",
            )
        )
    return found


def _duration_faults(hours: int) -> list[Fault]:
    """Check what the keys' own limits leave open: 1 to 14 days, or weeks (EC2 user guide, ec2-capacity-blocks)."""
    if hours <= _LONGEST_IN_DAYS or hours % _WEEK_HOURS == 0:
        return []
    whole = hours // _WEEK_HOURS * _WEEK_HOURS
    allowed = "EC2 offers 1 to 14 days, or whole weeks up to 26"
    return [Fault(key="capacity.durationHours", given=hours, allowed=allowed, instead=f"{whole}")]


def network_faults(network: Network, exposure: Exposure) -> list[Fault]:
    """Check the range of a VPC of our own, or the ids of one that is there."""
    if network.vpc_id is None:
        given = [key for key, ids in _subnets(network).items() if ids]
        found = [
            Fault(
                key=f"network.{key}", given="given", allowed="belongs to a VPC that is there", instead="vpcId as well"
            )
            for key in given
        ]
        return found + _cidr_faults(network.cidr)
    public = exposure.mode == "public"
    few = [key for key, ids in _subnets(network).items() if len(ids) < 2 and (key == "privateSubnetIds" or public)]
    return [
        Fault(
            key=f"network.{key}",
            given=list(_subnets(network)[key]),
            allowed="EKS and its load balancers want subnets in two zones",
            instead="two ids or more",
        )
        for key in few
    ]


def _subnets(network: Network) -> dict[str, tuple[str, ...]]:
    return {"privateSubnetIds": network.private_subnet_ids, "publicSubnetIds": network.public_subnet_ids}


def _cidr_faults(cidr: str) -> list[Fault]:
    try:
        fits = 16 <= ipaddress.IPv4Network(cidr).prefixlen <= 20
    except ValueError:
        fits = False
    if fits:
        return []
    allowed = "an IPv4 range from /16 to /20, its host bits zero"
    return [Fault(key="network.cidr", given=cidr, allowed=allowed, instead="10.20.0.0/16")]
