"""The one contract between a cloud and the serving part: everything that a pod of the engine needs to know.

A cloud package makes an `InferenceCluster`; `components/serving` turns it and the plan into a served model. Neither
knows the other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import pulumi
import pulumi_kubernetes as kubernetes

from components import labels

API_PORT: Final = 8000
"""The leaders' port: the API, /health and /metrics."""

Manifest = Mapping[str, object]
"""A piece of a Kubernetes manifest; its leaves may be Inputs."""


@dataclass(frozen=True, kw_only=True)
class KernelCache:
    """Where compiled kernels outlive their node: a bucket that only this stack's identities write."""

    url: str
    """Folder in the bucket."""
    environment: Sequence[Manifest]
    """What the bucket is reached with."""
    config_map: str
    """Name of the ConfigMap with the program, see `components/weights/program.py`."""
    image: str | None
    """An image that has the program's libraries."""


@dataclass(frozen=True, kw_only=True)
class Weights:
    """Where a pod reads the weights, and what it needs for that."""

    location: str
    """An absolute path in the pod, or an s3://, gs:// or az:// URI."""
    draft_location: str
    """The same for the draft model of speculative decoding."""
    loader: str = "fastsafetensors"
    """vLLM's loader for a path; a URI is always streamed."""
    volumes: Sequence[Manifest] = ()
    mounts: Sequence[Manifest] = ()
    """Volume mounts of the engine's container."""
    init_containers: Sequence[Manifest] = ()
    """What brings the weights onto the node before the engine starts."""
    environment: Sequence[Manifest] = ()
    """Variables that the loader needs: endpoint, region, credentials by reference."""
    kernel_cache: KernelCache | None = None
    """None: every fresh pod compiles its kernels."""

    @property
    def streamed(self) -> bool:
        """Whether the engine reads an object store instead of a file system."""
        return "://" in self.location


@dataclass(frozen=True, kw_only=True)
class Placement:
    """Which nodes the engine's pods may use."""

    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: Sequence[Manifest] = ()
    node_affinity: Manifest | None = None
    nvlink_domain: str = labels.NVLINK_CLIQUE
    """Node label that is equal within one NVLink domain."""


@dataclass(frozen=True, kw_only=True)
class PodNeeds:
    """What this cloud needs on every pod of the engine."""

    service_account: pulumi.Input[str] | None = None
    """Only where the cloud's identity comes with it; its token is then mounted."""
    runtime_class: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    environment: Sequence[Manifest] = ()
    resources: Mapping[str, str] = field(default_factory=dict)
    """Further extended resources a pod, such as RDMA interfaces."""
    claims: Mapping[str, str] = field(default_factory=dict)
    """ResourceClaimTemplate by name of the claim: devices that dynamic resource allocation hands out."""
    host_folders: Mapping[str, str] = field(default_factory=dict)
    """Folder of the node by where the engine sees it, such as a driver's libraries; a pod waits until it is there."""


@dataclass(frozen=True, kw_only=True)
class Route:
    """A public way in that knows HTTP and forwards nothing but the API's own paths."""

    ingress_class: str
    annotations: Mapping[str, str]
    """Certificate, allowed ranges and idle time, as the cloud's controller takes them."""


@dataclass(frozen=True, kw_only=True)
class LoadBalancer:
    """How this cloud's load balancer is asked for."""

    annotations: Mapping[str, pulumi.Input[str]] = field(default_factory=dict)
    load_balancer_class: str | None = None
    sources: Sequence[str] = ()
    """CIDR ranges that its connections to the pods come from; none: the callers' own."""
    tls: bool = False
    """Whether it ends TLS for a public exposure, on the API's port."""
    route: Route | None = None
    """For a public exposure: the engine answers /invocations and /tokenize without a key (vllm-project/vllm #58144)."""


@dataclass(frozen=True, kw_only=True)
class ClusterAccess:
    """How objects are made in a cluster, and how its pods are watched."""

    provider: kubernetes.Provider
    kubeconfig: pulumi.Input[str]
    """Path or contents; a secret where it holds credentials."""
    context: str | None = None
    """The kubeconfig's context; None takes its current one."""
    namespace: str
    """Where everything of ours is."""


@dataclass(frozen=True, kw_only=True)
class InferenceCluster:
    """A cluster that can serve the plan, dearest part last."""

    access: ClusterAccess
    weights: Weights
    placement: Placement = field(default_factory=Placement)
    pod: PodNeeds = field(default_factory=PodNeeds)
    load_balancer: LoadBalancer = field(default_factory=LoadBalancer)
    controller_present: bool = False
    """Whether the LeaderWorkerSet controller is there already, so that none is installed."""
    controllers_after: Sequence[pulumi.Resource] = ()
    """CPU nodes and whatever else a controller needs to run."""
    ready: Sequence[pulumi.Resource] = ()
    """Resources that must exist before a pod of the engine does."""
    starts_at: str | None = None
    """When the GPU nodes come (RFC 3339), so that nobody waits for pods before; None when they are there."""
    outputs: Mapping[str, pulumi.Input[object]] = field(default_factory=dict)
    """What the stack exports of this cloud."""
