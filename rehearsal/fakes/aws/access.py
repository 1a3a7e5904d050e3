"""Who may use an EKS cluster: access entries and their policies, and the roles of pods."""

from collections.abc import Iterator
from typing import Final

from rehearsal.fakes.account import Ledger
from rehearsal.fakes.aws import references as ref
from rehearsal.fakes.aws.identity import role_exists, role_of, trusts
from rehearsal.fakes.aws.naming import arn
from rehearsal.fakes.paths import text_at, texts_at
from rehearsal.fakes.resource_kind import ResourceKind, digest, named
from rehearsal.fakes.rules import Failure, RefusedError, Resource
from rehearsal.fakes.values import Properties

_ENTRY: Final = "aws:eks/accessEntry:AccessEntry"
_POD_IDENTITY: Final = "aws:eks/podIdentityAssociation:PodIdentityAssociation"
_POLICIES: Final = "arn:aws:eks::aws:cluster-access-policy/"


def scope_failures(inputs: Properties) -> Iterator[Failure]:
    """A policy of EKS' own, for the cluster or for namespaces that are named (EKS, `InvalidParameterException`)."""
    policy, scope = text_at(inputs, "policyArn"), text_at(inputs, "accessScope.type")
    if policy and not policy.startswith(_POLICIES):
        yield Failure("policyArn", "InvalidParameterException: The policyArn parameter format is not valid")
    if scope and scope not in {"cluster", "namespace"}:
        yield Failure("accessScope.type", f"'{scope}': cluster or namespace")
    if (scope == "namespace") != bool(texts_at(inputs, "accessScope.namespaces")) and scope:
        yield Failure("accessScope.namespaces", "InvalidParameterException: belongs to the scope namespace")


def refuse_without_access_api(resource: Resource, ledger: Ledger) -> None:
    """Entries need an authentication mode with the API (EKS, `InvalidRequestException`)."""
    cluster = ledger.find(ref.CLUSTER, text_at(resource.inputs, "clusterName"))
    mode = text_at(cluster.inputs, "accessConfig.authenticationMode") if cluster else "API"
    if mode not in {"API", "API_AND_CONFIG_MAP"}:
        raise RefusedError(
            f"creating {resource.name}: api error InvalidRequestException: The cluster's authentication mode must be "
            "set to one of [API, API_AND_CONFIG_MAP] to perform this operation."
        )


def refuse_without_entry(resource: Resource, ledger: Ledger) -> None:
    """A policy is bound to an entry of the same principal (EKS, `ResourceNotFoundException`)."""
    identity = f"{resource.inputs.get('clusterName')}:{resource.inputs.get('principalArn')}"
    if ledger.find(_ENTRY, identity) is None:
        raise RefusedError(
            f"creating {resource.name}: api error ResourceNotFoundException: The specified principalArn could not be "
            "found: no access entry"
        )


def refuse_untrusting_role(resource: Resource, ledger: Ledger) -> None:
    """The role of pods trusts their agent with both actions (hashicorp/terraform-provider-aws #41483)."""
    role = role_of(text_at(resource.inputs, "roleArn"), ledger)
    if role and not trusts(role, "pods.eks.amazonaws.com") >= {"sts:AssumeRole", "sts:TagSession"}:
        raise RefusedError(
            f"creating {resource.name}: api error InvalidParameterException: Trust policy of the role provided is "
            "invalid. Follow the official documentation to resolve the issue."
        )


def refuse_second_association(resource: Resource, ledger: Ledger) -> None:
    """A service account has one role (EKS, `ResourceInUseException`)."""
    wanted = _account(resource.inputs)
    for other in ledger.of_type(_POD_IDENTITY):
        if _account(other.inputs) == wanted:
            raise RefusedError(
                f"creating {resource.name}: api error ResourceInUseException: Association already exists: {other.id}"
            )


def _account(inputs: Properties) -> tuple[str, str, str]:
    return (
        text_at(inputs, "clusterName"),
        text_at(inputs, "namespace"),
        text_at(inputs, "serviceAccount"),
    )


def _entry(resource: Resource, identity: str, ledger: Ledger) -> Properties:
    del resource
    entry = arn("eks", f"access-entry/{identity.replace(':', '/', 1)}", ledger)
    return {"accessEntryArn": entry, "createdAt": ledger.clock.stamp()}


def _association(resource: Resource, identity: str, ledger: Ledger) -> Properties:
    cluster = text_at(resource.inputs, "clusterName")
    association = arn("eks", f"podidentityassociation/{cluster}/{identity}", ledger)
    return {"associationArn": association, "associationId": identity}


def _association_id(resource: Resource, ledger: Ledger) -> str:
    return f"a-{digest(resource.urn, len(ledger.events))}"


ENTRY: Final = ResourceKind(
    type=_ENTRY,
    identity=named("clusterName", "principalArn"),
    replaced_by=("clusterName", "principalArn", "type"),
    admissions=(ref.exists("clusterName", ref.CLUSTER), refuse_without_access_api),
    computed=_entry,
)
POLICY: Final = ResourceKind(
    type="aws:eks/accessPolicyAssociation:AccessPolicyAssociation",
    identity=named("clusterName", "principalArn", "policyArn", separator="#"),
    replaced_by=("clusterName", "principalArn", "policyArn", "accessScope"),
    checks=(scope_failures,),
    admissions=(ref.exists("clusterName", ref.CLUSTER), refuse_without_entry),
)
POD_IDENTITY: Final = ResourceKind(
    type=_POD_IDENTITY,
    identity=_association_id,
    replaced_by=("clusterName", "namespace", "serviceAccount"),
    admissions=(
        ref.exists("clusterName", ref.CLUSTER),
        role_exists("roleArn", "InvalidParameterException: Role provided in the request does not exist: {}"),
        refuse_untrusting_role,
        refuse_second_association,
    ),
    computed=_association,
)
