"""Everything on AWS that the model needs before it can be served, dearest last."""

import pulumi
import pulumi_kubernetes as kubernetes

from components import labels, naming
from components.aws import weight_bucket
from components.aws.capacity_reservation import CapacityReservation
from components.aws.cluster import Cluster, ClusterArgs
from components.aws.gpu_drivers import GpuDrivers, GpuDriversArgs
from components.aws.gpu_node_pool import (
    EFA_CARDS,
    LABELS,
    NVME_FOLDER,
    TAINT,
    GpuNodePool,
    GpuNodePoolArgs,
    start_time,
)
from components.aws.load_balancer_controller import (
    LoadBalancerController,
    LoadBalancerControllerArgs,
    load_balancer,
)
from components.aws.network import Network, NetworkArgs, second_zone
from components.aws.preflight import Preflight, preflight
from components.aws.provider import partition, provider, tags
from components.aws.settings import AwsSettings
from components.aws.weight_bucket import WeightBucket, WeightBucketArgs
from components.config import Secrets
from components.inference_cluster import InferenceCluster, Manifest, Placement, PodNeeds
from components.namespace import namespace
from components.plan.planner import Plan

_BUCKET_NAME_MAX = 63
_HUGE_PAGES = {"hugepages-2Mi": "5120Mi"}
"""What libfabric's EFA provider takes for its buffers (EKS user guide, node-efa)."""


def inference_cluster(settings: AwsSettings, secrets: Secrets, plan: Plan) -> InferenceCluster:
    """Return the cluster with the GPU nodes in it, or without any while the stack is parked."""
    account = provider(settings)
    opts = pulumi.ResourceOptions(providers=[account])
    look_ups = pulumi.InvokeOptions(provider=account)
    said = preflight(settings, plan, look_ups)
    CapacityReservation("capacity", said.reservation, opts)
    network = Network("network", _network(settings, said, look_ups), opts)
    cluster = Cluster("cluster", _cluster(settings, network), opts)
    ours = namespace(cluster.access, _labels(settings, cluster.access.namespace), settings.owner)
    weights = _weights(settings, plan, said, cluster, ours)
    bucket = WeightBucket("weights", weights, secrets.hub_token, opts)
    ready: list[pulumi.Resource] = [ours, *bucket.ready]
    if settings.exposure.mode != "none":
        ready.append(LoadBalancerController("load-balancers", _controller(settings, network, cluster), opts))
    efa = plan.layout.interconnect == "rdma" and plan.layout.nodes > 1
    if plan.gpu_nodes:
        drivers = GpuDriversArgs(cluster=cluster, mirror=settings.mirror, efa=efa)
        ready += GpuDrivers("drivers", drivers).ready
        # What bills by the GPU comes last: after the weights are complete, and after whatever else can fail.
        ready += GpuNodePool("gpu", _pool(settings, plan, said, network, cluster, ready), opts, efa=efa).ready
    return InferenceCluster(
        access=cluster.access,
        weights=weight_bucket.reading(weights, path=f"{NVME_FOLDER}/kimi-k3", link_gbps=plan.machine.network_gbps),
        placement=Placement(node_selector=LABELS, tolerations=[{"key": TAINT, "operator": "Exists"}]),
        pod=_pod(plan, efa=efa),
        load_balancer=load_balancer(
            settings.exposure.allowed_ranges, settings.exposure.certificate_arn, _balancer_ranges(settings)
        ),
        controllers_after=cluster.ready,
        ready=ready,
        starts_at=start_time(said.reservation) or None,
        outputs={"cluster": cluster.name, "bucket": weights.bucket, "zone": said.reservation.zone},
    )


def _network(settings: AwsSettings, said: Preflight, look_ups: pulumi.InvokeOptions) -> NetworkArgs:
    zone, given = said.reservation.zone, settings.network.vpc_id is not None
    zones = (zone, zone if given else second_zone(zone, look_ups))
    return NetworkArgs(network=settings.network, region=settings.region, zones=zones, gpu_subnets=said.gpu_subnets)


def _cluster(settings: AwsSettings, network: Network) -> ClusterArgs:
    return ClusterArgs(
        cluster=settings.cluster,
        partition=partition(settings.region),
        profile=settings.profile,
        network=network,
        tags=tags(settings),
    )


def _weights(
    settings: AwsSettings, plan: Plan, said: Preflight, cluster: Cluster, ours: kubernetes.core.v1.Namespace
) -> WeightBucketArgs:
    name = f"{pulumi.get_project()}-{pulumi.get_stack()}-{said.account}-{settings.region}"
    return WeightBucketArgs(
        cluster=cluster,
        region=settings.region,
        bucket=settings.weights.bucket or naming.fit(name, _BUCKET_NAME_MAX),
        weights=settings.weights,
        draft=plan.draft_tokens > 0,
        mirror=settings.mirror,
        labels=_labels(settings, "weights"),
        after=[ours],
    )


def _controller(settings: AwsSettings, network: Network, cluster: Cluster) -> LoadBalancerControllerArgs:
    return LoadBalancerControllerArgs(
        cluster=cluster, region=settings.region, vpc_id=network.vpc_id, mirror=settings.mirror
    )


def _pool(
    settings: AwsSettings,
    plan: Plan,
    said: Preflight,
    network: Network,
    cluster: Cluster,
    after: list[pulumi.Resource],
) -> GpuNodePoolArgs:
    return GpuNodePoolArgs(
        cluster=cluster,
        subnet_ids=network.gpu_subnet_ids,
        reservation=said.reservation,
        machine=plan.machine.name,
        nodes=plan.gpu_nodes,
        tags=tags(settings),
        after=[*after],
    )


def _pod(plan: Plan, *, efa: bool) -> PodNeeds:
    """Return what the engine's pods need here: the role that reads the bucket, and EFA between several nodes."""
    if not efa:
        return PodNeeds(service_account=weight_bucket.READER)
    adapters = {"vpc.amazonaws.com/efa": str(len(EFA_CARDS[plan.machine.name])), **_HUGE_PAGES}
    return PodNeeds(
        service_account=weight_bucket.READER, resources=adapters, environment=_efa_environment(plan.machine.name)
    )


def _efa_environment(machine: str) -> list[Manifest]:
    found = {
        "FI_PROVIDER": "efa",
        "FI_EFA_USE_DEVICE_RDMA": "1",
        # Its log names the transport: "NET/OFI" is EFA, "NET/Socket" the TCP that it falls back to without a word.
        "NCCL_DEBUG": "INFO",
        "NCCL_DEBUG_SUBSYS": "INIT,NET",
    }
    if machine.startswith("p6-b300"):
        # Two of its RDMA devices aren't EFA's.
        found["NCCL_IB_HCA"] = "rdmap"
    return [{"name": name, "value": value} for name, value in found.items()]


def _balancer_ranges(settings: AwsSettings) -> list[str]:
    """Return where a load balancer's own addresses are: in our VPC, or anywhere private in one that was there."""
    return (
        [settings.network.cidr]
        if settings.network.vpc_id is None
        else ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"]
    )


def _labels(settings: AwsSettings, name: str) -> dict[str, str]:
    return labels.common(name, pulumi.get_project(), pulumi.get_stack(), settings.tags)
