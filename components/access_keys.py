"""Keys of an object store that come from the stack's secrets: one Secret in the cluster, read by reference."""

from collections.abc import Mapping, Sequence
from typing import Final

import pulumi
import pulumi_kubernetes as kubernetes

from components.inference_cluster import ClusterAccess, Manifest

ACCESS_KEY: Final = "AWS_ACCESS_KEY_ID"
SECRET_KEY: Final = "AWS_SECRET_ACCESS_KEY"  # noqa: S105 - the variable's name


def access_keys(
    name: str,
    access: ClusterAccess,
    keys: tuple[pulumi.Output[str], pulumi.Output[str]],
    labels: Mapping[str, str],
    opts: pulumi.ResourceOptions,
) -> kubernetes.core.v1.Secret:
    """Keep a pair of keys in a Secret.

    Args:
        name: Of the Secret and of its Pulumi resource.
        access: The cluster.
        keys: The id and the secret part.
        labels: Its labels.
        opts: Parent and what must be there first.
    """
    identity, secret = keys
    return kubernetes.core.v1.Secret(
        name,
        metadata=kubernetes.meta.v1.ObjectMetaArgs(name=name, namespace=access.namespace, labels=labels),
        string_data={ACCESS_KEY: identity, SECRET_KEY: secret},
        opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(provider=access.provider)),
    )


def references(name: str) -> Sequence[Manifest]:
    """Return the variables that read a Secret made by `access_keys`, or one like it."""
    return [
        {"name": key, "valueFrom": {"secretKeyRef": {"name": name, "key": key}}} for key in (ACCESS_KEY, SECRET_KEY)
    ]
