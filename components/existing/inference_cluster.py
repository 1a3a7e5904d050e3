"""Everything on a cluster you already have that the model needs before it can be served."""

from pathlib import Path

import pulumi
import pulumi_kubernetes as kubernetes

from components import labels
from components.config import Secrets
from components.existing import weight_source
from components.existing.settings import ExistingSettings
from components.existing.weight_bucket import WeightBucket, WeightBucketArgs, credentials_name
from components.inference_cluster import ClusterAccess, InferenceCluster, Placement, PodNeeds, Weights
from components.namespace import namespace
from components.plan.planner import Plan
from components.weights.bucket_fill import program_files


def inference_cluster(settings: ExistingSettings, secrets: Secrets, plan: Plan) -> InferenceCluster:
    """Return the cluster: its provider, one namespace of ours, and the weights in place."""
    cluster = settings.cluster
    access = _access(settings, secrets)
    # A namespace that was there before stays when this stack goes.
    made = cluster.create_namespace
    ours = [namespace(access, _labels(settings, cluster.namespace), settings.owner)] if made else []
    bucket = _weight_bucket(settings, secrets, plan, access, [*ours])
    return InferenceCluster(
        access=access,
        weights=_weights(settings, secrets, plan),
        placement=Placement(
            node_selector=cluster.node_selector,
            tolerations=[taint.model_dump(by_alias=True, exclude_none=True) for taint in cluster.tolerations],
        ),
        pod=PodNeeds(runtime_class=cluster.runtime_class),
        controller_present=cluster.leader_worker_set == "present",
        ready=[*ours, *bucket],
    )


def _access(settings: ExistingSettings, secrets: Secrets) -> ClusterAccess:
    cluster = settings.cluster
    # The path, so that no credential enters the state, or the secret contents where CI has no file.
    kubeconfig = secrets.kubeconfig or str(Path(cluster.kubeconfig).expanduser())
    provider = kubernetes.Provider(
        "cluster",
        kubeconfig=kubeconfig,
        context=cluster.context,
        # Another kubeconfig for the same context is the same cluster; without this every object would be replaced.
        cluster_identifier=f"{pulumi.get_project()}-{pulumi.get_stack()}-{cluster.context}",
        enable_server_side_apply=True,
    )
    return ClusterAccess(provider=provider, kubeconfig=kubeconfig, context=cluster.context, namespace=cluster.namespace)


def _weights(settings: ExistingSettings, secrets: Secrets, plan: Plan) -> Weights:
    weights = settings.weights
    if weights.bucket is None:
        return weight_source.mounted(weights)
    credentials = credentials_name(weights.bucket, secrets)
    if weights.delivery == "stream":
        return weight_source.streamed(weights, weights.bucket, credentials)
    return weight_source.copied(
        weights,
        weights.bucket,
        credentials,
        program_files(settings.mirror, weights),
        draft=plan.draft_tokens > 0,
        link_gbps=plan.machine.network_gbps,
    )


def _weight_bucket(
    settings: ExistingSettings, secrets: Secrets, plan: Plan, access: ClusterAccess, after: list[pulumi.Resource]
) -> list[pulumi.Resource]:
    """Fill the bucket; what is returned exists before any pod of the engine does."""
    bucket = settings.weights.bucket
    if bucket is None:
        return []
    args = WeightBucketArgs(
        access=access,
        weights=settings.weights,
        secrets=secrets,
        draft=plan.draft_tokens > 0,
        mirror=settings.mirror,
        labels=_labels(settings, "weights"),
        after=after,
    )
    return WeightBucket("weights", args, bucket).ready


def _labels(settings: ExistingSettings, name: str) -> dict[str, str]:
    return labels.common(name, pulumi.get_project(), pulumi.get_stack(), settings.tags)
