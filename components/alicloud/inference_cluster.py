"""Everything on Alibaba Cloud that the model needs before it can be served, dearest last."""

import pulumi

from components import labels, naming
from components.alicloud import weight_bucket
from components.alicloud.capacity_reservation import CapacityReservation
from components.alicloud.cluster import Cluster, ClusterArgs
from components.alicloud.gpu_drivers import RESOURCES, GpuDrivers, GpuDriversArgs
from components.alicloud.gpu_node_pool import DISK_FOLDER, PLACEMENT, GpuNodePool, GpuNodePoolArgs
from components.alicloud.load_balancer import PRIVATE_RANGES, LoadBalancerArgs, load_balancer
from components.alicloud.network import Network, NetworkArgs
from components.alicloud.pod_identity import INJECTED, READER
from components.alicloud.preflight import Preflight, preflight
from components.alicloud.private_pool import PrivatePool, PrivatePoolArgs
from components.alicloud.provider import provider, tags
from components.alicloud.settings import AlicloudSettings
from components.alicloud.weight_bucket import Place, WeightBucket, WeightBucketArgs
from components.config import Secrets
from components.inference_cluster import InferenceCluster, LoadBalancer, PodNeeds
from components.namespace import namespace
from components.plan.hardware import Fabric
from components.plan.planner import Plan

_BUCKET_NAME_MAX = 63
_LINGJUN = (
    "capacity.mode is lingjun: the stack makes the node pool, and nobody but you can put nodes of the group into it. "
    "Do so (`aliyun cs AttachInstancesToNodePool`, or the console) while `up` waits for the model. They are a "
    "subscription that `destroy` doesn't end."
)
_BY_THE_HOUR = (
    "capacity.mode is none: the quota of GPU families is 0 in a new account, and there may be no {machine} left in "
    "{zone}. Then `up` fails at its last step, with the weights in place; it goes on from there when you run it again."
)


def inference_cluster(settings: AlicloudSettings, secrets: Secrets, plan: Plan) -> InferenceCluster:
    """Return the cluster with the GPU nodes in it, or without any while the stack is parked."""
    account = provider(settings)
    opts = pulumi.ResourceOptions(providers=[account])
    look_ups = pulumi.InvokeOptions(provider=account)
    said = preflight(settings, secrets, plan, look_ups)
    CapacityReservation("capacity", said.reservation, opts)
    network = Network("network", _network(settings, said), opts)
    cluster = Cluster("cluster", _cluster(settings, network, look_ups), opts)
    weights = _weights(settings, secrets, plan, said, cluster)
    ready: list[pulumi.Resource] = [*weights.after, *WeightBucket("weights", weights, opts).ready]
    balancer = _balancer(settings, network, account)
    outputs: dict[str, pulumi.Input[object]] = {}
    if plan.gpu_nodes:
        _warn(settings, plan, said)
        ready += GpuDrivers("drivers", _drivers(settings, plan, cluster), opts).ready
        # What bills by the GPU comes last: after the weights are complete, and after whatever else can fail.
        pools, reserved = _private_pools(settings, plan, said, ready, opts)
        ready += reserved
        outputs |= {"privatePool": pools[0]} if reserved else {}
        pool = _pool(settings, plan, said, network, cluster, ready)
        lingjun = settings.capacity if settings.capacity.mode == "lingjun" else None
        ready += GpuNodePool("gpu", pool, opts, pool_ids=pools, lingjun=lingjun).ready
    return InferenceCluster(
        access=cluster.access,
        weights=weight_bucket.reading(weights, path=DISK_FOLDER, link_gbps=plan.machine.network_gbps),
        placement=PLACEMENT,
        pod=_pod(plan),
        load_balancer=balancer,
        controllers_after=cluster.ready,
        ready=ready,
        outputs={"cluster": cluster.id, "bucket": weights.place.bucket, "zone": said.reservation.zone, **outputs},
    )


def _network(settings: AlicloudSettings, said: Preflight) -> NetworkArgs:
    return NetworkArgs(
        network=settings.network,
        zones=(said.reservation.zone, said.second_zone),
        switch_zones=said.switch_zones,
        tags=tags(settings),
    )


def _cluster(settings: AlicloudSettings, network: Network, look_ups: pulumi.InvokeOptions) -> ClusterArgs:
    return ClusterArgs(cluster=settings.cluster, network=network, tags=tags(settings), look_ups=look_ups)


