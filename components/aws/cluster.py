"""The EKS cluster: control plane, add-ons, and the CPU nodes that everything but the model runs on."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pulumi
import pulumi_aws as aws
import pulumi_eks as eks
import pulumi_kubernetes as kubernetes

from components import naming
from components.aws import kubernetes_version, settings
from components.aws.network import Network
from components.inference_cluster import ClusterAccess

_ADMIN_POLICY: Final = "eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"
_NODE_POLICIES: Final = ("AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly", "AmazonEKS_CNI_Policy")
_NODE_TRUST: Final = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}],
    }
)
_NAME_MAX: Final = 100
"""EKS' own limit."""


@dataclass(frozen=True, kw_only=True)
class ClusterArgs:
    """What the cluster takes."""

    cluster: settings.Cluster
    partition: str
    """First part of the region's ARNs."""
    profile: str | None
    """Of the AWS configuration, for the kubeconfig."""
    network: Network
    tags: Mapping[str, str]


class Cluster(pulumi.ComponentResource):
    """A cluster with room for controllers and copies, and none for GPUs yet."""

    access: ClusterAccess
    name: pulumi.Output[str]
    security_group_id: pulumi.Output[str]
    """The one that EKS makes, and without which no node joins."""
    node_role_arn: pulumi.Output[str]
    ready: Sequence[pulumi.Resource]
    """CPU nodes and add-ons."""

    def __init__(self, name: str, args: ClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("kimi:aws:Cluster", name, {"version": args.cluster.version}, opts)
        child = pulumi.ResourceOptions(parent=self)
        identity = f"{pulumi.get_project()}-{pulumi.get_stack()}"
        physical = naming.fit(identity, _NAME_MAX)
        # The whole network, its gateway and its routes: nodes and controllers need it as long as they are there.
        connected = pulumi.ResourceOptions.merge(child, pulumi.ResourceOptions(depends_on=[args.network]))
        # The component comes from a provider of its own, and none is taken by default (pulumi #13071).
        own = pulumi.ResourceOptions(provider=eks.Provider(f"{name}-eks-provider", opts=child))
        control_plane = eks.Cluster(
            f"{name}-eks", cluster_args(args, physical), opts=pulumi.ResourceOptions.merge(connected, own)
        )
        # EKS' own group, since the component makes none here; with groups of its own this would be one of those.
        self.security_group_id = control_plane.cluster_security_group_id
        # The name that we gave, but not before the cluster has it: whatever uses it is made after and deleted before.
        self.name = self.security_group_id.apply(lambda _: physical)
        self.access = ClusterAccess(
            provider=kubernetes.Provider(
                f"{name}-kubernetes",
                kubeconfig=control_plane.kubeconfig_json,
                # Whatever changes in the kubeconfig, it is the same cluster: nothing in it is replaced.
                cluster_identifier=identity,
                enable_server_side_apply=True,
                opts=child,
            ),
            kubeconfig=control_plane.kubeconfig_json,
            namespace=args.cluster.namespace,
        )
        role, rights = _node_role(name, args.partition, child)
        self.node_role_arn = role.arn
        system = aws.eks.NodeGroup(
            f"{name}-system",
            cluster_name=self.name,
            node_role_arn=role.arn,
            subnet_ids=args.network.private_subnet_ids,
            ami_type="AL2023_x86_64_STANDARD",
            instance_types=[args.cluster.system_nodes.type],
            scaling_config=_fixed(args.cluster.system_nodes.count),
            update_config=aws.eks.NodeGroupUpdateConfigArgs(max_unavailable=1),
            opts=pulumi.ResourceOptions.merge(connected, pulumi.ResourceOptions(depends_on=rights)),
        )
        # Only now: without a node that takes it, coredns stays degraded until EKS gives up after 20 minutes.
        after = pulumi.ResourceOptions.merge(child, pulumi.ResourceOptions(depends_on=[system]))
        versions = kubernetes_version.addons(args.cluster.version, args.cluster.addon_versions)
        addons = [
            _addon(f"{name}-{addon}", addon, self.name, versions.get(addon), after)
            for addon in ("coredns", "eks-pod-identity-agent")
        ]
        self.ready = [system, *addons]
        self.register_outputs({"name": self.name})


def cluster_args(args: ClusterArgs, name: str) -> eks.ClusterArgs:
    """Return the control plane's arguments.

    Access by EKS' API alone: a cluster with the aws-auth ConfigMap can't be destroyed once it can't be reached.
    """
    cluster = args.cluster
    versions = kubernetes_version.addons(cluster.version, cluster.addon_versions)
    return eks.ClusterArgs(
        name=name,
        version=cluster.version,
        # The control plane would silently cost six times as much on the day that its version gets old.
        upgrade_policy=aws.eks.ClusterUpgradePolicyArgs(support_type="STANDARD"),
        vpc_id=args.network.vpc_id,
        private_subnet_ids=args.network.private_subnet_ids,
        public_subnet_ids=args.network.public_subnet_ids or None,
        authentication_mode=eks.AuthenticationMode.API,
        access_entries={naming.fit(principal, 40): _admin(principal, args.partition) for principal in cluster.admins},
        endpoint_private_access=True,
        endpoint_public_access=bool(cluster.public_access_ranges),
        public_access_cidrs=list(cluster.public_access_ranges) or None,
        skip_default_node_group=True,
        skip_default_security_groups=True,
        create_oidc_provider=False,
        # Both are made again with whatever is newest on each run, unless they are pinned.
        vpc_cni_options=eks.VpcCniOptionsArgs(addon_version=versions.get("vpc-cni"), enable_network_policy=True),
        kube_proxy_addon_options=eks.KubeProxyAddonOptionsArgs(version=versions.get("kube-proxy")),
        coredns_addon_options=eks.CoreDnsAddonOptionsArgs(enabled=False),
        provider_credential_opts=eks.KubeconfigOptionsArgs(profile_name=args.profile) if args.profile else None,
        tags=args.tags,
    )


def _admin(principal: str, partition: str) -> eks.AccessEntryArgs:
    everywhere = aws.eks.AccessPolicyAssociationAccessScopeArgs(type="cluster")
    return eks.AccessEntryArgs(
        principal_arn=principal,
        access_policies={
            "admin": eks.AccessPolicyAssociationArgs(
                policy_arn=f"arn:{partition}:{_ADMIN_POLICY}", access_scope=everywhere
            ),
        },
    )


def _node_role(name: str, partition: str, opts: pulumi.ResourceOptions) -> tuple[aws.iam.Role, list[pulumi.Resource]]:
    """Return the role of all nodes, and the rights that a node needs before it can join."""
    role = aws.iam.Role(f"{name}-node", assume_role_policy=_NODE_TRUST, opts=opts)
    return role, [
        aws.iam.RolePolicyAttachment(
            f"{name}-node-{policy}", role=role.name, policy_arn=f"arn:{partition}:iam::aws:policy/{policy}", opts=opts
        )
        for policy in _NODE_POLICIES
    ]


def _fixed(count: int) -> aws.eks.NodeGroupScalingConfigArgs:
    return aws.eks.NodeGroupScalingConfigArgs(min_size=count, desired_size=count, max_size=count)


def _addon(
    name: str, addon: str, cluster: pulumi.Input[str], version: str | None, opts: pulumi.ResourceOptions
) -> aws.eks.Addon:
    return aws.eks.Addon(
        name,
        addon_name=addon,
        cluster_name=cluster,
        addon_version=version,
        # A new cluster comes with a coredns of its own, which the add-on takes over.
        resolve_conflicts_on_create="OVERWRITE",
        resolve_conflicts_on_update="OVERWRITE",
        opts=opts,
    )
