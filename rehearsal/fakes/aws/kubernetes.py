"""`python -m rehearsal.fakes.aws.kubernetes`: the Kubernetes of an EKS cluster, and its controllers' work in AWS.

The cluster is the account's: before it is made and after it is deleted nothing answers.
"""

from typing import Final

from rehearsal.fakes.account import Ledger, Thing, from_environment
from rehearsal.fakes.aws import load_balancer
from rehearsal.fakes.aws.provider import BUCKET_SCHEME
from rehearsal.fakes.aws.references import BUCKET, CLUSTER
from rehearsal.fakes.cluster_rules import ClusterRules
from rehearsal.fakes.life_cycle import LifeCycle
from rehearsal.fakes.rules import UnreadyError
from rehearsal.fakes.values import Properties
from rehearsal.fakes.wire import serve

_PATIENCE_SECONDS: Final = 600.0


class EksKubernetesRules(ClusterRules):
    """What the provider and the API server know, and what becomes of it in the account."""

    cluster = CLUSTER
    bucket = BUCKET
    scheme = BUCKET_SCHEME

    def made(self, thing: Thing, ledger: Ledger) -> None:
        """Make the load balancer that the object asks for.

        Raises:
            UnreadyError: It gets none.
        """
        super().made(thing, ledger)
        self._balance(thing, ledger)

    def changed(self, thing: Thing, ledger: Ledger) -> None:
        """Make or take away the load balancer of a changed object."""
        load_balancer.withdraw(_owners(ledger), ledger)
        if load_balancer.of(thing, ledger) is None:
            self._balance(thing, ledger)
        else:
            _show_address(thing, ledger)

    def gone(self, thing: Thing, ledger: Ledger) -> None:
        """Take the load balancers along, where their controller is still there."""
        super().gone(thing, ledger)
        load_balancer.withdraw([owner for owner in _owners(ledger) if owner != f"{thing.type} {thing.id}"], ledger)

    def _balance(self, thing: Thing, ledger: Ledger) -> None:
        wish = load_balancer.wish_of(thing)
        if wish is None:
            return
        if reason := load_balancer.make(wish, ledger):
            thing.outputs["status"] = {"loadBalancer": {}}
            ledger.clock.advance(_PATIENCE_SECONDS)
            # pulumi-kubernetes, await/service.go.
            text = f"Service was not allocated an IP address; does your cloud provider support this? (here: {reason})"
            raise UnreadyError(f"timed out waiting to be Ready: {text}", thing)
        _show_address(thing, ledger)


def _show_address(thing: Thing, ledger: Ledger) -> None:
    balancer = load_balancer.of(thing, ledger)
    if balancer is not None:
        ingress: list[Properties] = [{"hostname": load_balancer.hostname(balancer, ledger)}]
        thing.outputs["status"] = {"loadBalancer": {"ingress": ingress}}


def _owners(ledger: Ledger) -> list[str]:
    """Type and id of all objects that still ask for a load balancer."""
    wishes = map(load_balancer.wish_of, ledger.of_type("kubernetes:*"))
    return [wish.owner for wish in wishes if wish is not None]


if __name__ == "__main__":
    serve(LifeCycle(EksKubernetesRules(), from_environment()))
