"""The keys of a stack that runs on a cluster you already have."""

from collections.abc import Mapping
from typing import Annotated, Final, Literal

from pydantic import Field

from components.faults import Fault
from components.plan.cost import Lasting
from components.plan.timing import ColdStart
from components.settings import Block, DnsLabel, StackSettings, Weights
from components.weight_pins import source_faults


class Toleration(Block):
    """A taint of the GPU nodes that our pods accept."""

    key: str | None = Field(default=None, description="the taint's key", examples=["nvidia.com/gpu"])
    operator: Literal["Exists", "Equal"] = Field(default="Exists", description="Exists or Equal", examples=["Exists"])
    value: str | None = Field(default=None, description="the taint's value, with Equal", examples=["present"])
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = Field(
        default=None, description="the taint's effect; none means every effect", examples=["NoSchedule"]
    )


class Cluster(Block):
    """Which cluster, and which of its nodes."""

    kubeconfig: str = Field(
        default="~/.kube/config", description="path of a kubeconfig file", examples=["~/.kube/config"]
    )
    context: str = Field(
        min_length=1, description="the context to use, never the current one", examples=["gpu-cluster"]
    )
    namespace: DnsLabel = Field(default="kimi-k3", description="the namespace that is created", examples=["kimi-k3"])
    create_namespace: bool = Field(
        default=True, description="false: the namespace is there, with a claim or a Secret that a key here names"
    )
    nodes: int = Field(ge=1, description="GPU nodes that the selector matches and that are free", examples=[1])
    node_selector: dict[str, str] = Field(default={}, description="labels of the GPU nodes")
    tolerations: Annotated[tuple[Toleration, ...], Field(strict=False)] = Field(
        default=(Toleration(key="nvidia.com/gpu"),), description="taints of the GPU nodes"
    )
    runtime_class: DnsLabel | None = Field(
        default=None, description="where nvidia isn't the default container runtime", examples=["nvidia"]
    )
    leader_worker_set: Literal["install", "present"] = Field(
        default="install",
        description="present: the cluster has the LeaderWorkerSet controller",
        examples=["install"],
    )


class Claim(Block):
    """A PersistentVolumeClaim of the namespace, readable by every GPU node."""

    name: DnsLabel = Field(description="the claim", examples=["models"])


class Bucket(Block):
    """A bucket of any S3-compatible store."""

    name: str = Field(min_length=3, max_length=63, description="the bucket", examples=["models"])
    endpoint: str | None = Field(
        default=None,
        pattern=r"^https?://",
        description="URL of the store; none: AWS",
        examples=["https://s3.example.com"],
    )
    region: str = Field(
        default="us-east-1", min_length=1, description="region for the signature", examples=["us-east-1"]
    )
    path_style: bool = Field(default=False, description="the store wants path-style addresses (MinIO, Ceph)")
    credentials_secret: DnsLabel | None = Field(
        default=None,
        description="a Secret with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; none: from the secret config keys",
        examples=["bucket-credentials"],
    )


class ExistingWeights(Weights):
    """Where the weights are: a path or a claim that is mounted, or a bucket that is streamed or copied to a path."""

    delivery: Literal["mounted", "stream", "nvme"] = Field(
        default="mounted",
        description="mounted: path or claim; stream: bucket into the GPUs; nvme: bucket onto a path of each node",
        examples=["mounted"],
    )
    path: str | None = Field(
        default=None, pattern=r"^/.+", description="a folder on every GPU node", examples=["/models"]
    )
    claim: Claim | None = Field(default=None, description="a PersistentVolumeClaim")
    bucket: Bucket | None = Field(default=None, description="an S3-compatible bucket")
    fill: bool = Field(default=True, description="fill the bucket from the hub; false: it is filled already")
    folder: str = Field(
        default="moonshotai/Kimi-K3/{revision}",
        pattern=r"^[^/].*$",
        description="folder of the model below path, claim or bucket; must hold {revision}",
        examples=["moonshotai/Kimi-K3/{revision}"],
    )
    draft_folder: str = Field(
        default="RedHatAI/Kimi-K3-speculator.dspark/{revision}",
        pattern=r"^[^/].*$",
        description="folder of the draft model, with speculative decoding",
        examples=["RedHatAI/Kimi-K3-speculator.dspark/{revision}"],
    )


