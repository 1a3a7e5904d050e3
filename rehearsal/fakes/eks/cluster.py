"""`pulumi_eks.Cluster`, with the children that the real one registers when it makes no nodes of its own.

What is registered, under which names and with which options, is that of pulumi/pulumi-eks,
nodejs/eks/cluster/cluster.ts (`createCore`, `createCluster`) of 2026-08. Options that this program doesn't use are
refused, so that a rehearsal never passes over one in silence.
"""

import importlib.metadata
import json
import shutil
from collections.abc import Iterator, Sequence
from typing import Final

from rehearsal.fakes import schema
from rehearsal.fakes.construction import Constructed, Construction, Registered
from rehearsal.fakes.eks.kubeconfig import kubeconfig
from rehearsal.fakes.resource_kind import digest
from rehearsal.fakes.rules import RefusedError
from rehearsal.fakes.values import UNKNOWN, Properties, contains_unknown, mapping, sequence

TYPE: Final = "eks:index:Cluster"
_CLUSTER: Final = "aws:eks/cluster:Cluster"
_ADDON: Final = "aws:eks/addon:Addon"
_POLICY: Final = "arn:aws:iam::aws:policy/AmazonEKSClusterPolicy"
_TRUST: Final = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Action": ["sts:AssumeRole", "sts:TagSession"],
                "Effect": "Allow",
                "Principal": {"Service": ["eks.amazonaws.com"]},
            }
        ],
    }
)
_UNPLAYED: Final = (
    "autoMode",
    "clusterSecurityGroup",
    "creationRoleProvider",
    "encryptionConfigKeyArn",
    "fargate",
    "instanceRole",
    "instanceRoles",
    "nodeGroupOptions",
    "proxy",
    "roleMappings",
    "serviceRole",
    "storageClasses",
    "userMappings",
)


def cluster(construction: Construction) -> Constructed:
    """Register the component and its children.

    Raises:
        RefusedError: An argument is wrong, or the `aws` command is missing.
    """
    problems = list(_problems(construction.inputs))
    if problems:
        raise RefusedError("; ".join(problems))
    inputs, name = construction.inputs, construction.name
    component = construction.component(construction.type, name)
    role, attachments = _service_role(construction, component)
    control_plane = construction.resource(
        _CLUSTER,
        f"{name}-eksCluster",
        _control_plane(inputs, name, role),
        component,
        depends_on=[role, *attachments],
        ignore_changes=["accessConfig.bootstrapClusterCreatorAdminPermissions", "bootstrapSelfManagedAddons"],
    )
    _kube_proxy(construction, component, control_plane)
    config = kubeconfig(control_plane, mapping(inputs.get("providerCredentialOpts")), with_profile=True)
    provider = construction.resource(
        "pulumi:providers:kubernetes",
        f"{name}-eks-k8s",
        {"kubeconfig": _json(config)},
        component,
        version=importlib.metadata.version("pulumi-kubernetes"),
    )
    entries = _access_entries(construction, component, control_plane)
    _vpc_cni(construction, component, control_plane, entries)
    outputs = _outputs(inputs, control_plane, role, provider)
    construction.outputs(component, outputs)
    return Constructed(component, outputs, [control_plane])


def _problems(inputs: Properties) -> Iterator[str]:
    """What the real component says at once, in a preview too (dependencies.ts, cluster.ts)."""
    for failure in schema.input_failures(schema.args_class("pulumi_eks", TYPE), inputs):
        yield f"{failure.property}: {failure.reason}"
    if shutil.which("aws") is None:
        yield (
            "Could not find aws CLI for EKS. See https://docs.aws.amazon.com/cli/latest/userguide/"
            "getting-started-install.html for installation instructions."
        )
    if inputs.get("subnetIds") is not None and any(
        inputs.get(key) is not None for key in ("publicSubnetIds", "privateSubnetIds")
    ):
        yield (
            "subnetIds, and the use of publicSubnetIds and/or privateSubnetIds are mutually exclusive. "
            "Choose a single approach."
        )
    unplayed = [key for key in _UNPLAYED if inputs.get(key)]
    if inputs.get("skipDefaultNodeGroup") is not True:
        unplayed.append("a default node group (skipDefaultNodeGroup)")
    if inputs.get("skipDefaultSecurityGroups") is not True:
        unplayed.append("default security groups (skipDefaultSecurityGroups)")
    if inputs.get("authenticationMode") != "API":
        unplayed.append("the aws-auth ConfigMap (authenticationMode)")
    if inputs.get("createOidcProvider"):
        unplayed.append("createOidcProvider")
    if unplayed:
        yield f"the stand-in for eks doesn't play {', '.join(unplayed)}"


