"""Kinds of objects: how the provider's type tokens, the manifests and the API server's messages name them."""

from dataclasses import dataclass
from typing import Final

from rehearsal.fakes.values import Properties, mapping

RELEASE: Final = "kubernetes:helm.sh/v3:Release"
DEFINITION: Final = "kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition"
NAMESPACE: Final = "kubernetes:core/v1:Namespace"

# `kubectl api-resources --namespaced=false` of Kubernetes 1.35, without the kinds that nobody creates.
_CLUSTER_WIDE: Final = frozenset(
    {
        "APIService",
        "CSIDriver",
        "CertificateSigningRequest",
        "ClusterRole",
        "ClusterRoleBinding",
        "CustomResourceDefinition",
        "DeviceClass",
        "FlowSchema",
        "IngressClass",
        "MutatingWebhookConfiguration",
        "Namespace",
        "Node",
        "PersistentVolume",
        "PriorityClass",
        "PriorityLevelConfiguration",
        "ResourceSlice",
        "RuntimeClass",
        "StorageClass",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "ValidatingWebhookConfiguration",
        "VolumeAttachment",
    }
)
# Groups of built-in kinds whose name has a dot; every other group with one belongs to a custom kind.
_BUILT_IN_SUFFIX: Final = ".k8s.io"
_BUILT_IN_GROUPS: Final = frozenset(
    f"{group}{_BUILT_IN_SUFFIX}"
    for group in (
        "admissionregistration",
        "apiextensions",
        "apiregistration",
        "authentication",
        "authorization",
        "certificates",
        "coordination",
        "discovery",
        "events",
        "flowcontrol.apiserver",
        "internal.apiserver",
        "networking",
        "node",
        "rbac.authorization",
        "resource",
        "scheduling",
        "storage",
        "storagemigration",
    )
)


@dataclass(frozen=True)
class Kind:
    """A kind in a version of an API group; the core group is empty."""

    group: str
    version: str
    name: str

    @property
    def api_version(self) -> str:
        """As a manifest writes it: `v1`, `apps/v1`, `leaderworkerset.x-k8s.io/v1`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def custom(self) -> bool:
        """Whether a CustomResourceDefinition has to bring it."""
        return "." in self.group and self.group not in _BUILT_IN_GROUPS

    @property
    def token(self) -> str:
        """The provider's type token, under which its objects are in the account."""
        return f"kubernetes:{self.group or 'core'}/{self.version}:{self.name}"

    @property
    def resource(self) -> str:
        """As the API server's messages call its objects: `services`, `deployments.apps`."""
        plural = _plural(self.name.lower())
        return f"{plural}.{self.group}" if self.group else plural


def kind_of(token: str, inputs: Properties) -> Kind:
    """The kind of an object: what its manifest says, else its type token."""
    _, group_version, name = token.split(":", 2)
    api_version = str(inputs.get("apiVersion") or group_version)
    group, _, version = api_version.rpartition("/")
    return Kind("" if group == "core" else group, version, str(inputs.get("kind") or name))


def cluster_wide(kind: Kind) -> bool:
    """Whether objects of a built-in kind live outside namespaces."""
    return kind.name in _CLUSTER_WIDE and not kind.custom


def name_of(inputs: Properties) -> str:
    """The object's name, or an empty text while it has none."""
    return str(mapping(inputs.get("metadata")).get("name") or "")


def namespace_of(inputs: Properties) -> str:
    """The object's namespace; what names none is in `default`."""
    return str(mapping(inputs.get("metadata")).get("namespace") or "default")


def _plural(singular: str) -> str:
    if singular.endswith("endpoints"):
        return singular
    if singular.endswith("s"):
        return f"{singular}es"
    if singular.endswith("y") and singular[-2] not in "aeiou":
        return f"{singular[:-1]}ies"
    return f"{singular}s"
