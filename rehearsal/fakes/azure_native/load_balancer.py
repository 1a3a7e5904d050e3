"""Load balancers that AKS makes for Services: they go with their Service, and all of them with the cluster."""

import ipaddress
from typing import Final

from rehearsal.fakes.account import Ledger, Rate, Thing
from rehearsal.fakes.azure_native import references as ref
from rehearsal.fakes.azure_native.cluster import may_make_load_balancers
from rehearsal.fakes.kubernetes.kinds import kind_of
from rehearsal.fakes.paths import text_at
from rehearsal.fakes.resource_kind import digest
from rehearsal.fakes.values import Properties, mapping

_PREFIX: Final = "service.beta.kubernetes.io/azure-load-balancer"
_LEAST_MINUTES: Final = 4
_MOST_MINUTES: Final = 100
"""cloud-provider-azure, consts.go; AKS documents 30."""
# Azure price page: a Standard load balancer by itself, without what goes through it.
_RATE: Final = Rate(usd_per_hour=0.025)


def wanted(thing: Thing) -> bool:
    """Whether an object asks for a load balancer."""
    return kind_of(thing.type, thing.inputs).name == "Service" and text_at(thing.inputs, "spec.type") == "LoadBalancer"


def make(thing: Thing, ledger: Ledger) -> tuple[str, str]:
    """Make what a Service asks for; returns its address, and why there is none."""
    notes, cluster = _annotations(thing), ledger.of_type(ref.CLUSTER)[0]
    if reason := _refusal(notes, ranged=text_at(thing.inputs, "spec.loadBalancerSourceRanges") != ""):
        return "", reason
    internal = notes.get(f"{_PREFIX}-internal") == "true"
    subnet = text_at(cluster.inputs, "agentPoolProfiles.vnetSubnetID")
    if internal and subnet and not may_make_load_balancers(cluster, subnet, ledger):
        return "", f"AuthorizationFailed: the cluster's identity can't join {subnet}"
    owner = f"{thing.type} {thing.id}"
    name = f"{'internal' if internal else 'public'}-{digest(owner, length=8)}"
    ledger.add(Thing(ref.LOAD_BALANCER, name, name, {"owner": owner, "internal": internal}, {}, rate=_RATE))
    return (_address(subnet, owner, ledger) if internal else "198.51.100.20"), ""


def withdraw(thing: Thing, ledger: Ledger) -> None:
    """Take away what belonged to a Service."""
    for each in ledger.of_type(ref.LOAD_BALANCER):
        if text_at(each.inputs, "owner") == f"{thing.type} {thing.id}":
            ledger.remove(each, "its Service is gone")


def _refusal(notes: Properties, *, ranged: bool) -> str:
    minutes = str(notes.get(f"{_PREFIX}-tcp-idle-timeout", _LEAST_MINUTES))
    if not (minutes.isdecimal() and _LEAST_MINUTES <= int(minutes) <= _MOST_MINUTES):
        return f"idle timeout {minutes} is not from {_LEAST_MINUTES} to {_MOST_MINUTES} minutes"
    if ranged and notes.get("service.beta.kubernetes.io/azure-allowed-ip-ranges"):
        return "loadBalancerSourceRanges and azure-allowed-ip-ranges can't be used together"
    return ""


def _annotations(thing: Thing) -> Properties:
    return mapping(mapping(thing.inputs.get("metadata")).get("annotations"))


def _address(subnet: str, owner: str, ledger: Ledger) -> str:
    prefix = text_at(ref.subnet(subnet, ledger) or {}, "addressPrefix") or "10.0.0.0/24"
    return str(ipaddress.IPv4Network(prefix)[int(digest(owner, length=2), 16) + 4])
