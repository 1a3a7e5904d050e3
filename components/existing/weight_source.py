"""Where the pods of a cluster you already have read the weights: a path, a claim or an S3-compatible bucket."""

from collections.abc import Sequence

from components.access_keys import references
from components.existing.settings import Bucket, ExistingWeights
from components.inference_cluster import Manifest, Weights
from components.plan.model import KIMI_K3
from components.weights import delivery
from components.weights.delivery import NodeCopy
from components.weights.folders import BucketFolders
from components.weights.program import Program


def folders(weights: ExistingWeights) -> BucketFolders:
    """Return the folders of the model and of the draft model, with their revisions."""
    return BucketFolders(
        url=f"s3://{weights.bucket.name}" if weights.bucket else "",
        model=weights.folder.format(revision=weights.revision),
        draft=weights.draft_folder.format(revision=KIMI_K3.draft.revision),
    )


def streamed(weights: ExistingWeights, bucket: Bucket, credentials: str | None) -> Weights:
    """Return how the engine reads the bucket itself.

    Args:
        weights: The checked settings.
        bucket: The bucket in them.
        credentials: Name of the Secret with the bucket's keys; None lets the store be read without.
    """
    unsigned = [{"name": "RUNAI_STREAMER_S3_UNSIGNED", "value": "1"}] if credentials is None else []
    addressing = {"name": "RUNAI_STREAMER_S3_USE_VIRTUAL_ADDRESSING", "value": "0" if bucket.path_style else "1"}
    environment = [*bucket_environment(bucket, credentials), addressing, *unsigned]
    return delivery.streamed(folders(weights), environment)


def mounted(weights: ExistingWeights) -> Weights:
    """Return how the engine reads a path of the node or a claim, where somebody has put the weights."""
    names = folders(weights)
    return delivery.on_disk((names.model, names.draft), weights, _volume(weights))


def copied(
    weights: ExistingWeights, bucket: Bucket, credentials: str | None, files: Program, *, draft: bool, link_gbps: int
) -> Weights:
    """Return how a pod copies the bucket onto a path of its node before the engine starts."""
    assert weights.path is not None  # noqa: S101 - `weight_faults` refuses nvme without a path
    copy = NodeCopy(
        folders=folders(weights),
        path=weights.path,
        environment=bucket_environment(bucket, credentials),
        files=files,
        draft=draft,
        link_gbps=link_gbps,
    )
    return delivery.copied(weights, copy)


def bucket_environment(bucket: Bucket, credentials: str | None) -> Sequence[Manifest]:
    """Return the variables that a bucket is read and written with; every client of S3 knows most of these names."""
    found: list[Manifest] = [
        {"name": "AWS_REGION", "value": bucket.region},
        {"name": "AWS_S3_PATH_STYLE", "value": "true" if bucket.path_style else "false"},
        # An instance's own identity must not be tried first on a machine that has none.
        {"name": "AWS_EC2_METADATA_DISABLED", "value": "true"},
    ]
    if bucket.endpoint is not None:
        found.append({"name": "AWS_ENDPOINT_URL", "value": bucket.endpoint})
    return found if credentials is None else [*found, *references(credentials)]


def _volume(weights: ExistingWeights) -> Manifest:
    if weights.claim is not None:
        return {"name": delivery.VOLUME, "persistentVolumeClaim": {"claimName": weights.claim.name, "readOnly": True}}
    # A missing folder is an error of the node, not an empty model.
    return {"name": delivery.VOLUME, "hostPath": {"path": weights.path, "type": "Directory"}}
