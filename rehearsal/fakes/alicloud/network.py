"""VPCs: vSwitches, NAT gateways with their addresses and rules, and security groups."""

import ipaddress
from collections.abc import Iterator
from typing import Final

from rehearsal.fakes.account import Ledger
from rehearsal.fakes.alicloud import references as ref
from rehearsal.fakes.paths import text_at, texts_at
from rehearsal.fakes.resource_kind import ResourceKind, by_the_hour, digest, generated
from rehearsal.fakes.rules import Failure, Resource
from rehearsal.fakes.values import Properties

_NAME: Final = r"[A-Za-z][A-Za-z0-9_.-]{0,127}"
_RULE: Final = "1 to 128 letters, digits, - and _, beginning with a letter"
# Alibaba Cloud price pages, Singapore, 2026: the gateway and an address by themselves, without their traffic.
_NAT_USD_HOUR: Final = 0.036
_ADDRESS_USD_HOUR: Final = 0.005
_BY_TRAFFIC_MBPS: Final = 200
_BY_BANDWIDTH_MBPS: Final = 500


def range_failures(inputs: Properties) -> Iterator[Failure]:
    """A range has its host bits zero (VPC, `InvalidCidrBlock.Malformed`)."""
    for cidr in texts_at(inputs, "cidrBlock"):
        try:
            ipaddress.IPv4Network(cidr)
        except ValueError:
            yield Failure("cidrBlock", f"InvalidCidrBlock.Malformed: {cidr} is no valid CIDR block")


def bandwidth_failures(inputs: Properties) -> Iterator[Failure]:
    """By traffic an address takes 200 Mbit/s, by bandwidth 500 (SDK 4.0.0, ecs.EipAddress)."""
    by_traffic = text_at(inputs, "internetChargeType") == "PayByTraffic"
    limit = _BY_TRAFFIC_MBPS if by_traffic else _BY_BANDWIDTH_MBPS
    for text in texts_at(inputs, "bandwidth"):
        if not text.isdecimal() or not 1 <= int(text) <= limit:
            yield Failure("bandwidth", f"{text} is not in 1 to {limit} Mbit/s")


def refuse_foreign_zone(resource: Resource, ledger: Ledger) -> None:
    """A zone of the region (VPC, `InvalidZoneId.NotFound`)."""
    zone, region = text_at(resource.inputs, "zoneId"), str(ledger.settings.get("region") or "ap-southeast-1")
    if zone[:-1] not in (region, f"{region}-"):
        raise ref.refused(resource.name, "InvalidZoneId.NotFound", f"{zone} is no zone of {region}.")


def refuse_bad_range(resource: Resource, ledger: Ledger) -> None:
    """A vSwitch lies in its VPC and overlaps none beside it (VPC, `InvalidCidrBlock`, `…Overlapped`)."""
    network = ledger.find(ref.VPC, text_at(resource.inputs, "vpcId"))
    wanted = ipaddress.IPv4Network(text_at(resource.inputs, "cidrBlock"))
    if network and not wanted.subnet_of(ipaddress.IPv4Network(text_at(network.inputs, "cidrBlock"))):
        raise ref.refused(resource.name, "InvalidCidrBlock", f"{wanted} is not in the CIDR block of the VPC.")
    for other in ledger.of_type(ref.SWITCH):
        taken = text_at(other.inputs, "cidrBlock")
        same = network is not None and text_at(other.inputs, "vpcId") == network.id
        if same and taken and wanted.overlaps(ipaddress.IPv4Network(taken)):
            raise ref.refused(resource.name, "InvalidCidrBlock.Overlapped", f"{wanted} overlaps with {other.id}.")


