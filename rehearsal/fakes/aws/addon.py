"""EKS add-ons."""

import json
import re
from collections.abc import Iterator
from typing import Final

from rehearsal.fakes.account import Ledger, Thing
from rehearsal.fakes.aws import references as ref
from rehearsal.fakes.aws.naming import arn
from rehearsal.fakes.paths import number_at, text_at, values_at
from rehearsal.fakes.resource_kind import ResourceKind, digest, named
from rehearsal.fakes.rules import Failure, RefusedError, Resource, UnreadyError
from rehearsal.fakes.values import Properties

_NAMES: Final = (
    "amazon-cloudwatch-observability",
    "amazon-sagemaker-hyperpod-inference",
    "aws-ebs-csi-driver",
    "aws-efs-csi-driver",
    "aws-fsx-csi-driver",
    "aws-mountpoint-s3-csi-driver",
    "cert-manager",
    "coredns",
    "eks-node-monitoring-agent",
    "eks-pod-identity-agent",
    "kube-proxy",
    "metrics-server",
    "vpc-cni",
)
_DAEMONS: Final = ("eks-node-monitoring-agent", "eks-pod-identity-agent", "kube-proxy", "vpc-cni")
"""Add-ons that are well without any node."""
_VERSION: Final = re.compile(r"v\d+\.\d+\.\d+-eksbuild\.\d+")
_NEWEST: Final = "v1.0.0-eksbuild.1"
_PATIENCE_SECONDS: Final = 1200.0


def name_failures(inputs: Properties) -> Iterator[Failure]:
    """A name that EKS has, in a version of its form (EKS, `InvalidParameterException`)."""
    name, version = text_at(inputs, "addonName"), text_at(inputs, "addonVersion")
    if name and name not in _NAMES:
        yield Failure("addonName", f"InvalidParameterException: Addon specified: {name} is not supported")
    if version and not _VERSION.fullmatch(version):
        yield Failure("addonVersion", "InvalidParameterException: Addon version specified is not supported")


def configuration_failures(inputs: Properties) -> Iterator[Failure]:
    """The configuration is JSON or YAML by the add-on's schema; here: JSON (EKS, `InvalidParameterException`)."""
    values = text_at(inputs, "configurationValues")
    try:
        json.loads(values or "{}")
    except ValueError:
        yield Failure(
            "configurationValues", "InvalidParameterException: ConfigurationValue provided in request is not valid"
        )


def refuse_second(resource: Resource, ledger: Ledger) -> None:
    """An add-on is there once (EKS, `ResourceInUseException`)."""
    identity = f"{resource.inputs.get('clusterName')}:{resource.inputs.get('addonName')}"
    if ledger.find(KIND.type, identity):
        raise RefusedError(f"creating {resource.name}: api error ResourceInUseException: Addon already exists.")


def degraded_without_nodes(thing: Thing, ledger: Ledger) -> None:
    """What runs as a Deployment needs a node without taints within 20 minutes (pulumi/pulumi-eks #1819, #1525)."""
    cluster, name = text_at(thing.inputs, "clusterName"), text_at(thing.inputs, "addonName")
    if name in _DAEMONS or any(_takes_pods(group, cluster) for group in ledger.of_type(ref.NODE_GROUP)):
        return
    ledger.clock.advance(_PATIENCE_SECONDS)
    raise UnreadyError(
        f"waiting for EKS Add-On ({cluster}:{name}) create: timeout while waiting for state to become 'ACTIVE' (last "
        "state: 'DEGRADED', timeout: 20m0s): InsufficientNumberOfReplicas: The add-on is unhealthy because it doesn't "
        "have the desired number of replicas.",
        thing,
    )


def _takes_pods(group: Thing, cluster: str) -> bool:
    tainted = any(True for _ in values_at(group.inputs, "taints"))
    here = text_at(group.inputs, "clusterName") == cluster
    return here and not tainted and number_at(group.inputs, "scalingConfig.desiredSize") > 0


def _computed(resource: Resource, identity: str, ledger: Ledger) -> Properties:
    cluster, name = identity.split(":")
    return {
        "arn": arn("eks", f"addon/{cluster}/{name}/{digest(identity)}", ledger),
        "addonVersion": text_at(resource.inputs, "addonVersion") or _NEWEST,
        "createdAt": ledger.clock.stamp(),
    }


KIND: Final = ResourceKind(
    type="aws:eks/addon:Addon",
    identity=named("clusterName", "addonName"),
    replaced_by=("clusterName", "addonName", "namespaceConfig"),
    checks=(name_failures, configuration_failures),
    admissions=(ref.exists("clusterName", ref.CLUSTER), refuse_second),
    computed=_computed,
    made=degraded_without_nodes,
    seconds=30.0,
    patience=_PATIENCE_SECONDS,
)
