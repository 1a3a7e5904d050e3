"""What a preview plans, written as a CloudFormation template, so that cfn-lint can hold it against AWS' own schemas.

Pulumi's SDK knows names and types; it doesn't know enums, patterns, IAM actions, or which region has which instance
type. cfn-lint carries the schemas of every resource type, a region at a time, and needs no account.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from cfnlint import api
from cfnlint.config import ManualArgs
from cfnlint.match import Match

from tests.conftest import Mocks

Properties = dict[str, Any]
Template = dict[str, dict[str, Any]]
"""Resources by logical id."""

_OF_TEMPLATES: Final = ("W3010",)
"""Rules for people who write templates: a zone is named, since that of a reservation is the only one that will do."""
_VERBATIM: Final = frozenset({"labels", "tags"})
"""Objects whose keys are a person's."""


def findings(mocks: Mocks, region: str = "us-west-2") -> list[str]:
    """Return what cfn-lint says of the planned resources of AWS, one line each.

    Args:
        mocks: A program that ran.
        region: The one whose schemas and price lists hold.
    """
    document = json.dumps({"AWSTemplateFormatVersion": "2010-09-09", "Resources": resources(mocks)})
    found = api.lint(document, config=ManualArgs(regions=[region], ignore_checks=[*_OF_TEMPLATES]))
    return sorted(f"{match.rule.id} {_path(match)}: {match.message}" for match in found)


def _path(match: Match) -> str:
    # cfn-lint sets it beside the fields that it declares.
    return "/".join(map(str, vars(match).get("path") or ()))


def resources(mocks: Mocks) -> Template:
    """Return the planned resources as CloudFormation writes them."""
    ids = {f"{each.name}-id": _reference(each.type, each.name) for each in mocks.resources if each.type in SHAPES}
    found: Template = {}
    for each in mocks.resources:
        if each.type not in SHAPES:
            continue
        given = _converted(each.inputs, ids)
        for name, resource in SHAPES[each.type](_logical(each.name), given).items():
            # A bucket's settings are resources of their own in Pulumi, and a role's policies too.
            known = found.setdefault(name, {"Type": resource["Type"], "Properties": {}})
            known["Properties"] |= resource["Properties"]
    return found


def unmapped(mocks: Mocks) -> set[str]:
    """Return the types of AWS that no schema is asked about."""
    made = {each.type for each in mocks.resources if each.type.startswith(("aws:", "eks:"))}
    return made - set(SHAPES)


def _logical(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.replace("_", "-").split("-"))


def _reference(kind: str, name: str) -> Properties:
    if kind == "aws:ec2/eip:Eip":
        return {"Fn::GetAtt": [_logical(name), "AllocationId"]}
    return {"Ref": _logical(name)}


def _converted(value: Any, ids: Mapping[str, Properties], key: str = "") -> Any:
    """Return a value with CloudFormation's names, whole numbers, booleans and references."""
    if key in _VERBATIM and isinstance(value, dict):
        return dict(value)
    if isinstance(value, dict):
        return {name[:1].upper() + name[1:]: _converted(each, ids, name) for name, each in value.items()}
    if isinstance(value, list):
        return [_converted(each, ids, key) for each in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str):
        # A launch template's booleans are strings in Pulumi.
        return {"true": True, "false": False}.get(value, ids.get(value, value))
    return value


def _tags(given: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in given.items()]


def _renamed(given: Mapping[str, Any], names: Mapping[str, str]) -> Properties:
    found = {names.get(key, key): value for key, value in given.items() if names.get(key) != ""}
    return {**found, "Tags": _tags(found["Tags"])} if "Tags" in found else found


def _plain(kind: str, **names: str) -> Callable[[str, Properties], Template]:
    """Return the shape of a type that both write the same, but for some names; an empty one is left out."""

    def shape(name: str, given: Properties) -> Template:
        return {name: {"Type": kind, "Properties": _renamed(given, names)}}

    return shape


def _internet_gateway(name: str, given: Properties) -> Template:
    attached = {"VpcId": given["VpcId"], "InternetGatewayId": {"Ref": name}}
    return {
        name: {"Type": "AWS::EC2::InternetGateway", "Properties": {}},
        f"{name}Attachment": {"Type": "AWS::EC2::VPCGatewayAttachment", "Properties": attached},
    }


def _route_table(name: str, given: Properties) -> Template:
    routes = {
        f"{name}Route{index}": {
            "Type": "AWS::EC2::Route",
            "Properties": {"RouteTableId": {"Ref": name}, **_renamed(route, {"CidrBlock": "DestinationCidrBlock"})},
        }
        for index, route in enumerate(given.pop("Routes"))
    }
    return {name: {"Type": "AWS::EC2::RouteTable", "Properties": given}, **routes}


def _launch_template(name: str, given: Properties) -> Template:
    data = _renamed(given, {"UpdateDefaultVersion": ""})
    data["TagSpecifications"] = [{**each, "Tags": _tags(each["Tags"])} for each in given["TagSpecifications"]]
    if "NetworkInterfaces" in data:
        data["NetworkInterfaces"] = [_renamed(each, {"SecurityGroups": "Groups"}) for each in data["NetworkInterfaces"]]
    return {name: {"Type": "AWS::EC2::LaunchTemplate", "Properties": {"LaunchTemplateData": data}}}


