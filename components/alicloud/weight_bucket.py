"""The bucket with the weights: private, in the region, filled before any GPU is there, kept or deleted as told."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pulumi
import pulumi_alicloud as alicloud

from components import access_keys
from components.alicloud import oss_volume
from components.alicloud.cluster import Cluster
from components.alicloud.oss_volume import OssVolumeArgs, oss_claim
from components.alicloud.pod_identity import (
    FUSE_ACCOUNT,
    READER,
    ROLE_ANNOTATION,
    WRITER,
    PodIdentity,
    PodIdentityArgs,
    Statement,
    role_name,
)
from components.alicloud.settings import AlicloudWeights
from components.config import Secrets
from components.inference_cluster import KernelCache, Manifest, Weights
from components.service_account import service_account
from components.settings import Mirror
from components.weights import delivery, kept_bucket
from components.weights.bucket_fill import BucketFill, BucketFillArgs, program_files
from components.weights.folders import KERNELS, BucketFolders, own_bucket
from components.weights.sync_job import CopyPods

_READ: Final = ("oss:GetObject", "oss:GetBucketInfo", "oss:GetBucketStat", "oss:ListObjects")
_WRITE: Final = (
    *_READ,
    "oss:PutObject",
    "oss:DeleteObject",
    "oss:AbortMultipartUpload",
    "oss:ListParts",
    "oss:ListMultipartUploads",
)


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where the bucket is."""

    bucket: str
    """Its name, known before it exists: it is in the arguments of every pod."""
    region: str
    tags: Mapping[str, str]
    """Of what is made in the account."""


@dataclass(frozen=True, kw_only=True)
class WeightBucketArgs:
    """What the bucket takes."""

    cluster: Cluster
    place: Place
    weights: AlicloudWeights
    secrets: Secrets
    """The hub's token, and the keys that a streaming engine reads with."""
    mirror: Mirror
    after: Sequence[pulumi.Resource]
    """The namespace, beside what the cluster says is ready."""
    labels: Mapping[str, str]
    """Labels of what is in the cluster."""
    draft: bool
    """Whether the draft model is needed too."""


