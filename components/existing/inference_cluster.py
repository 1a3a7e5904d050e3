"""Everything on a cluster you already have that the model needs before it can be served."""

from pathlib import Path

import pulumi
import pulumi_kubernetes as kubernetes

from components import labels
from components.config import Secrets
from components.existing import weight_source
from components.existing.settings import ExistingSettings
from components.existing.weight_bucket import WeightBucket, WeightBucketArgs, credentials_name, program_name
from components.inference_cluster import InferenceCluster, Placement, PodNeeds, Weights
from components.plan.planner import Plan
from components.weights.program import Program


def inference_cluster(settings: ExistingSettings, secrets: Secrets, plan: Plan) -> InferenceCluster:
    """Return the cluster: its provider, one namespace of ours, and the weights in place."""
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
    namespace = _namespace(settings, provider)
    bucket = _weight_bucket(settings, secrets, plan, provider, namespace)
    return InferenceCluster(
        provider=provider,
        kubeconfig=kubeconfig,
        context=cluster.context,
        namespace=cluster.namespace,
        weights=_weights(settings, secrets, plan),
        placement=Placement(
            node_selector=cluster.node_selector,
            tolerations=[taint.model_dump(by_alias=True, exclude_none=True) for taint in cluster.tolerations],
        ),
        pod=PodNeeds(runtime_class=cluster.runtime_class),
        controller_present=cluster.leader_worker_set == "present",
        ready=[*namespace, *bucket],
    )


def _weights(settings: ExistingSettings, secrets: Secrets, plan: Plan) -> Weights:
    weights = settings.weights
    if weights.bucket is None:
        return weight_source.mounted(weights)
    credentials = credentials_name(weights.bucket, secrets)
    if weights.delivery == "stream":
        return weight_source.streamed(weights, weights.bucket, credentials)
    files = Program(config_map=program_name(), mirror=settings.mirror, image=weights.image)
    return weight_source.copied(
        weights,
        weights.bucket,
        credentials,
        files,
        draft=plan.draft_tokens > 0,
        link_gbps=plan.machine.network_gbps,
    )


def _weight_bucket(
    settings: ExistingSettings,
    secrets: Secrets,
    plan: Plan,
    provider: kubernetes.Provider,
    namespace: list[pulumi.Resource],
) -> list[pulumi.Resource]:
    """Fill the bucket; what is returned exists before any pod of the engine does."""
    bucket = settings.weights.bucket
    if bucket is None:
        return []
    args = WeightBucketArgs(
        provider=provider,
        namespace=settings.cluster.namespace,
        weights=settings.weights,
        secrets=secrets,
        draft=plan.draft_tokens > 0,
        mirror=settings.mirror,
        labels=_labels(settings, "weights"),
        after=namespace,
    )
    return WeightBucket("weights", args, bucket).ready


def _namespace(settings: ExistingSettings, provider: kubernetes.Provider) -> list[pulumi.Resource]:
    """Make the namespace, unless it is there: then it stays when this stack goes."""
    cluster = settings.cluster
    if not cluster.create_namespace:
        return []
    return [
        kubernetes.core.v1.Namespace(
            "namespace",
            metadata=kubernetes.meta.v1.ObjectMetaArgs(
                name=cluster.namespace,
                labels=_labels(settings, cluster.namespace),
                annotations={labels.OWNER_ANNOTATION: settings.owner},
            ),
            opts=pulumi.ResourceOptions(provider=provider),
        )
    ]


def _labels(settings: ExistingSettings, name: str) -> dict[str, str]:
    return labels.common(name, pulumi.get_project(), pulumi.get_stack(), settings.tags)
