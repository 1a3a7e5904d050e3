"""`python -m rehearsal.fakes.gcp.kubernetes`: the Kubernetes of a GKE cluster, and its Services' load balancers."""

from rehearsal.fakes.account import Ledger, Thing, from_environment
from rehearsal.fakes.cluster_rules import ClusterRules
from rehearsal.fakes.gcp import load_balancer
from rehearsal.fakes.gcp.provider import BUCKET_SCHEME
from rehearsal.fakes.gcp.references import BUCKET, CLUSTER
from rehearsal.fakes.life_cycle import LifeCycle
from rehearsal.fakes.wire import serve


class GkeKubernetesRules(ClusterRules):
    """What the provider and the API server know, and what becomes of it in the project."""

    cluster = CLUSTER
    bucket = BUCKET
    scheme = BUCKET_SCHEME

    def made(self, thing: Thing, ledger: Ledger) -> None:
        """Make the load balancer that a Service asks for."""
        super().made(thing, ledger)
        _balance(thing, ledger)

    def changed(self, thing: Thing, ledger: Ledger) -> None:
        """Make another load balancer for a changed Service, or none."""
        super().changed(thing, ledger)
        load_balancer.withdraw(f"{thing.type} {thing.id}", ledger)
        _balance(thing, ledger)

    def gone(self, thing: Thing, ledger: Ledger) -> None:
        """Take the load balancer along."""
        super().gone(thing, ledger)
        load_balancer.withdraw(f"{thing.type} {thing.id}", ledger)


def _balance(thing: Thing, ledger: Ledger) -> None:
    if load_balancer.scheme_of(thing):
        address = load_balancer.make(thing, ledger)
        thing.outputs["status"] = {"loadBalancer": {"ingress": [{"ip": address}]}}


if __name__ == "__main__":
    serve(LifeCycle(GkeKubernetesRules(), from_environment()))