def _role(name: str, given: Properties) -> Template:
    trust = json.loads(given["AssumeRolePolicy"])
    return {name: {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": trust}}}


def _role_policy(name: str, given: Properties) -> Template:
    inline = {"PolicyName": name, "PolicyDocument": json.loads(given["Policy"]), "RoleName": given["Role"]}
    return {name: {"Type": "AWS::IAM::RolePolicy", "Properties": inline}}


def _attachment(name: str, given: Properties) -> Template:
    """CloudFormation knows them only as part of a role."""
    role = {"AssumeRolePolicyDocument": _EC2_TRUST, "ManagedPolicyArns": [given["PolicyArn"]]}
    return {name.replace("_", ""): {"Type": "AWS::IAM::Role", "Properties": role}}


def _bucket(name: str, given: Properties) -> Template:
    return {name: {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": given["Bucket"]}}}


def _public_access(_: str, given: Properties) -> Template:
    owner = given.pop("Bucket")["Ref"]
    return {owner: {"Type": "AWS::S3::Bucket", "Properties": {"PublicAccessBlockConfiguration": given}}}


def _lifecycle(_: str, given: Properties) -> Template:
    owner = given.pop("Bucket")["Ref"]
    rules = [_renamed({**rule, **rule["Filter"]}, {"Filter": ""}) for rule in given["Rules"]]
    return {owner: {"Type": "AWS::S3::Bucket", "Properties": {"LifecycleConfiguration": {"Rules": rules}}}}


def _cluster(name: str, given: Properties) -> Template:
    """Take out of the EKS component what its control plane, add-ons and access entries get."""
    network: Properties = {
        "SubnetIds": [*given["PrivateSubnetIds"], *given.get("PublicSubnetIds", [])],
        "EndpointPrivateAccess": given["EndpointPrivateAccess"],
        "EndpointPublicAccess": given["EndpointPublicAccess"],
    }
    if "PublicAccessCidrs" in given:
        network["PublicAccessCidrs"] = given["PublicAccessCidrs"]
    control_plane = {
        "Name": given["Name"],
        "Version": given["Version"],
        "RoleArn": "arn:aws:iam::111122223333:role/control-plane",
        "UpgradePolicy": given["UpgradePolicy"],
        "AccessConfig": {"AuthenticationMode": given["AuthenticationMode"]},
        "ResourcesVpcConfig": network,
        "Tags": _tags(given["Tags"]),
    }
    found: Template = {name: {"Type": "AWS::EKS::Cluster", "Properties": control_plane}}
    versions = {
        "vpc-cni": given["VpcCniOptions"].get("AddonVersion"),
        "kube-proxy": given["KubeProxyAddonOptions"].get("Version"),
    }
    for addon, version in versions.items():
        properties = {"ClusterName": given["Name"], "AddonName": addon, "AddonVersion": version}
        found[_logical(f"{name}-{addon}")] = {"Type": "AWS::EKS::Addon", "Properties": properties}
    for index, entry in enumerate(given.get("AccessEntries", {}).values()):
        properties = {
            "ClusterName": given["Name"],
            "PrincipalArn": entry["PrincipalArn"],
            "AccessPolicies": list(entry["AccessPolicies"].values()),
        }
        found[f"{name}Access{index}"] = {"Type": "AWS::EKS::AccessEntry", "Properties": properties}
    return found


_EC2_TRUST: Final = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}],
}

SHAPES: Final[Mapping[str, Callable[[str, Properties], Template]]] = {
    "aws:autoscaling/schedule:Schedule": _plain(
        "AWS::AutoScaling::ScheduledAction", AutoscalingGroupName="AutoScalingGroupName", ScheduledActionName=""
    ),
    "aws:ec2/eip:Eip": _plain("AWS::EC2::EIP"),
    "aws:ec2/internetGateway:InternetGateway": _internet_gateway,
    "aws:ec2/launchTemplate:LaunchTemplate": _launch_template,
    "aws:ec2/natGateway:NatGateway": _plain("AWS::EC2::NatGateway"),
    "aws:ec2/routeTable:RouteTable": _route_table,
    "aws:ec2/routeTableAssociation:RouteTableAssociation": _plain("AWS::EC2::SubnetRouteTableAssociation"),
    "aws:ec2/subnet:Subnet": _plain("AWS::EC2::Subnet"),
    "aws:ec2/vpc:Vpc": _plain("AWS::EC2::VPC"),
    "aws:ec2/vpcEndpoint:VpcEndpoint": _plain("AWS::EC2::VPCEndpoint"),
    "aws:eks/addon:Addon": _plain(
        "AWS::EKS::Addon", ResolveConflictsOnCreate="ResolveConflicts", ResolveConflictsOnUpdate=""
    ),
    "aws:eks/nodeGroup:NodeGroup": _plain("AWS::EKS::Nodegroup", NodeRoleArn="NodeRole", SubnetIds="Subnets"),
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": _plain("AWS::EKS::PodIdentityAssociation"),
    "aws:iam/role:Role": _role,
    "aws:iam/rolePolicy:RolePolicy": _role_policy,
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": _attachment,
    "aws:s3/bucket:Bucket": _bucket,
    "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration": _lifecycle,
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": _public_access,
    "eks:index:Cluster": _cluster,
}
"""How CloudFormation writes each type of ours."""
