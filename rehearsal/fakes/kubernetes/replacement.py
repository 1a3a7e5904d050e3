"""Which changes of an object mean a new object.

The table is that of pulumi-kubernetes `provider/pkg/provider/diff.go`; kinds that nobody here creates are left out.
"""

from typing import Final

from rehearsal.fakes.kubernetes.kinds import Kind, name_of, namespace_of
from rehearsal.fakes.property_diff import touches
from rehearsal.fakes.values import Properties, mapping

_IDENTITY: Final = ("metadata.name", "metadata.namespace")
_RELEASE: Final = ("name", "namespace")
_BY_KIND: Final[dict[tuple[str, str], tuple[str, ...]]] = {
    ("", "ConfigMap"): ("binaryData", "data"),
    ("", "PersistentVolume"): ("spec.csi", "spec.hostPath", "spec.local", "spec.nfs"),
    ("", "PersistentVolumeClaim"): (
        "spec.accessModes",
        "spec.selector",
        "spec.storageClassName",
        "spec.volumeName",
    ),
    ("", "Secret"): ("type", "stringData", "data"),
    ("", "Service"): ("spec.clusterIP",),
    ("apps", "DaemonSet"): ("spec.selector",),
    ("apps", "Deployment"): ("spec.selector",),
    ("apps", "StatefulSet"): (
        "spec.podManagementPolicy",
        "spec.revisionHistoryLimit",
        "spec.selector",
        "spec.serviceName",
        "spec.volumeClaimTemplates",
    ),
    ("batch", "Job"): ("spec.completions", "spec.parallelism", "spec.selector", "spec.template"),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): ("roleRef",),
    ("rbac.authorization.k8s.io", "RoleBinding"): ("roleRef",),
    ("storage.k8s.io", "StorageClass"): ("parameters", "provisioner"),
}
_AUTONAMED: Final = "pulumi.com/autonamed"


def release_replaces(path: str) -> bool:
    """Whether a change of a Helm release at this path means another release."""
    return touches(path, _RELEASE)


def object_replaces(kind: Kind, path: str) -> bool:
    """Whether a change of an object at this path means a new object."""
    return touches(path, (*_IDENTITY, *_BY_KIND.get((kind.group, kind.name), ())))


def same_name(new: Properties, old: Properties) -> bool:
    """Whether a name that the program chose makes it impossible that both objects exist for a while."""
    annotations = mapping(mapping(new.get("metadata")).get("annotations"))
    if annotations.get(_AUTONAMED) == "true":
        return False
    return (namespace_of(new), name_of(new)) == (namespace_of(old), name_of(old))


def autonamed(inputs: Properties, name: str) -> Properties:
    """The inputs with a generated name and the annotation that tells so, as the real provider sets it."""
    metadata = mapping(inputs.get("metadata"))
    annotations = {**mapping(metadata.get("annotations")), _AUTONAMED: "true"}
    return {**inputs, "metadata": {**metadata, "name": name, "annotations": annotations}}


def generated_name(inputs: Properties) -> str | None:
    """The name that was generated for these inputs; None if the program chose it."""
    annotations = mapping(mapping(inputs.get("metadata")).get("annotations"))
    return name_of(inputs) if annotations.get(_AUTONAMED) == "true" else None
