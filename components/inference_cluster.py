"""The one contract between a cloud and the serving part: everything that a pod of the engine needs to know.

A cloud package makes an `InferenceCluster`; `components/serving` turns it and the plan into a served model. Neither
knows the other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pulumi
import pulumi_kubernetes as kubernetes

Manifest = Mapping[str, object]
"""A piece of a Kubernetes manifest; its leaves may be Inputs."""


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


@dataclass(frozen=True, kw_only=True)
class LoadBalancer:
    """How this cloud's load balancer is asked for."""

    annotations: Mapping[str, str] = field(default_factory=dict)
    load_balancer_class: str | None = None


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
    ready: Sequence[pulumi.Resource] = ()
    """Resources that must exist before a pod of the engine does."""
