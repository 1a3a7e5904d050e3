"""The AKS cluster: control plane, identity, and the CPU nodes that everything but the model runs on."""

import base64
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pulumi
import pulumi_azure_native as azure
import pulumi_kubernetes as kubernetes

from components import naming
from components.azure import settings
from components.azure.capacity_reservation import CapacityReservation
from components.azure.network import Network
from components.azure.provider import Place, allow
from components.inference_cluster import ClusterAccess

_NAME_MAX: Final = 63
_DNS_PREFIX_MAX: Final = 54
_GROUP_MAX: Final = 80
"""Of the resource group that AKS makes for its nodes; any other has 90."""
_NETWORK_CONTRIBUTOR: Final = "4d97b98b-1d4f-4787-a291-c67834d212e7"
_CONTRIBUTOR: Final = "b24988ac-6180-42a0-ab88-20f7382dd24c"
"""Built-in roles."""
_SYSTEM_DISK_GIB: Final = 128
_LOAD_BALANCER_IDLE_MINUTES: Final = 30


@dataclass(frozen=True, kw_only=True)
class ClusterArgs:
    """What the cluster takes."""

    cluster: settings.Cluster
    ranges: settings.Network
    """The addresses inside the cluster."""
    network: Network
    reservation: CapacityReservation
    place: Place


