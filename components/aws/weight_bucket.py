"""The bucket with the weights: private, in the region, filled before any GPU is there, kept or deleted as told."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pulumi
import pulumi_aws as aws

from components.aws.cluster import Cluster
from components.aws.pod_identity import PodIdentity, PodIdentityArgs, Statement
from components.aws.provider import partition
from components.aws.settings import AwsWeights
from components.inference_cluster import KernelCache, Manifest, Weights
from components.service_account import service_account
from components.settings import Mirror
from components.weights import delivery
from components.weights.bucket_fill import BucketFill, BucketFillArgs, program_files
from components.weights.delivery import NodeCopy
from components.weights.folders import KERNELS, BucketFolders, own_bucket
from components.weights.kept_bucket import told_if_taken
from components.weights.sync_job import CopyPods

READER: Final = "kimi-k3"
"""Service account of the engine's pods."""
WRITER: Final = "weights"
"""Service account of the pods that fill the bucket."""
_READ: Final = ("s3:GetObject", "s3:ListBucket", "s3:GetBucketLocation")
_WRITE: Final = (
    *_READ,
    "s3:PutObject",
    "s3:DeleteObject",
    "s3:AbortMultipartUpload",
    "s3:ListBucketMultipartUploads",
    "s3:ListMultipartUploadParts",
)


@dataclass(frozen=True, kw_only=True)
class WeightBucketArgs:
    """What the bucket takes."""

    cluster: Cluster
    region: str
    bucket: str
    """Its name, known before it exists: it is in the arguments of every pod."""
    weights: AwsWeights
    draft: bool
    """Whether the draft model is needed too."""
    mirror: Mirror
    labels: Mapping[str, str]
    """Labels of what is in the cluster."""
    after: Sequence[pulumi.Resource]
    """The namespace, beside what the cluster says is ready."""