def refuse_unbound(resource: Resource, ledger: Ledger) -> None:
    """A rule translates to addresses that its gateway has (VPC, CreateSnatEntry)."""
    gateway = _gateway_of(text_at(resource.inputs, "snatTableId"), ledger)
    bound = [each for each in ledger.of_type(ref.BINDING) if text_at(each.inputs, "instanceId") == gateway]
    ids = {text_at(each.inputs, "allocationId") for each in bound}
    there = {text_at(each.outputs, "ipAddress") for each in ledger.of_type(ref.ADDRESS) if each.id in ids}
    for address in text_at(resource.inputs, "snatIp").split(","):
        if address not in there:
            message = f"{address} is not associated with the NAT gateway {gateway}."
            raise ref.refused(resource.name, "", message)


def reaches_out(switch: str, ledger: Ledger) -> bool:
    """Whether machines in a vSwitch have a way out: a rule of the VPC's gateway that covers its range."""
    found = ledger.find(ref.SWITCH, switch)
    if found is None:
        return False
    if found.inputs.get("reachesOut") is True:
        return True
    inside = ipaddress.IPv4Network(text_at(found.inputs, "cidrBlock"))
    for rule in ledger.of_type(ref.SNAT):
        gateway = ledger.find(ref.NAT, _gateway_of(text_at(rule.inputs, "snatTableId"), ledger))
        ours = gateway is not None and text_at(gateway.inputs, "vpcId") == text_at(found.inputs, "vpcId")
        if ours and inside.subnet_of(ipaddress.IPv4Network(text_at(rule.inputs, "sourceCidr"))):
            return True
    return False


def _gateway_of(table: str, ledger: Ledger) -> str:
    gateways = ledger.of_type(ref.NAT)
    return next((each.id for each in gateways if text_at(each.outputs, "snatTableIds") == table), "")


def _gateway(resource: Resource, identity: str, ledger: Ledger) -> Properties:
    del resource, ledger
    return {"snatTableIds": f"stb-{digest(identity)}", "forwardTableIds": f"ftb-{digest(identity)}"}


def _address(resource: Resource, identity: str, ledger: Ledger) -> Properties:
    taken = {text_at(each.outputs, "ipAddress") for each in ledger.of_type(ref.ADDRESS)}
    free = (f"203.0.113.{number}" for number in range(1, 255))
    del resource
    before = ledger.find(ref.ADDRESS, identity)
    kept = text_at(before.outputs, "ipAddress") if before else ""
    return {"ipAddress": kept or next(address for address in free if address not in taken), "status": "Available"}


