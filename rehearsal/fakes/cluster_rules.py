"""The Kubernetes of a cluster that the program makes: it answers while the cluster exists, and its Jobs fill buckets.

A cloud's own class says which cluster and which buckets, and adds what the cloud's controllers do for a Service.
"""

from typing import Final

from rehearsal.fakes.account import Ledger, Thing
from rehearsal.fakes.kubernetes.kinds import kind_of
from rehearsal.fakes.kubernetes.provider import KubernetesRules
from rehearsal.fakes.paths import texts_at
from rehearsal.fakes.rules import RefusedError, Resource
from rehearsal.fakes.weights import fill

_CONTAINERS: Final = "spec.template.spec.containers"


class ClusterRules(KubernetesRules):
    """What the provider and the API server know, and what becomes of it in the account."""

    cluster: str
    """Type of the cloud's clusters; the account has one."""
    bucket: str
    """Type of the cloud's buckets."""
    scheme: str
    """That the URLs of its buckets begin with, such as `s3://`."""

    def admit(self, resource: Resource, ledger: Ledger) -> None:
        """Answer only while there is a cluster."""
        self._refuse_unreachable(ledger)
        super().admit(resource, ledger)

    def made(self, thing: Thing, ledger: Ledger) -> None:
        """Fill the bucket that a Job copies to."""
        super().made(thing, ledger)
        if kind_of(thing.type, thing.inputs).name == "Job":
            words = [text for part in ("command", "args") for text in texts_at(thing.inputs, f"{_CONTAINERS}.{part}")]
            fill(words, self.scheme, self.bucket, ledger)

    def gone(self, thing: Thing, ledger: Ledger) -> None:
        """Answer only while there is a cluster."""
        self._refuse_unreachable(ledger)
        super().gone(thing, ledger)

    def _refuse_unreachable(self, ledger: Ledger) -> None:
        if not ledger.of_type(self.cluster):
            # pulumi-kubernetes, provider.go: what every operation says once the cluster can't be reached.
            raise RefusedError(
                "configured Kubernetes cluster is unreachable: unable to load schema information from the API server"
            )
