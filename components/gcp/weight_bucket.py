"""The bucket with the weights: private, in the region, filled before any GPU is there, kept or deleted as told."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pulumi
import pulumi_gcp as gcp

from components import naming
from components.gcp.cluster import SYSTEM_NODES, Cluster
from components.gcp.pod_identity import PodIdentity, PodIdentityArgs
from components.gcp.provider import Place, identity
from components.gcp.settings import GcpWeights
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
"""Service account of the pods that fill the bucket."""
_READ: Final = "roles/storage.objectViewer"
_WRITE: Final = "roles/storage.objectUser"
_NAME_MAX: Final = 63

MOUNT_ANNOTATIONS: Final[Mapping[str, str]] = {
    "gke-gcsfuse/volumes": "true",
    # "0" is no limit: with its own of 256 MiB and 5 GiB the sidecar is killed in the middle of a load, and the mount
    # stays dead for the pod's life (gcs-fuse-csi-driver #61, #314).
    "gke-gcsfuse/cpu-limit": "0",
    "gke-gcsfuse/memory-limit": "0",
    "gke-gcsfuse/ephemeral-storage-limit": "0",
}
"""Of a pod that mounts the bucket."""
_MOUNT_OPTIONS: Final = (
    "implicit-dirs,file-cache:max-size-mb:-1,file-cache:enable-parallel-downloads:true,"
    "file-cache:parallel-downloads-per-file:100,file-cache:max-parallel-downloads:-1,file-cache:download-chunk-size-mb:50"
)
"""Google's own recipe for Kimi K3 (AI-Hypercomputer/gpu-recipes, 2026-08)."""


@dataclass(frozen=True, kw_only=True)
class WeightBucketArgs:
    """What the bucket takes."""

    cluster: Cluster
    place: Place
    weights: GcpWeights
    draft: bool
    """Whether the draft model is needed too."""
    mirror: Mirror
    labels: Mapping[str, str]
    """Labels of what is in the cluster."""
    after: Sequence[pulumi.Resource]
    """The namespace, beside what the cluster says is ready."""


