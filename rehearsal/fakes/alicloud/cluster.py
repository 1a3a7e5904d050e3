"""ACK clusters and their add-ons: what they are made of, what they make beside themselves, and when they can go."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Final

from rehearsal.fakes.account import Ledger, Thing
from rehearsal.fakes.alicloud import references as ref
from rehearsal.fakes.paths import text_at, texts_at
from rehearsal.fakes.resource_kind import ResourceKind, by_the_hour, digest
from rehearsal.fakes.rules import Failure, RefusedError, Resource, UnreadyError
from rehearsal.fakes.values import Properties, mapping, sequence

VERSIONS: Final = ("1.34.3-aliyun.1", "1.35.1-aliyun.1", "1.36.2-aliyun.1")
"""What ACK offers: made up, in ACK's form, around the versions of a public deployment of August 2026."""
_USD_HOUR: Final = 0.09
_SPECS: Final = ("ack.standard", "ack.pro.small", "ack.pro.xlarge", "ack.pro.2xlarge", "ack.pro.4xlarge")
_HALVES: Final = ("terway-eniip", "terway-controlplane")
_STORAGE: Final = "storage-operator"
_PREFIX: Final = re.compile(r"(10\.0\.0\.0|172\.(1[6-9]|2[0-9]|3[01])\.[0-9]+\.0|192\.168\.[0-9]+\.0)/(1[6-9]|2[0-4])")
_ADDON_SECONDS: Final = 60.0
_NO_NODE_SECONDS: Final = 1_200.0


def version_failures(inputs: Properties) -> Iterator[Failure]:
    """A version that ACK has (CS, DescribeKubernetesVersionMetadata)."""
    for version in texts_at(inputs, "version"):
        if version not in VERSIONS:
            yield Failure("version", f"ACK makes no cluster of {version}; offered: {', '.join(VERSIONS)}")


def network_failures(inputs: Properties) -> Iterator[Failure]:
    """Pods have addresses of the VPC or a range of their own, and Services a private range (CS, CreateCluster)."""
    chosen = [key for key in ("podVswitchIds", "podCidr") if inputs.get(key)]
    if len(chosen) != 1:
        yield Failure("podVswitchIds", "exactly one of `pod_vswitch_ids` and `pod_cidr` must be specified")
    for cidr in texts_at(inputs, "serviceCidr"):
        if not _PREFIX.fullmatch(cidr):
            yield Failure("serviceCidr", f"{cidr} is none of 10.0.0.0/16-24, 172.16-31.0.0/16-24, 192.168.0.0/16-24")


def addon_failures(inputs: Properties) -> Iterator[Failure]:
    """Halves of Terway have one version (ACK, `AddonDependencyNotMet`; public deployment of August 2026)."""
    given = {text_at(mapping(each), "name"): mapping(each) for each in sequence(inputs.get("addons"))}
    there = [name for name in _HALVES if name in given]
    if len(there) == 1:
        yield Failure("addons", f"AddonDependencyNotMet: {there[0]} needs its other half")
    if len({given[name].get("version") for name in there}) > 1:
        yield Failure("addons", "AddonDependencyNotMet: terway-eniip and terway-controlplane differ in version")
    for config in texts_at(inputs, "addons.config"):
        yield from _json_failures("addons.config", config)


def config_failures(inputs: Properties) -> Iterator[Failure]:
    """The configuration of an add-on is a text of JSON (CS, InstallClusterAddons)."""
    for config in texts_at(inputs, "config"):
        yield from _json_failures("config", config)


def refuse_second_router(resource: Resource, ledger: Ledger) -> None:
    """A VPC has one gateway of ACK's making (`InstanceRouterExist`, alibaba/terraform-provider #723)."""
    switch = ledger.find(ref.SWITCH, text_at(resource.inputs, "vswitchIds"))
    vpc = text_at(switch.inputs, "vpcId") if switch else ""
    there = any(text_at(each.inputs, "vpcId") == vpc for each in ledger.of_type(ref.NAT))
    if there and resource.inputs.get("newNatGateway") is not False:
        raise ref.refused(resource.name, "InstanceRouterExist", f"The VPC {vpc} has a NAT gateway already.")


def refuse_taken_name(resource: Resource, ledger: Ledger) -> None:
    """An add-on belongs to one resource; ACK itself would update it, and the two would fight for ever."""
    if ledger.find(ref.ADDON, _addon_id(resource, ledger)):
        said = "two resources for one add-on: ACK takes the second for an update of the first"
        raise ref.refused(resource.name, "", said)


def make_file_system(thing: Thing, ledger: Ledger) -> None:
    """ACK's storage operator makes a file system that nobody's program has (`cnfs-nas`)."""
    if _STORAGE not in texts_at(thing.inputs, "addons.name"):
        return
    because = "storage-operator made it, and neither ACK nor the stack deletes it"
    inputs: Properties = {"vswitchId": text_at(thing.inputs, "vswitchIds")}
    ledger.add(Thing(ref.FILE_SYSTEM, f"cnfs-nas-{digest(thing.id, length=8)}", "cnfs-nas", inputs, {}, 0.0, because))


