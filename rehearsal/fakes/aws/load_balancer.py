"""Load balancers that controllers in an EKS cluster make: nobody's program has them, and they stand in its subnets.

The AWS Load Balancer Controller makes them for Services of its class and for Ingresses; without a class, the part of
Kubernetes that knows AWS makes a public Classic one (kubernetes-sigs/aws-load-balancer-controller, docs/guide). What a
controller made goes with its object while the controller is there, and stays otherwise.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from rehearsal.fakes.account import Ledger, Rate, Thing
from rehearsal.fakes.aws import references as ref
from rehearsal.fakes.aws.naming import region
from rehearsal.fakes.kubernetes.kinds import RELEASE, kind_of, name_of, namespace_of
from rehearsal.fakes.paths import text_at
from rehearsal.fakes.resource_kind import digest
from rehearsal.fakes.values import Properties, mapping

CHART: Final = "aws-load-balancer-controller"
_CLASS: Final = "service.k8s.aws/nlb"
_SERVICE: Final = "service.beta.kubernetes.io/aws-load-balancer"
_INGRESS: Final = "alb.ingress.kubernetes.io"
# AWS price page, us-west-2, read 2026-08: a load balancer by itself, without what goes through it.
_RATE: Final = Rate(usd_per_hour=0.0225)

Maker = Literal["controller", "kubernetes", "nobody"]


@dataclass(frozen=True)
class Wish:
    """What an object asks for."""

    owner: str
    """Type and id of the object."""
    maker: Maker
    scheme: str
    fewest_subnets: int
    """In different zones: an application load balancer wants two."""
    name: str


def wish_of(thing: Thing) -> Wish | None:
    """The load balancer that an object asks for; None for objects that ask for none."""
    kind, spec = kind_of(thing.type, thing.inputs).name, mapping(thing.inputs.get("spec"))
    owner, name = f"{thing.type} {thing.id}", f"k8s-{namespace_of(thing.inputs)[:8]}-{name_of(thing.inputs)[:8]}"
    notes = mapping(mapping(thing.inputs.get("metadata")).get("annotations"))
    if kind == "Ingress":
        maker: Maker = "controller" if text_at(spec, "ingressClassName") == "alb" else "nobody"
        return Wish(owner, maker, str(notes.get(f"{_INGRESS}/scheme") or "internal"), 2, name)
    if kind != "Service" or text_at(spec, "type") != "LoadBalancer":
        return None
    class_, external = text_at(spec, "loadBalancerClass"), notes.get(f"{_SERVICE}-type") in {"external", "nlb-ip"}
    if class_ == _CLASS or (external and not class_):
        return Wish(owner, "controller", str(notes.get(f"{_SERVICE}-scheme") or "internal"), 1, name)
    scheme = "internal" if notes.get(f"{_SERVICE}-internal") == "true" else "internet-facing"
    return Wish(owner, "nobody" if class_ else "kubernetes", scheme, 1, name)


def make(wish: Wish, ledger: Ledger) -> str:
    """Make what an object asks for; returns why not, or an empty text."""
    if wish.maker == "nobody" or (wish.maker == "controller" and not controller_there(ledger)):
        return "no controller answers for its class"
    cluster = next(iter(ledger.of_type(ref.CLUSTER)), None)
    vpc = text_at(cluster.outputs, "vpcConfig.vpcId") if cluster else ""
    subnets = list(_tagged(vpc, wish.scheme, ledger))
    if len({zone for _, zone in subnets}) < wish.fewest_subnets:
        # kubernetes-sigs/aws-load-balancer-controller #3212.
        return "unable to resolve at least one subnet" if wish.fewest_subnets == 1 else "fewer than two subnets"
    inputs: Properties = {
        "vpcId": vpc,
        "subnets": [subnet for subnet, _ in subnets],
        "scheme": wish.scheme,
        "owner": wish.owner,
        "maker": wish.maker,
    }
    name = f"{wish.name}-{digest(wish.owner, length=10)}"
    ledger.add(Thing(ref.LOAD_BALANCER, name, name, inputs, {**inputs}, rate=_RATE))
    return ""


def withdraw(owners: list[str], ledger: Ledger) -> None:
    """Take away what belonged to objects that are gone, as far as whoever made it is still there."""
    for balancer in ledger.of_type(ref.LOAD_BALANCER):
        orphaned = text_at(balancer.inputs, "owner") not in owners
        by_controller = text_at(balancer.inputs, "maker") == "controller"
        if orphaned and (controller_there(ledger) or not by_controller):
            ledger.remove(balancer, "its object is gone")


def of(thing: Thing, ledger: Ledger) -> Thing | None:
    """The load balancer of an object."""
    owner = f"{thing.type} {thing.id}"
    return next((each for each in ledger.of_type(ref.LOAD_BALANCER) if text_at(each.inputs, "owner") == owner), None)


def hostname(balancer: Thing, ledger: Ledger) -> str:
    """The name under which a load balancer can be called."""
    return f"{balancer.id}.elb.{region(ledger)}.amazonaws.com"


def controller_there(ledger: Ledger) -> bool:
    """Whether a release of the controller's chart is in the cluster."""
    return any(text_at(release.outputs, "status.chart") == CHART for release in ledger.of_type(RELEASE))


def _tagged(vpc: str, scheme: str, ledger: Ledger) -> Iterator[tuple[str, str]]:
    """The subnets of a VPC that carry the tag for a scheme, each with its zone."""
    role = "elb" if scheme == "internet-facing" else "internal-elb"
    for subnet in ledger.of_type(ref.SUBNET):
        tag = mapping(subnet.inputs.get("tags")).get(f"kubernetes.io/role/{role}")
        if text_at(subnet.inputs, "vpcId") == vpc and tag in {"1", ""}:
            yield subnet.id, text_at(subnet.outputs, "availabilityZone")
