"""What a person can set in a stack file, as pydantic models: the keys that every cloud shares.

Pure: no pulumi, no cloud SDK. The keys of one cloud alone live in `components/<cloud>/settings.py`; a key of another
cloud is therefore a fault by construction. Each default has its one home here (`Pulumi.yaml` repeats the top-level
ones because the CLI takes a declared key without a default for a required one; a test compares the two).
Secrets never enter a model: see `components/config.py`.
"""

from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from components.faults import Fault
from components.plan import hardware
from components.plan.cost import Lasting
from components.plan.model import KIMI_K3
from components.plan.timing import ColdStart

if TYPE_CHECKING:
    from components.plan.planner import Plan

Cloud = Literal["existing", "aws", "azure", "gcp", "alicloud"]
"""The clouds that a stack can name; one literal a cloud package."""

COMMIT: Final = r"^[0-9a-f]{40}$"
_CIDR: Final = r"^([0-9]{1,3}(\.[0-9]{1,3}){3}|[0-9a-fA-F:]+)/[0-9]{1,3}$"
_LABEL_KEY: Final = r"^([a-z0-9.-]+/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$"
_DNS_LABEL: Final = r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"

DnsLabel = Annotated[str, Field(pattern=_DNS_LABEL)]
"""A Kubernetes name: at most 63 lower-case letters, digits and hyphens."""
Strings = Annotated[tuple[str, ...], Field(strict=False)]
"""A list of strings in the file, a tuple in the program."""

Cidrs = Annotated[tuple[Annotated[str, Field(pattern=_CIDR)], ...], Field(strict=False)]
"""CIDR ranges."""


def _word(word: str, value: object) -> BeforeValidator:
    """Read one word of the file (`auto`) as the value that it stands for."""
    return BeforeValidator(lambda given: value if given == word else given)


class Block(BaseModel):
    """A group of keys: camelCase in the file, unknown keys refused, values never converted, input never printed."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        extra="forbid",
        frozen=True,
        strict=True,
        hide_input_in_errors=True,
        # Only the cloud in use is built, and each block once, as a part of it.
        defer_build=True,
    )


class CustomMachine(Block):
    """A node type that the catalogue doesn't have; figures per node."""

    gpu: str = Field(description="name of the GPU, for the reader", examples=["B300"])
    generation: hardware.GpuGeneration = Field(description="decides the vLLM profile", examples=["blackwell"])
    gpus: int = Field(ge=1, le=16, description="GPUs of one node", examples=[8])
    gpu_memory_gb: float = Field(
        gt=0,
        description="decimal GB per GPU as the driver reports it (MiB x 1.048576 / 1000)",
        examples=[288.4],
    )
    architecture: hardware.Architecture = Field(default="amd64", description="amd64 or arm64", examples=["amd64"])
    nvlink_domain: int | None = Field(
        default=None,
        ge=1,
        description="GPUs that one NVLink domain joins; default: those of a node",
        examples=[72],
    )
    fabric: hardware.Fabric = Field(default="none", description="RDMA network between nodes", examples=["roce"])
    nvme_gb: int = Field(default=0, ge=0, description="decimal GB of local NVMe", examples=[30000])
    ram_gb: int = Field(default=2000, gt=0, description="decimal GB of RAM", examples=[2000])
    vcpus: int = Field(default=128, gt=0, description="vCPUs", examples=[128])
    gpu_resource: str = Field(default="nvidia.com/gpu", description="extended resource", examples=["amd.com/gpu"])


class MachineChoice(Block):
    """A type of the catalogue by its name, or a custom one."""

    name: str | None = Field(default=None, description="a machine type of the catalogue", examples=["8xB300"])
    custom: CustomMachine | None = Field(default=None, description="a machine that the catalogue doesn't have")


class Topology(Block):
    """How one replica is cut over GPUs; every size that is left out is chosen by the plan."""

    tensor_parallel: int | None = Field(default=None, ge=1, description="1, 2, 4, 8, 16 or 32", examples=[8])
    pipeline_parallel: int | None = Field(default=None, ge=1, le=93, description="1 to 93 stages", examples=[2])
    data_parallel: int | None = Field(default=None, ge=1, description="attention replicas", examples=[1])
    expert_parallel: bool = Field(default=False, description="spread whole experts over the GPUs")
    interconnect: Literal["mnnvl", "rdma", "tcp"] | None = Field(
        default=None,
        description="what joins the nodes of a replica; default: the machine's best",
        examples=["rdma"],
    )