class WeightBucket(pulumi.ComponentResource):
    """A private S3 bucket, the roles that may read and write it, and the copy into it."""

    ready: Sequence[pulumi.Resource]
    """Complete weights, and an identity that may read them."""

    def __init__(
        self,
        name: str,
        args: WeightBucketArgs,
        hub_token: pulumi.Output[str] | None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        props = {"bucket": args.bucket, "revision": args.weights.revision, "keep": args.weights.keep}
        super().__init__("kimi:aws:WeightBucket", name, props, opts)
        made = self._make(name, args) if args.weights.bucket is None else []
        reader = self._identity(f"{name}-reader", args, READER, [*rights(args, args.bucket, _READ), *_kernels(args)])
        writer = self._identity(f"{name}-writer", args, WRITER, [*rights(args, args.bucket, _WRITE), *_source(args)])
        fill = BucketFillArgs(
            access=args.cluster.access,
            weights=args.weights,
            folders=folders(args),
            draft=args.draft,
            hub_token=hub_token,
            mirror=args.mirror,
            labels=args.labels,
            pods=CopyPods(service_account=WRITER, environment=environment(args), after=[*_ready(args), *made, *writer]),
        )
        copy = BucketFill(name, fill, pulumi.ResourceOptions(parent=self))
        self.ready = [*made, *reader, *copy.ready]
        self.register_outputs({"bucket": args.bucket})

    def _make(self, name: str, args: WeightBucketArgs) -> list[pulumi.Resource]:
        # What a kept bucket is protected by is kept with it.
        child = pulumi.ResourceOptions(parent=self, retain_on_delete=args.weights.keep)
        # In the state from the start: `destroy` doesn't run the program, so it could not be told later.
        bucket = aws.s3.Bucket(
            f"{name}-bucket",
            bucket=args.bucket,
            force_destroy=not args.weights.keep,
            opts=pulumi.ResourceOptions.merge(
                child, pulumi.ResourceOptions(hooks=told_if_taken(f"{name}-bucket", args.bucket))
            ),
        )
        closed = aws.s3.BucketPublicAccessBlock(
            f"{name}-closed",
            bucket=bucket.id,
            block_public_acls=True,
            block_public_policy=True,
            ignore_public_acls=True,
            restrict_public_buckets=True,
            opts=child,
        )
        # A copy that is killed leaves parts that nobody sees and that bill.
        lifecycle = aws.s3.BucketLifecycleConfiguration(
            f"{name}-lifecycle",
            bucket=bucket.id,
            rules=[
                aws.s3.BucketLifecycleConfigurationRuleArgs(
                    id="broken-uploads",
                    status="Enabled",
                    filter=aws.s3.BucketLifecycleConfigurationRuleFilterArgs(prefix=""),
                    abort_incomplete_multipart_upload=aws.s3.BucketLifecycleConfigurationRuleAbortIncompleteMultipartUploadArgs(
                        days_after_initiation=1
                    ),
                )
            ],
            opts=child,
        )
        return [bucket, closed, lifecycle]

    def _identity(
        self, name: str, args: WeightBucketArgs, account: str, statements: list[Statement]
    ) -> list[pulumi.Resource]:
        child = pulumi.ResourceOptions(parent=self)
        identity = PodIdentityArgs(
            cluster=args.cluster.name,
            namespace=args.cluster.access.namespace,
            service_account=account,
            statements=statements,
        )
        after = pulumi.ResourceOptions.merge(child, pulumi.ResourceOptions(depends_on=list(args.after)))
        account_ = service_account(account, args.cluster.access, args.labels, after)
        return [account_, *PodIdentity(name, identity, child).ready]


def folders(args: WeightBucketArgs) -> BucketFolders:
    """Return where in the bucket the models are."""
    return own_bucket(f"s3://{args.bucket}", args.weights.revision)


def environment(args: WeightBucketArgs) -> list[Manifest]:
    """Return the region: without it the streamer's error says nothing (vllm-project/vllm #12311)."""
    return [{"name": "AWS_REGION", "value": args.region}]


def rights(args: WeightBucketArgs, bucket: str, actions: Sequence[str]) -> list[Statement]:
    """Return these rights on a bucket and what is in it, and on nothing else."""
    arn = f"arn:{partition(args.region)}:s3:::{bucket}"
    return [{"Effect": "Allow", "Action": list(actions), "Resource": [arn, f"{arn}/*"]}]


def reading(args: WeightBucketArgs, *, path: str, link_gbps: int) -> Weights:
    """Return how the engine's pods get the weights.

    Args:
        args: The bucket's.
        path: A folder of the node's own disks.
        link_gbps: The node's link in Gbit/s.
    """
    return dataclasses.replace(_reading(args, path, link_gbps), kernel_cache=_kernel_cache(args))


def _reading(args: WeightBucketArgs, path: str, link_gbps: int) -> Weights:
    if args.weights.delivery == "stream":
        return delivery.streamed(folders(args), environment(args))
    copy = NodeCopy(
        folders=folders(args),
        path=path,
        environment=environment(args),
        files=program_files(args.mirror, args.weights),
        draft=args.draft,
        link_gbps=link_gbps,
    )
    return delivery.copied(args.weights, copy)


def _kernels(args: WeightBucketArgs) -> list[Statement]:
    """Return the right to write compiled kernels, and nothing that is the model's, into a bucket of our own."""
    if args.weights.bucket is not None:
        return []
    arn = f"arn:{partition(args.region)}:s3:::{args.bucket}/{KERNELS}/*"
    return [{"Effect": "Allow", "Action": ["s3:PutObject", "s3:AbortMultipartUpload"], "Resource": [arn]}]


def _kernel_cache(args: WeightBucketArgs) -> KernelCache | None:
    """Return where compiled kernels are kept: not in a bucket that others may write to, for they are code."""
    if args.weights.bucket is not None:
        return None
    return delivery.kernel_cache(folders(args), environment(args), program_files(args.mirror, args.weights))


def _ready(args: WeightBucketArgs) -> list[pulumi.Resource]:
    return [*args.after, *args.cluster.ready]


def _source(args: WeightBucketArgs) -> list[Statement]:
    """Return the right to read the bucket that the weights come from, where they are in another one."""
    scheme, _, rest = args.weights.source.partition("://")
    return rights(args, rest.partition("/")[0], _READ) if scheme == "s3" else []
