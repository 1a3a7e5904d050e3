"""Planned inputs against the provider: names and types from the installed SDK, enums and ranges from a frozen table."""

import inspect
import re
import typing
from collections.abc import Iterator, Mapping
from typing import Any

import pulumi_alicloud as alicloud
import pytest

from tests.alicloud.answers import AlicloudAnswers
from tests.alicloud.stack import (
    BY_THE_HOUR,
    DISK,
    ERDMA,
    INTERNAL,
    LINGJUN,
    PUBLIC,
    RESERVE,
    Changes,
    program,
)
from tests.conftest import Registered

VARIANTS: Mapping[str, Changes] = {
    "default": {},
    "reserve": {**RESERVE, **PUBLIC},
    "by the hour": {**BY_THE_HOUR, **INTERNAL},
    "lingjun": LINGJUN,
    "disk": DISK,
    "erdma": ERDMA,
}

ALLOWED: Mapping[str, set[object]] = {
    "ManagedKubernetes.clusterSpec": {
        "ack.standard",
        "ack.pro.small",
        "ack.pro.xlarge",
        "ack.pro.2xlarge",
        "ack.pro.4xlarge",
    },
    "ManagedKubernetes.proxyMode": {"iptables", "ipvs", "nftables"},
    "ManagedKubernetes.deleteOptions.resourceType": {"SLB", "ALB", "SLS_Data", "SLS_ControlPlane", "PrivateZone"},
    "ManagedKubernetes.deleteOptions.deleteMode": {"delete", "retain"},
    "NodePool.instanceChargeType": {"PostPaid", "PrePaid"},
    "NodePool.type": {"ess", "lingjun"},
    "NodePool.imageType": {
        "AliyunLinux3ContainerOptimized",
        "AliyunLinux4ContainerOptimized",
        "ContainerOS",
        "Ubuntu",
    },
    "NodePool.systemDiskCategory": {"cloud_efficiency", "cloud_ssd", "cloud_essd", "cloud_auto", "cloud_essd_entry"},
    "NodePool.dataDisks.category": {"cloud_efficiency", "cloud_ssd", "cloud_essd", "cloud_auto", "cloud"},
    "NodePool.dataDisks.performanceLevel": {"PL0", "PL1", "PL2", "PL3"},
    "NodePool.dataDisks.fileSystem": {"ext4", "xfs"},
    "NodePool.dataDisks.autoFormat": {"true", "false"},
    "NodePool.resourcePoolOptions.strategy": {"PrivatePoolFirst", "PrivatePoolOnly", "None"},
    "NodePool.taints.effect": {"NoSchedule", "NoExecute", "PreferNoSchedule"},
    "CapacityReservation.matchCriteria": {"Open", "Target"},
    "CapacityReservation.endTimeType": {"Limited", "Unlimited"},
    "CapacityReservation.platform": {"linux", "windows"},
    "NatGateway.natType": {"Enhanced"},
    "NatGateway.paymentType": {"PayAsYouGo", "Subscription"},
    "NatGateway.internetChargeType": {"PayByLcu"},
    "EipAddress.paymentType": {"PayAsYouGo", "Subscription"},
    "EipAddress.internetChargeType": {"PayByBandwidth", "PayByTraffic"},
    "EipAssociation.instanceType": {"Nat", "SlbInstance", "EcsInstance", "NetworkInterface", "HaVip", "IpAddress"},
    "Bucket.storageClass": {"Standard", "IA", "Archive", "ColdArchive", "DeepColdArchive"},
    "Bucket.redundancyType": {"LRS", "ZRS"},
    "Policy.rotateStrategy": {"None", "DeleteOldestNonDefaultVersionWhenLimitExceeded"},
    "SecurityGroupRule.type": {"ingress", "egress"},
    "SecurityGroupRule.ipProtocol": {"tcp", "udp", "icmp", "icmpv6", "gre", "all"},
    "SecurityGroupRule.policy": {"accept", "drop"},
    "RolePolicyAttachment.policyType": {"Custom", "System"},
}
"""Docstrings of pulumi_alicloud 4.0.0, and the models of the CS and ECS APIs (alibabacloud_cs20151215, 2026)."""

RANGES: Mapping[str, tuple[int, int]] = {
    "EipAddress.bandwidth": (1, 200),
    "NodePool.systemDiskSize": (20, 2048),
    "NodePool.dataDisks.size": (1261, 32768),
    "CapacityReservation.instanceAmount": (1, 1000),
    "Bucket.lifecycleRules.abortMultipartUploads.days": (1, 3650),
}
"""By traffic an address takes 200 Mbit/s; a disk of level PL3 has 1,261 GiB or more (pulumi_alicloud 4.0.0)."""

