"""Everything on GCP that the model needs before it can be served, dearest last."""

import pulumi
import pulumi_kubernetes as kubernetes

from components import labels
from components.config import Secrets
from components.gcp import gpu_drivers, weight_bucket
from components.gcp.capacity_reservation import CapacityReservation
from components.gcp.cluster import Cluster, ClusterArgs
from components.gcp.gpu_drivers import RDMA_CLAIM, GpuDrivers, GpuDriversArgs
from components.gcp.gpu_node_pool import NVME_FOLDER, GpuNodePool, GpuNodePoolArgs, placement
from components.gcp.inference_gateway import InferenceGateway, InferenceGatewayArgs
from components.gcp.load_balancer import load_balancer
from components.gcp.machine_type import TYPES, uses_rdma
from components.gcp.network import Network, NetworkArgs
from components.gcp.preflight import Preflight, preflight
from components.gcp.provider import Place, provider
from components.gcp.provider import labels as cloud_labels
from components.gcp.settings import GcpSettings
from components.gcp.weight_bucket import WeightBucket, WeightBucketArgs
from components.inference_cluster import InferenceCluster, PodNeeds
from components.namespace import namespace
from components.plan.planner import Plan

_FLEX_START = (
    "capacity.mode is flexStart: Google takes the nodes away after {hours} hours, and the model with them. They come "
    "when there are some, which may take days: with serving.wait `up` waits for them no longer than "
    "serving.readyTimeoutMinutes."
)


def inference_cluster(settings: GcpSettings, secrets: Secrets, plan: Plan) -> InferenceCluster:
    """Return the cluster with the GPU nodes in it, or without any while the stack is parked."""
    account = provider(settings)
    opts = pulumi.ResourceOptions(providers=[account])
    said = preflight(settings, plan, pulumi.InvokeOptions(provider=account))
    place = _place(settings, said)
    CapacityReservation("capacity", said.reservation, opts)
    network = Network("network", _network(settings), opts)
    cluster = Cluster("cluster", _cluster(settings, plan, network, place), opts)
    ours = namespace(cluster.access, _labels(settings, cluster.access.namespace), settings.owner)
    weights = _weights(settings, plan, cluster, ours, place)
    bucket = WeightBucket("weights", weights, secrets.hub_token, opts)
    ready: list[pulumi.Resource] = [ours, *bucket.ready]
    outputs: dict[str, pulumi.Input[object]] = {}
    if settings.exposure.inference_gateway and plan.replicas:
        gateway = InferenceGateway("gateway", _gateway(settings, network, cluster, ours, place), opts)
        ready += gateway.ready
        outputs["gatewayEndpoint"] = gateway.endpoint
    if plan.gpu_nodes:
        _warn(settings)
        ready += GpuDrivers("drivers", _drivers(settings, plan, cluster, ours)).ready
        pool = GpuNodePoolArgs(
            settings=settings, plan=plan, cluster=cluster, place=place, reservation=said.reservation, after=[*ready]
        )
        # What bills by the GPU comes last: after the weights are complete, and after whatever else can fail.
        ready += GpuNodePool("gpu", pool, opts).ready
    return InferenceCluster(
        access=cluster.access,
        weights=weight_bucket.reading(weights, path=f"{NVME_FOLDER}/kimi-k3", link_gbps=plan.machine.network_gbps),
        placement=placement(plan),
        pod=_pod(settings, plan),
        load_balancer=load_balancer(settings.exposure),
        controllers_after=cluster.ready,
        ready=ready,
        outputs={
            "cluster": cluster.name,
            "bucket": weight_bucket.bucket_name(weights),
            "zone": place.zone,
            **outputs,
        },
    )


def _place(settings: GcpSettings, said: Preflight) -> Place:
    return Place(
        project=settings.project,
        number=said.project_number,
        region=settings.region,
        zone=said.reservation.zone,
        labels=cloud_labels(settings),
    )


def _network(settings: GcpSettings) -> NetworkArgs:
    return NetworkArgs(network=settings.network, region=settings.region, gateway=settings.exposure.inference_gateway)


def _cluster(settings: GcpSettings, plan: Plan, network: Network, place: Place) -> ClusterArgs:
    return ClusterArgs(
        cluster=settings.cluster,
        place=place,
        network=network,
        bare_metal=TYPES[plan.machine.name].bare_metal,
        gateway=settings.exposure.inference_gateway,
    )


def _weights(
    settings: GcpSettings, plan: Plan, cluster: Cluster, ours: kubernetes.core.v1.Namespace, place: Place
) -> WeightBucketArgs:
    return WeightBucketArgs(
        cluster=cluster,
        place=place,
        weights=settings.weights,
        draft=plan.draft_tokens > 0,
        mirror=settings.mirror,
        labels=_labels(settings, "weights"),
        after=[ours],
    )


def _gateway(
    settings: GcpSettings, network: Network, cluster: Cluster, ours: kubernetes.core.v1.Namespace, place: Place
) -> InferenceGatewayArgs:
    return InferenceGatewayArgs(
        cluster=cluster,
        place=place,
        network=network,
        mirror=settings.mirror,
        labels=_labels(settings, "gateway"),
        after=[ours],
    )


def _drivers(settings: GcpSettings, plan: Plan, cluster: Cluster, ours: kubernetes.core.v1.Namespace) -> GpuDriversArgs:
    labelled = _labels(settings, "gpu-drivers")
    return GpuDriversArgs(cluster=cluster, plan=plan, mirror=settings.mirror, labels=labelled, after=[ours])


def _warn(settings: GcpSettings) -> None:
    if settings.capacity.mode == "flexStart":
        pulumi.warn(_FLEX_START.format(hours=settings.capacity.max_run_hours or 168))


def _pod(settings: GcpSettings, plan: Plan) -> PodNeeds:
    """Return what the engine's pods need here: the identity that reads the bucket, libraries, and the GPU network."""
    return PodNeeds(
        service_account=weight_bucket.READER,
        annotations=weight_bucket.MOUNT_ANNOTATIONS if settings.weights.delivery == "mount" else {},
        environment=gpu_drivers.environment(plan),
        claims={"network": RDMA_CLAIM} if uses_rdma(plan.layout) else {},
        host_folders=gpu_drivers.host_folders(plan),
    )


def _labels(settings: GcpSettings, name: str) -> dict[str, str]:
    return labels.common(name, pulumi.get_project(), pulumi.get_stack(), settings.tags)
