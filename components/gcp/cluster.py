"""The GKE cluster: control plane, and the CPU nodes that everything but the model runs on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pulumi
import pulumi_gcp as gcp
import pulumi_kubernetes as kubernetes

from components import naming
from components.gcp import settings
from components.gcp.network import Network
from components.gcp.provider import Place, identity
from components.inference_cluster import ClusterAccess

GPU_POOL: Final = "gpu"
SYSTEM_POOL: Final = "system"
SYSTEM_NODES: Final = {"cloud.google.com/gke-nodepool": SYSTEM_POOL}
_NAME_MAX: Final = 40
"""GKE's own limit."""
_ACCOUNT_MAX: Final = 30
_NODE_ROLE: Final = "roles/container.defaultNodeServiceAccount"
_SYSTEM_DISK_GIB: Final = 100
EVERYTHING: Final = ["https://www.googleapis.com/auth/cloud-platform"]
"""Scopes of a node: what it may do is its service account's roles."""


@dataclass(frozen=True, kw_only=True)
class ClusterArgs:
    """What the cluster takes."""

    cluster: settings.Cluster
    place: Place
    network: Network
    bare_metal: bool
    """Whether the GPU nodes are no virtual machines, which GKE's shielded nodes are."""
    gateway: bool
    """Whether GKE brings its Gateway controller."""


class Cluster(pulumi.ComponentResource):
    """A cluster with room for controllers and copies, and none for GPUs yet."""

    access: ClusterAccess
    name: pulumi.Output[str]
    control_plane: gcp.container.Cluster
    """With it comes the pool of workload identities."""
    node_account: pulumi.Input[str]
    """E-mail of all nodes' service account."""
    ready: Sequence[pulumi.Resource]
    """CPU nodes."""

    def __init__(self, name: str, args: ClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("kimi:gcp:Cluster", name, {"version": args.cluster.version}, opts)
        child = pulumi.ResourceOptions(parent=self)
        self.node_account, rights = _node_account(name, args, child)
        # The whole network, its NAT gateway too: nodes and controllers need it as long as they are there.
        after = pulumi.ResourceOptions(
            depends_on=[args.network, *rights],
            delete_before_replace=True,
            # Of the pool that is removed at once, whose nodes must not need the project's default account.
            ignore_changes=["nodeConfig"],
        )
        self.control_plane = gcp.container.Cluster(
            f"{name}-gke", cluster_args(args, self.node_account), opts=pulumi.ResourceOptions.merge(child, after)
        )
        self.name = self.control_plane.name
        config = self._kubeconfig(args)
        self.access = ClusterAccess(
            provider=kubernetes.Provider(
                f"{name}-kubernetes",
                kubeconfig=config,
                # Whatever changes in the kubeconfig, it is the same cluster: nothing in it is replaced.
                cluster_identifier=identity(),
                enable_server_side_apply=True,
                opts=child,
            ),
            kubeconfig=config,
            namespace=args.cluster.namespace,
        )
        system = gcp.container.NodePool(
            f"{name}-system",
            system_pool_args(args, self.control_plane.id, self.node_account),
            opts=pulumi.ResourceOptions.merge(child, pulumi.ResourceOptions(delete_before_replace=True)),
        )
        self.ready = [system]
        self.register_outputs({"name": self.name})

    def _kubeconfig(self, args: ClusterArgs) -> pulumi.Output[str]:
        token = None
        if args.cluster.kubeconfig == "token":
            token = gcp.organizations.get_client_config(opts=pulumi.InvokeOptions(parent=self)).access_token
        certificate = self.control_plane.master_auth.apply(lambda auth: auth.cluster_ca_certificate or "")
        return kubeconfig(cluster_name(), self.control_plane.endpoint, certificate, token)


def cluster_name() -> str:
    """Return the cluster's name."""
    return naming.fit(identity(), _NAME_MAX)


def cluster_args(args: ClusterArgs, node_account: pulumi.Input[str]) -> gcp.container.ClusterArgs:
    """Return the control plane's arguments."""
    cluster, place, network = args.cluster, args.place, args.network
    return gcp.container.ClusterArgs(
        name=cluster_name(),
        project=place.project,
        location=place.region,
        # One zone: nodes in three would be three times as many.
        node_locations=[place.zone],
        min_master_version=cluster.version,
        release_channel=gcp.container.ClusterReleaseChannelArgs(channel="REGULAR"),
        maintenance_policy=_maintenance(),
        # Read from the state by `destroy`, which doesn't run the program, so it is there from the first `up`.
        deletion_protection=cluster.deletion_protection,
        network=network.vpc,
        subnetwork=network.subnet,
        networking_mode="VPC_NATIVE",
        ip_allocation_policy=gcp.container.ClusterIpAllocationPolicyArgs(
            cluster_secondary_range_name=network.pods_range, services_secondary_range_name=network.services_range
        ),
        # Keeps the network policies of the API, and is what the GPUs' network and its claims need.
        datapath_provider="ADVANCED_DATAPATH",
        enable_l4_ilb_subsetting=True,
        enable_shielded_nodes=not args.bare_metal,
        private_cluster_config=gcp.container.ClusterPrivateClusterConfigArgs(
            enable_private_nodes=True, enable_private_endpoint=not cluster.public_access_ranges
        ),
        master_authorized_networks_config=_authorized(cluster),
        workload_identity_config=gcp.container.ClusterWorkloadIdentityConfigArgs(
            workload_pool=f"{place.project}.svc.id.goog"
        ),
        addons_config=gcp.container.ClusterAddonsConfigArgs(
            gcs_fuse_csi_driver_config=gcp.container.ClusterAddonsConfigGcsFuseCsiDriverConfigArgs(enabled=True)
        ),
        gateway_api_config=gcp.container.ClusterGatewayApiConfigArgs(channel="CHANNEL_STANDARD")
        if args.gateway
        else None,
        remove_default_node_pool=True,
        initial_node_count=1,
        node_config=gcp.container.ClusterNodeConfigArgs(service_account=node_account, oauth_scopes=EVERYTHING),
        resource_labels=place.labels,
    )


def system_pool_args(
    args: ClusterArgs, cluster: pulumi.Input[str], node_account: pulumi.Input[str]
) -> gcp.container.NodePoolArgs:
    """Return the CPU nodes."""
    nodes = args.cluster.system_nodes
    return gcp.container.NodePoolArgs(
        name=SYSTEM_POOL,
        cluster=cluster,
        node_locations=[args.place.zone],
        node_count=nodes.count,
        management=gcp.container.NodePoolManagementArgs(auto_repair=True, auto_upgrade=True),
        node_config=gcp.container.NodePoolNodeConfigArgs(
            machine_type=nodes.type,
            image_type="COS_CONTAINERD",
            disk_size_gb=_SYSTEM_DISK_GIB,
            service_account=node_account,
            oauth_scopes=EVERYTHING,
            # Without it a pod takes the node's identity, which may not touch the bucket.
            workload_metadata_config=gcp.container.NodePoolNodeConfigWorkloadMetadataConfigArgs(mode="GKE_METADATA"),
            resource_labels=args.place.labels,
        ),
    )


def kubeconfig(
    name: str, endpoint: pulumi.Input[str], certificate: pulumi.Input[str], token: str | None
) -> pulumi.Output[str]:
    """Return a kubeconfig that signs in by the plugin, or by a token that lasts an hour.

    Args:
        name: The cluster's.
        endpoint: Its address, public or in the VPC.
        certificate: Its authority's, in base64.
        token: A secret; None takes the plugin, which asks for a new one whenever it is needed.
    """
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": "gke-gcloud-auth-plugin",
        "interactiveMode": "Never",
        "provideClusterInfo": True,
        "installHint": "gcloud components install gke-gcloud-auth-plugin",
    }
    cluster = {"server": pulumi.Output.concat("https://", endpoint), "certificate-authority-data": certificate}
    found = pulumi.Output.json_dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": name,
            "clusters": [{"name": name, "cluster": cluster}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
            "users": [{"name": name, "user": {"token": token} if token else {"exec": plugin}}],
        }
    )
    return pulumi.Output.secret(found) if token else found