def _weights(
    settings: AlicloudSettings, secrets: Secrets, plan: Plan, said: Preflight, cluster: Cluster
) -> WeightBucketArgs:
    """Return what the bucket takes, in a namespace that lets pods have roles."""
    ours = _labels(settings, cluster.access.namespace)
    unique = f"{pulumi.get_project()}-{pulumi.get_stack()}-{said.account}-{settings.region}"
    return WeightBucketArgs(
        cluster=cluster,
        place=Place(
            bucket=settings.weights.bucket or naming.fit(unique, _BUCKET_NAME_MAX),
            region=settings.region,
            tags=tags(settings),
        ),
        weights=settings.weights,
        secrets=secrets,
        draft=plan.draft_tokens > 0,
        mirror=settings.mirror,
        labels=_labels(settings, "weights"),
        after=[namespace(cluster.access, {**ours, **INJECTED}, settings.owner)],
    )


def _balancer(settings: AlicloudSettings, network: Network, account: pulumi.ProviderResource) -> LoadBalancer:
    ours = settings.network.vpc_id is None
    args = LoadBalancerArgs(
        exposure=settings.exposure,
        network=network,
        ranges=[settings.network.cidr] if ours else PRIVATE_RANGES,
        tags=tags(settings),
    )
    return load_balancer("load-balancer", args, pulumi.ResourceOptions(provider=account))


def _drivers(settings: AlicloudSettings, plan: Plan, cluster: Cluster) -> GpuDriversArgs:
    return GpuDriversArgs(
        cluster=cluster,
        mirror=settings.mirror,
        labels=_labels(settings, "gpu-drivers"),
        versions=settings.cluster.addon_versions,
        fabric=_fabric(plan),
    )


def _private_pools(
    settings: AlicloudSettings,
    plan: Plan,
    said: Preflight,
    after: list[pulumi.Resource],
    opts: pulumi.ResourceOptions,
) -> tuple[list[pulumi.Input[str]], list[pulumi.Resource]]:
    """Return the private pools that the nodes come from, and what was made for that."""
    if settings.capacity.mode != "reserve":
        return [*said.reservation.ids], []
    args = PrivatePoolArgs(
        capacity=settings.capacity,
        machine=plan.machine.name,
        nodes=plan.gpu_nodes,
        tags=tags(settings),
        after=[*after],
    )
    made = PrivatePool("private-pool", args, opts)
    return [made.id], [*made.ready]


def _pool(
    settings: AlicloudSettings,
    plan: Plan,
    said: Preflight,
    network: Network,
    cluster: Cluster,
    after: list[pulumi.Resource],
) -> GpuNodePoolArgs:
    return GpuNodePoolArgs(
        cluster=cluster,
        switch_id=network.node_switches[said.reservation.zone],
        driver=settings.cluster.gpu_driver,
        machine=plan.machine.name,
        nodes=plan.gpu_nodes,
        disk=settings.weights.disk if settings.weights.delivery == "disk" else None,
        tags=tags(settings),
        after=[*after],
    )


def _warn(settings: AlicloudSettings, plan: Plan, said: Preflight) -> None:
    if settings.capacity.mode == "lingjun":
        pulumi.warn(_LINGJUN)
    if settings.capacity.mode == "none":
        pulumi.warn(_BY_THE_HOUR.format(machine=plan.machine.name, zone=said.reservation.zone))


def _pod(plan: Plan) -> PodNeeds:
    """Return what the engine's pods need here: the role that reads the bucket, and RDMA between nodes."""
    fabric = _fabric(plan)
    if fabric == "none":
        return PodNeeds(service_account=READER)
    # Its log names the transport: "NET/IB" is RDMA, "NET/Socket" the TCP that it falls back to without a word.
    said = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,NET"}
    said |= {"NCCL_IB_GID_INDEX": "1"} if fabric == "erdma" else {}
    return PodNeeds(
        service_account=READER,
        resources={RESOURCES[fabric]: "1"},
        environment=[{"name": name, "value": value} for name, value in said.items()],
    )


def _fabric(plan: Plan) -> Fabric:
    """Return the RDMA network between the nodes of a replica, if one is used."""
    return plan.machine.fabric if plan.layout.interconnect == "rdma" and plan.layout.nodes > 1 else "none"


def _labels(settings: AlicloudSettings, name: str) -> dict[str, str]:
    return labels.common(name, pulumi.get_project(), pulumi.get_stack(), settings.tags)