class Weights(Block):
    """Which weights, where from, and how they reach the GPUs."""

    source: str = Field(
        default="huggingface",
        pattern=r"^(huggingface|modelscope|(s3|az|gs|oss)://[^/]+/.+)$",
        description="huggingface, modelscope, or the folder of another bucket",
        examples=["huggingface"],
    )
    source_revision: str | None = Field(
        default=None, pattern=COMMIT, description="ModelScope's own commit of the same files"
    )
    digest: str | None = Field(
        default=None,
        pattern=r"^[0-9a-f]{64}$",
        description="of all files, as a finished copy prints it; other files are refused",
    )
    revision: str = Field(
        default=KIMI_K3.revision,
        pattern=COMMIT,
        description="40 hexadecimal digits of a commit; a branch or tag can change the code that runs",
        examples=[KIMI_K3.revision],
    )
    loader: Literal["fastsafetensors", "instanttensor"] = Field(
        default="fastsafetensors",
        description="vLLM's loader for weights on a file system",
        examples=["fastsafetensors"],
    )
    keep: bool = Field(default=True, description="keep the bucket on destroy")
    workers: int = Field(default=4, ge=1, le=32, description="pods that fill the bucket", examples=[4])
    image: str | None = Field(
        default=None,
        min_length=1,
        description="an image made from components/weights/Dockerfile, which installs nothing at run time",
        examples=["registry.example.com/kimi-k3-weights:1"],
    )


class Rollout(Block):
    """How a changed group is replaced."""

    max_unavailable: int = Field(default=1, ge=0, description="groups that may be down", examples=[1])
    max_surge: int = Field(default=0, ge=0, description="groups above replicas; needs spare nodes", examples=[0])


class Shutdown(Block):
    """How a replica ends, in seconds; the grace period must be longer than the other two together."""

    pre_stop_seconds: int = Field(
        default=15, ge=0, description="time for load balancers to forget a pod", examples=[15]
    )
    drain_seconds: int = Field(default=120, ge=0, description="time for running requests", examples=[120])
    grace_seconds: int = Field(default=180, ge=1, description="after this the pod is killed", examples=[180])


class Serving(Block):
    """What the engine does and how its pods run."""

    image: str | None = Field(
        default=None, min_length=1, description="a vLLM image with a tag or digest", examples=[KIMI_K3.image]
    )
    max_model_len: Annotated[int | None, _word("auto", None)] = Field(
        default=None,
        ge=1024,
        le=KIMI_K3.max_context,
        description="tokens of one sequence, or auto",
        examples=[131072],
    )
    prefix_caching: bool = Field(default=True, description="reuse the KV cache of equal prefixes")
    speculative_decoding: bool = Field(default=False, description="the DSpark draft model; not with pipeline stages")
    text_only: bool = Field(default=False, description="leave the vision encoder out")
    kv_offload_gib_per_rank: int = Field(
        default=0, ge=0, description="GiB of host RAM for evicted KV cache, per GPU", examples=[64]
    )
    shared_memory_gib: int = Field(default=64, ge=16, description="GiB of /dev/shm a pod", examples=[64])
    kernel_cache: bool = Field(
        default=True, description="keep compiled kernels in the bucket, where it is this stack's own"
    )
    extra_args: Strings = Field(default=(), description="arguments of `vllm serve` that win over ours")
    extra_env: dict[str, str] = Field(default={}, description="environment variables that win over ours")
    host_network: bool = Field(default=False, description="use the node's network, where RDMA needs it")
    socket_interface: str | None = Field(
        default=None,
        description="NIC for NCCL's and Gloo's sockets, or ^name,... to exclude",
        examples=["eth0"],
    )
    eviction_protection: bool = Field(default=True, description="keep autoscalers from moving the pods")
    metrics: bool = Field(default=True, description="let the monitoring namespace scrape the leaders")
    monitoring_namespace: DnsLabel = Field(
        default="monitoring", description="where Prometheus runs", examples=["monitoring"]
    )
    wait: bool = Field(default=True, description="`pulumi up` waits until the model answers")
    ready_timeout_minutes: Annotated[int | None, _word("auto", None)] = Field(
        default=None, ge=1, description="how long it waits; auto: from the plan's forecast", examples=[150]
    )
    rollout: Rollout = Field(default_factory=Rollout, description="how a changed group is replaced")
    shutdown: Shutdown = Field(default_factory=Shutdown, description="how a replica ends")


class Exposure(Block):
    """Who can reach the API."""

    mode: Literal["none", "internal", "public"] = Field(
        default="none",
        description="inside the cluster, a private load balancer, or a public one",
        examples=["none"],
    )
    allowed_ranges: Cidrs = Field(
        default=(), description="CIDR ranges that may call the API", examples=[["10.0.0.0/8"]]
    )
    certificate_secret: DnsLabel | None = Field(
        default=None,
        description="a kubernetes.io/tls Secret of the namespace; the API then speaks TLS",
        examples=["api-tls"],
    )
    load_balancer_class: str | None = Field(
        default=None, description="spec.loadBalancerClass", examples=["metallb.io/metallb"]
    )
    annotations: dict[str, str] = Field(default={}, description="annotations of the load balancer's Service")

    @property
    def certificate(self) -> tuple[str, str | None]:
        """The key of the certificate that a public API needs, and its value."""
        return "certificateSecret", self.certificate_secret