class Cluster(pulumi.ComponentResource):
    """A cluster with room for controllers and copies, and none for GPUs yet."""

    access: ClusterAccess
    name: pulumi.Output[str]
    issuer: pulumi.Output[str]
    """URL of the tokens that pods show to Entra."""
    allowed: Sequence[pulumi.Resource]
    """The cluster's right to the reservation, which may take an hour to be known everywhere."""
    ready: Sequence[pulumi.Resource]
    """CPU nodes."""

    def __init__(self, name: str, args: ClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("kimi:azure:Cluster", name, {"version": args.cluster.version}, opts)
        child = pulumi.ResourceOptions(parent=self)
        identity = f"{pulumi.get_project()}-{pulumi.get_stack()}"
        principal, rights = _identity(name, args, child)
        after = pulumi.ResourceOptions(
            depends_on=[args.network, *rights],
            # AKS lists every pool there, and a change of one inline pool is sent with all the others.
            ignore_changes=["agentPoolProfiles"],
        )
        control_plane = _control_plane(f"{name}-aks", args, principal, pulumi.ResourceOptions.merge(child, after))
        self.name = control_plane.name
        self.issuer = control_plane.oidc_issuer_profile.apply(_issuer)
        self.allowed = rights
        kubeconfig = _kubeconfig(args, control_plane, child)
        self.access = ClusterAccess(
            provider=kubernetes.Provider(
                f"{name}-kubernetes",
                kubeconfig=kubeconfig,
                # Whatever changes in the kubeconfig, it is the same cluster: nothing in it is replaced.
                cluster_identifier=identity,
                enable_server_side_apply=True,
                opts=child,
            ),
            kubeconfig=kubeconfig,
            namespace=args.cluster.namespace,
        )
        self.ready = [control_plane]
        self.register_outputs({"name": self.name})


def _control_plane(
    name: str, args: ClusterArgs, identity: azure.managedidentity.UserAssignedIdentity, opts: pulumi.ResourceOptions
) -> azure.containerservice.ManagedCluster:
    """Make the control plane with its system pool.

    No SSH key: another one would replace the whole cluster, and so would a node resource group of another name.
    """
    aks = azure.containerservice
    physical = f"{pulumi.get_project()}-{pulumi.get_stack()}"
    return aks.ManagedCluster(
        name,
        resource_group_name=args.place.group,
        resource_name_=naming.fit(physical, _NAME_MAX),
        location=args.place.region,
        dns_prefix=naming.fit(physical, _DNS_PREFIX_MAX),
        node_resource_group=naming.fit(f"{physical}-nodes", _GROUP_MAX),
        kubernetes_version=args.cluster.version,
        sku=aks.ManagedClusterSKUArgs(name="Base", tier="Standard"),
        # A system-assigned identity can't use a capacity reservation group.
        identity=aks.ManagedClusterIdentityArgs(
            type=aks.ResourceIdentityType.USER_ASSIGNED, user_assigned_identities=[identity.id]
        ),
        enable_rbac=True,
        aad_profile=_entra(args.cluster),
        oidc_issuer_profile=aks.ManagedClusterOIDCIssuerProfileArgs(enabled=True),
        security_profile=aks.ManagedClusterSecurityProfileArgs(
            workload_identity=aks.ManagedClusterSecurityProfileWorkloadIdentityArgs(enabled=True)
        ),
        api_server_access_profile=_api_server(args.cluster),
        # An upgrade takes nodes away, and with a GPU node a whole load of the weights: only `up` makes one.
        auto_upgrade_profile=aks.ManagedClusterAutoUpgradeProfileArgs(
            upgrade_channel="none", node_os_upgrade_channel="None"
        ),
        network_profile=network_profile(args.ranges),
        agent_pool_profiles=[_system_pool(args)],
        tags=args.place.tags,
        opts=opts,
    )


def network_profile(ranges: settings.Network) -> azure.containerservice.ContainerServiceNetworkProfileArgs:
    """Return the cluster's network: Cilium, which keeps the policies of the API, and ranges that overlap nothing."""
    aks = azure.containerservice
    return aks.ContainerServiceNetworkProfileArgs(
        network_plugin="azure",
        network_plugin_mode="overlay",
        network_dataplane="cilium",
        network_policy="cilium",
        pod_cidr=ranges.pod_cidr,
        service_cidr=ranges.service_cidr,
        # The SDK would put 10.0.0.10 here, whatever the range of the Services is.
        dns_service_ip=str(ipaddress.IPv4Network(ranges.service_cidr)[10]),
        outbound_type="loadBalancer",
        load_balancer_sku="standard",
        load_balancer_profile=aks.ManagedClusterLoadBalancerProfileArgs(
            idle_timeout_in_minutes=_LOAD_BALANCER_IDLE_MINUTES,
            managed_outbound_ips=aks.ManagedClusterLoadBalancerProfileManagedOutboundIPsArgs(count=1),
        ),
    )


def _system_pool(args: ClusterArgs) -> azure.containerservice.ManagedClusterAgentPoolProfileArgs:
    """Return the CPU nodes: inline, since AKS deletes the last system pool with its cluster alone."""
    nodes = args.cluster.system_nodes
    return azure.containerservice.ManagedClusterAgentPoolProfileArgs(
        name="system",
        mode="System",
        type="VirtualMachineScaleSets",
        count=nodes.count,
        vm_size=nodes.type,
        os_type="Linux",
        os_sku="Ubuntu",
        os_disk_size_gb=_SYSTEM_DISK_GIB,
        vnet_subnet_id=args.network.subnet_id,
        tags=args.place.tags,
    )


def _entra(cluster: settings.Cluster) -> azure.containerservice.ManagedClusterAADProfileArgs | None:
    if not cluster.admins:
        return None
    return azure.containerservice.ManagedClusterAADProfileArgs(
        managed=True, enable_azure_rbac=False, admin_group_object_ids=list(cluster.admins)
    )


def _api_server(cluster: settings.Cluster) -> azure.containerservice.ManagedClusterAPIServerAccessProfileArgs:
    return azure.containerservice.ManagedClusterAPIServerAccessProfileArgs(
        authorized_ip_ranges=list(cluster.public_access_ranges) or None,
        enable_private_cluster=not cluster.public_access_ranges,
    )


def _identity(
    name: str, args: ClusterArgs, opts: pulumi.ResourceOptions
) -> tuple[azure.managedidentity.UserAssignedIdentity, list[pulumi.Resource]]:
    """Return the cluster's identity, and the rights that it needs before the cluster is made."""
    identity = azure.managedidentity.UserAssignedIdentity(
        f"{name}-identity",
        resource_group_name=args.place.group,
        resource_name_=name,
        location=args.place.region,
        tags=args.place.tags,
        opts=opts,
    )
    principal = identity.principal_id
    # For the nodes, and for the internal load balancers of Services.
    network = args.place.role(_NETWORK_CONTRIBUTOR)
    rights: list[pulumi.Resource] = [allow(f"{name}-network", principal, network, args.network.subnet_id, opts)]
    if args.reservation.scope is not None:
        reserved = args.place.role(_CONTRIBUTOR)
        rights.append(allow(f"{name}-reservation", principal, reserved, args.reservation.scope, opts))
    return identity, rights


def _issuer(profile: azure.containerservice.outputs.ManagedClusterOIDCIssuerProfileResponse | None) -> str:
    # Neither is there while a preview knows the block by its inputs alone, whatever the SDK's types say.
    return profile.issuer_url or "" if profile is not None else ""


def _kubeconfig(
    args: ClusterArgs, cluster: azure.containerservice.ManagedCluster, opts: pulumi.ResourceOptions
) -> pulumi.Output[str]:
    """Return the administrator's kubeconfig, a secret: that of Entra's users would run a command on each machine."""
    found = azure.containerservice.list_managed_cluster_admin_credentials_output(
        resource_group_name=args.place.group,
        resource_name=cluster.name,
        opts=pulumi.InvokeOutputOptions(parent=opts.parent),
    )
    return pulumi.Output.secret(
        found.kubeconfigs.apply(lambda all_: base64.b64decode(all_[0].value).decode() if all_ else "")
    )
