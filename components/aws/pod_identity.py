"""Pod Identity: a role that one service account may take, with the rights that it needs and no others."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pulumi
import pulumi_aws as aws

Statement = Mapping[str, object]
"""One statement of an IAM policy; its leaves may be Inputs."""

_TRUST: Final = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": {"Service": "pods.eks.amazonaws.com"},
                # Without TagSession the agent gets nothing (EKS user guide, pod-id-role).
                "Action": ["sts:AssumeRole", "sts:TagSession"],
            }
        ],
    }
)


@dataclass(frozen=True, kw_only=True)
class PodIdentityArgs:
    """Who may do what."""

    cluster: pulumi.Input[str]
    """The EKS cluster's name."""
    namespace: str
    service_account: str
    statements: Sequence[Statement]


class PodIdentity(pulumi.ComponentResource):
    """A role, its policy, and the service account that takes it."""

    def __init__(self, name: str, args: PodIdentityArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        props = {"namespace": args.namespace, "serviceAccount": args.service_account}
        super().__init__("kimi:aws:PodIdentity", name, props, opts)
        child = pulumi.ResourceOptions(parent=self)
        role = aws.iam.Role(f"{name}-role", assume_role_policy=_TRUST, opts=child)
        policy = aws.iam.RolePolicy(f"{name}-policy", role=role.name, policy=document(args.statements), opts=child)
        association = aws.eks.PodIdentityAssociation(
            f"{name}-association",
            cluster_name=args.cluster,
            namespace=args.namespace,
            service_account=args.service_account,
            role_arn=role.arn,
            opts=child,
        )
        self.ready: list[pulumi.Resource] = [policy, association]
        """What a pod's rights need to be there."""
        self.register_outputs({"roleArn": role.arn})


def document(statements: Sequence[Statement]) -> pulumi.Output[str]:
    """Return a policy document as JSON."""
    return pulumi.Output.json_dumps({"Version": "2012-10-17", "Statement": list(statements)})
