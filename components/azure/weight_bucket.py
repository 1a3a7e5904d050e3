"""The container with the weights: private, in the region, filled before any GPU is there, kept or deleted as told."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pulumi
import pulumi_azure_native as azure

from components import naming
from components.azure.cluster import Cluster
from components.azure.network import Network
from components.azure.pod_identity import POD_LABELS, PodIdentity, PodIdentityArgs
from components.azure.provider import Place, resource_group
from components.azure.settings import AzureWeights
from components.inference_cluster import Manifest, Weights
from components.service_account import service_account
from components.settings import Mirror
from components.weights import delivery
from components.weights.bucket_fill import BucketFill, BucketFillArgs, program_files
from components.weights.delivery import NodeCopy
from components.weights.folders import BucketFolders, own_bucket
from components.weights.kept_bucket import told_if_taken
from components.weights.sync_job import CopyPods

READER: Final = "kimi-k3"
"""Service account of the engine's pods."""
WRITER: Final = "weights"
"""Service account of the pods that fill the container."""
_READ: Final = "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1"
_WRITE: Final = "ba92f5b4-2d11-453d-a403-e96b0029c9fe"
"""The built-in roles Storage Blob Data Reader and Contributor."""
_ACCOUNT_MAX: Final = 24
_GROUP_MAX: Final = 90


@dataclass(frozen=True, kw_only=True)
class WeightBucketArgs:
    """What the container takes."""

    cluster: Cluster
    network: Network
    """Whose nodes alone reach an account of our own."""
    place: Place
    weights: AzureWeights
    draft: bool
    """Whether the draft model is needed too."""
    mirror: Mirror
    labels: Mapping[str, str]
    """Labels of what is in the cluster."""
    after: Sequence[pulumi.Resource]
    """The namespace, beside what the cluster says is ready."""