VPC: Final = ResourceKind(
    type=ref.VPC,
    identity=generated("vpc"),
    checks=(ref.fits("vpcName", _NAME, _RULE), range_failures),
    replaced_by=("cidrBlock",),
    gone=ref.refuse_while_used(
        "DependencyViolation.VSwitch", (ref.SWITCH, "vpcId"), (ref.NAT, "vpcId"), (ref.GROUP, "vpcId")
    ),
    seconds=8.0,
)
SWITCH: Final = ResourceKind(
    type=ref.SWITCH,
    identity=generated("vsw"),
    checks=(ref.fits("vswitchName", _NAME, _RULE), range_failures),
    replaced_by=("vpcId", "zoneId", "cidrBlock"),
    admissions=(ref.exists("vpcId", ref.VPC, "InvalidVpcId.NotFound"), refuse_foreign_zone, refuse_bad_range),
    # Interfaces of pods linger where their nodes went without them (rancher/autok3s #131).
    gone=ref.refuse_while_used(
        "DependencyViolation",
        (ref.NAT, "vswitchId"),
        (ref.CLUSTER, "vswitchIds"),
        (ref.CLUSTER, "podVswitchIds"),
        (ref.NODE_POOL, "vswitchIds"),
        (ref.INTERFACE, "vswitchId"),
        (ref.BALANCER, "vswitchIds"),
        (ref.FILE_SYSTEM, "vswitchId"),
    ),
    seconds=7.0,
)
NAT: Final = ResourceKind(
    type=ref.NAT,
    identity=generated("ngw"),
    checks=(
        ref.one_of("natType", "Enhanced"),
        ref.one_of("internetChargeType", "PayByLcu"),
        ref.one_of("paymentType", "PayAsYouGo", "Subscription"),
    ),
    replaced_by=("vpcId", "vswitchId", "natType", "networkType"),
    admissions=(
        ref.exists("vpcId", ref.VPC, "InvalidVpcId.NotFound"),
        ref.exists("vswitchId", ref.SWITCH, "InvalidVSwitchId.NotFound"),
    ),
    computed=_gateway,
    rate=by_the_hour(_NAT_USD_HOUR),
    gone=ref.refuse_while_used("DependencyViolation.EIPS", (ref.BINDING, "instanceId")),
    seconds=60.0,
)
SNAT: Final = ResourceKind(
    type=ref.SNAT,
    identity=lambda resource, ledger: (
        f"{text_at(resource.inputs, 'snatTableId')}:snat-{digest(resource.urn, len(ledger.events))}"
    ),
    replaced_by=("snatTableId", "sourceCidr", "sourceVswitchId"),
    admissions=(refuse_unbound,),
)
ADDRESS: Final = ResourceKind(
    type=ref.ADDRESS,
    identity=generated("eip"),
    checks=(
        ref.one_of("paymentType", "PayAsYouGo", "Subscription"),
        ref.one_of("internetChargeType", "PayByBandwidth", "PayByTraffic"),
        bandwidth_failures,
    ),
    replaced_by=("internetChargeType", "paymentType", "isp"),
    computed=_address,
    rate=by_the_hour(_ADDRESS_USD_HOUR),
    gone=ref.refuse_while_used("IncorrectEipStatus", (ref.BINDING, "allocationId")),
)
BINDING: Final = ResourceKind(
    type=ref.BINDING,
    identity=lambda resource, _: f"{resource.inputs.get('allocationId')}:{resource.inputs.get('instanceId')}",
    checks=(ref.one_of("instanceType", "Nat", "SlbInstance", "EcsInstance", "NetworkInterface", "HaVip", "IpAddress"),),
    replaced_by=("allocationId", "instanceId", "instanceType"),
    admissions=(
        ref.exists("allocationId", ref.ADDRESS, "InvalidAllocationId.NotFound"),
        ref.exists("instanceId", ref.NAT, "InvalidInstanceId.NotFound"),
    ),
    # A rule that still translates to it keeps it (VPC, UnassociateEipAddress).
    gone=lambda thing, ledger: _refuse_translated(thing.name, text_at(thing.inputs, "allocationId"), ledger),
)
GROUP: Final = ResourceKind(
    type=ref.GROUP,
    identity=generated("sg"),
    replaced_by=("vpcId", "securityGroupType"),
    admissions=(ref.exists("vpcId", ref.VPC, "InvalidVpcId.NotFound"),),
    gone=ref.refuse_while_used("DependencyViolation", (ref.BALANCER, "securityGroupIds")),
)
GROUP_RULE: Final = ResourceKind(
    type=ref.GROUP_RULE,
    identity=lambda resource, _: ":".join(
        str(resource.inputs.get(key)) for key in ("securityGroupId", "type", "ipProtocol", "portRange", "cidrIp")
    ),
    checks=(
        ref.one_of("type", "ingress", "egress"),
        ref.one_of("policy", "accept", "drop"),
        ref.fits("portRange", r"-1/-1|[0-9]{1,5}/[0-9]{1,5}", "a range such as 8000/8000"),
    ),
    replaced_by=("securityGroupId", "type", "ipProtocol", "portRange", "cidrIp", "policy"),
    admissions=(ref.exists("securityGroupId", ref.GROUP, "InvalidSecurityGroupId.NotFound"),),
)


def _refuse_translated(name: str, allocation: str, ledger: Ledger) -> None:
    address = ledger.find(ref.ADDRESS, allocation)
    wanted = text_at(address.outputs, "ipAddress") if address else ""
    for rule in ledger.of_type(ref.SNAT):
        if wanted in text_at(rule.inputs, "snatIp").split(","):
            raise ref.refused(name, "", f"{wanted} is in use by {rule.id}.")
