"""The bucket of a cluster you already have: somebody else made it, and it stays when this stack goes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import pulumi

from components.access_keys import access_keys
from components.config import Secrets
from components.existing.settings import Bucket, ExistingWeights
from components.existing.weight_source import bucket_environment, folders
from components.inference_cluster import ClusterAccess
from components.settings import Mirror
from components.weights.bucket_fill import BucketFill, BucketFillArgs
from components.weights.sync_job import CopyPods

_CREDENTIALS: Final = "bucket-credentials"


@dataclass(frozen=True, kw_only=True)
class WeightBucketArgs:
    """What the bucket takes."""

    access: ClusterAccess
    weights: ExistingWeights
    """With a bucket."""
    secrets: Secrets
    """The bucket's keys and the hub's token, where they are given."""
    draft: bool
    """Whether the draft model is needed too."""
    mirror: Mirror
    """Where images and libraries come from on a closed network."""
    labels: Mapping[str, str]
    """Labels of everything."""
    after: list[pulumi.Resource]
    """What must be there first: the namespace."""


class WeightBucket(pulumi.ComponentResource):
    """The bucket's keys in the cluster, and the copy into it."""

    ready: list[pulumi.Resource]
    """What must be there before a pod reads the bucket."""

    def __init__(
        self, name: str, args: WeightBucketArgs, bucket: Bucket, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        props = {"bucket": bucket.name, "revision": args.weights.revision, "fill": args.weights.fill}
        super().__init__("kimi:existing:WeightBucket", name, props, opts)
        keys = _keys(args, bucket, pulumi.ResourceOptions(parent=self, depends_on=args.after))
        fill = BucketFillArgs(
            access=args.access,
            weights=args.weights,
            folders=folders(args.weights),
            draft=args.draft,
            hub_token=args.secrets.hub_token,
            mirror=args.mirror,
            labels=args.labels,
            pods=CopyPods(
                environment=bucket_environment(bucket, credentials_name(bucket, args.secrets)),
                after=[*args.after, *keys],
            ),
        )
        copy = BucketFill(name, fill, pulumi.ResourceOptions(parent=self), jobs=args.weights.fill)
        self.ready = [*keys, *copy.ready]
        self.register_outputs({})


def credentials_name(bucket: Bucket, secrets: Secrets) -> str | None:
    """Return the Secret with the bucket's keys: the cluster's own, ours, or none where the store asks for none."""
    if bucket.credentials_secret is not None:
        return bucket.credentials_secret
    return _CREDENTIALS if secrets.bucket_access_key_id is not None else None


def _keys(args: WeightBucketArgs, bucket: Bucket, opts: pulumi.ResourceOptions) -> list[pulumi.Resource]:
    """Make a Secret of the keys in the configuration, unless the cluster has one."""
    identity, key = args.secrets.bucket_access_key_id, args.secrets.bucket_secret_access_key
    if bucket.credentials_secret is not None or identity is None or key is None:
        return []
    return [access_keys(_CREDENTIALS, args.access, (identity, key), args.labels, opts)]
