"""Workload identity: an identity in Entra that one service account may take, with the roles that it needs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import pulumi
import pulumi_azure_native as azure

from components.azure.cluster import Cluster
from components.azure.provider import Place, allow

POD_LABELS: Final = {"azure.workload.identity/use": "true"}
"""Of a pod, not of its service account: without it the pod gets no token, and nothing says so."""
_CLIENT: Final = "azure.workload.identity/client-id"
_AUDIENCE: Final = "api://AzureADTokenExchange"


@dataclass(frozen=True, kw_only=True)
class PodIdentityArgs:
    """Who may do what."""

    cluster: Cluster
    service_account: str
    role: str
    """A role's id."""
    scope: pulumi.Input[str]
    """What the role is good for."""
    place: Place


class PodIdentity(pulumi.ComponentResource):
    """An identity, its role, and the service account that takes it."""

    annotations: Mapping[str, pulumi.Input[str]]
    """Of the service account."""

    def __init__(self, name: str, args: PodIdentityArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        namespace = args.cluster.access.namespace
        props = {"namespace": namespace, "serviceAccount": args.service_account}
        super().__init__("kimi:azure:PodIdentity", name, props, opts)
        child = pulumi.ResourceOptions(parent=self)
        identity = azure.managedidentity.UserAssignedIdentity(
            f"{name}-identity",
            resource_group_name=args.place.group,
            resource_name_=name,
            location=args.place.region,
            tags=args.place.tags,
            opts=child,
        )
        role = allow(f"{name}-role", identity.principal_id, args.role, args.scope, child)
        # One for each identity: Entra refuses two that are written to one identity at once.
        trust = azure.managedidentity.FederatedIdentityCredential(
            f"{name}-trust",
            resource_group_name=args.place.group,
            resource_name_=identity.name,
            federated_identity_credential_resource_name=name,
            issuer=args.cluster.issuer,
            subject=f"system:serviceaccount:{namespace}:{args.service_account}",
            audiences=[_AUDIENCE],
            opts=child,
        )
        self.annotations = {_CLIENT: identity.client_id}
        self.ready: list[pulumi.Resource] = [role, trust]
        """What a pod's rights need to be there."""
        self.register_outputs({"clientId": identity.client_id})