class WeightBucket(pulumi.ComponentResource):
    """A storage account and a container, who may read and write it, and the copy into it."""

    ready: Sequence[pulumi.Resource]
    """Complete weights, and an identity that may read them."""

    def __init__(
        self,
        name: str,
        args: WeightBucketArgs,
        hub_token: pulumi.Output[str] | None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        account = account_name(args.weights, args.place)
        props = {"account": account, "revision": args.weights.revision, "keep": args.weights.keep}
        super().__init__("kimi:azure:WeightBucket", name, props, opts)
        made, scope = self._make(name, args) if args.weights.account_id is None else ([], args.weights.account_id)
        container = pulumi.Output.concat(scope, f"/blobServices/default/containers/{args.weights.container}")
        reader = self._identity(f"{name}-reader", args, READER, _READ, container)
        writer = self._identity(f"{name}-writer", args, WRITER, _WRITE, container)
        fill = BucketFillArgs(
            access=args.cluster.access,
            weights=args.weights,
            folders=folders(args.weights),
            draft=args.draft,
            hub_token=hub_token,
            mirror=args.mirror,
            labels={**args.labels, **POD_LABELS},
            pods=CopyPods(
                service_account=WRITER,
                environment=environment(args.weights, args.place),
                node_selector={"kubernetes.io/arch": "amd64"},
                after=[*args.after, *args.cluster.ready, *made, *writer],
            ),
        )
        copy = BucketFill(name, fill, pulumi.ResourceOptions(parent=self))
        self.ready = [*made, *reader, *copy.ready]
        self.register_outputs({"account": account})

    def _make(self, name: str, args: WeightBucketArgs) -> tuple[list[pulumi.Resource], pulumi.Output[str]]:
        """Make account and container; in a resource group of their own, since one that goes takes all with it."""
        child = pulumi.ResourceOptions(parent=self, retain_on_delete=args.weights.keep)
        physical = naming.fit(f"{pulumi.get_project()}-{pulumi.get_stack()}-weights", _GROUP_MAX)
        account_id = (
            f"/subscriptions/{args.place.subscription}/resourceGroups/{physical}/providers/Microsoft.Storage/"
            f"storageAccounts/{account_name(args.weights, args.place)}"
        )
        taken = told_if_taken(f"{name}-group", physical, f"accountId: {account_id}")
        first = pulumi.ResourceOptions.merge(child, pulumi.ResourceOptions(hooks=taken))
        group = resource_group(f"{name}-group", physical, args.place, first)
        account = azure.storage.StorageAccount(
            f"{name}-account",
            resource_group_name=group.name,
            account_name=account_name(args.weights, args.place),
            location=args.place.region,
            kind="StorageV2",
            sku=azure.storage.SkuArgs(name="Standard_LRS"),
            # No keys: whoever reads or writes has an identity. Azure forgets the parts of a broken upload by itself
            # after a week.
            allow_shared_key_access=False,
            allow_blob_public_access=False,
            allow_cross_tenant_replication=False,
            enable_https_traffic_only=True,
            minimum_tls_version="TLS1_2",
            public_network_access="Enabled",
            # By the subnet's service endpoint, which is free and passes no load balancer, and from nowhere else.
            network_rule_set=azure.storage.NetworkRuleSetArgs(
                default_action=azure.storage.DefaultAction.DENY,
                bypass="AzureServices",
                virtual_network_rules=[
                    azure.storage.VirtualNetworkRuleArgs(virtual_network_resource_id=args.network.subnet_id)
                ],
            ),
            tags=args.place.tags,
            opts=child,
        )
        container = azure.storage.BlobContainer(
            f"{name}-container",
            resource_group_name=group.name,
            account_name=account.name,
            container_name=args.weights.container,
            public_access=azure.storage.PublicAccess.NONE,
            opts=child,
        )
        return [group, account, container], account.id

    def _identity(
        self, name: str, args: WeightBucketArgs, account: str, role: str, scope: pulumi.Input[str]
    ) -> list[pulumi.Resource]:
        child = pulumi.ResourceOptions(parent=self)
        identity = PodIdentity(
            name,
            PodIdentityArgs(
                cluster=args.cluster,
                service_account=account,
                role=args.place.role(role),
                scope=scope,
                place=args.place,
            ),
            child,
        )
        after = pulumi.ResourceOptions.merge(child, pulumi.ResourceOptions(depends_on=list(args.after)))
        account_ = service_account(account, args.cluster.access, args.labels, after, identity.annotations)
        return [account_, *identity.ready]


def account_name(weights: AzureWeights, place: Place) -> str:
    """Return the storage account's name, which no other in the world may have: the person's, or one of ours."""
    if weights.account_id is not None:
        return weights.account_id.rpartition("/")[2]
    whole = f"{pulumi.get_project()}-{pulumi.get_stack()}-{place.subscription}-{place.region}"
    return naming.letters_and_digits(whole, _ACCOUNT_MAX)


def folders(weights: AzureWeights) -> BucketFolders:
    """Return where in the container the models are."""
    return own_bucket(f"az://{weights.container}", weights.revision)


def environment(weights: AzureWeights, place: Place) -> list[Manifest]:
    """Return the account, which an az:// URL doesn't name."""
    return [{"name": "AZURE_STORAGE_ACCOUNT_NAME", "value": account_name(weights, place)}]


def reading(args: WeightBucketArgs, *, path: str, link_gbps: int) -> Weights:
    """Return how the engine's pods get the weights.

    Args:
        args: The container's.
        path: A folder of the node's own disks, which is there once they are mounted.
        link_gbps: The node's link in Gbit/s.
    """
    variables = environment(args.weights, args.place)
    if args.weights.delivery == "stream":
        return delivery.streamed(folders(args.weights), variables)
    copy = NodeCopy(
        folders=folders(args.weights),
        path=path,
        environment=variables,
        files=program_files(args.mirror, args.weights),
        draft=args.draft,
        link_gbps=link_gbps,
        made=False,
    )
    return delivery.copied(args.weights, copy)
