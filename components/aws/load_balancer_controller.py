"""The AWS Load Balancer Controller: without it a Service gets a public Classic load balancer that cuts long streams."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pulumi

from components.aws.cluster import Cluster
from components.aws.pod_identity import PodIdentity, PodIdentityArgs, Statement
from components.chart import Chart, release
from components.inference_cluster import API_PORT, LoadBalancer, Route
from components.settings import Mirror

CHART: Final = Chart(
    name="aws-load-balancer-controller", version="3.5.0", repository="https://aws.github.io/eks-charts"
)
_IMAGE: Final = "public.ecr.aws/eks/aws-load-balancer-controller"
_NAMESPACE: Final = "kube-system"
_ACCOUNT: Final = "aws-load-balancer-controller"
_PREFIX: Final = "service.beta.kubernetes.io/aws-load-balancer"
_OURS: Final = "elbv2.k8s.aws/cluster"
"""The tag that the controller puts on whatever it makes."""
NLB_IDLE_SECONDS: Final = 6000
"""The longest that a network load balancer takes; its default of 350 cuts a stream that thinks."""
ALB_IDLE_SECONDS: Final = 4000
"""The longest that an application load balancer takes; its default is 60."""


@dataclass(frozen=True, kw_only=True)
class LoadBalancerControllerArgs:
    """What the controller takes."""

    cluster: Cluster
    region: str
    vpc_id: pulumi.Input[str]
    mirror: Mirror
    """Where chart and image come from on a closed network."""


class LoadBalancerController(pulumi.ComponentResource):
    """The controller, with the right to touch nothing but what it made itself."""

    def __init__(self, name: str, args: LoadBalancerControllerArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("kimi:aws:LoadBalancerController", name, {"version": CHART.version}, opts)
        rights = PodIdentityArgs(
            cluster=args.cluster.name, namespace=_NAMESPACE, service_account=_ACCOUNT, statements=statements()
        )
        identity = PodIdentity(name, rights, pulumi.ResourceOptions(parent=self))
        self.release = release(
            f"{name}-release",
            CHART,
            args.mirror,
            namespace=_NAMESPACE,
            values={
                "clusterName": args.cluster.name,
                "region": args.region,
                "vpcId": args.vpc_id,
                "serviceAccount": {"create": True, "name": _ACCOUNT},
                # Our Services name their class; the webhook would stand in the way of everybody else's.
                "enableServiceMutatorWebhook": False,
                "replicaCount": 1,
                **({"image": {"repository": args.mirror.mirrored(_IMAGE)}} if args.mirror.images else {}),
            },
            opts=pulumi.ResourceOptions(
                parent=self, provider=args.cluster.access.provider, depends_on=[*args.cluster.ready, *identity.ready]
            ),
        )
        self.register_outputs({})


def load_balancer(allowed_ranges: Sequence[str], certificate: str | None, sources: Sequence[str]) -> LoadBalancer:
    """Return how our load balancers are asked for.

    Args:
        allowed_ranges: Who may call a public API.
        certificate: ARN of a public API's certificate; None while it isn't public.
        sources: Ranges of the subnets that load balancers stand in.
    """
    internal = {
        f"{_PREFIX}-scheme": "internal",
        # Straight to the leaders' addresses: a node between them would have to be one of the GPU nodes.
        f"{_PREFIX}-nlb-target-type": "ip",
        f"{_PREFIX}-listener-attributes.TCP-{API_PORT}": f"tcp.idle_timeout.seconds={NLB_IDLE_SECONDS}",
        f"{_PREFIX}-healthcheck-protocol": "http",
        f"{_PREFIX}-healthcheck-path": "/health",
    }
    return LoadBalancer(
        annotations=internal,
        load_balancer_class="service.k8s.aws/nlb",
        sources=sources,
        route=_route(allowed_ranges, certificate) if certificate else None,
    )


def _route(allowed_ranges: Sequence[str], certificate: str) -> Route:
    return Route(
        ingress_class="alb",
        annotations={
            "alb.ingress.kubernetes.io/scheme": "internet-facing",
            "alb.ingress.kubernetes.io/target-type": "ip",
            "alb.ingress.kubernetes.io/inbound-cidrs": ",".join(allowed_ranges),
            "alb.ingress.kubernetes.io/certificate-arn": certificate,
            "alb.ingress.kubernetes.io/listen-ports": '[{"HTTPS": 443}]',
            "alb.ingress.kubernetes.io/ssl-policy": "ELBSecurityPolicy-TLS13-1-2-2021-06",
            "alb.ingress.kubernetes.io/healthcheck-path": "/health",
            "alb.ingress.kubernetes.io/load-balancer-attributes": f"idle_timeout.timeout_seconds={ALB_IDLE_SECONDS}",
        },
    )


def statements() -> list[Statement]:
    """Return the controller's rights: to see what there is, to make what it tags, to change what carries its tag."""
    made = {"Null": {f"aws:RequestTag/{_OURS}": "false"}}
    owned = {"Null": {f"aws:ResourceTag/{_OURS}": "false"}}
    retagged = {"Null": {f"aws:RequestTag/{_OURS}": "true", f"aws:ResourceTag/{_OURS}": "false"}}
    balancers = _arns("loadbalancer/net/*", "loadbalancer/app/*", "targetgroup/*")
    listeners = _arns("listener/net/*", "listener/app/*", "listener-rule/net/*", "listener-rule/app/*")
    return [
        {
            "Effect": "Allow",
            "Action": [
                "ec2:DescribeAccountAttributes",
                "ec2:DescribeAddresses",
                "ec2:DescribeAvailabilityZones",
                "ec2:DescribeInternetGateways",
                "ec2:DescribeVpcs",
                "ec2:DescribeVpcPeeringConnections",
                "ec2:DescribeRouteTables",
                "ec2:DescribeSubnets",
                "ec2:DescribeSecurityGroups",
                "ec2:DescribeInstances",
                "ec2:DescribeNetworkInterfaces",
                "ec2:DescribeTags",
                "ec2:GetSecurityGroupsForVpc",
                "elasticloadbalancing:Describe*",
                "acm:ListCertificates",
                "acm:DescribeCertificate",
            ],
            "Resource": "*",
        },
        {
            "Effect": "Allow",
            "Action": [
                "elasticloadbalancing:CreateLoadBalancer",
                "elasticloadbalancing:CreateTargetGroup",
            ],
            "Resource": "*",
            "Condition": made,
        },
        # Listeners and rules carry no tag of their own at their creation, only through the load balancer's.
        {
            "Effect": "Allow",
            "Action": [
                "elasticloadbalancing:CreateListener",
                "elasticloadbalancing:DeleteListener",
                "elasticloadbalancing:CreateRule",
                "elasticloadbalancing:DeleteRule",
                "elasticloadbalancing:ModifyListener",
                "elasticloadbalancing:ModifyListenerAttributes",
                "elasticloadbalancing:ModifyRule",
                "elasticloadbalancing:AddListenerCertificates",
                "elasticloadbalancing:RemoveListenerCertificates",
                "elasticloadbalancing:SetRulePriorities",
            ],
            "Resource": "*",
        },
        {
            "Effect": "Allow",
            "Action": [
                "elasticloadbalancing:ModifyLoadBalancerAttributes",
                "elasticloadbalancing:SetIpAddressType",
                "elasticloadbalancing:SetSecurityGroups",
                "elasticloadbalancing:SetSubnets",
                "elasticloadbalancing:DeleteLoadBalancer",
                "elasticloadbalancing:ModifyTargetGroup",
                "elasticloadbalancing:ModifyTargetGroupAttributes",
                "elasticloadbalancing:DeleteTargetGroup",
                "elasticloadbalancing:RegisterTargets",
                "elasticloadbalancing:DeregisterTargets",
            ],
            "Resource": "*",
            "Condition": owned,
        },
        # Its own tag is what gives it power over a load balancer: it may put it on what it makes, and on nothing else.
        {
            "Effect": "Allow",
            "Action": "elasticloadbalancing:AddTags",
            "Resource": balancers,
            "Condition": {
                "StringEquals": {"elasticloadbalancing:CreateAction": ["CreateTargetGroup", "CreateLoadBalancer"]},
                **made,
            },
        },
        {
            "Effect": "Allow",
            "Action": ["elasticloadbalancing:AddTags", "elasticloadbalancing:RemoveTags"],
            "Resource": balancers,
            "Condition": retagged,
        },
        {
            "Effect": "Allow",
            "Action": ["elasticloadbalancing:AddTags", "elasticloadbalancing:RemoveTags"],
            "Resource": listeners,
        },
        {"Effect": "Allow", "Action": "ec2:CreateSecurityGroup", "Resource": "*"},
        {
            "Effect": "Allow",
            "Action": "ec2:CreateTags",
            "Resource": "arn:*:ec2:*:*:security-group/*",
            "Condition": {"StringEquals": {"ec2:CreateAction": "CreateSecurityGroup"}, **made},
        },
        {
            "Effect": "Allow",
            "Action": ["ec2:CreateTags", "ec2:DeleteTags"],
            "Resource": "arn:*:ec2:*:*:security-group/*",
            "Condition": retagged,
        },
        # The pods' own security group is the cluster's, which isn't the controller's but must let its targets in.
        {
            "Effect": "Allow",
            "Action": ["ec2:AuthorizeSecurityGroupIngress", "ec2:RevokeSecurityGroupIngress"],
            "Resource": "*",
        },
        {"Effect": "Allow", "Action": "ec2:DeleteSecurityGroup", "Resource": "*", "Condition": owned},
        {
            "Effect": "Allow",
            "Action": "iam:CreateServiceLinkedRole",
            "Resource": "*",
            "Condition": {"StringEquals": {"iam:AWSServiceName": "elasticloadbalancing.amazonaws.com"}},
        },
    ]


def _arns(*kinds: str) -> list[str]:
    return [f"arn:*:elasticloadbalancing:*:*:{kind}" for kind in kinds]
