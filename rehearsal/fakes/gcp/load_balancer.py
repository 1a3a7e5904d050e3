"""Load balancers that GKE makes for Services: nobody's program has them, and their endpoint groups hold the network."""

import ipaddress
from typing import Final

from rehearsal.fakes.account import Ledger, Rate, Thing
from rehearsal.fakes.gcp import references as ref
from rehearsal.fakes.gcp.naming import project, region
from rehearsal.fakes.kubernetes.kinds import kind_of
from rehearsal.fakes.paths import text_at
from rehearsal.fakes.resource_kind import digest
from rehearsal.fakes.values import Properties, mapping

_CLASSES: Final = {
    "networking.gke.io/l4-regional-internal": "INTERNAL",
    "networking.gke.io/l4-regional-external": "EXTERNAL",
}
"""GKE, Service parameters: 1.33.1-gke.1779000 or newer."""
_TYPE: Final = "networking.gke.io/load-balancer-type"
# Google Cloud price list, us-central1: a forwarding rule by itself, without what goes through it.
_RATE: Final = Rate(usd_per_hour=0.025)


def scheme_of(thing: Thing) -> str:
    """What a Service asks GKE for: INTERNAL, EXTERNAL, or nothing."""
    spec = mapping(thing.inputs.get("spec"))
    if kind_of(thing.type, thing.inputs).name != "Service" or text_at(spec, "type") != "LoadBalancer":
        return ""
    if class_ := text_at(spec, "loadBalancerClass"):
        return _CLASSES.get(class_, "")
    notes = mapping(mapping(thing.inputs.get("metadata")).get("annotations"))
    return "INTERNAL" if notes.get(_TYPE) == "Internal" else "EXTERNAL"


def make(thing: Thing, ledger: Ledger) -> str:
    """Make what a Service asks for; returns its address."""
    cluster = ledger.of_type(ref.CLUSTER)[0]
    owner = f"{thing.type} {thing.id}"
    name, place = f"k8s2-{digest(owner, length=8)}", {key: cluster.inputs.get(key) for key in ("network", "subnetwork")}
    inputs: Properties = {**place, "owner": owner, "scheme": scheme_of(thing)}
    below = f"projects/{project(ledger)}"
    rule = f"{below}/regions/{region(ledger)}/forwardingRules/{name}"
    ledger.add(Thing(ref.FORWARDING_RULE, rule, name, inputs, {}, rate=_RATE))
    zone = text_at(cluster.inputs, "nodeLocations")
    ledger.add(Thing(ref.ENDPOINT_GROUP, f"{below}/zones/{zone}/networkEndpointGroups/{name}", name, inputs, {}))
    return _address(cluster, owner, ledger) if scheme_of(thing) == "INTERNAL" else "198.51.100.20"


def withdraw(owner: str, ledger: Ledger) -> None:
    """Take away what belonged to a Service that GKE saw going; what it didn't see stays, and holds the network.

    hashicorp/terraform-provider-google #5948, #7637.
    """
    for token in (ref.FORWARDING_RULE, ref.ENDPOINT_GROUP):
        for each in ledger.of_type(token):
            if text_at(each.inputs, "owner") == owner:
                ledger.remove(each, "its Service is gone")


def _address(cluster: Thing, owner: str, ledger: Ledger) -> str:
    subnet = ref.found(ref.SUBNETWORK, text_at(cluster.inputs, "subnetwork"), ledger)
    cidr = text_at(subnet.inputs, "ipCidrRange") if subnet else "10.0.0.0/24"
    return str(ipaddress.IPv4Network(cidr)[int(digest(owner, length=2), 16) + 4])
