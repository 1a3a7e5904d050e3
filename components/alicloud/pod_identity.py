"""RRSA: a RAM role that one service account may take, with the rights that it needs and no others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pulumi
import pulumi_alicloud as alicloud

from components.alicloud.provider import physical_name

Statement = Mapping[str, object]
"""One statement of a RAM policy; its leaves may be Inputs."""

ROLE_ANNOTATION: Final = "pod-identity.alibabacloud.com/role-name"
"""On a service account; the webhook gives its pods the role's token."""
INJECTED: Final = {"pod-identity.alibabacloud.com/injection": "on"}
"""On the namespace; without it the webhook leaves its pods alone."""
READER: Final = "kimi-k3"
"""Service account of the engine's pods."""
WRITER: Final = "weights"
"""Service account of the pods that fill the bucket."""
FUSE_ACCOUNT: Final = ("ack-csi-fuse", "csi-fuse-ossfs")
"""Namespace and service account of the pods that mount OSS: theirs is the identity, not the pod's that reads."""
_AUDIENCE: Final = "sts.aliyuncs.com"
_ROLE_MAX: Final = 64


@dataclass(frozen=True, kw_only=True)
class PodIdentityArgs:
    """Who may do what."""

    rrsa: pulumi.Output["alicloud.cs.outputs.ManagedKubernetesRrsaMetadata"]
    """Of the cluster."""
    namespace: str
    service_account: str
    statements: Sequence[Statement]
    tags: Mapping[str, str]


class PodIdentity(pulumi.ComponentResource):
    """A role, its policy, and the tie between them."""

    def __init__(self, name: str, args: PodIdentityArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        props = {"namespace": args.namespace, "serviceAccount": args.service_account}
        super().__init__("kimi:alicloud:PodIdentity", name, props, opts)
        child = pulumi.ResourceOptions(parent=self)
        role = alicloud.ram.Role(
            f"{name}-role",
            role_name=role_name(name),
            assume_role_policy_document=trust(args),
            # Whatever somebody attached by hand must not keep the role when the stack goes.
            force=True,
            tags=args.tags,
            opts=child,
        )
        policy = alicloud.ram.Policy(
            f"{name}-policy",
            policy_name=role_name(name),
            policy_document=document(args.statements),
            force=True,
            # A policy has room for five versions, and each change makes one.
            rotate_strategy="DeleteOldestNonDefaultVersionWhenLimitExceeded",
            tags=args.tags,
            opts=child,
        )
        attachment = alicloud.ram.RolePolicyAttachment(
            f"{name}-attachment",
            role_name=role.role_name,
            policy_name=policy.policy_name,
            policy_type=policy.type,
            opts=child,
        )
        self.ready: list[pulumi.Resource] = [attachment]
        """What a pod's rights need to be there."""
        self.register_outputs({"role": role.role_name})


def role_name(name: str) -> str:
    """Return the name of a role in the account, known before it exists: pods and volumes name it."""
    return physical_name(f"-{name}", _ROLE_MAX)


def trust(args: PodIdentityArgs) -> pulumi.Output[str]:
    """Return the trust policy: this service account of this cluster, and nobody else."""
    return pulumi.Output.json_dumps(
        {
            "Version": "1",
            "Statement": [
                {
                    "Effect": "Allow",
                    "Action": "sts:AssumeRole",
                    "Principal": {"Federated": [args.rrsa.ram_oidc_provider_arn]},
                    "Condition": {
                        "StringEquals": {
                            "oidc:iss": args.rrsa.rrsa_oidc_issuer_url,
                            "oidc:aud": _AUDIENCE,
                            "oidc:sub": f"system:serviceaccount:{args.namespace}:{args.service_account}",
                        }
                    },
                }
            ],
        }
    )


def document(statements: Sequence[Statement]) -> pulumi.Output[str]:
    """Return a policy document as JSON."""
    return pulumi.Output.json_dumps({"Version": "1", "Statement": list(statements)})
