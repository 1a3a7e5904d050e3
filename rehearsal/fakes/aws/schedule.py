"""Scheduled actions of Auto Scaling groups: the moment at which a group of a Capacity Block starts."""

from collections.abc import Iterator
from typing import Final

from rehearsal.fakes.account import Ledger, Thing
from rehearsal.fakes.aws import references as ref
from rehearsal.fakes.aws.naming import arn
from rehearsal.fakes.aws.node_group import resize
from rehearsal.fakes.clock import parsed
from rehearsal.fakes.paths import number_at, text_at
from rehearsal.fakes.resource_kind import ResourceKind, digest, named
from rehearsal.fakes.rules import Failure, RefusedError, Resource
from rehearsal.fakes.values import Properties, sequence

_DONE: Final = "done_schedules"


def time_failures(inputs: Properties) -> Iterator[Failure]:
    """Times in UTC (the provider's own check, schema.ValidateFunc of aws_autoscaling_schedule)."""
    for key in ("startTime", "endTime"):
        if (time := text_at(inputs, key)) and not time.endswith("Z"):
            yield Failure(key, f"'{time}' cannot be parsed as iso8601 in UTC, such as 2026-01-01T00:00:00Z")


def refuse_past(resource: Resource, ledger: Ledger) -> None:
    """A start lies in the future (Auto Scaling, `ValidationError`; hashicorp/terraform-provider-aws #3033)."""
    start = text_at(resource.inputs, "startTime")
    if start and parsed(start) <= ledger.clock.moment:
        raise RefusedError(f"creating {resource.name}: api error ValidationError: Given start time is in the past")


def refuse_unknown_group(resource: Resource, ledger: Ledger) -> None:
    """The group exists (Auto Scaling, `ValidationError`)."""
    name = text_at(resource.inputs, "autoscalingGroupName")
    if _group_of(name, ledger) is None:
        raise RefusedError(
            f"creating {resource.name}: api error ValidationError: AutoScalingGroup name not found - no such group: "
            f"{name}"
        )


def run_due(ledger: Ledger) -> None:
    """Do what is due, each action once."""
    done = sequence(ledger.settings.setdefault(_DONE, []))
    for action in ledger.of_type(KIND.type):
        start = text_at(action.inputs, "startTime")
        due = start and parsed(start) <= ledger.clock.moment
        group = _group_of(text_at(action.inputs, "autoscalingGroupName"), ledger)
        if due and group and action.id not in done:
            done.append(action.id)
            resize(group, number_at(action.inputs, "desiredCapacity"), ledger)


def _group_of(name: str, ledger: Ledger) -> Thing | None:
    groups = ledger.of_type(ref.NODE_GROUP)
    return next((each for each in groups if text_at(each.outputs, "resources.autoscalingGroups.name") == name), None)


def _computed(resource: Resource, identity: str, ledger: Ledger) -> Properties:
    del resource
    return {"arn": arn("autoscaling", f"scheduledUpdateGroupAction:{digest(identity)}", ledger)}


KIND: Final = ResourceKind(
    type="aws:autoscaling/schedule:Schedule",
    identity=named("scheduledActionName"),
    replaced_by=("scheduledActionName", "autoscalingGroupName"),
    checks=(time_failures,),
    admissions=(refuse_unknown_group, refuse_past),
    computed=_computed,
)
