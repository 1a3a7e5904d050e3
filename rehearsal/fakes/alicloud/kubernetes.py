"""`python -m rehearsal.fakes.alicloud.kubernetes`: the Kubernetes of an ACK cluster, and what ACK does for it.

The cluster is the account's: before it is made and after it is deleted nothing answers.
"""

from rehearsal.fakes.account import Ledger, Thing, from_environment
from rehearsal.fakes.alicloud import load_balancer
from rehearsal.fakes.alicloud.provider import BUCKET_SCHEME
from rehearsal.fakes.alicloud.references import BUCKET, CLUSTER
from rehearsal.fakes.cluster_rules import ClusterRules
from rehearsal.fakes.life_cycle import LifeCycle
from rehearsal.fakes.rules import UnreadyError
from rehearsal.fakes.wire import serve


class AckKubernetesRules(ClusterRules):
    """What the provider and the API server know, and what becomes of it in the account."""

    cluster = CLUSTER
    bucket = BUCKET
    scheme = BUCKET_SCHEME

    def made(self, thing: Thing, ledger: Ledger) -> None:
        """Make the load balancer that a Service asks for.

        Raises:
            UnreadyError: It gets none.
        """
        super().made(thing, ledger)
        self._balance(thing, ledger)

    def changed(self, thing: Thing, ledger: Ledger) -> None:
        """Make the load balancer of a changed Service anew."""
        load_balancer.withdraw(f"{thing.type} {thing.id}", ledger)
        self._balance(thing, ledger)

    def gone(self, thing: Thing, ledger: Ledger) -> None:
        """Take the load balancer along."""
        super().gone(thing, ledger)
        load_balancer.withdraw(f"{thing.type} {thing.id}", ledger)

    def _balance(self, thing: Thing, ledger: Ledger) -> None:
        if not load_balancer.asked_for(thing):
            return
        if reason := load_balancer.refusal(thing, ledger):
            raise UnreadyError(f"Service {thing.id}: its load balancer is not made: {reason}", thing)
        host = load_balancer.make(thing, ledger)
        thing.outputs["status"] = {"loadBalancer": {"ingress": [{"hostname": host}]}}


if __name__ == "__main__":
    serve(LifeCycle(AckKubernetesRules(), from_environment()))
