"""Service accounts: the identities of our pods, which a cloud ties to rights of its own."""

from collections.abc import Mapping

import pulumi
import pulumi_kubernetes as kubernetes

from components.inference_cluster import ClusterAccess


def service_account(
    name: str,
    access: ClusterAccess,
    labels: Mapping[str, str],
    opts: pulumi.ResourceOptions,
    annotations: Mapping[str, pulumi.Input[str]] | None = None,
) -> kubernetes.core.v1.ServiceAccount:
    """Make a service account.

    Args:
        name: In the namespace; the Pulumi resource has the same with `-account`.
        access: The cluster.
        labels: Its labels.
        opts: Parent and what must be there first.
        annotations: What ties it to a cloud's identity, where that is the cloud's way.
    """
    return kubernetes.core.v1.ServiceAccount(
        f"{name}-account",
        metadata=kubernetes.meta.v1.ObjectMetaArgs(
            name=name, namespace=access.namespace, labels=labels, annotations=annotations
        ),
        opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(provider=access.provider)),
    )