def _service_role(construction: Construction, parent: Registered) -> tuple[Registered, Sequence[Registered]]:
    name = f"{construction.name}-eksRole"
    owner = construction.component("eks:index:ServiceRole", name, parent)
    role = construction.resource(
        "aws:iam/role:Role",
        f"{name}-role",
        {
            "assumeRolePolicy": _TRUST,
            "description": "Allows EKS to manage clusters on your behalf.",
            "tags": construction.inputs.get("tags"),
        },
        owner,
    )
    attachment = construction.resource(
        "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
        f"{name}-{digest(_POLICY, length=8)}",
        {"policyArn": _POLICY, "role": role.output("name")},
        owner,
        depends_on=[role],
    )
    return role, [attachment]


def _control_plane(inputs: Properties, name: str, role: Registered) -> Properties:
    network: Properties = {
        "subnetIds": _subnets(inputs),
        "endpointPrivateAccess": inputs.get("endpointPrivateAccess"),
        "endpointPublicAccess": inputs.get("endpointPublicAccess"),
        "publicAccessCidrs": inputs.get("publicAccessCidrs"),
    }
    bootstrap = inputs.get("bootstrapSelfManagedAddons")
    return {
        "name": inputs.get("name"),
        "roleArn": role.output("arn"),
        "version": inputs.get("version"),
        "vpcConfig": {key: value for key, value in network.items() if value is not None},
        "accessConfig": {"authenticationMode": "API", "bootstrapClusterCreatorAdminPermissions": True},
        "bootstrapSelfManagedAddons": True if bootstrap is None else bootstrap,
        "deletionProtection": inputs.get("deletionProtection"),
        "enabledClusterLogTypes": inputs.get("enabledClusterLogTypes"),
        "upgradePolicy": inputs.get("upgradePolicy"),
        "tags": {"Name": f"{name}-eksCluster", **mapping(inputs.get("clusterTags")), **mapping(inputs.get("tags"))},
    }


def _subnets(inputs: Properties) -> object:
    given = [inputs.get(key) for key in ("subnetIds", "publicSubnetIds", "privateSubnetIds")]
    if UNKNOWN in given:
        return UNKNOWN
    return [subnet for subnets in given for subnet in sequence(subnets)]


def _kube_proxy(construction: Construction, parent: Registered, control_plane: Registered) -> None:
    options = mapping(construction.inputs.get("kubeProxyAddonOptions"))
    if options.get("enabled") is False:
        return
    construction.resource(
        _ADDON,
        f"{construction.name}-kube-proxy",
        _addon(construction, "kube-proxy", options.get("version"), options, control_plane, parent),
        parent,
        depends_on=[control_plane],
    )


def _vpc_cni(
    construction: Construction, parent: Registered, control_plane: Registered, after: Sequence[Registered]
) -> None:
    if construction.inputs.get("useDefaultVpcCni") is True:
        return
    name, options = f"{construction.name}-vpc-cni", mapping(construction.inputs.get("vpcCniOptions"))
    owner = construction.component("eks:index:VpcCniAddon", name, parent)
    inputs = _addon(construction, "vpc-cni", options.get("addonVersion"), options, control_plane, owner)
    policy = {"enableNetworkPolicy": "true"} if options.get("enableNetworkPolicy") else {}
    values = {"env": {"WARM_ENI_TARGET": "1"}, **policy, **mapping(options.get("configurationValues"))}
    construction.resource(
        _ADDON, name, {**inputs, "configurationValues": _json(values)}, owner, depends_on=[control_plane, *after]
    )