_PLACES: Final[Mapping[str, tuple[set[str], ...]]] = {
    "mounted": ({"path"}, {"claim"}),
    "stream": ({"bucket"},),
    "nvme": ({"bucket", "path"},),
}
"""What each delivery needs of path, claim and bucket."""


class ExistingSettings(StackSettings):
    """Every key of a stack with `cloud: existing`."""

    cloud: Literal["existing"] = Field(description="where it runs", examples=["existing"])
    cluster: Cluster = Field(description="which cluster, and which of its nodes")
    weights: ExistingWeights = Field(description="where the weights are")

    def faults(self) -> list[Fault]:
        """Return what is wrong between the keys of this cloud alone."""
        return [*weight_faults(self.weights), *self._namespace_faults(), *self._source_faults()]

    def _source_faults(self) -> list[Fault]:
        """Refuse a source whose files can move, and a draft model that the source doesn't have."""
        weights = self.weights
        if weights.bucket is None or not weights.fill or weights.source == "huggingface":
            return []
        filled = "huggingface, or fill: false with both models in the bucket"
        return source_faults(weights, self.serving, instead_of_filling=filled)

    def _namespace_faults(self) -> list[Fault]:
        """Refuse a new namespace where a key names something that can only be in an old one."""
        bucket = self.weights.bucket
        named = {
            "weights.claim": self.weights.claim and self.weights.claim.name,
            "weights.bucket.credentialsSecret": bucket and bucket.credentials_secret,
            "exposure.certificateSecret": self.exposure.certificate_secret,
        }
        there = [key for key, name in named.items() if name]
        if not (there and self.cluster.create_namespace):
            return []
        return [
            Fault(
                key="cluster.createNamespace",
                given=True,
                allowed=f"{', '.join(there)} must be in the namespace before this stack",
                instead="false",
            )
        ]

    @property
    def gpu_nodes(self) -> int | None:
        """The nodes that the person says there are."""
        return self.cluster.nodes

    @property
    def cold_start(self) -> ColdStart:
        """The nodes are there; what is mounted was put there by somebody else."""
        weights = self.weights
        fills = weights.bucket is not None and weights.fill
        return ColdStart(cloud="existing", delivery=weights.delivery, workers=weights.workers if fills else 0)

    @property
    def after_destroy(self) -> tuple[Lasting, ...]:
        """The nodes were there before us and stay; Helm never deletes the CRDs of a chart."""
        found = [Lasting(what="your cluster's own nodes and storage, which this stack didn't make", usd_per_month=None)]
        if self.cluster.leader_worker_set == "install":
            found.append(
                Lasting(what="LeaderWorkerSet's CRDs, which Helm leaves and which bill nothing", usd_per_month=0)
            )
        return tuple(found)


def weight_faults(weights: ExistingWeights) -> list[Fault]:
    """Check that the places fit the delivery, and that the folders name the revision."""
    places = {name for name in ("path", "claim", "bucket") if getattr(weights, name) is not None}
    allowed = _PLACES[weights.delivery]
    found: list[Fault] = []
    if places not in allowed:
        ways = " or ".join(" and ".join(sorted(way)) for way in allowed)
        fitting = [delivery for delivery, fits in _PLACES.items() if places in fits]
        found.append(
            Fault(
                key="weights",
                given=f"{weights.delivery} with {', '.join(sorted(places)) or 'none of path, claim and bucket'}",
                allowed=f"delivery {weights.delivery} takes {ways}",
                instead=f"delivery: {fitting[0]}" if fitting else "path: /models",
            )
        )
    found += [
        Fault(
            key=f"weights.{key}",
            given=folder,
            allowed="must name the revision, so that no other code than the pinned one can run",
            instead="moonshotai/Kimi-K3/{revision}",
        )
        for key, folder in (("folder", weights.folder), ("draftFolder", weights.draft_folder))
        if "{revision}" not in folder and weights.revision not in folder
    ]
    return found