class WeightBucket(pulumi.ComponentResource):
    """A bucket, who may read and write it, and the copy into it."""

    ready: Sequence[pulumi.Resource]
    """Complete weights, and an identity that may read them."""

    def __init__(
        self,
        name: str,
        args: WeightBucketArgs,
        hub_token: pulumi.Output[str] | None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        props = {"bucket": bucket_name(args), "revision": args.weights.revision, "keep": args.weights.keep}
        super().__init__("kimi:gcp:WeightBucket", name, props, opts)
        made, bucket = self._bucket(name, args)
        reader = self._identity(f"{name}-reader", args, READER, {"": (bucket, _READ)})
        writer = self._identity(f"{name}-writer", args, WRITER, {"": (bucket, _WRITE), **_source(args.weights)})
        fill = BucketFillArgs(
            access=args.cluster.access,
            weights=args.weights,
            folders=folders(args),
            draft=args.draft,
            hub_token=hub_token,
            mirror=args.mirror,
            labels=args.labels,
            pods=CopyPods(
                service_account=WRITER,
                environment=environment(args.place),
                node_selector=SYSTEM_NODES,
                after=[*args.after, *args.cluster.ready, *made, *writer],
            ),
        )
        copy = BucketFill(name, fill, pulumi.ResourceOptions(parent=self))
        self.ready = [*made, *reader, *copy.ready]
        self.register_outputs({"bucket": bucket_name(args)})

    def _bucket(self, name: str, args: WeightBucketArgs) -> tuple[list[pulumi.Resource], pulumi.Input[str]]:
        if args.weights.bucket is not None:
            return [], args.weights.bucket
        bucket = gcp.storage.Bucket(
            f"{name}-bucket",
            bucket_args(args),
            opts=pulumi.ResourceOptions(
                parent=self,
                retain_on_delete=args.weights.keep,
                hooks=told_if_taken(f"{name}-bucket", bucket_name(args)),
            ),
        )
        return [bucket], bucket.name

    def _identity(
        self,
        name: str,
        args: WeightBucketArgs,
        account: str,
        roles: Mapping[str, tuple[pulumi.Input[str], str]],
    ) -> list[pulumi.Resource]:
        """Return a service account with its roles on buckets, each under an ending of its own."""
        child = pulumi.ResourceOptions(parent=self)
        after = pulumi.ResourceOptions.merge(child, pulumi.ResourceOptions(depends_on=list(args.after)))
        found: list[pulumi.Resource] = [service_account(account, args.cluster.access, args.labels, after)]
        for ending, (bucket, role) in roles.items():
            identity_ = PodIdentityArgs(
                cluster=args.cluster, place=args.place, service_account=account, bucket=bucket, role=role
            )
            found += PodIdentity(f"{name}{ending}", identity_, child).ready
        return found


def bucket_name(args: WeightBucketArgs) -> str:
    """Return the bucket's name, which no other in the world may have and every pod knows: the person's, or ours."""
    name = f"{identity()}-{args.place.number}-{args.place.region}"
    return args.weights.bucket or naming.fit(name, _NAME_MAX)


def bucket_args(args: WeightBucketArgs) -> gcp.storage.BucketArgs:
    """Return a bucket of our own."""
    return gcp.storage.BucketArgs(
        name=bucket_name(args),
        location=args.place.region,
        uniform_bucket_level_access=True,
        public_access_prevention="enforced",
        hierarchical_namespace=gcp.storage.BucketHierarchicalNamespaceArgs(enabled=True)
        if args.weights.hierarchical_namespace
        else None,
        # In the state from the start: `destroy` doesn't run the program, so it could not be told later.
        force_destroy=not args.weights.keep,
        # Left to itself Google goes on billing deleted objects for seven days.
        soft_delete_policy=gcp.storage.BucketSoftDeletePolicyArgs(retention_duration_seconds=0),
        # A copy that is killed leaves parts that nobody sees and that bill.
        lifecycle_rules=[
            gcp.storage.BucketLifecycleRuleArgs(
                action=gcp.storage.BucketLifecycleRuleActionArgs(type="AbortIncompleteMultipartUpload"),
                condition=gcp.storage.BucketLifecycleRuleConditionArgs(age=1),
            )
        ],
    )


def folders(args: WeightBucketArgs) -> BucketFolders:
    """Return where in the bucket the models are."""
    return own_bucket(f"gs://{bucket_name(args)}", args.weights.revision)


def environment(place: Place) -> list[Manifest]:
    """Return the project, which Google's own client asks for even where a bucket's name says it all."""
    return [{"name": "GOOGLE_CLOUD_PROJECT", "value": place.project}]


def reading(args: WeightBucketArgs, *, path: str, link_gbps: int) -> Weights:
    """Return how the engine's pods get the weights.

    Args:
        args: The bucket's.
        path: A folder of the node's own disks.
        link_gbps: The node's link in Gbit/s.
    """
    where = folders(args)
    match args.weights.delivery:
        case "stream":
            return delivery.streamed(where, environment(args.place))
        case "mount":
            return delivery.on_disk((where.model, where.draft), args.weights, mounted(bucket_name(args)))
        case "nvme":
            files = program_files(args.mirror, args.weights)
            copy = NodeCopy(
                folders=where,
                path=path,
                environment=environment(args.place),
                files=files,
                draft=args.draft,
                link_gbps=link_gbps,
            )
            return delivery.copied(args.weights, copy)


def mounted(bucket: str) -> Manifest:
    """Return a pod's volume that reads a bucket through Cloud Storage FUSE, with a cache on the node's disks."""
    attributes = {"bucketName": bucket, "mountOptions": _MOUNT_OPTIONS}
    source = {"driver": "gcsfuse.csi.storage.gke.io", "readOnly": True, "volumeAttributes": attributes}
    return {"name": delivery.VOLUME, "csi": source}


def _source(weights: GcpWeights) -> dict[str, tuple[pulumi.Input[str], str]]:
    """Return the right to read the bucket that the weights come from, where they are in another one."""
    scheme, _, rest = weights.source.partition("://")
    return {"-source": (rest.partition("/")[0], _READ)} if scheme == "gs" else {}