class HourlyPrice(Block):
    """USD an hour for one machine."""

    low: float = Field(ge=0, description="USD an hour", examples=[59])
    high: float = Field(ge=0, description="USD an hour", examples=[142])


class Usage(Block):
    """What the official API would be asked, for the break-even."""

    input_share: float = Field(default=0.8, ge=0, le=1, description="input tokens of all tokens", examples=[0.8])
    cache_hit_rate: float = Field(default=0.0, ge=0, le=1, description="cached input tokens of input", examples=[0.9])


class Prices(Block):
    """Prices that the plan can't know or that have changed since; USD."""

    hourly: HourlyPrice | None = Field(default=None, description="one machine, instead of the catalogue's range")
    storage_per_gb_month: float = Field(default=0.023, ge=0, description="bucket, per decimal GB", examples=[0.023])
    api_input: float = Field(default=3.00, ge=0, description="official API, per million input tokens", examples=[3.0])
    api_cached_input: float = Field(default=0.30, ge=0, description="per million cached input tokens", examples=[0.3])
    api_output: float = Field(default=15.00, ge=0, description="per million output tokens", examples=[15.0])
    usage: Usage = Field(default_factory=Usage, description="the mix of tokens")


class Mirror(Block):
    """Where a closed network gets images and charts from."""

    images: str | None = Field(
        default=None,
        description="a registry prefix put before every image",
        examples=["registry.example.com/mirror"],
    )
    charts: str | None = Field(
        default=None,
        description="a folder or an oci:// prefix that holds the charts",
        examples=["oci://registry.example.com/charts"],
    )
    hub: str | None = Field(
        default=None,
        pattern=r"^https?://",
        description="a mirror of the hub that the weights come from",
        examples=["https://hub.example.com"],
    )
    python_index: str | None = Field(
        default=None,
        pattern=r"^https?://",
        description="a PyPI mirror for the two libraries of the weights' pods",
        examples=["https://pypi.example.com/simple"],
    )

    def mirrored(self, image: str) -> str:
        """Return the image's name in the mirror, or its own without one."""
        return f"{self.images.rstrip('/')}/{image}" if self.images else image


class StackSettings(Block):
    """The keys of every stack file; a cloud's own settings extend them, and say which `cloud` they are for."""

    runtime: Literal["kubernetes"] = Field(
        default="kubernetes", description="what runs the pods", examples=["kubernetes"]
    )
    machine: Annotated[
        MachineChoice, BeforeValidator(lambda given: {"name": given} if isinstance(given, str) else given)
    ] = Field(description="a machine type of the catalogue, or custom: {...}", examples=["8xB300"])
    replicas: int = Field(default=1, ge=0, le=100, description="copies of the model; 0 parks the stack", examples=[1])
    topology: Annotated[Topology, _word("auto", {})] = Field(
        default_factory=Topology, description="auto, or the sizes of a layout", examples=["auto"]
    )
    serve: bool = Field(default=True, description="false: no GPU is used")
    serving: Serving = Field(default_factory=Serving, description="engine and pods")
    exposure: Exposure = Field(default_factory=Exposure, description="who can reach the API")
    prices: Prices = Field(default_factory=Prices, description="prices of your own")
    mirror: Mirror = Field(default_factory=Mirror, description="images and charts of a closed network")
    owner: str = Field(min_length=1, description="who answers for the bill", examples=["team@example.com"])
    tags: dict[Annotated[str, Field(pattern=_LABEL_KEY)], str] = Field(
        default={}, description="further labels or tags of everything", examples=[{"team": "inference"}]
    )

    @property
    def served_replicas(self) -> int:
        """Replicas that run now: none while `serve` is off."""
        return self.replicas if self.serve else 0

    @property
    def gpu_nodes(self) -> int | None:
        """GPU nodes that there are for this stack; None when the stack makes exactly the ones that it needs."""
        return None

    @property
    def cold_start(self) -> ColdStart:
        """What decides how long a first start takes."""
        return ColdStart(cloud="existing", delivery="mounted", workers=0)

    @property
    def weights_on_node(self) -> bool:
        """Whether each node keeps a copy of the weights on its own disk."""
        return self.cold_start.delivery == "nvme"

    @property
    def buys_capacity(self) -> bool:
        """Whether this stack buys capacity and makes nothing else."""
        return False

    @property
    def platform_usd_hour(self) -> float:
        """USD an hour for what runs beside the GPU nodes."""
        return 0.0

    @property
    def storage_usd_month(self) -> float:
        """USD a month for a bucket that this stack makes; 0 when it makes none."""
        return 0.0

    def faults(self) -> list[Fault]:
        """Return what is wrong between the keys of this cloud alone."""
        return []

    def plan_faults(self, plan: "Plan") -> list[Fault]:
        """Return what is wrong between the keys of this cloud and a plan that fits."""
        del plan
        return []

    @property
    def after_destroy(self) -> tuple[Lasting, ...]:
        """What goes on billing after `pulumi destroy`."""
        return ()