LENGTHS: Mapping[str, tuple[str, int, int]] = {
    "ManagedKubernetes.name": (r"[A-Za-z0-9][A-Za-z0-9_-]*", 1, 63),
    "NodePool.nodePoolName": (r"[A-Za-z0-9][A-Za-z0-9_-]*", 1, 63),
    "CapacityReservation.capacityReservationName": (r"[A-Za-z][A-Za-z0-9:_.-]*", 2, 128),
    "Network.vpcName": (r"[A-Za-z][A-Za-z0-9_.-]*", 1, 128),
    "Switch.vswitchName": (r"[A-Za-z][A-Za-z0-9_.-]*", 1, 128),
    "Role.roleName": (r"[A-Za-z0-9.-]+", 1, 64),
    "Policy.policyName": (r"[A-Za-z0-9-]+", 1, 128),
    "Bucket.bucket": (r"[a-z0-9][a-z0-9-]*[a-z0-9]", 3, 63),
}
"""The models of the CS, ECS and RAM APIs, and OSS' naming rules."""


def leaves(value: object, path: str) -> Iterator[tuple[str, object]]:
    """Yield every scalar with the path of its keys; lists add nothing to it."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner, path)
    else:
        yield path, value


def planned(changes: Changes) -> list[Registered]:
    mocks = program(changes, AlicloudAnswers())
    return [each for each in mocks.resources if each.type.startswith("alicloud:")]


def all_leaves() -> list[tuple[str, object]]:
    found = [each for changes in VARIANTS.values() for each in planned(changes)]
    return [leaf for each in found for leaf in leaves(each.inputs, each.type.split(":")[-1])]


def test_every_word_is_one_that_the_provider_knows_and_every_number_in_its_range() -> None:
    found = all_leaves()
    met = {path for path, _ in found}
    assert {path for path in (*ALLOWED, *RANGES, *LENGTHS) if path not in met} == set()
    assert [(path, value) for path, value in found if path in ALLOWED and value not in ALLOWED[path]] == []
    outside = [
        (path, value)
        for path, value in found
        if path in RANGES and not RANGES[path][0] <= float(str(value)) <= RANGES[path][1]
    ]
    assert outside == []


@pytest.mark.parametrize("path", LENGTHS)
def test_every_name_has_its_length_and_its_signs(path: str) -> None:
    pattern, shortest, longest = LENGTHS[path]
    values = {str(value) for each, value in all_leaves() if each == path}
    assert [name for name in values if not re.fullmatch(pattern, name) or not shortest <= len(name) <= longest] == []


@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS)
def test_every_input_has_the_name_and_the_type_that_the_sdk_gives_it(changes: Changes) -> None:
    faults = [
        fault
        for resource in planned(changes)
        for fault in mismatches(resource.inputs, arguments_of(resource.type), resource.name)
    ]
    assert faults == []


def arguments_of(kind: str) -> type:
    """Return the SDK's class of a resource's arguments."""
    _, path, name = kind.split(":")
    # From the resource's own module: the package has another KubernetesAddonArgs, for which this one makes room.
    resource = inspect.getmodule(getattr(getattr(alicloud, path.partition("/")[0]), name))
    return getattr(resource, f"{name}Args", None) or getattr(resource, f"{name}InitArgs")


def mismatches(values: Mapping[str, Any], arguments: type, path: str) -> Iterator[str]:
    """Yield every input that the SDK's class doesn't have, or has with another type."""
    module = inspect.getmodule(arguments)
    package = __import__(f"{module.__package__}._inputs", fromlist=["x"]) if module else None
    hints = {
        camel(name): list(flat(parameter.annotation, package))
        for name, parameter in inspect.signature(arguments.__init__).parameters.items()
    }
    for key, value in values.items():
        kinds = hints.get(key, [])
        inner = [kind for kind in kinds if kind not in (str, int, bool, float)]
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, Mapping) and inner:
                yield from mismatches(each, inner[0], f"{path}.{key}")
            elif not fits(each, kinds):
                yield f"{path}.{key} = {each!r}: {kinds}"


def fits(value: object, kinds: list[type]) -> bool:
    """Return whether a value is of one of the kinds; the wire knows numbers, and no integers."""
    if isinstance(value, Mapping):
        return str in kinds
    if isinstance(value, bool):
        return bool in kinds
    return (int in kinds or float in kinds) if isinstance(value, int | float) else str in kinds


def flat(annotation: object, package: object) -> Iterator[type]:
    """Yield the plain types and argument classes in an annotation such as Input[Optional[Sequence[Input[X]]]]."""
    if isinstance(annotation, typing.ForwardRef):
        annotation = annotation.__forward_arg__
    if isinstance(annotation, str):
        name = annotation.strip("'\"")
        if name.endswith("Args"):
            yield getattr(package, name)
    elif annotation in (str, int, bool, float):
        assert isinstance(annotation, type)
        yield annotation
    for part in typing.get_args(annotation):
        yield from flat(part, package)


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
