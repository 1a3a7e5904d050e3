"""The ways from a bucket to the GPUs: streamed by the engine, or copied onto the node before it starts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from components.inference_cluster import KernelCache, Manifest, Weights
from components.settings import Weights as WeightSettings
from components.weights import program
from components.weights.folders import KERNELS, BucketFolders, repositories
from components.weights.program import Program

MOUNT: Final = "/models"
VOLUME: Final = "weights"


@dataclass(frozen=True, kw_only=True)
class NodeCopy:
    """How a pod copies a bucket onto its node."""

    folders: BucketFolders
    path: str
    """A folder of the node's own disk: a group that starts again finds the weights where it left them."""
    environment: Sequence[Manifest]
    """What the bucket is read with."""
    files: Program
    draft: bool
    """Whether the draft model is needed too."""
    link_gbps: int
    """The node's link to the bucket in Gbit/s; 0 when it isn't known."""
    made: bool = True
    """Whether the folder is made where it isn't; else the pod waits until whatever mounts the disks has made it."""


def streamed(folders: BucketFolders, environment: Sequence[Manifest]) -> Weights:
    """Return how the engine reads the bucket itself."""
    return Weights(
        location=f"{folders.url}/{folders.model}",
        draft_location=f"{folders.url}/{folders.draft}",
        environment=environment,
    )


def on_disk(folders: tuple[str, str], settings: WeightSettings, volume: Manifest) -> Weights:
    """Return how the engine reads a file system.

    Args:
        folders: Of the model and of the draft model, below the volume's root.
        settings: The loader in them.
        volume: A pod's volume named `VOLUME`.
    """
    model, draft = folders
    return Weights(
        location=f"{MOUNT}/{model}",
        draft_location=f"{MOUNT}/{draft}",
        loader=settings.loader,
        volumes=[volume],
        mounts=[{"name": VOLUME, "mountPath": MOUNT, "readOnly": True}],
    )


def kernel_cache(folders: BucketFolders, environment: Sequence[Manifest], files: Program) -> KernelCache:
    """Return where compiled kernels are kept, beside the models in a bucket that this program made."""
    url = f"{folders.url}/{KERNELS}"
    return KernelCache(url=url, environment=environment, config_map=files.config_map, image=files.image)


def copied(settings: WeightSettings, copy: NodeCopy) -> Weights:
    """Return how a pod copies the bucket onto its node before the engine starts."""
    fetches: list[Manifest] = []
    for name, (repository, _) in repositories(settings.revision, draft=copy.draft).items():
        arguments = ["--from", copy.folders.url_of(repository), "--to", f"{MOUNT}/{copy.folders.of(repository)}"]
        arguments += ["--revision", repository.revision]
        arguments += ["--link-gbps", str(copy.link_gbps)] if copy.link_gbps else []
        container = program.container(
            f"fetch-{name}", copy.files, "components.weights.fetch", arguments, copy.environment
        )
        mounts = [*_list(container["volumeMounts"]), {"name": VOLUME, "mountPath": MOUNT}]
        fetches.append({**container, "volumeMounts": mounts})
    kind = "DirectoryOrCreate" if copy.made else "Directory"
    volume = {"name": VOLUME, "hostPath": {"path": copy.path, "type": kind}}
    read = on_disk((copy.folders.model, copy.folders.draft), settings, volume)
    return Weights(
        location=read.location,
        draft_location=read.draft_location,
        loader=read.loader,
        volumes=[volume, *program.volumes(copy.files)],
        mounts=read.mounts,
        init_containers=fetches,
    )


def _list(value: object) -> list[object]:
    return list(value) if isinstance(value, list) else []
