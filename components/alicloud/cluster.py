"""The ACK cluster: control plane, add-ons, and the CPU nodes that everything but the model runs on."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pulumi
import pulumi_alicloud as alicloud
import pulumi_kubernetes as kubernetes

from components.alicloud import settings
from components.alicloud.network import Network
from components.alicloud.provider import physical_name
from components.inference_cluster import ClusterAccess

IMAGE_TYPE: Final = "AliyunLinux3ContainerOptimized"
"""Plain AliyunLinux3 has no cgroup v2, and current versions of ACK refuse it (public deployment of August 2026)."""
_AT_CREATION: Final[Mapping[str, Mapping[str, str]]] = {
    "terway-controlplane": {},
    # Without NetworkPolicy nobody keeps our policies, and nothing says so.
    "terway-eniip": {"IPVlan": "false", "NetworkPolicy": "true"},
    "csi-plugin": {},
    "managed-csiprovisioner": {},
}
"""Add-ons that a cluster is made with; left out is storage-operator, which makes a file system that stays and bills."""
_WEBHOOK: Final = "ack-pod-identity-webhook"
_SYSTEM_DISK_GIB: Final = 120
_KEPT_BY_DEFAULT: Final = ("ALB", "SLB", "SLS_ControlPlane", "SLS_Data")
"""What ACK makes beside a cluster, and half of which it would leave behind."""


@dataclass(frozen=True, kw_only=True)
class ClusterArgs:
    """What the cluster takes."""

    cluster: settings.Cluster
    network: Network
    tags: Mapping[str, str]
    look_ups: pulumi.InvokeOptions


class Cluster(pulumi.ComponentResource):
    """A cluster with room for controllers and copies, and none for GPUs yet."""

    access: ClusterAccess
    id: pulumi.Output[str]
    rrsa: pulumi.Output["alicloud.cs.outputs.ManagedKubernetesRrsaMetadata"]
    """Who vouches for the cluster's service accounts."""
    ready: Sequence[pulumi.Resource]
    """CPU nodes and add-ons."""

    def __init__(self, name: str, args: ClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("kimi:alicloud:Cluster", name, {"version": args.cluster.version}, opts)
        child = pulumi.ResourceOptions(parent=self)
        # The whole network, its gateway and its rule: nodes and controllers need it as long as they are there.
        connected = pulumi.ResourceOptions.merge(child, pulumi.ResourceOptions(depends_on=[args.network]))
        slow = pulumi.ResourceOptions(custom_timeouts=pulumi.CustomTimeouts(create="90m", update="60m", delete="60m"))
        control_plane = alicloud.cs.ManagedKubernetes(
            f"{name}-ack", cluster_args(args), opts=pulumi.ResourceOptions.merge(connected, slow)
        )
        self.id = control_plane.id
        self.rrsa = control_plane.rrsa_metadata
        self.access = self._access(name, args, child)
        system = alicloud.cs.NodePool(
            f"{name}-system",
            system_pool_args(args, control_plane.id),
            opts=pulumi.ResourceOptions.merge(connected, slow),
        )
        # Only now: without a node that takes it, its pods stay pending until ACK gives up.
        webhook = alicloud.cs.KubernetesAddon(
            f"{name}-pod-identity",
            cluster_id=control_plane.id,
            name=_WEBHOOK,
            version=args.cluster.addon_versions.get(_WEBHOOK),
            opts=pulumi.ResourceOptions.merge(child, addon_options(system)),
        )
        self.ready = [system, webhook]
        self.register_outputs({"id": self.id})

    def _access(self, name: str, args: ClusterArgs, opts: pulumi.ResourceOptions) -> ClusterAccess:
        # Without a duration: a short-lived one would be another kubeconfig in every preview.
        credential = alicloud.cs.get_cluster_credential_output(
            cluster_id=self.id, opts=pulumi.InvokeOutputOptions(provider=args.look_ups.provider)
        )
        kubeconfig = pulumi.Output.secret(credential.kube_config)
        provider = kubernetes.Provider(
            f"{name}-kubernetes",
            kubeconfig=kubeconfig,
            # Whatever changes in the kubeconfig, it is the same cluster: nothing in it is replaced.
            cluster_identifier=f"{pulumi.get_project()}-{pulumi.get_stack()}",
            enable_server_side_apply=True,
            opts=opts,
        )
        return ClusterAccess(provider=provider, kubeconfig=kubeconfig, namespace=args.cluster.namespace)


def cluster_args(args: ClusterArgs) -> alicloud.cs.ManagedKubernetesArgs:
    """Return the control plane's arguments; most of them are fixed at its creation."""
    cluster = args.cluster
    return alicloud.cs.ManagedKubernetesArgs(
        name=physical_name(),
        # The basic kind has no Lingjun pools and no service level.
        cluster_spec="ack.pro.small",
        version=cluster.version,
        vswitch_ids=args.network.node_switch_ids,
        pod_vswitch_ids=args.network.pod_switch_ids,
        service_cidr=settings.SERVICE_RANGE,
        proxy_mode="ipvs",
        is_enterprise_security_group=True,
        enable_rrsa=True,
        # The network has one; a second would stay behind and block the VPC.
        new_nat_gateway=False,
        slb_internet_enabled=cluster.public_endpoint,
        # It could not be switched off by `destroy`.
        deletion_protection=False,
        # In the state from the start: `destroy` doesn't run the program, so it could not be told later.
        delete_options=[
            alicloud.cs.ManagedKubernetesDeleteOptionArgs(resource_type=kind, delete_mode="delete")
            for kind in _KEPT_BY_DEFAULT
        ],
        # Nothing of the certificates is needed in the state beside the kubeconfig.
        skip_set_certificate_authority=True,
        addons=addons(cluster.addon_versions),
        tags=args.tags,
    )


def addons(versions: Mapping[str, str]) -> list[alicloud.cs.ManagedKubernetesAddonArgs]:
    """Return the add-ons that a cluster is made with, and the one that it isn't: its load balancer would be public.

    Args:
        versions: Those that are pinned, by add-on.
    """
    wanted = [
        alicloud.cs.ManagedKubernetesAddonArgs(
            name=addon, version=versions.get(addon), config=json.dumps(config) if config else None
        )
        for addon, config in _AT_CREATION.items()
    ]
    return [*wanted, alicloud.cs.ManagedKubernetesAddonArgs(name="nginx-ingress-controller", disabled=True)]


def addon_options(*after: pulumi.Resource) -> pulumi.ResourceOptions:
    """Return what an add-on needs that comes later: nodes for it, and more than the provider's own ten minutes."""
    return pulumi.ResourceOptions(
        depends_on=list(after), custom_timeouts=pulumi.CustomTimeouts(create="30m", update="30m", delete="30m")
    )


def system_pool_args(args: ClusterArgs, cluster_id: pulumi.Input[str]) -> alicloud.cs.NodePoolArgs:
    """Return the CPU nodes."""
    nodes = args.cluster.system_nodes
    return alicloud.cs.NodePoolArgs(
        cluster_id=cluster_id,
        node_pool_name=physical_name("-system"),
        vswitch_ids=args.network.node_switch_ids,
        instance_types=[nodes.type],
        instance_charge_type="PostPaid",
        # A string in the SDK.
        desired_size=str(nodes.count),
        image_type=IMAGE_TYPE,
        system_disk_category="cloud_essd",
        system_disk_size=_SYSTEM_DISK_GIB,
        install_cloud_monitor=True,
        tags=args.tags,
    )
