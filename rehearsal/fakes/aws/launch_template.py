"""EC2 launch templates: what an instance of a node group is like."""

import base64
import binascii
from collections.abc import Iterator
from typing import Final

from rehearsal.fakes.account import Ledger, Thing
from rehearsal.fakes.aws import references as ref
from rehearsal.fakes.aws.instance_type import instance_type
from rehearsal.fakes.aws.naming import arn
from rehearsal.fakes.aws.network_interface import group_failures, interface_failures
from rehearsal.fakes.paths import number_at, text_at
from rehearsal.fakes.resource_kind import ResourceKind, fits, generated
from rehearsal.fakes.rules import Failure, RefusedError, Resource
from rehearsal.fakes.values import Properties

_USER_DATA_BYTES: Final = 16 * 1024
_MARKETS: Final = ("spot", "capacity-block", "interruptible-capacity-reservation")
_PREFERENCES: Final = ("capacity-reservations-only", "open", "none")
"""botocore, MarketType and CapacityReservationPreference."""


def user_data(template: Properties) -> str:
    """The user data in clear; empty if there is none, or none that can be read."""
    try:
        return base64.b64decode(text_at(template, "userData"), validate=True).decode(errors="replace")
    except binascii.Error:
        return ""


def user_data_failures(inputs: Properties) -> Iterator[Failure]:
    """Base64 of at most 16 KB (EC2, `InvalidUserData.Malformed`; user guide, user data)."""
    text = text_at(inputs, "userData")
    try:
        raw = base64.b64decode(text, validate=True)
    except binascii.Error:
        yield Failure("userData", "InvalidUserData.Malformed: Invalid BASE64 encoding of user data.")
        return
    if len(raw) > _USER_DATA_BYTES:
        yield Failure("userData", f"User data is limited to {_USER_DATA_BYTES} bytes, this has {len(raw)}")


def option_failures(inputs: Properties) -> Iterator[Failure]:
    """A market and a preference that EC2 has, and a type that it knows (EC2, `InvalidParameterValue`)."""
    market = text_at(inputs, "instanceMarketOptions.marketType")
    preference = text_at(inputs, "capacityReservationSpecification.capacityReservationPreference")
    name = text_at(inputs, "instanceType")
    if market and market not in _MARKETS:
        yield Failure("instanceMarketOptions.marketType", f"'{market}': {', '.join(_MARKETS)}")
    if preference and preference not in _PREFERENCES:
        path = "capacityReservationSpecification.capacityReservationPreference"
        yield Failure(path, f"'{preference}': {', '.join(_PREFERENCES)}")
    if name and instance_type(name) is None:
        yield Failure("instanceType", f"Invalid instance type '{name}', or one that the rehearsal doesn't know")


def refuse_taken_name(resource: Resource, ledger: Ledger) -> None:
    """A name is taken once (EC2, `InvalidLaunchTemplateName.AlreadyExistsException`)."""
    name = text_at(resource.inputs, "name")
    if any(text_at(other.inputs, "name") == name for other in ledger.of_type(ref.LAUNCH_TEMPLATE)):
        raise RefusedError(
            f"creating {resource.name}: api error InvalidLaunchTemplateName.AlreadyExistsException: Launch template "
            "name already in use."
        )


def template_of(group: Properties, ledger: Ledger) -> Thing | None:
    """The launch template that a node group names by id or by name; None if it names none that exists."""
    identity, name = text_at(group, "launchTemplate.id"), text_at(group, "launchTemplate.name")
    for template in ledger.of_type(ref.LAUNCH_TEMPLATE):
        if (identity and template.id == identity) or (name and text_at(template.inputs, "name") == name):
            return template
    return None


def _computed(resource: Resource, identity: str, ledger: Ledger) -> Properties:
    before = ledger.find(ref.LAUNCH_TEMPLATE, identity)
    latest = number_at(before.outputs, "latestVersion") + 1 if before else 1
    follows = resource.inputs.get("updateDefaultVersion") is True
    kept = number_at(before.outputs, "defaultVersion", 1) if before else 1
    template = arn("ec2", f"launch-template/{identity}", ledger)
    return {"arn": template, "latestVersion": latest, "defaultVersion": latest if follows else kept}


KIND: Final = ResourceKind(
    type=ref.LAUNCH_TEMPLATE,
    identity=generated("lt"),
    name="name",
    checks=(
        fits("name", r"[a-zA-Z0-9().\-/_]{3,128}", "3 to 128 letters, digits and ().-/_"),
        user_data_failures,
        option_failures,
        interface_failures,
        group_failures,
    ),
    admissions=(
        refuse_taken_name,
        ref.exists("networkInterfaces.securityGroups", ref.SECURITY_GROUP),
        ref.exists("vpcSecurityGroupIds", ref.SECURITY_GROUP),
    ),
    computed=_computed,
)
