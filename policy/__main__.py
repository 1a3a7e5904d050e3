"""The rules as a policy pack of the Pulumi engine: every violation is mandatory, so that `up` doesn't begin."""

from collections.abc import Callable

from planned import Planned, parents
from pulumi_policy import (
    EnforcementLevel,
    PolicyPack,
    ReportViolation,
    ResourceValidationArgs,
    ResourceValidationPolicy,
)
from rules import RULES, Rule


def _validation(rule: Rule) -> Callable[[ResourceValidationArgs, ReportViolation], None]:
    def validate(args: ResourceValidationArgs, report: ReportViolation) -> None:
        planned = Planned(type=args.resource_type, props=args.props, parents=parents(args.urn))
        for violation in rule(planned):
            report(violation, None)

    return validate


PolicyPack(
    name="kimi-k3",
    enforcement_level=EnforcementLevel.MANDATORY,
    policies=[
        ResourceValidationPolicy(name=name, description=rule.__doc__ or name, validate=_validation(rule))
        for name, rule in RULES.items()
    ],
)