def _maintenance() -> gcp.container.ClusterMaintenancePolicyArgs:
    """Return a policy that upgrades no node: each would cost a load of the weights, and may bring another driver."""
    exclusion = gcp.container.ClusterMaintenancePolicyMaintenanceExclusionArgs(
        exclusion_name="only-up-upgrades-nodes",
        start_time="2026-01-01T00:00:00Z",
        exclusion_options=gcp.container.ClusterMaintenancePolicyMaintenanceExclusionExclusionOptionsArgs(
            scope="NO_MINOR_OR_NODE_UPGRADES", end_time_behavior="UNTIL_END_OF_SUPPORT"
        ),
    )
    return gcp.container.ClusterMaintenancePolicyArgs(
        daily_maintenance_window=gcp.container.ClusterMaintenancePolicyDailyMaintenanceWindowArgs(start_time="03:00"),
        maintenance_exclusions=[exclusion],
    )


def _authorized(cluster: settings.Cluster) -> gcp.container.ClusterMasterAuthorizedNetworksConfigArgs:
    """Return who reaches the API server; without a range it is the VPC alone."""
    blocks = [
        gcp.container.ClusterMasterAuthorizedNetworksConfigCidrBlockArgs(cidr_block=cidr)
        for cidr in cluster.public_access_ranges
    ]
    return gcp.container.ClusterMasterAuthorizedNetworksConfigArgs(
        cidr_blocks=blocks, gcp_public_cidrs_access_enabled=False
    )


def _node_account(
    name: str, args: ClusterArgs, opts: pulumi.ResourceOptions
) -> tuple[pulumi.Input[str], list[pulumi.Resource]]:
    """Return the service account of all nodes, and what must be there before a node uses it."""
    if args.cluster.node_service_account is not None:
        return args.cluster.node_service_account, []
    account = gcp.serviceaccount.Account(
        f"{name}-nodes",
        account_id=naming.fit(identity(), _ACCOUNT_MAX),
        display_name=f"Nodes of {identity()}",
        opts=opts,
    )
    role = gcp.projects.IAMMember(
        f"{name}-nodes-role", project=args.place.project, role=_NODE_ROLE, member=account.member, opts=opts
    )
    return account.email, [role]
