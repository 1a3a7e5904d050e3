"""Where the pods of a cluster you already have read the weights: a path, a claim or an S3-compatible bucket."""

from collections.abc import Sequence
from typing import Final

from components.existing.settings import Bucket, ExistingWeights
from components.inference_cluster import Manifest, Weights
from components.plan.model import KIMI_K3

MOUNT: Final = "/models"
_VOLUME: Final = "weights"
ACCESS_KEY: Final = "AWS_ACCESS_KEY_ID"
SECRET_KEY: Final = "AWS_SECRET_ACCESS_KEY"  # noqa: S105 - the variable's name


def weight_source(weights: ExistingWeights, credentials: str | None) -> Weights:
    """Return how a pod reads the weights.

    Args:
        weights: The checked settings: one place, and folders that name the revision.
        credentials: Name of the Secret with the bucket's keys; None lets the store be read without.
    """
    folder = weights.folder.format(revision=weights.revision)
    draft = weights.draft_folder.format(revision=KIMI_K3.draft.revision)
    if weights.bucket is not None:
        return Weights(
            location=f"s3://{weights.bucket.name}/{folder}",
            draft_location=f"s3://{weights.bucket.name}/{draft}",
            environment=bucket_environment(weights.bucket, credentials),
        )
    return Weights(
        location=f"{MOUNT}/{folder}",
        draft_location=f"{MOUNT}/{draft}",
        loader=weights.loader,
        volumes=[_volume(weights)],
        mounts=[{"name": _VOLUME, "mountPath": MOUNT, "readOnly": True}],
    )


def bucket_environment(bucket: Bucket, credentials: str | None) -> Sequence[Manifest]:
    """Return the variables that vLLM's streaming loader reads a bucket with; both its clients know these names."""
    found: list[Manifest] = [
        {"name": "AWS_REGION", "value": bucket.region},
        # An instance's own identity must not be tried first on a machine that has none.
        {"name": "AWS_EC2_METADATA_DISABLED", "value": "true"},
        {"name": "RUNAI_STREAMER_S3_USE_VIRTUAL_ADDRESSING", "value": "0" if bucket.path_style else "1"},
    ]
    if bucket.endpoint is not None:
        found.append({"name": "AWS_ENDPOINT_URL", "value": bucket.endpoint})
    if credentials is None:
        return [*found, {"name": "RUNAI_STREAMER_S3_UNSIGNED", "value": "1"}]
    references = [(key, {"secretKeyRef": {"name": credentials, "key": key}}) for key in (ACCESS_KEY, SECRET_KEY)]
    return [*found, *({"name": key, "valueFrom": reference} for key, reference in references)]


def _volume(weights: ExistingWeights) -> Manifest:
    if weights.claim is not None:
        return {"name": _VOLUME, "persistentVolumeClaim": {"claimName": weights.claim.name, "readOnly": True}}
    # A missing folder is an error of the node, not an empty model.
    return {"name": _VOLUME, "hostPath": {"path": weights.path, "type": "Directory"}}
