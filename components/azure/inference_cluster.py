"""Everything on Azure that the model needs before it can be served, dearest last."""

import pulumi
import pulumi_kubernetes as kubernetes

from components import labels, naming
from components.azure import weight_bucket
from components.azure.capacity_reservation import CapacityReservation
from components.azure.cluster import Cluster, ClusterArgs
from components.azure.gpu_drivers import INFINIBAND, GpuDrivers, GpuDriversArgs
from components.azure.gpu_node_pool import LABELS, TAINT, GpuNodePool, GpuNodePoolArgs
from components.azure.load_balancer import load_balancer
from components.azure.network import Network, NetworkArgs
from components.azure.pod_identity import POD_LABELS
from components.azure.preflight import preflight
from components.azure.provider import Place, provider, resource_group, tags
from components.azure.quota import quota
from components.azure.settings import AzureSettings
from components.azure.weight_bucket import WeightBucket, WeightBucketArgs
from components.config import Secrets
from components.inference_cluster import InferenceCluster, Placement, PodNeeds
from components.namespace import namespace
from components.node_disks import NodeDisksArgs, node_disks
from components.plan.planner import Plan

_GROUP_MAX = 90
_MOUNT = "/mnt/nvme"
_FOLDER = f"{_MOUNT}/kimi-k3"
_LOCAL_DISK = "Microsoft NVMe Direct Disk"
"""What Azure calls the disks inside a machine; a remote disk on the same controller is called otherwise."""
_PLACEMENT = Placement(node_selector=LABELS, tolerations=[{"key": TAINT, "operator": "Exists"}])
_WITHOUT_RESERVATION = (
    "capacity.mode is none: a quota is a permission, not a machine. Azure may have none of {machine} left in {region}, "
    "and then `up` fails at its last step, with the weights in place; it goes on from there when you run it again."
)


def inference_cluster(settings: AzureSettings, secrets: Secrets, plan: Plan) -> InferenceCluster:
    """Return the cluster with the GPU nodes in it, or without any while the stack is parked."""
    account = provider(settings)
    opts = pulumi.ResourceOptions(providers=[account])
    said = preflight(settings, plan, pulumi.InvokeOptions(provider=account))
    if wanted := quota(settings, plan, said.subscription):
        pulumi.info(wanted)
    place = _place(settings, said.subscription, account)
    reservation = CapacityReservation("capacity", said.reservation, place, opts)
    network = Network("network", NetworkArgs(network=settings.network, place=place), opts)
    cluster = Cluster("cluster", _cluster(settings, network, reservation, place), opts)
    ours = namespace(cluster.access, _labels(settings, cluster.access.namespace), settings.owner)
    weights = _weights(settings, plan, network, cluster, ours, place)
    bucket = WeightBucket("weights", weights, secrets.hub_token, opts)
    ready: list[pulumi.Resource] = [ours, *bucket.ready]
    if plan.gpu_nodes:
        if settings.capacity.mode == "none":
            pulumi.warn(_WITHOUT_RESERVATION.format(machine=plan.machine.name, region=settings.region))
        ready += GpuDrivers("drivers", _drivers(settings, plan, cluster)).ready
        ready += _disks(settings, cluster, ours)
        pool = GpuNodePoolArgs(
            cluster=cluster,
            network=network,
            reservation=reservation,
            found=said.reservation,
            machine=plan.machine.name,
            nodes=plan.gpu_nodes,
            place=place,
            after=[*ready],
        )
        # What bills by the GPU comes last: after the weights are complete, and after whatever else can fail.
        ready += GpuNodePool("gpu", pool, opts).ready
    return InferenceCluster(
        access=cluster.access,
        weights=weight_bucket.reading(weights, path=_FOLDER, link_gbps=plan.machine.network_gbps),
        placement=_PLACEMENT,
        pod=_pod(plan),
        load_balancer=load_balancer(settings.exposure),
        controllers_after=cluster.ready,
        ready=ready,
        outputs={
            "cluster": cluster.name,
            "bucket": f"{weight_bucket.account_name(settings.weights, place)}/{settings.weights.container}",
            "resourceGroup": place.group,
        },
    )


def _place(settings: AzureSettings, subscription: str, account: pulumi.ProviderResource) -> Place:
    """Return where everything but the weights is: a resource group that goes with the stack."""
    name = naming.fit(f"{pulumi.get_project()}-{pulumi.get_stack()}", _GROUP_MAX)
    place = Place(subscription=subscription, region=settings.region, group=name, tags=tags(settings))
    group = resource_group("group", name, place, pulumi.ResourceOptions(provider=account))
    return Place(subscription=subscription, region=settings.region, group=group.name, tags=place.tags)


def _cluster(settings: AzureSettings, network: Network, reservation: CapacityReservation, place: Place) -> ClusterArgs:
    return ClusterArgs(
        cluster=settings.cluster, ranges=settings.network, network=network, reservation=reservation, place=place
    )


def _weights(
    settings: AzureSettings,
    plan: Plan,
    network: Network,
    cluster: Cluster,
    ours: kubernetes.core.v1.Namespace,
    place: Place,
) -> WeightBucketArgs:
    return WeightBucketArgs(
        cluster=cluster,
        network=network,
        place=place,
        weights=settings.weights,
        draft=plan.draft_tokens > 0,
        mirror=settings.mirror,
        labels=_labels(settings, "weights"),
        after=[ours],
    )


def _drivers(settings: AzureSettings, plan: Plan, cluster: Cluster) -> GpuDriversArgs:
    between = plan.layout.interconnect
    return GpuDriversArgs(
        cluster=cluster,
        mirror=settings.mirror,
        labels=_labels(settings, "gpu-operator"),
        nvlink=between == "mnnvl",
        infiniband=between == "rdma",
    )


def _disks(settings: AzureSettings, cluster: Cluster, ours: kubernetes.core.v1.Namespace) -> list[pulumi.Resource]:
    """Put the nodes' disks together where the weights go onto them."""
    if settings.weights.delivery != "nvme":
        return []
    disks = NodeDisksArgs(
        access=cluster.access,
        model=_LOCAL_DISK,
        mount=_MOUNT,
        folder=_FOLDER,
        placement=_PLACEMENT,
        mirror=settings.mirror,
        labels=_labels(settings, "node-disks"),
    )
    return [node_disks("node-disks", disks, pulumi.ResourceOptions(depends_on=[ours]))]


def _pod(plan: Plan) -> PodNeeds:
    """Return what the engine's pods need here: the identity that reads the weights, and InfiniBand between nodes."""
    if plan.layout.interconnect != "rdma":
        return PodNeeds(service_account=weight_bucket.READER, labels=POD_LABELS)
    # Its log names the transport: "NET/IB" is InfiniBand, "NET/Socket" the TCP that it falls back to without a word.
    said = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,NET"}
    return PodNeeds(
        service_account=weight_bucket.READER,
        labels=POD_LABELS,
        resources=INFINIBAND,
        environment=[{"name": name, "value": value} for name, value in said.items()],
    )


def _labels(settings: AzureSettings, name: str) -> dict[str, str]:
    return labels.common(name, pulumi.get_project(), pulumi.get_stack(), settings.tags)
