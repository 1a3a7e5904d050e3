"""Where the pods of a cluster you already have read the weights: a path, a claim or an S3-compatible bucket."""

from collections.abc import Sequence
from typing import Final

from components.existing.settings import Bucket, ExistingWeights
from components.inference_cluster import Manifest, Weights
from components.plan.model import KIMI_K3
from components.weights import program
from components.weights.program import Program

MOUNT: Final = "/models"
_VOLUME: Final = "weights"
ACCESS_KEY: Final = "AWS_ACCESS_KEY_ID"
SECRET_KEY: Final = "AWS_SECRET_ACCESS_KEY"  # noqa: S105 - the variable's name


def folders(weights: ExistingWeights) -> tuple[str, str]:
    """Return the folders of the model and of the draft model, with their revisions."""
    model = weights.folder.format(revision=weights.revision)
    return model, weights.draft_folder.format(revision=KIMI_K3.draft.revision)


def bucket_url(bucket: Bucket, folder: str) -> str:
    """Return the URL of a folder in the bucket."""
    return f"s3://{bucket.name}/{folder}"


def streamed(weights: ExistingWeights, bucket: Bucket, credentials: str | None) -> Weights:
    """Return how the engine reads the bucket itself.

    Args:
        weights: The checked settings.
        bucket: The bucket in them.
        credentials: Name of the Secret with the bucket's keys; None lets the store be read without.
    """
    model, draft = folders(weights)
    unsigned = [{"name": "RUNAI_STREAMER_S3_UNSIGNED", "value": "1"}] if credentials is None else []
    addressing = {"name": "RUNAI_STREAMER_S3_USE_VIRTUAL_ADDRESSING", "value": "0" if bucket.path_style else "1"}
    return Weights(
        location=bucket_url(bucket, model),
        draft_location=bucket_url(bucket, draft),
        environment=[*bucket_environment(bucket, credentials), addressing, *unsigned],
    )


def mounted(weights: ExistingWeights) -> Weights:
    """Return how the engine reads a path of the node or a claim, where somebody has put the weights."""
    model, draft = folders(weights)
    return Weights(
        location=f"{MOUNT}/{model}",
        draft_location=f"{MOUNT}/{draft}",
        loader=weights.loader,
        volumes=[_volume(weights)],
        mounts=[{"name": _VOLUME, "mountPath": MOUNT, "readOnly": True}],
    )


def copied(
    weights: ExistingWeights, bucket: Bucket, credentials: str | None, files: Program, *, draft: bool, link_gbps: int
) -> Weights:
    """Return how a pod copies the bucket onto its node before the engine starts.

    The folder is the node's, not the pod's: a group that starts again finds the weights where it left them.
    """
    environment = bucket_environment(bucket, credentials)
    model_folder, draft_folder = folders(weights)
    wanted = {"model": (model_folder, weights.revision)}
    if draft:
        wanted["draft"] = (draft_folder, KIMI_K3.draft.revision)
    fetches: list[Manifest] = []
    for name, (folder, revision) in wanted.items():
        arguments = ["--from", bucket_url(bucket, folder), "--to", f"{MOUNT}/{folder}", "--revision", revision]
        arguments += ["--link-gbps", str(link_gbps)] if link_gbps else []
        container = program.container(f"fetch-{name}", files, "components.weights.fetch", arguments, environment)
        mounts = [*_list(container["volumeMounts"]), {"name": _VOLUME, "mountPath": MOUNT}]
        fetches.append({**container, "volumeMounts": mounts})
    on_node = {"name": _VOLUME, "hostPath": {"path": weights.path, "type": "DirectoryOrCreate"}}
    on_disk = mounted(weights)
    return Weights(
        location=on_disk.location,
        draft_location=on_disk.draft_location,
        loader=weights.loader,
        volumes=[on_node, *program.volumes(files)],
        mounts=on_disk.mounts,
        init_containers=fetches,
    )


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
    if credentials is None:
        return found
    references = [(key, {"secretKeyRef": {"name": credentials, "key": key}}) for key in (ACCESS_KEY, SECRET_KEY)]
    return [*found, *({"name": key, "valueFrom": reference} for key, reference in references)]


def _volume(weights: ExistingWeights) -> Manifest:
    if weights.claim is not None:
        return {"name": _VOLUME, "persistentVolumeClaim": {"claimName": weights.claim.name, "readOnly": True}}
    # A missing folder is an error of the node, not an empty model.
    return {"name": _VOLUME, "hostPath": {"path": weights.path, "type": "Directory"}}


def _list(value: object) -> list[object]:
    return list(value) if isinstance(value, list) else []
