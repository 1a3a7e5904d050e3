"""Network load balancers that ACK makes for Services: nobody's program has them, and they hold vSwitches and groups."""

from typing import Final

from rehearsal.fakes.account import Ledger, Rate, Thing
from rehearsal.fakes.alicloud import references as ref
from rehearsal.fakes.kubernetes.kinds import kind_of
from rehearsal.fakes.paths import text_at
from rehearsal.fakes.resource_kind import digest
from rehearsal.fakes.values import Properties, mapping

_PREFIX: Final = "service.beta.kubernetes.io/alibaba-cloud-loadbalancer"
_CLASS: Final = "alibabacloud.com/nlb"
# Alibaba Cloud price page, Singapore, 2026: a network load balancer by itself, without what goes through it.
_RATE: Final = Rate(usd_per_hour=0.02)
_LONGEST_IDLE: Final = 900


def asked_for(thing: Thing) -> bool:
    """Whether a Service asks for a load balancer."""
    spec = mapping(thing.inputs.get("spec"))
    return kind_of(thing.type, thing.inputs).name == "Service" and text_at(spec, "type") == "LoadBalancer"


def refusal(thing: Thing, ledger: Ledger) -> str:
    """Why ACK's controller makes no load balancer, in its own words; empty if it does.

    kubernetes/cloud-provider-alibaba-cloud: zone mappings; ACK, "Configure NLB by annotations": the others.
    """
    if text_at(mapping(thing.inputs.get("spec")), "loadBalancerClass") != _CLASS:
        return ""
    zones = dict(pair.split(":", 1) for pair in _note(thing, "zone-maps").split(",") if ":" in pair)
    if len(zones) < 2:
        return "zone mappings are required: at least two zones"
    for zone, switch in zones.items():
        found = ledger.find(ref.SWITCH, switch)
        if found is None or text_at(found.inputs, "zoneId") != zone:
            return f"the vSwitch {switch} is not in {zone}"
    if _note(thing, "protocol-port").startswith("tcpssl"):
        if not _note(thing, "cert-id"):
            return "cert-id is required for listeners of TCPSSL"
        if _note(thing, "preserve-client-ip") == "on":
            return "preserve-client-ip does not go with TCPSSL"
    idle = _note(thing, "idle-timeout") or str(_LONGEST_IDLE)
    return "" if idle.isdecimal() and 1 <= int(idle) <= _LONGEST_IDLE else f"idle-timeout {idle} is not in 1 to 900"


def make(thing: Thing, ledger: Ledger) -> str:
    """Make what a Service asks for; returns its host name."""
    owner = f"{thing.type} {thing.id}"
    public = _note(thing, "address-type") != "intranet"
    switches = [pair.partition(":")[2] for pair in _note(thing, "zone-maps").split(",")]
    inputs: Properties = {
        "owner": owner,
        "public": public,
        "vswitchIds": [each for each in switches if each],
        "securityGroupIds": [each for each in _note(thing, "security-group-ids").split(",") if each],
    }
    name = f"nlb-{digest(owner, length=20)}"
    ledger.add(Thing(ref.BALANCER, name, name, inputs, {}, rate=_RATE))
    region = ledger.settings.get("region") or "ap-southeast-1"
    return f"{name}.{region}.nlb.aliyuncsslb{'' if public else 'intranet'}.com"


def withdraw(owner: str, ledger: Ledger) -> None:
    """Take away what belonged to a Service that ACK saw going; what it didn't see stays, and holds the network."""
    for each in ledger.of_type(ref.BALANCER):
        if text_at(each.inputs, "owner") == owner:
            ledger.remove(each, "its Service is gone")


def _note(thing: Thing, name: str) -> str:
    notes = mapping(mapping(thing.inputs.get("metadata")).get("annotations"))
    value = notes.get(f"{_PREFIX}-{name}")
    return value if isinstance(value, str) else ""
