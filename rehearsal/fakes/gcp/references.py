"""Paths that lead nowhere, and things that something else still needs: the two reasons that most refusals have."""

from typing import Final

from rehearsal.fakes.account import Ledger, Thing
from rehearsal.fakes.paths import texts_at
from rehearsal.fakes.resource_kind import Admission, Consequence
from rehearsal.fakes.rules import RefusedError, Resource

NETWORK: Final = "gcp:compute/network:Network"
SUBNETWORK: Final = "gcp:compute/subnetwork:Subnetwork"
ROUTER: Final = "gcp:compute/router:Router"
NAT: Final = "gcp:compute/routerNat:RouterNat"
ADDRESS: Final = "gcp:compute/address:Address"
RESOURCE_POLICY: Final = "gcp:compute/resourcePolicy:ResourcePolicy"
RESERVATION: Final = "gcp:compute/reservation:Reservation"
FUTURE_RESERVATION: Final = "gcp:compute/futureReservation:FutureReservation"
INSTANCE: Final = "gcp:compute/instance:Instance"
ENDPOINT_GROUP: Final = "gcp:compute/networkEndpointGroup:NetworkEndpointGroup"
FORWARDING_RULE: Final = "gcp:compute/forwardingRule:ForwardingRule"
CLUSTER: Final = "gcp:container/cluster:Cluster"
NODE_POOL: Final = "gcp:container/nodePool:NodePool"
BUCKET: Final = "gcp:storage/bucket:Bucket"
SERVICE_ACCOUNT: Final = "gcp:serviceaccount/account:Account"


def found(token: str, reference: str, ledger: Ledger) -> Thing | None:
    """The thing of a type that a path, a URL or a bare name means."""
    for thing in ledger.of_type(token):
        if reference in (thing.id, f"https://www.googleapis.com/compute/v1/{thing.id}") or thing.id.endswith(
            f"/{reference}"
        ):
            return thing
    return None


def exists(path: str, token: str) -> Admission:
    """An admission that refuses references to nothing (Google's APIs, `notFound`).

    Args:
        path: Where they stand in the inputs; none there is fine.
        token: The type of what they must be.
    """

    def admit(resource: Resource, ledger: Ledger) -> None:
        for reference in texts_at(resource.inputs, path):
            if found(token, reference, ledger) is None:
                raise refused(resource.name, f"Error 404: The resource '{reference}' was not found, notFound")

    return admit


def not_taken(resource: Resource, identity: str, ledger: Ledger) -> None:
    """A name is taken once (Google's APIs, `alreadyExists`)."""
    if ledger.find(resource.type, identity):
        raise refused(resource.name, f"Error 409: The resource '{identity}' already exists, alreadyExists")


def refuse_while_used(what: str, *users: tuple[str, str]) -> Consequence:
    """A consequence of a deletion: it is refused while something else names the path.

    The text is Compute Engine's own (hashicorp/terraform-provider-google #5948).

    Args:
        what: Compute Engine's word, such as `network`.
        users: Types, each with the path at which it names the thing.
    """

    def names(other: Thing, path: str, thing: Thing, ledger: Ledger) -> bool:
        return any(found(thing.type, each, ledger) is thing for each in texts_at(other.inputs, path))

    def refuse(thing: Thing, ledger: Ledger) -> None:
        others = [(other, path) for token, path in users for other in ledger.of_type(token)]
        user = next((other for other, path in others if names(other, path, thing, ledger)), None)
        if user is not None:
            raise refused(
                thing.name,
                f"Error 400: The {what} resource '{thing.id}' is already being used by '{user.id}', "
                "resourceInUseByAnotherResource",
            )

    return refuse


def refused(name: str, text: str) -> RefusedError:
    """A refusal as Google's client prints it."""
    return RefusedError(f"{name}: googleapi: {text}")
