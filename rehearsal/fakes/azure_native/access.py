"""Identities, what they may do, and whose tokens they trust."""

from collections.abc import Iterator
from typing import Final

from rehearsal.fakes.account import Ledger, Thing
from rehearsal.fakes.azure_native import references as ref
from rehearsal.fakes.paths import text_at, texts_at
from rehearsal.fakes.resource_kind import ResourceKind, fits
from rehearsal.fakes.rules import Failure, Resource
from rehearsal.fakes.values import Properties

# Built-in roles (Azure, role-based-access-control/built-in-roles).
CONTRIBUTOR: Final = "b24988ac-6180-42a0-ab88-20f7382dd24c"
NETWORK_CONTRIBUTOR: Final = "4d97b98b-1d4f-4787-a291-c67834d212e7"
BLOB_READER: Final = "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1"
BLOB_CONTRIBUTOR: Final = "ba92f5b4-2d11-453d-a403-e96b0029c9fe"
_ROLES: Final = (CONTRIBUTOR, NETWORK_CONTRIBUTOR, BLOB_READER, BLOB_CONTRIBUTOR)
_REPLICATION_SECONDS: Final = 120.0
"""Until all of Entra knows an identity."""
_ROLE_SECONDS: Final = 300.0
"""Until all of Azure knows a role; Azure says up to 10 minutes, AKS up to 60 for reservations."""
_MOST_TRUSTS: Final = 20
_IDENTITY: Final = ref.path_of("Microsoft.ManagedIdentity/userAssignedIdentities/{resourceName}")
_TRUST: Final = ref.path_of(
    "Microsoft.ManagedIdentity/userAssignedIdentities/{resourceName}/federatedIdentityCredentials/"
    "{federatedIdentityCredentialResourceName}"
)


def refuse_unknown_principal(resource: Resource, ledger: Ledger) -> None:
    """Without the principal's type Entra is asked, which doesn't know a new identity yet (role-based-access-control).

    Azure-Samples/azure-search-openai-demo #9, Azure/avdaccelerator #99.
    """
    principal = text_at(resource.inputs, "principalId")
    found = next((each for each in ledger.of_type(ref.IDENTITY) if principal_of(each) == principal), None)
    typed = text_at(resource.inputs, "principalType") == "ServicePrincipal"
    if found is None or (not typed and ledger.clock.now - found.since < _REPLICATION_SECONDS):
        text = (
            f"Principal {principal} does not exist in the directory. If you are creating this principal and then "
            "immediately assigning a role, this error might be related to a replication delay. In this case, set the "
            "role assignment principalType property to a value, such as ServicePrincipal, User, or Group."
        )
        raise ref.refused(resource.name, 400, "PrincipalNotFound", text)


def role_failures(inputs: Properties) -> Iterator[Failure]:
    """A role that Azure has (authorization, `RoleDefinitionDoesNotExist`)."""
    for role in texts_at(inputs, "roleDefinitionId"):
        if ref.last(role) not in _ROLES:
            text = f"The specified role definition with ID '{ref.last(role)}' does not exist."
            yield Failure("roleDefinitionId", f'Status=400 Code="RoleDefinitionDoesNotExist" Message="{text}"')


def refuse_same_role(resource: Resource, ledger: Ledger) -> None:
    """The same role is given once (authorization, `RoleAssignmentExists`)."""
    keys = ("principalId", "roleDefinitionId", "scope")
    for each in ledger.of_type(ref.ROLE):
        if all(text_at(each.inputs, key) == text_at(resource.inputs, key) for key in keys):
            raise ref.refused(resource.name, 409, "RoleAssignmentExists", "The role assignment already exists.")


def refuse_missing_identity(resource: Resource, ledger: Ledger) -> None:
    """A trust is an identity's, which has at most 20 (Entra, workload-identity-federation-considerations)."""
    identity = _TRUST(resource, ledger).partition("/federatedIdentityCredentials/")[0]
    if ledger.find(ref.IDENTITY, identity) is None:
        raise ref.refused(resource.name, 404, "ParentResourceNotFound", f"The parent '{identity}' could not be found.")
    if sum(each.id.startswith(f"{identity}/") for each in ledger.of_type(ref.TRUST)) >= _MOST_TRUSTS:
        text = "Too many Federated Identity Credentials have been added to the managed identity (at most 20)."
        raise ref.refused(resource.name, 400, "BadRequest", text)


