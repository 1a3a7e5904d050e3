"""The rules of the `kubernetes` provider: objects, custom objects and Helm releases in one cluster."""

import hashlib
import importlib.metadata
import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from rehearsal.fakes.account import Ledger, Rate, Thing
from rehearsal.fakes.construction import Component
from rehearsal.fakes.kubernetes import admission, helm_release, kubeconfig, replacement
from rehearsal.fakes.kubernetes.built_in import NEWEST_KUBERNETES, built_in_failures, pod_failures
from rehearsal.fakes.kubernetes.definitions import Definition, definitions_in
from rehearsal.fakes.kubernetes.kinds import (
    DEFINITION,
    NAMESPACE,
    RELEASE,
    Kind,
    cluster_wide,
    kind_of,
    name_of,
    namespace_of,
)
from rehearsal.fakes.kubernetes.status import computed
from rehearsal.fakes.rules import Failure, RefusedError, Resource
from rehearsal.fakes.values import UNKNOWN, Properties, Secret, mapping, masked, sequence

DEFINITIONS_VARIABLE: Final = "REHEARSAL_DEFINITIONS"
"""Environment variable with the folders of CustomResourceDefinitions, separated like PATH."""

_NAMESPACES_OF_EVERY_CLUSTER: Final = frozenset({"default", "kube-node-lease", "kube-public", "kube-system"})
_SECRET_FIELDS: Final = ("data", "stringData")
# pulumi-kubernetes waits 10 minutes for an object (await/util.go) and 5 for a release (helm_release.go).
_PATIENCE_SECONDS: Final = 600.0
_RELEASE_PATIENCE_SECONDS: Final = 300.0


class KubernetesRules:
    """What the provider and the API server know.

    The account's settings: `kubernetes_version` (`1.35`), `definitions` (folders of CustomResourceDefinitions),
    `served` (names of the definitions that the cluster has before the program comes).
    """

    package = "kubernetes"
    version = importlib.metadata.version("pulumi-kubernetes")
    components: Mapping[str, Component] = MappingProxyType({})

    def check_config(self, config: Properties) -> list[Failure]:
        """Refuse a kubeconfig that isn't one, and a context that isn't in it."""
        return kubeconfig.config_failures(config)

    def configure(self, config: Properties) -> None:
        """Need nothing: the cluster is the account's."""

    def moves_account(self, old: Properties, new: Properties) -> list[str]:
        """Arguments whose change means another cluster."""
        return kubeconfig.moves_cluster(old, new)

    def completed(self, resource: Resource, old: Properties | None) -> Properties:
        """Generate the name of what has none, and mark what a Secret holds as secret."""
        if resource.type == RELEASE:
            name = resource.inputs.get("name") or (old or {}).get("name") or _generated(resource)
            return {**resource.inputs, "name": name}
        inputs = _secrets_marked(resource.inputs)
        metadata = inputs.get("metadata")
        if metadata is UNKNOWN or mapping(metadata).get("name") is not None:
            return inputs
        # A name that was generated once is kept, or every update would be a replacement.
        earlier = replacement.generated_name(old) if old else None
        return replacement.autonamed(inputs, earlier or _generated(resource))

    def check(self, resource: Resource, settings: Properties) -> list[Failure]:
        """Refuse what doesn't fit the schema of its kind, and what the API server checks beyond schemas."""
        if resource.type == RELEASE:
            return helm_release.release_failures(resource.inputs)
        kind = kind_of(resource.type, resource.inputs)
        if unplayed := _unplayed(resource.type, kind):
            return [Failure("", unplayed)]
        failures = _schema_failures(kind, resource.inputs, settings)
        if failures:
            return failures
        manifest = mapping(masked(resource.inputs))
        return [failure for rule in admission.RULES for failure in rule(manifest)]

    def replaces(self, resource: Resource, path: str) -> bool:
        """Whether a change means a new object."""
        if resource.type == RELEASE:
            return replacement.release_replaces(path)
        return replacement.object_replaces(kind_of(resource.type, resource.inputs), path)

    def deletes_first(self, resource: Resource, old: Properties) -> bool:
        """Whether the new object has the old one's name, chosen by the program."""
        return resource.type != RELEASE and replacement.same_name(resource.inputs, old)

    def planned(self, resource: Resource) -> Properties:
        """The inputs: what the cluster adds is unknown, as for the real provider before the cluster exists."""
        if resource.type == RELEASE:
            return helm_release.release_outputs(resource.inputs, installed=False)
        return resource.inputs

    def rate(self, resource: Resource) -> Rate:
        """Nothing: nodes bill, objects don't."""
        del resource
        return Rate()

    def identity(self, resource: Resource, ledger: Ledger) -> str:
        """`namespace/name`, or the name alone of what lives outside namespaces."""
        del ledger
        return _object_id(resource)

    def seconds(self, resource: Resource) -> float:
        """A second for an object; half a minute until a chart's pods run."""
        return 30.0 if resource.type == RELEASE else 1.0

    def patience(self, resource: Resource) -> float:
        """What the provider waits for without a custom timeout."""
        return _RELEASE_PATIENCE_SECONDS if resource.type == RELEASE else _PATIENCE_SECONDS

    def admit(self, resource: Resource, ledger: Ledger) -> None:
        """Refuse an unknown kind, a name that is taken, a namespace that isn't there."""
        if resource.type == RELEASE:
            helm_release.admit_release(resource.inputs, ledger)
            return
        kind = kind_of(resource.type, resource.inputs)
        refuse_unknown_kind(resource, kind, ledger)
        if not cluster_wide(kind):
            refuse_missing_namespace(resource, ledger)
        refuse_taken_name(kind, _object_id(resource), ledger)

    def outputs(self, resource: Resource, identity: str, ledger: Ledger) -> Properties:
        """The object as the cluster shows it once it is ready."""
        del identity
        if resource.type == RELEASE:
            return helm_release.release_outputs(resource.inputs, installed=True)
        return computed(kind_of(resource.type, resource.inputs), resource.inputs, ledger.clock.stamp())

    def made(self, thing: Thing, ledger: Ledger) -> None:
        """A release brings its chart's definitions."""
        if thing.type == RELEASE:
            helm_release.install(thing, ledger)

    def changed(self, thing: Thing, ledger: Ledger) -> None:
        """Nothing else changes with an object."""

    def catch_up(self, ledger: Ledger) -> None:
        """Nothing happens by itself."""

    def gone(self, thing: Thing, ledger: Ledger) -> None:
        """With a namespace goes all that is in it, with a definition all objects of its kind."""
        for other in list(ledger.things):
            in_namespace = thing.type == NAMESPACE and other.id.startswith(f"{thing.id}/")
            of_kind = thing.type == DEFINITION and kind_of(other.type, other.inputs).resource == thing.id
            if in_namespace or of_kind:
                ledger.remove(other, f"went with {thing.type.rsplit(':', 1)[-1]} {thing.id}")

    def invoke(self, token: str, arguments: Properties, ledger: Ledger) -> Properties:
        """Refuse look-ups: the provider's functions render charts and YAML, which no stand-in plays."""
        del arguments, ledger
        raise RefusedError(f"the stand-in for kubernetes doesn't play the function {token}")


