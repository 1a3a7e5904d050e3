"""`BucketFill`: whatever brings the weights into a bucket, complete before any GPU is used."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pulumi
import pulumi_kubernetes as kubernetes

from components.inference_cluster import ClusterAccess, Manifest
from components.plan.model import KIMI_K3, Repository
from components.settings import Mirror, Weights
from components.weights import program
from components.weights.folders import BucketFolders, repositories
from components.weights.program import Program
from components.weights.sync_job import CopyPods, SyncJob, SyncJobArgs

_HUB_TOKEN: Final = "hub-token"  # noqa: S105 - the Secret's name
_PROGRAM: Final = "weights-program"
_HUB_VARIABLES: Final = {
    "huggingface": ("HF_TOKEN", "HF_ENDPOINT"),
    "modelscope": ("MODELSCOPE_API_TOKEN", "MODELSCOPE_ENDPOINT"),
}


@dataclass(frozen=True, kw_only=True)
class BucketFillArgs:
    """What filling a bucket takes."""

    access: ClusterAccess
    weights: Weights
    """Which, from where, and by how many pods."""
    folders: BucketFolders
    """Where to."""
    draft: bool
    """Whether the draft model is needed too."""
    hub_token: pulumi.Output[str] | None
    mirror: Mirror
    """Where images and libraries come from on a closed network."""
    labels: Mapping[str, str]
    """Labels of everything."""
    pods: CopyPods
    """How the pods may write the bucket, and where they run."""


class BucketFill(pulumi.ComponentResource):
    """The program as a ConfigMap, the hub's token, and a Job for each repository."""

    ready: list[pulumi.Resource]
    """What must be there before a pod reads the bucket."""

    def __init__(
        self, name: str, args: BucketFillArgs, opts: pulumi.ResourceOptions | None = None, *, jobs: bool = True
    ) -> None:
        """Fill the bucket.

        Args:
            name: Of this component and in its children's names.
            args: What it takes.
            opts: Its parent.
            jobs: False leaves the program alone: the bucket is filled already, and nodes copy from it.
        """
        super().__init__("kimi:weights:BucketFill", name, {"revision": args.weights.revision}, opts)
        child = pulumi.ResourceOptions(parent=self, provider=args.access.provider, depends_on=list(args.pods.after))
        files = kubernetes.core.v1.ConfigMap(
            f"{name}-program",
            metadata=_metadata(args, program_name()),
            data=program.config_map_data(),
            immutable=True,
            opts=child,
        )
        before: list[pulumi.Resource] = [*_hub_token(args, child), files]
        wanted = repositories(args.weights.revision, draft=args.draft) if jobs else {}
        copies = [
            SyncJob(f"{name}-{job}", _sync(args, repository, gigabytes, before), pulumi.ResourceOptions(parent=self))
            for job, (repository, gigabytes) in wanted.items()
        ]
        self.ready = [*before, *copies]
        self.register_outputs({})


def program_name() -> str:
    """Return the name of the ConfigMap with the program's files."""
    return program.config_map_name(_PROGRAM, program.config_map_data())


def program_files(mirror: Mirror, weights: Weights) -> Program:
    """Return the program as pods run it."""
    return Program(config_map=program_name(), mirror=mirror, image=weights.image)


def _metadata(args: BucketFillArgs, name: str) -> kubernetes.meta.v1.ObjectMetaArgs:
    return kubernetes.meta.v1.ObjectMetaArgs(name=name, namespace=args.access.namespace, labels=args.labels)


def _hub_token(args: BucketFillArgs, opts: pulumi.ResourceOptions) -> list[pulumi.Resource]:
    if args.hub_token is None:
        return []
    data = {"token": args.hub_token}
    metadata = _metadata(args, _HUB_TOKEN)
    return [kubernetes.core.v1.Secret(_HUB_TOKEN, metadata=metadata, string_data=data, opts=opts)]


def _sync(
    args: BucketFillArgs, repository: Repository, gigabytes: float, before: Sequence[pulumi.Resource]
) -> SyncJobArgs:
    pods = args.pods
    return SyncJobArgs(
        access=args.access,
        repository=repository,
        gigabytes=gigabytes,
        arguments=sync_arguments(args.weights, repository, args.folders.url_of(repository)),
        workers=args.weights.workers,
        program=program_files(args.mirror, args.weights),
        pods=dataclasses.replace(
            pods, environment=[*pods.environment, *_hub_environment(args)], after=[*pods.after, *before]
        ),
        labels=args.labels,
    )


def sync_arguments(weights: Weights, repository: Repository, destination: str) -> Sequence[str]:
    """Return the arguments of the copying program."""
    found = ["--repository", repository.name, "--revision", repository.revision, "--source", weights.source]
    found += ["--to", destination]
    # Both pins are the model's own; the draft model has its commit.
    if repository.name == KIMI_K3.repository:
        found += ["--source-revision", weights.source_revision] if weights.source_revision else []
        found += ["--digest", weights.digest] if weights.digest else []
    return found


def _hub_environment(args: BucketFillArgs) -> list[Manifest]:
    """Return the token and the mirror under the names that belong to the hub."""
    token, endpoint = _HUB_VARIABLES.get(args.weights.source, _HUB_VARIABLES["huggingface"])
    found: list[Manifest] = [{"name": endpoint, "value": args.mirror.hub}] if args.mirror.hub else []
    if args.hub_token is not None:
        found.append({"name": token, "valueFrom": {"secretKeyRef": {"name": _HUB_TOKEN, "key": "token"}}})
    return found
