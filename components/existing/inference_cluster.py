"""Everything on a cluster you already have that the model needs before it can be served."""

from pathlib import Path

import pulumi
import pulumi_kubernetes as kubernetes

from components import labels
from components.config import Secrets
from components.existing.settings import ExistingSettings
from components.existing.weight_source import ACCESS_KEY, SECRET_KEY, weight_source
from components.inference_cluster import InferenceCluster, Placement, PodNeeds
from components.plan.planner import Plan


def inference_cluster(settings: ExistingSettings, secrets: Secrets, plan: Plan) -> InferenceCluster:
    """Return the cluster: its provider, one namespace of ours, and the bucket's credentials if there are any."""
    del plan  # The nodes are there; no piece of this cloud depends on how the model is cut.
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
    credentials = _credentials(settings, secrets, pulumi.ResourceOptions(provider=provider, depends_on=namespace))
    return InferenceCluster(
        provider=provider,
        kubeconfig=kubeconfig,
        context=cluster.context,
        namespace=cluster.namespace,
        weights=weight_source(settings.weights, _credentials_name(settings, secrets)),
        placement=Placement(
            node_selector=cluster.node_selector,
            tolerations=[taint.model_dump(by_alias=True, exclude_none=True) for taint in cluster.tolerations],
        ),
        pod=PodNeeds(runtime_class=cluster.runtime_class),
        controller_present=cluster.leader_worker_set == "present",
        ready=[*namespace, *credentials],
    )


def _credentials_name(settings: ExistingSettings, secrets: Secrets) -> str | None:
    bucket = settings.weights.bucket
    if bucket is None or bucket.credentials_secret is not None:
        return bucket.credentials_secret if bucket else None
    return "bucket-credentials" if secrets.bucket_access_key_id is not None else None


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
                labels=labels.common(cluster.namespace, pulumi.get_project(), pulumi.get_stack(), settings.tags),
                annotations={labels.OWNER_ANNOTATION: settings.owner},
            ),
            opts=pulumi.ResourceOptions(provider=provider),
        )
    ]


def _credentials(settings: ExistingSettings, secrets: Secrets, opts: pulumi.ResourceOptions) -> list[pulumi.Resource]:
    """Put the bucket's keys from the secret config into a Secret, unless the cluster has one."""
    bucket = settings.weights.bucket
    if bucket is None or bucket.credentials_secret is not None or secrets.bucket_access_key_id is None:
        return []
    return [
        kubernetes.core.v1.Secret(
            "bucket-credentials",
            metadata=kubernetes.meta.v1.ObjectMetaArgs(
                name=_credentials_name(settings, secrets), namespace=settings.cluster.namespace
            ),
            string_data={
                ACCESS_KEY: secrets.bucket_access_key_id,
                SECRET_KEY: secrets.bucket_secret_access_key or "",
            },
            opts=opts,
        )
    ]
