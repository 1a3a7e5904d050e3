"""Service accounts of a project."""

from typing import Final

from rehearsal.fakes.account import Ledger
from rehearsal.fakes.gcp import references as ref
from rehearsal.fakes.gcp.naming import fits, project
from rehearsal.fakes.resource_kind import ResourceKind, named
from rehearsal.fakes.rules import Resource
from rehearsal.fakes.values import Properties


def _email(resource: Resource, ledger: Ledger) -> str:
    return f"{resource.inputs.get('accountId')}@{project(ledger)}.iam.gserviceaccount.com"


def _identity(resource: Resource, ledger: Ledger) -> str:
    return f"projects/{project(ledger)}/serviceAccounts/{_email(resource, ledger)}"


def _computed(resource: Resource, identity: str, ledger: Ledger) -> Properties:
    email = _email(resource, ledger)
    return {"email": email, "member": f"serviceAccount:{email}", "name": identity}


KIND: Final = ResourceKind(
    type=ref.SERVICE_ACCOUNT,
    identity=_identity,
    replaced_by=("accountId", "project"),
    # iam.v1 and the provider's own check.
    checks=(fits("accountId", r"[a-z](?:[-a-z0-9]{4,28}[a-z0-9])", "6 to 30 lower-case letters, digits and -"),),
    computed=_computed,
)
PROJECT_MEMBER: Final = ResourceKind(
    type="gcp:projects/iAMMember:IAMMember",
    identity=named("project", "role", "member", separator="/"),
    replaced_by=("project", "role", "member"),
)