def given(principal: str, role: str, scope: str, ledger: Ledger) -> list[Thing]:
    """The assignments of a role that let a principal do something to an id, however young they are."""
    return [
        each
        for each in ledger.of_type(ref.ROLE)
        if text_at(each.inputs, "principalId") == principal
        and ref.last(text_at(each.inputs, "roleDefinitionId")) == role
        and _within(scope, text_at(each.inputs, "scope"))
    ]


def may(principal: str, role: str, scope: str, ledger: Ledger) -> bool:
    """Whether a role was given long enough ago to be known."""
    seconds = ledger.settings.get("role_seconds")
    age = float(seconds) if isinstance(seconds, int | float) else _ROLE_SECONDS
    return any(ledger.clock.now - each.since >= age for each in given(principal, role, scope, ledger))


def principal_of(identity: Thing) -> str:
    """The principal of an identity."""
    return text_at(identity.outputs, "principalId")


def trusted(client: str, subject: str, issuer: str, ledger: Ledger) -> Thing | None:
    """The identity of a client id that trusts a service account's tokens."""
    for identity in ledger.of_type(ref.IDENTITY):
        if text_at(identity.outputs, "clientId") != client:
            continue
        for trust in ledger.of_type(ref.TRUST):
            said = (text_at(trust.inputs, "subject"), text_at(trust.inputs, "issuer"))
            if trust.id.startswith(f"{identity.id}/") and said == (subject, issuer):
                return identity
    return None


def _within(scope: str, outer: str) -> bool:
    return scope == outer or scope.startswith(f"{outer}/")


def _identity_facts(resource: Resource, identity: str, ledger: Ledger) -> Properties:
    del resource
    before = ledger.find(ref.IDENTITY, identity)
    # Another one with each creation: a role that was given to the one before is nobody's.
    turn = str(before.since if before else ledger.clock.now)
    return {
        "clientId": ref.made_up_uuid(identity, turn, "client"),
        "principalId": ref.made_up_uuid(identity, turn, "principal"),
        "tenantId": ref.made_up_uuid("tenant"),
    }


def _role_identity(resource: Resource, ledger: Ledger) -> str:
    name = ref.made_up_uuid(resource.urn, str(len(ledger.events)))
    return f"{resource.inputs.get('scope')}/providers/Microsoft.Authorization/roleAssignments/{name}"


IDENTITY: Final = ResourceKind(
    type=ref.IDENTITY,
    identity=_IDENTITY,
    replaced_by=("resourceGroupName", "resourceName", "location"),
    # azure-mgmt-msi 7.1.0.
    checks=(fits("resourceName", r"[a-zA-Z0-9][-_a-zA-Z0-9]{2,127}", "3 to 128 letters, digits, - and _"),),
    admissions=(ref.group_exists, ref.not_taken(_IDENTITY)),
    computed=_identity_facts,
    fills=True,
)
TRUST: Final = ResourceKind(
    type=ref.TRUST,
    identity=_TRUST,
    replaced_by=("resourceGroupName", "resourceName", "federatedIdentityCredentialResourceName"),
    checks=(
        fits(
            "federatedIdentityCredentialResourceName",
            r"[a-zA-Z0-9][a-zA-Z0-9_-]{2,119}",
            "3 to 120 letters, digits, - and _",
        ),
    ),
    admissions=(ref.group_exists, refuse_missing_identity, ref.not_taken(_TRUST)),
    fills=True,
)
ROLE: Final = ResourceKind(
    type=ref.ROLE,
    identity=_role_identity,
    # pulumi-azure-native, replacement.go.
    replaced_by=("principalId", "principalType", "roleDefinitionId", "roleAssignmentName", "scope"),
    checks=(role_failures,),
    admissions=(refuse_unknown_principal, refuse_same_role),
    fills=True,
)
