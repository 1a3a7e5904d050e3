"""Inputs against the SDK's own types."""

import enum
from collections.abc import Mapping, Sequence
from typing import Union

import pulumi
import pytest

from rehearsal.fakes.rules import Failure
from rehearsal.fakes.schema import NoSuchTypeError, args_class, input_failures
from rehearsal.fakes.values import UNKNOWN, Properties, Secret


class Tier(enum.StrEnum):
    FAST = "Fast"
    SLOW = "Slow"


@pulumi.input_type
class DiskArgs:
    size_gb: pulumi.Input[int] = pulumi.property("sizeGb")


@pulumi.input_type
class NodeArgs:
    name: pulumi.Input[str] = pulumi.property("name")
    share: pulumi.Input[float] | None = pulumi.property("share", default=None)
    spot: pulumi.Input[bool] | None = pulumi.property("spot", default=None)
    labels: pulumi.Input[Mapping[str, pulumi.Input[str]]] | None = pulumi.property("labels", default=None)
    disks: pulumi.Input[Sequence[pulumi.Input[DiskArgs]]] | None = pulumi.property("disks", default=None)
    tier: pulumi.Input[Union[str, Tier]] | None = pulumi.property("tier", default=None)  # noqa: UP007 — as SDKs do


@pytest.mark.parametrize(
    "inputs",
    [
        {"name": "a"},
        {"name": UNKNOWN, "disks": UNKNOWN},
        {"name": Secret("a"), "labels": Secret({"a": "b"})},
        {"name": "a", "share": 1, "spot": False, "labels": {"x": "y"}, "disks": [{"sizeGb": 5}], "tier": "Fast"},
        {"name": "a", "share": None, "__defaults": []},
    ],
)
def test_accepts(inputs: Properties) -> None:
    assert input_failures(NodeArgs, inputs) == []


@pytest.mark.parametrize(
    ("inputs", "path", "reason"),
    [
        ({}, "name", "missing required property 'name'"),
        ({"name": 5}, "name", "an integer is not text"),
        ({"name": Secret(5)}, "name", "an integer is not text"),
        ({"name": "a", "spto": True}, "spto", "unknown property 'spto'; did you mean 'spot'?"),
        ({"name": "a", "spot": "true"}, "spot", "text is not true or false"),
        ({"name": "a", "share": True}, "share", "true or false is not a number"),
        ({"name": "a", "labels": {"x": 1}}, "labels.x", "an integer is not text"),
        ({"name": "a", "labels": ["x"]}, "labels", "a list is not a mapping"),
        ({"name": "a", "disks": {"sizeGb": 5}}, "disks", "a mapping is not a list"),
        ({"name": "a", "disks": [{}]}, "disks[0].sizeGb", "missing required property 'sizeGb'"),
        ({"name": "a", "disks": [{"sizeGb": 1.5}]}, "disks[0].sizeGb", "a number is not an integer"),
        ({"name": "a", "tier": "Fasst"}, "tier", "'Fasst' is none of Tier; did you mean 'Fast'?"),
    ],
)
def test_refuses(inputs: Properties, path: str, reason: str) -> None:
    assert input_failures(NodeArgs, inputs) == [Failure(path, reason)]


def test_an_enumeration_that_lags_behind_can_be_left_open() -> None:
    assert input_failures(NodeArgs, {"name": "a", "tier": "Faster"}, open_enums={"Tier"}) == []


@pytest.mark.parametrize(
    ("token", "name"),
    [
        ("kubernetes:core/v1:Service", "ServiceInitArgs"),
        ("kubernetes:apps/v1:Deployment", "DeploymentInitArgs"),
        ("pulumi:providers:kubernetes", "ProviderArgs"),
    ],
)
def test_finds_the_arguments_of_a_token(token: str, name: str) -> None:
    assert args_class("pulumi_kubernetes", token).__name__ == name


def test_names_the_nearest_token() -> None:
    with pytest.raises(NoSuchTypeError, match=r"did you mean kubernetes:core/v1:Service\?"):
        args_class("pulumi_kubernetes", "kubernetes:core/v1:Servize")


def test_a_package_that_is_not_installed() -> None:
    with pytest.raises(NoSuchTypeError, match="nowhere is not installed"):
        args_class("nowhere", "nowhere:index:Thing")