class WeightBucket(pulumi.ComponentResource):
    """A bucket, who may read and write it, and the copy into it."""

    ready: Sequence[pulumi.Resource]
    """Complete weights, and an identity that may read them."""

    def __init__(self, name: str, args: WeightBucketArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        where, weights = args.place, args.weights
        props = {"bucket": where.bucket, "revision": weights.revision, "keep": weights.keep}
        super().__init__("kimi:alicloud:WeightBucket", name, props, opts)
        self._args = args
        made = self._make(name) if weights.bucket is None else []
        reader = self._identity(f"{name}-reader", READER, [*rights(where.bucket, _READ), *_kernels(args)])
        writer = self._identity(f"{name}-writer", WRITER, [*rights(where.bucket, _WRITE), *_source(args)])
        pods = CopyPods(after=[*_ready(args), *made, *writer], environment=environment(where), service_account=WRITER)
        fill = BucketFillArgs(
            weights=weights,
            folders=folders(args),
            draft=args.draft,
            pods=pods,
            access=args.cluster.access,
            hub_token=args.secrets.hub_token,
            mirror=args.mirror,
            labels=args.labels,
        )
        copy = BucketFill(name, fill, pulumi.ResourceOptions(parent=self))
        self.ready = [*made, *reader, *copy.ready, *self._way(name, made)]
        self.register_outputs({"bucket": where.bucket})

    def _make(self, name: str) -> list[pulumi.Resource]:
        # What a kept bucket is protected by is kept with it.
        child = pulumi.ResourceOptions(parent=self, retain_on_delete=self._args.weights.keep)
        taken = pulumi.ResourceOptions(hooks=kept_bucket.told_if_taken(f"{name}-bucket", self._args.place.bucket))
        bucket = alicloud.oss.Bucket(
            f"{name}-bucket", bucket_args(self._args), opts=pulumi.ResourceOptions.merge(child, taken)
        )
        closed = alicloud.oss.BucketPublicAccessBlock(
            f"{name}-closed", bucket=bucket.bucket, block_public_access=True, opts=child
        )
        return [bucket, closed]

    def _identity(self, name: str, account: str, statements: Sequence[Statement]) -> list[pulumi.Resource]:
        access = self._args.cluster.access
        after = pulumi.ResourceOptions(parent=self, depends_on=list(self._args.after))
        tie = {ROLE_ANNOTATION: role_name(name)}
        made = service_account(account, access, self._args.labels, after, tie)
        return [made, *self._role(name, access.namespace, account, statements)]

    def _role(self, name: str, namespace: str, account: str, statements: Sequence[Statement]) -> list[pulumi.Resource]:
        identity = PodIdentityArgs(
            rrsa=self._args.cluster.rrsa,
            namespace=namespace,
            service_account=account,
            statements=statements,
            tags=self._args.place.tags,
        )
        return PodIdentity(name, identity, pulumi.ResourceOptions(parent=self)).ready

    def _way(self, name: str, made: Sequence[pulumi.Resource]) -> list[pulumi.Resource]:
        """Make what the engine's pods reach the bucket by, beside their service account."""
        args, secrets = self._args, self._args.secrets
        inside = pulumi.ResourceOptions(
            parent=self, provider=args.cluster.access.provider, depends_on=[*_ready(args), *made]
        )
        match args.weights.delivery:
            case "mounted":
                fuse = self._role(f"{name}-mount", *FUSE_ACCOUNT, rights(args.place.bucket, _READ))
                volume = OssVolumeArgs(
                    access=args.cluster.access,
                    bucket=args.place.bucket,
                    region=args.place.region,
                    role=role_name(f"{name}-mount"),
                    labels=args.labels,
                )
                after = pulumi.ResourceOptions.merge(inside, pulumi.ResourceOptions(depends_on=fuse))
                return [*fuse, *oss_claim(name, volume, after)]
            case "stream":
                keys = (secrets.bucket_access_key_id, secrets.bucket_secret_access_key)
                assert keys[0] is not None  # noqa: S101 - the preflight refuses stream without keys
                assert keys[1] is not None  # noqa: S101 - as above
                return [
                    access_keys.access_keys(
                        oss_volume.KEYS, args.cluster.access, (keys[0], keys[1]), args.labels, inside
                    ),
                    oss_volume.client_settings(f"{name}-client", args.cluster.access, args.labels, inside),
                ]
            case "disk":
                return []


def bucket_args(args: WeightBucketArgs) -> alicloud.oss.BucketArgs:
    """Return a bucket of our own; private is what a bucket is by itself."""
    abort = alicloud.oss.BucketLifecycleRuleAbortMultipartUploadArgs(days=1)
    return alicloud.oss.BucketArgs(
        bucket=args.place.bucket,
        storage_class="Standard",
        redundancy_type="LRS",
        # In the state from the start: `destroy` doesn't run the program, so it could not be told later.
        force_destroy=not args.weights.keep,
        # A copy that is killed leaves parts that nobody sees, that bill, and that keep a bucket from being deleted.
        lifecycle_rules=[
            alicloud.oss.BucketLifecycleRuleArgs(
                id="broken-uploads", enabled=True, prefix="", abort_multipart_uploads=[abort]
            )
        ],
        tags=args.place.tags,
    )


def folders(args: WeightBucketArgs) -> BucketFolders:
    """Return where in the bucket the models are."""
    return own_bucket(f"oss://{args.place.bucket}", args.weights.revision)


def environment(place: Place) -> list[Manifest]:
    """Return the region, from which our program knows the bucket's address inside it."""
    return [{"name": "AWS_REGION", "value": place.region}]


def rights(bucket: str, actions: Sequence[str]) -> list[Statement]:
    """Return these rights on a bucket and what is in it, and on nothing else."""
    name = f"acs:oss:*:*:{bucket}"
    return [{"Effect": "Allow", "Action": list(actions), "Resource": [name, f"{name}/*"]}]


def reading(args: WeightBucketArgs, *, path: str, link_gbps: int) -> Weights:
    """Return how the engine's pods get the weights.

    Args:
        args: The bucket's.
        path: Where a node mounts its disk for them.
        link_gbps: The node's link in Gbit/s.
    """
    return dataclasses.replace(_reading(args, path, link_gbps), kernel_cache=_kernel_cache(args))


def _reading(args: WeightBucketArgs, path: str, link_gbps: int) -> Weights:
    where = folders(args)
    match args.weights.delivery:
        case "mounted":
            return delivery.on_disk((where.model, where.draft), args.weights, oss_volume.mounted())
        case "stream":
            streamed = delivery.streamed(dataclasses.replace(where, url=f"s3://{args.place.bucket}"), [])
            return dataclasses.replace(
                streamed,
                environment=oss_volume.client_environment(args.place.region),
                volumes=[oss_volume.CLIENT_VOLUME],
                mounts=[oss_volume.CLIENT_MOUNT],
            )
        case "disk":
            copy = delivery.NodeCopy(
                folders=where,
                path=path,
                environment=environment(args.place),
                files=program_files(args.mirror, args.weights),
                draft=args.draft,
                link_gbps=link_gbps,
                # The folder is where the disk is mounted: without the disk it isn't there, and nothing fills the root.
                made=False,
            )
            return delivery.copied(args.weights, copy)


def _kernels(args: WeightBucketArgs) -> list[Statement]:
    """Return the right to write compiled kernels, and nothing that is the model's, into a bucket of our own."""
    if args.weights.bucket is not None:
        return []
    where = [f"acs:oss:*:*:{args.place.bucket}/{KERNELS}/*"]
    return [{"Effect": "Allow", "Action": ["oss:PutObject", "oss:AbortMultipartUpload"], "Resource": where}]


def _kernel_cache(args: WeightBucketArgs) -> KernelCache | None:
    """Return where compiled kernels are kept: not in a bucket that others may write to, for they are code."""
    if args.weights.bucket is not None:
        return None
    return delivery.kernel_cache(folders(args), environment(args.place), program_files(args.mirror, args.weights))


def _ready(args: WeightBucketArgs) -> list[pulumi.Resource]:
    return [*args.after, *args.cluster.ready]


def _source(args: WeightBucketArgs) -> list[Statement]:
    """Return the right to read the bucket that the weights come from, where they are in another one."""
    scheme, _, rest = args.weights.source.partition("://")
    return rights(rest.partition("/")[0], _READ) if scheme == "oss" else []
