"""The bucket of a cluster you already have: its keys, the Jobs that fill it, and how pods read from it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pulumi
import pulumi_kubernetes as kubernetes

from components.config import Secrets
from components.existing.settings import Bucket, ExistingWeights
from components.existing.weight_source import ACCESS_KEY, SECRET_KEY, bucket_environment, bucket_url, folders
from components.inference_cluster import Manifest
from components.plan.model import KIMI_K3, Repository
from components.settings import Mirror
from components.weights import program
from components.weights.program import Program
from components.weights.sync_job import SyncJob, SyncJobArgs, SyncPods

_CREDENTIALS: Final = "bucket-credentials"
_HUB_TOKEN: Final = "hub-token"  # noqa: S105 - the Secret's name
_PROGRAM: Final = "weights-program"
_HUB_VARIABLES: Final = {
    "huggingface": ("HF_TOKEN", "HF_ENDPOINT"),
    "modelscope": ("MODELSCOPE_API_TOKEN", "MODELSCOPE_ENDPOINT"),
}


@dataclass(frozen=True, kw_only=True)
class WeightBucketArgs:
    """What the bucket takes."""

    provider: kubernetes.Provider
    namespace: str
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
    after: Sequence[pulumi.Resource]
    """What must be there first: the namespace."""


class WeightBucket(pulumi.ComponentResource):
    """A bucket that somebody else made and that stays; the copy into it is complete before any GPU is used."""

    def __init__(
        self, name: str, args: WeightBucketArgs, bucket: Bucket, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        props = {"bucket": bucket.name, "revision": args.weights.revision, "fill": args.weights.fill}
        super().__init__("kimi:existing:WeightBucket", name, props, opts)
        child = pulumi.ResourceOptions(parent=self, provider=args.provider, depends_on=list(args.after))
        held = [_secret(each, data, args, child) for each, data in secret_data(bucket, args.secrets).items()]
        files = kubernetes.core.v1.ConfigMap(
            f"{name}-program",
            metadata=kubernetes.meta.v1.ObjectMetaArgs(
                name=program_name(), namespace=args.namespace, labels=args.labels
            ),
            data=program.config_map_data(),
            immutable=True,
            opts=child,
        )
        before: list[pulumi.Resource] = [*held, files]
        jobs = [
            SyncJob(
                f"{name}-{job}",
                _sync(args, bucket, repository, gigabytes, before),
                pulumi.ResourceOptions(parent=self),
            )
            for job, (repository, gigabytes) in _repositories(args).items()
        ]
        self.ready: list[pulumi.Resource] = [*before, *jobs]
        self.register_outputs({})


def program_name() -> str:
    """Return the name of the ConfigMap with the program's files."""
    return program.config_map_name(_PROGRAM, program.config_map_data())


def credentials_name(bucket: Bucket, secrets: Secrets) -> str | None:
    """Return the Secret with the bucket's keys: the cluster's own, ours, or none where the store asks for none."""
    if bucket.credentials_secret is not None:
        return bucket.credentials_secret
    return _CREDENTIALS if secrets.bucket_access_key_id is not None else None


def secret_data(bucket: Bucket, secrets: Secrets) -> dict[str, dict[str, pulumi.Output[str]]]:
    """Return the Secrets to make, by name: what the secret configuration holds and the cluster hasn't."""
    found: dict[str, dict[str, pulumi.Output[str]]] = {}
    identity, key = secrets.bucket_access_key_id, secrets.bucket_secret_access_key
    if bucket.credentials_secret is None and identity is not None and key is not None:
        found[_CREDENTIALS] = {ACCESS_KEY: identity, SECRET_KEY: key}
    if secrets.hub_token is not None:
        found[_HUB_TOKEN] = {"token": secrets.hub_token}
    return found


def _secret(
    name: str, data: Mapping[str, pulumi.Output[str]], args: WeightBucketArgs, opts: pulumi.ResourceOptions
) -> kubernetes.core.v1.Secret:
    metadata = kubernetes.meta.v1.ObjectMetaArgs(name=name, namespace=args.namespace, labels=args.labels)
    return kubernetes.core.v1.Secret(name, metadata=metadata, string_data=data, opts=opts)


def _repositories(args: WeightBucketArgs) -> dict[str, tuple[Repository, float]]:
    """Return what is copied, with its decimal GB: the model, and the draft model where it is used."""
    if not args.weights.fill:
        return {}
    model = Repository(name=KIMI_K3.repository, revision=args.weights.revision)
    found = {"model": (model, KIMI_K3.weight_bytes / 1e9)}
    return {**found, "draft": (KIMI_K3.draft, KIMI_K3.draft_gb)} if args.draft else found


def _sync(
    args: WeightBucketArgs,
    bucket: Bucket,
    repository: Repository,
    gigabytes: float,
    before: Sequence[pulumi.Resource],
) -> SyncJobArgs:
    model, draft = folders(args.weights)
    destination = bucket_url(bucket, model if repository.name == KIMI_K3.repository else draft)
    return SyncJobArgs(
        provider=args.provider,
        namespace=args.namespace,
        repository=repository,
        gigabytes=gigabytes,
        arguments=sync_arguments(args.weights, repository, destination),
        environment=[*bucket_environment(bucket, credentials_name(bucket, args.secrets)), *_hub_environment(args)],
        pods=SyncPods(
            workers=args.weights.workers,
            program=Program(config_map=program_name(), mirror=args.mirror, image=args.weights.image),
            node_selector={},
            after=[*args.after, *before],
        ),
        labels=args.labels,
    )


def sync_arguments(weights: ExistingWeights, repository: Repository, destination: str) -> Sequence[str]:
    """Return the arguments of the copying program."""
    found = ["--repository", repository.name, "--revision", repository.revision, "--source", weights.source]
    found += ["--to", destination]
    # Both pins are the model's own; the draft model has its commit.
    if repository.name == KIMI_K3.repository:
        found += ["--source-revision", weights.source_revision] if weights.source_revision else []
        found += ["--digest", weights.digest] if weights.digest else []
    return found


def _hub_environment(args: WeightBucketArgs) -> list[Manifest]:
    """Return the token and the mirror under the names that belong to the hub."""
    token, endpoint = _HUB_VARIABLES.get(args.weights.source, _HUB_VARIABLES["huggingface"])
    found: list[Manifest] = [{"name": endpoint, "value": args.mirror.hub}] if args.mirror.hub else []
    if args.secrets.hub_token is not None:
        found.append({"name": token, "valueFrom": {"secretKeyRef": {"name": _HUB_TOKEN, "key": "token"}}})
    return found
