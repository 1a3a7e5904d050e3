"""IAM: roles, policies, and what binds them."""

import json
from collections.abc import Iterator
from typing import Final, cast

from rehearsal.fakes.account import Ledger, Thing
from rehearsal.fakes.aws import references as ref
from rehearsal.fakes.aws.naming import global_arn
from rehearsal.fakes.paths import text_at
from rehearsal.fakes.resource_kind import Admission, Check, ResourceKind, digest, fits, named
from rehearsal.fakes.rules import Failure, RefusedError, Resource
from rehearsal.fakes.values import Properties, mapping, sequence

_NAME: Final = r"[\w+=,.@-]{1,%d}"
_RULE: Final = "1 to %d letters, digits and +=,.@-"
_ATTACHMENT: Final = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
_INLINE: Final = "aws:iam/rolePolicy:RolePolicy"


def document_failures(path: str) -> Check:
    """A check that a policy is a document (IAM, `MalformedPolicyDocument`)."""

    def check(inputs: Properties) -> Iterator[Failure]:
        document = inputs.get(path)
        if isinstance(document, str) and not _statements(document):
            yield Failure(path, "MalformedPolicyDocument: no JSON with statements in it")

    return check


def trusts(role: Thing, service: str) -> set[str]:
    """The actions by which a role lets a service take it."""
    found: set[str] = set()
    for statement in _statements(text_at(role.inputs, "assumeRolePolicy")):
        if service in _listed(mapping(statement.get("Principal")).get("Service")):
            found |= set(_listed(statement.get("Action")))
    return found


def role_of(arn_or_name: str, ledger: Ledger) -> Thing | None:
    """The role of an ARN or a name."""
    return ledger.find(ref.ROLE, arn_or_name.rsplit("/", 1)[-1])


def role_exists(path: str, text: str) -> Admission:
    """An admission that refuses the ARN of a role that isn't there.

    Args:
        path: Where the ARN stands.
        text: The service's own, with `{}` for the ARN.
    """

    def admit(resource: Resource, ledger: Ledger) -> None:
        role = text_at(resource.inputs, path)
        if role and role_of(role, ledger) is None:
            raise RefusedError(f"creating {resource.name}: api error {text.format(role)}")

    return admit


def refuse_foreign_policy(resource: Resource, ledger: Ledger) -> None:
    """A policy is AWS' own, whose names a rehearsal doesn't know, or it exists (IAM, `NoSuchEntity`)."""
    policy = text_at(resource.inputs, "policyArn")
    own = policy.startswith("arn:aws:iam::aws:policy/")
    if not own and ledger.find(ref.POLICY, policy) is None:
        raise RefusedError(
            f"creating {resource.name}: api error NoSuchEntity: Policy {policy} does not exist or is not attachable."
        )


def refuse_taken_name(resource: Resource, ledger: Ledger) -> None:
    """A role's name is taken once (IAM, `EntityAlreadyExists`)."""
    name = text_at(resource.inputs, "name")
    if ledger.find(ref.ROLE, name):
        raise RefusedError(
            f"creating {resource.name}: api error EntityAlreadyExists: Role with name {name} already exists."
        )


def _statements(document: str) -> list[Properties]:
    try:
        parsed = cast("object", json.loads(document))
    except ValueError:
        return []
    statement = mapping(parsed).get("Statement")
    return [mapping(item) for item in (sequence(statement) or [statement]) if isinstance(item, dict)]


def _listed(value: object) -> list[str]:
    return [str(item) for item in (sequence(value) or [value]) if item is not None]


def _role(resource: Resource, identity: str, ledger: Ledger) -> Properties:
    del resource
    role = global_arn("iam", f"role/{identity}", ledger)
    return {"arn": role, "uniqueId": f"AROA{digest(identity).upper()}", "createDate": ledger.clock.stamp()}


def _policy_id(resource: Resource, ledger: Ledger) -> str:
    return global_arn("iam", f"policy/{resource.inputs.get('name')}", ledger)


def _policy(resource: Resource, identity: str, ledger: Ledger) -> Properties:
    del resource, ledger
    return {"arn": identity, "policyId": f"ANPA{digest(identity).upper()}", "attachmentCount": 0}


ROLE: Final = ResourceKind(
    type=ref.ROLE,
    identity=named("name"),
    name="name",
    replaced_by=("path",),
    checks=(fits("name", _NAME % 64, _RULE % 64), document_failures("assumeRolePolicy")),
    admissions=(refuse_taken_name,),
    computed=_role,
    gone=ref.refuse_while_used(
        "DeleteConflict: Cannot delete entity, must detach all policies first: {}",
        (_ATTACHMENT, "role"),
        (_INLINE, "role"),
    ),
)
POLICY: Final = ResourceKind(
    type=ref.POLICY,
    identity=_policy_id,
    name="name",
    replaced_by=("path", "description"),
    checks=(fits("name", _NAME % 128, _RULE % 128), document_failures("policy")),
    computed=_policy,
    gone=ref.refuse_while_used(
        "DeleteConflict: Cannot delete a policy attached to entities: {}", (_ATTACHMENT, "policyArn")
    ),
)
INLINE_POLICY: Final = ResourceKind(
    type=_INLINE,
    identity=named("role", "name"),
    name="name",
    replaced_by=("role",),
    checks=(fits("name", _NAME % 128, _RULE % 128), document_failures("policy")),
    admissions=(ref.exists("role", ref.ROLE),),
)
ATTACHMENT: Final = ResourceKind(
    type=_ATTACHMENT,
    identity=named("role", "policyArn", separator="/"),
    replaced_by=("role", "policyArn"),
    admissions=(ref.exists("role", ref.ROLE), refuse_foreign_policy),
)
