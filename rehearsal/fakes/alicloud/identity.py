"""RAM: roles with their trust, policies, and what binds them."""

import json
from collections.abc import Iterator
from typing import Final, cast

from rehearsal.fakes.account import Ledger
from rehearsal.fakes.alicloud import references as ref
from rehearsal.fakes.alicloud.cluster import facts
from rehearsal.fakes.paths import text_at, texts_at
from rehearsal.fakes.resource_kind import Check, ResourceKind, named
from rehearsal.fakes.rules import Failure, Resource
from rehearsal.fakes.values import Properties, mapping

_NAME: Final = r"[A-Za-z0-9.-]{1,%d}"
_RULE: Final = "1 to %d letters, digits, - and ."


def document_failures(path: str) -> Check:
    """A check that a document is one (RAM, `MalformedPolicyDocument`)."""

    def check(inputs: Properties) -> Iterator[Failure]:
        for text in texts_at(inputs, path):
            if _document(text).get("Version") != "1" or not _document(text).get("Statement"):
                yield Failure(path, "MalformedPolicyDocument: no JSON of version 1 with statements in it")

    return check


def refuse_taken_name(resource: Resource, ledger: Ledger) -> None:
    """A role's name is taken once in an account (RAM, `EntityAlreadyExists.Role`)."""
    name = text_at(resource.inputs, "roleName")
    if ledger.find(ref.ROLE, name):
        raise ref.refused(resource.name, "EntityAlreadyExists.Role", f"The role {name} already exists.")


def refuse_unknown_provider(resource: Resource, ledger: Ledger) -> None:
    """Whom a role trusts is there: the identity provider of a cluster (RAM, `EntityNotExist.OIDCProvider`)."""
    known = {text_at(facts(each.id, ledger), "ramOidcProviderArn") for each in ledger.of_type(ref.CLUSTER)}
    trust = _document(text_at(resource.inputs, "assumeRolePolicyDocument"))
    for arn in texts_at(trust, "Statement.Principal.Federated"):
        if arn not in known:
            raise ref.refused(resource.name, "EntityNotExist.OIDCProvider", f"{arn} does not exist.")


def _document(text: str) -> Properties:
    try:
        return mapping(cast("object", json.loads(text or "{}")))
    except ValueError:
        return {}


def _role(resource: Resource, identity: str, ledger: Ledger) -> Properties:
    del resource, ledger
    return {"arn": f"acs:ram::{ref.ACCOUNT}:role/{identity}", "roleId": identity}


def _policy(resource: Resource, identity: str, ledger: Ledger) -> Properties:
    del resource, identity, ledger
    return {"type": "Custom", "defaultVersion": "v1", "attachmentCount": 0}


ROLE: Final = ResourceKind(
    type=ref.ROLE,
    identity=named("roleName"),
    checks=(ref.fits("roleName", _NAME % 64, _RULE % 64), document_failures("assumeRolePolicyDocument")),
    replaced_by=("roleName",),
    admissions=(refuse_taken_name, refuse_unknown_provider),
    computed=_role,
    gone=ref.refuse_while_used("DeleteConflict.Role.Policy", (ref.ATTACHMENT, "roleName")),
)
POLICY: Final = ResourceKind(
    type=ref.POLICY,
    identity=named("policyName"),
    checks=(
        ref.fits("policyName", _NAME % 128, _RULE % 128),
        ref.one_of("rotateStrategy", "None", "DeleteOldestNonDefaultVersionWhenLimitExceeded"),
        document_failures("policyDocument"),
    ),
    replaced_by=("policyName",),
    computed=_policy,
    gone=ref.refuse_while_used("DeleteConflict.Policy.User", (ref.ATTACHMENT, "policyName")),
)
ATTACHMENT: Final = ResourceKind(
    type=ref.ATTACHMENT,
    identity=lambda resource, _: ":".join(
        ["role", *(str(resource.inputs.get(key)) for key in ("policyName", "policyType", "roleName"))]
    ),
    checks=(ref.one_of("policyType", "Custom", "System"),),
    replaced_by=("policyName", "policyType", "roleName"),
    admissions=(
        ref.exists("roleName", ref.ROLE, "EntityNotExist.Role"),
        ref.exists("policyName", ref.POLICY, "EntityNotExist.Policy"),
    ),
)