def refuse_protected(thing: Thing, ledger: Ledger) -> None:
    """A protected cluster stays (CS, DeleteCluster), and so does one whose pools were forgotten."""
    if thing.inputs.get("deletionProtection") is not False:
        raise ref.refused(thing.name, "", "the cluster has deletion protection")
    if pools := [each for each in ledger.of_type(ref.NODE_POOL) if text_at(each.inputs, "clusterId") == thing.id]:
        # Not so on ACK's side, which takes them along; here a stack that forgot them would be a stack at fault.
        raise RefusedError(f"deleting {thing.name}: node pools are still in the state: {pools[0].name}")
    modes = {text_at(mapping(each), "resourceType"): text_at(mapping(each), "deleteMode") for each in _options(thing)}
    if modes.get("SLB", "delete") == "delete":
        for balancer in ledger.of_type(ref.BALANCER):
            ledger.remove(balancer, f"went with Cluster {thing.id}")
    for each in [each for each in ledger.of_type("kubernetes:*") if each.left_because]:
        ledger.remove(each, f"went with Cluster {thing.id}")


def wait_for_node(addon: Thing, ledger: Ledger) -> None:
    """An add-on's pods need a node without a taint; without one ACK gives up."""
    cluster = text_at(addon.inputs, "clusterId")
    pools = [each for each in ledger.of_type(ref.NODE_POOL) if text_at(each.inputs, "clusterId") == cluster]
    if any(not each.inputs.get("taints") for each in pools):
        return
    ledger.clock.advance(_NO_NODE_SECONDS)
    raise UnreadyError(f"[ERROR] WaitForState: addon {addon.id}: task failed: no node takes its pods", addon)


def facts(identity: str, ledger: Ledger) -> Properties:
    """What ACK says of a cluster's identity provider."""
    region = ledger.settings.get("region") or "ap-southeast-1"
    provider = f"ack-rrsa-{identity}"
    return {
        "enabled": True,
        "rrsaOidcIssuerUrl": f"https://oidc-ack-{region}.oss-{region}.aliyuncs.com/{identity}",
        "ramOidcProviderName": provider,
        "ramOidcProviderArn": f"acs:ram::{ref.ACCOUNT}:oidc-provider/{provider}",
    }


def _options(thing: Thing) -> list[object]:
    return sequence(thing.inputs.get("deleteOptions"))


def _json_failures(path: str, text: str) -> Iterator[Failure]:
    try:
        json.loads(text)
    except ValueError:
        yield Failure(path, f"{path} is no JSON")


def _computed(resource: Resource, identity: str, ledger: Ledger) -> Properties:
    switch = ledger.find(ref.SWITCH, text_at(resource.inputs, "vswitchIds"))
    rrsa = facts(identity, ledger) if resource.inputs.get("enableRrsa") is True else {"enabled": False}
    found: Mapping[str, object] = {
        "vpcId": text_at(switch.inputs, "vpcId") if switch else "",
        "rrsaMetadata": rrsa,
        "workerRamRoleName": f"KubernetesWorkerRole-{identity}",
        "securityGroupId": f"sg-{digest(identity)}",
    }
    return dict(found)


def _addon_id(resource: Resource, ledger: Ledger) -> str:
    del ledger
    return f"{resource.inputs.get('clusterId')}:{resource.inputs.get('name')}"


KIND: Final = ResourceKind(
    type=ref.CLUSTER,
    identity=lambda resource, ledger: f"c{digest(resource.urn, len(ledger.events), length=32)}",
    checks=(
        ref.fits("name", r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}", "1 to 63 letters, digits, - and _"),
        ref.one_of("clusterSpec", *_SPECS),
        ref.one_of("proxyMode", "iptables", "ipvs", "nftables"),
        ref.one_of("deleteOptions.resourceType", "SLB", "ALB", "SLS_Data", "SLS_ControlPlane", "PrivateZone"),
        ref.one_of("deleteOptions.deleteMode", "delete", "retain"),
        version_failures,
        network_failures,
        addon_failures,
    ),
    # provider, resource_alicloud_cs_managed_kubernetes.go: ForceNew.
    replaced_by=("podVswitchIds", "podCidr", "serviceCidr", "proxyMode", "slbInternetEnabled", "clusterDomain"),
    admissions=(
        ref.exists("vswitchIds", ref.SWITCH, "InvalidVSwitchId.NotFound"),
        ref.exists("podVswitchIds", ref.SWITCH, "InvalidVSwitchId.NotFound"),
        refuse_second_router,
    ),
    computed=_computed,
    made=make_file_system,
    gone=refuse_protected,
    rate=by_the_hour(_USD_HOUR),
    seconds=430.0,
    patience=5_400.0,
)
ADDON: Final = ResourceKind(
    type=ref.ADDON,
    identity=_addon_id,
    checks=(config_failures,),
    replaced_by=("clusterId", "name"),
    admissions=(ref.exists("clusterId", ref.CLUSTER, "ErrorClusterNotFound"), refuse_taken_name),
    made=wait_for_node,
    seconds=_ADDON_SECONDS,
    patience=600.0,
)