def refuse_unknown_kind(resource: Resource, kind: Kind, ledger: Ledger) -> None:
    """Refuse a custom object whose definition isn't in the cluster (provider.go `Create`, `IsNoMatchError`)."""
    known = sequence(ledger.settings.get("served"))
    if not kind.custom or kind.resource in known or ledger.find(DEFINITION, kind.resource):
        return
    raise RefusedError(
        f'creation of resource "{resource.urn}" with kind {kind.api_version}/{kind.name} failed because the '
        "Kubernetes API server reported that the apiVersion for this resource does not exist. Verify that any "
        f'required CRDs have been created: no matches for kind "{kind.name}" in version "{kind.api_version}"'
    )


def refuse_missing_namespace(resource: Resource, ledger: Ledger) -> None:
    """Refuse an object whose namespace isn't there (apiserver, NamespaceLifecycle admission)."""
    namespace = namespace_of(resource.inputs)
    if namespace not in _NAMESPACES_OF_EVERY_CLUSTER and not ledger.find(NAMESPACE, namespace):
        raise RefusedError(_not_created(resource, f'namespaces "{namespace}" not found'))


def refuse_taken_name(kind: Kind, identity: str, ledger: Ledger) -> None:
    """Refuse an object that exists already (apimachinery, `NewAlreadyExists`; no upsert since 4.29.0)."""
    if any(thing.id == identity and kind_of(thing.type, {}).resource == kind.resource for thing in ledger.things):
        name = identity.rsplit("/", 1)[-1]
        raise RefusedError(f'{kind.resource} "{name}" already exists')


def _not_created(resource: Resource, text: str) -> str:
    return f'resource "{resource.urn}" was not successfully created by the Kubernetes API server: {text}'


def _secrets_marked(inputs: Properties) -> Properties:
    """What a Secret holds is secret even if the program didn't say so (provider.go `annotateSecrets`)."""
    if inputs.get("kind") != "Secret":
        return dict(inputs)
    held = {key: inputs[key] for key in _SECRET_FIELDS if key in inputs and not isinstance(inputs[key], Secret)}
    return {**inputs, **{key: Secret(value) for key, value in held.items()}}


def _schema_failures(kind: Kind, manifest: Properties, settings: Properties) -> list[Failure]:
    version = str(settings.get("kubernetes_version") or NEWEST_KUBERNETES)
    if not kind.custom:
        return built_in_failures(kind, manifest, version)
    definition = _definitions(settings).get(kind)
    failures = definition.failures(manifest) if definition else []
    pods = [f for path, pod in admission.pod_templates(manifest) for f in pod_failures(pod, version, path)]
    return failures or pods


def _definitions(settings: Properties) -> dict[Kind, Definition]:
    named = os.environ.get(DEFINITIONS_VARIABLE, "").split(os.pathsep)
    folders = [*map(str, sequence(settings.get("definitions"))), *named]
    return definitions_in([Path(folder) for folder in folders if folder])


def _unplayed(token: str, kind: Kind) -> str:
    """Why this stand-in can't play a type at all; empty if it can."""
    if kind.name.endswith("List"):
        return (
            "list resources exist for compatibility with YAML manifests and Helm charts, and cannot be created "
            "directly. Use the underlying resource type instead"
        )
    name = token.rsplit(":", 1)[-1]
    if name.endswith("Patch") and not kind.name.endswith("Patch"):
        return f"the stand-in for kubernetes doesn't play {name}: it patches objects that aren't in the account"
    return ""


def _object_id(resource: Resource) -> str:
    if resource.type == RELEASE:
        return helm_release.release_id(resource.inputs)
    name = name_of(resource.inputs)
    outside = cluster_wide(kind_of(resource.type, resource.inputs))
    return name if outside else f"{namespace_of(resource.inputs)}/{name}"


def _generated(resource: Resource) -> str:
    """The logical name and 8 hexadecimal digits, as `resource.NewUniqueName` of the SDK makes them."""
    digest = hashlib.sha256(resource.seed + resource.urn.encode()).hexdigest()
    return f"{resource.name}-{digest[:8]}"
