"""The namespace that everything of ours lives in."""

from collections.abc import Mapping

import pulumi
import pulumi_kubernetes as kubernetes

from components import labels
from components.inference_cluster import ClusterAccess


def namespace(access: ClusterAccess, common_labels: Mapping[str, str], owner: str) -> kubernetes.core.v1.Namespace:
    """Make the namespace.

    Args:
        access: The cluster, and the namespace's name.
        common_labels: Its labels.
        owner: Who answers for the bill.
    """
    return kubernetes.core.v1.Namespace(
        "namespace",
        metadata=kubernetes.meta.v1.ObjectMetaArgs(
            name=access.namespace, labels=common_labels, annotations={labels.OWNER_ANNOTATION: owner}
        ),
        opts=pulumi.ResourceOptions(provider=access.provider),
    )