def _addon(
    construction: Construction,
    name: str,
    version: object,
    options: Properties,
    control_plane: Registered,
    parent: Registered,
) -> Properties:
    """Inputs of an add-on; without a version, whatever is the newest on this day."""
    question: Properties = {
        "addonName": name,
        "kubernetesVersion": control_plane.output("version"),
        "mostRecent": True,
    }
    if version is None and not contains_unknown(question):
        asked = "aws:eks/getAddonVersion:getAddonVersion"
        version = construction.invoke(asked, question, parent).get("version")
    return {
        "clusterName": control_plane.output("name"),
        "addonName": name,
        "addonVersion": UNKNOWN if version is None else version,
        "preserve": True,
        "resolveConflictsOnCreate": options.get("resolveConflictsOnCreate") or "OVERWRITE",
        "resolveConflictsOnUpdate": options.get("resolveConflictsOnUpdate") or "OVERWRITE",
        "tags": construction.inputs.get("tags"),
    }


def _access_entries(construction: Construction, parent: Registered, control_plane: Registered) -> Sequence[Registered]:
    made: list[Registered] = []
    for key, value in mapping(construction.inputs.get("accessEntries")).items():
        given = mapping(value)
        entry = construction.resource(
            "aws:eks/accessEntry:AccessEntry",
            f"{construction.name}-{key}",
            {
                "clusterName": control_plane.output("name"),
                "principalArn": given.get("principalArn"),
                "kubernetesGroups": given.get("kubernetesGroups"),
                "type": given.get("type"),
                "userName": given.get("username"),
                "tags": given.get("tags"),
            },
            parent,
            depends_on=[control_plane],
        )
        made.append(entry)
        for policy, chosen in mapping(given.get("accessPolicies")).items():
            association = construction.resource(
                "aws:eks/accessPolicyAssociation:AccessPolicyAssociation",
                f"{construction.name}-{key}-{policy}",
                {
                    "clusterName": control_plane.output("name"),
                    "principalArn": given.get("principalArn"),
                    "policyArn": mapping(chosen).get("policyArn"),
                    "accessScope": mapping(chosen).get("accessScope"),
                },
                parent,
                depends_on=[entry],
            )
            made.append(association)
    return made


def _outputs(inputs: Properties, control_plane: Registered, role: Registered, provider: Registered) -> Properties:
    config = kubeconfig(control_plane, {}, with_profile=False)
    group, issuer = UNKNOWN, UNKNOWN
    if control_plane.id:
        group = mapping(control_plane.output("vpcConfig")).get("clusterSecurityGroupId")
        (identity,) = sequence(control_plane.output("identities"))
        (oidc,) = sequence(mapping(identity).get("oidcs"))
        issuer = str(mapping(oidc).get("issuer"))
    core: Properties = {
        "cluster": control_plane.reference,
        "clusterIamRole": role.reference,
        "endpoint": control_plane.output("endpoint"),
        "instanceRoles": [],
        "kubeconfig": config,
        "nodeGroupOptions": {},
        "provider": provider.reference,
        "subnetIds": _subnets(inputs),
        "vpcId": inputs.get("vpcId"),
        "tags": inputs.get("tags"),
    }
    return {
        "autoModeNodeRoleName": "",
        "clusterIngressRuleId": "",
        "clusterSecurityGroupId": group,
        "core": {key: value for key, value in core.items() if value is not None},
        "defaultNodeGroupAsgName": "",
        "eksCluster": control_plane.reference,
        "fargateProfileId": "",
        "fargateProfileStatus": "",
        "instanceRoles": [],
        "kubeconfig": config,
        "kubeconfigJson": _json(config),
        "nodeSecurityGroupId": group,
        "oidcIssuer": issuer if issuer is UNKNOWN else str(issuer).removeprefix("https://"),
        "oidcProviderArn": "",
        "oidcProviderUrl": issuer,
    }


def _json(value: object) -> object:
    return UNKNOWN if contains_unknown(value) else json.dumps(value)
