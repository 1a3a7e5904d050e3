"""`python -m rehearsal.fakes.azure_native.kubernetes`: the Kubernetes of an AKS cluster, and what follows in Azure.

The cluster is the subscription's: before it is made and after it is deleted nothing answers. A copy into a container
needs what a pod needs on Azure: the label, an identity that trusts its service account, the role, and a way in.
"""

from typing import Final

from rehearsal.fakes.account import Ledger, Thing, from_environment
from rehearsal.fakes.azure_native import load_balancer
from rehearsal.fakes.azure_native import references as ref
from rehearsal.fakes.azure_native.access import BLOB_CONTRIBUTOR, given, principal_of, trusted
from rehearsal.fakes.azure_native.cluster import issuer_of
from rehearsal.fakes.azure_native.provider import CONTAINER_SCHEME
from rehearsal.fakes.azure_native.storage import admits
from rehearsal.fakes.cluster_rules import ClusterRules
from rehearsal.fakes.kubernetes.kinds import kind_of, namespace_of
from rehearsal.fakes.life_cycle import LifeCycle
from rehearsal.fakes.paths import text_at, texts_at
from rehearsal.fakes.rules import UnreadyError
from rehearsal.fakes.values import mapping
from rehearsal.fakes.wire import serve

_POD: Final = "spec.template.spec"
_LABEL: Final = "azure.workload.identity/use"
_CLIENT: Final = "azure.workload.identity/client-id"
_PATIENCE_SECONDS: Final = 600.0
_DENIED: Final = "This request is not authorized to perform this operation"
"""Storage's own words (Storage, common error codes)."""
_SERVICE_ACCOUNT: Final = "kubernetes:core/v1:ServiceAccount"


class AksKubernetesRules(ClusterRules):
    """What the provider and the API server know, and what becomes of it in the subscription."""

    cluster = ref.CLUSTER
    bucket = ref.CONTAINER
    scheme = CONTAINER_SCHEME

    def made(self, thing: Thing, ledger: Ledger) -> None:
        """Make the load balancer of a Service, and let a Job copy only with the right to.

        Raises:
            UnreadyError: There is no load balancer, or the copy isn't let in.
        """
        if reason := _shut_out(thing, ledger):
            raise UnreadyError(f"Job failed: {reason}", thing)
        super().made(thing, ledger)
        _balance(thing, ledger)

    def changed(self, thing: Thing, ledger: Ledger) -> None:
        """Make the load balancer of a changed Service anew."""
        load_balancer.withdraw(thing, ledger)
        _balance(thing, ledger)

    def gone(self, thing: Thing, ledger: Ledger) -> None:
        """Take the load balancer along."""
        super().gone(thing, ledger)
        load_balancer.withdraw(thing, ledger)


def _balance(thing: Thing, ledger: Ledger) -> None:
    if not load_balancer.wanted(thing):
        return
    address, reason = load_balancer.make(thing, ledger)
    if reason:
        thing.outputs["status"] = {"loadBalancer": {}}
        ledger.clock.advance(_PATIENCE_SECONDS)
        # pulumi-kubernetes, await/service.go.
        text = f"Service was not allocated an IP address; does your cloud provider support this? (here: {reason})"
        raise UnreadyError(f"timed out waiting to be Ready: {text}", thing)
    thing.outputs["status"] = {"loadBalancer": {"ingress": [{"ip": address}]}}


def _shut_out(thing: Thing, ledger: Ledger) -> str:
    """Why a Job that writes into a container fails; empty for one that doesn't, and for any other object."""
    if kind_of(thing.type, thing.inputs).name != "Job":
        return ""
    words = [text for part in ("command", "args") for text in texts_at(thing.inputs, f"{_POD}.containers.{part}")]
    urls = [text for text in words if text.startswith(CONTAINER_SCHEME)]
    if not urls:
        return ""
    labels = mapping(mapping(mapping(mapping(thing.inputs.get("spec")).get("template")).get("metadata")).get("labels"))
    if labels.get(_LABEL) != "true":
        # azure-workload-identity, quick start: without the label of the pod its webhook does nothing.
        return "DefaultAzureCredential failed to retrieve a token from the included credentials."
    name, space = text_at(thing.inputs, f"{_POD}.serviceAccountName") or "default", namespace_of(thing.inputs)
    account = ledger.find(_SERVICE_ACCOUNT, f"{space}/{name}")
    client = str(mapping(mapping(account.inputs.get("metadata")).get("annotations")).get(_CLIENT)) if account else ""
    cluster = ledger.of_type(ref.CLUSTER)[0]
    identity = trusted(client, f"system:serviceaccount:{space}:{name}", issuer_of(cluster), ledger)
    if identity is None:
        return "AADSTS70021: No matching federated identity record found for presented assertion."
    container = urls[0].removeprefix(CONTAINER_SCHEME).split("/")[0]
    for each in ledger.of_type(ref.CONTAINER):
        if ref.last(each.id) == container:
            return _refusal(each, principal_of(identity), cluster, ledger)
    return f"ContainerNotFound: The specified container does not exist: {container}"


def _refusal(container: Thing, principal: str, cluster: Thing, ledger: Ledger) -> str:
    account = ledger.find(ref.ACCOUNT, container.id.partition("/blobServices/")[0])
    if account is not None and not admits(account, text_at(cluster.inputs, "agentPoolProfiles.vnetSubnetID")):
        return f"AuthorizationFailure: {_DENIED}."
    # However young it is: the program gives it while the cluster is made, which the account's clock knows nothing of.
    if not given(principal, BLOB_CONTRIBUTOR, container.id, ledger):
        return f"AuthorizationPermissionMismatch: {_DENIED} using this permission."
    return ""


if __name__ == "__main__":
    serve(LifeCycle(AksKubernetesRules(), from_environment()))
