"""What the stand-in of AWS refuses, each beside what it accepts."""

import json
from pathlib import Path
from typing import Any

import pytest

from rehearsal.fakes.aws import references as ref
from rehearsal.fakes.rules import RefusedError, UnreadyError
from tests.rehearsal import aws_account as aws
from tests.rehearsal.aws_account import AwsAccount, aws_account, encoded, trust

Changes = dict[str, Any]
DAY = 24 * 3600.0
PODS = trust("pods.eks.amazonaws.com", "sts:AssumeRole", "sts:TagSession")


@pytest.fixture
def ready(tmp_path: Path) -> AwsAccount:
    """An account with a cluster and a Capacity Block of one machine."""
    found = aws_account(tmp_path, with_cluster=True)
    found.reserve()
    return found


def _group(change: Changes, telling: str, name: str) -> Any:
    return pytest.param(change, telling, id=name)


@pytest.mark.parametrize(
    ("refused", "telling"),
    [
        _group({"nodeGroupName": "a" * 64}, "1 to 63 letters", "name"),
        _group({"scalingConfig__minSize": 2}, "Minimum capacity 2 can't be greater than desired size 1", "minimum"),
        _group({"scalingConfig__desiredSize": 2}, "desired capacity 2 can't be greater than max size 1", "maximum"),
        _group({"scalingConfig": {"minSize": 0, "desiredSize": 0, "maxSize": 0}}, "at least 1", "no size"),
        _group({"capacityType": "BLOCK"}, "'BLOCK': ON_DEMAND, SPOT, CAPACITY_BLOCK", "capacity type"),
        _group({"amiType": "AL2_x86_64_GPU"}, "'AL2_x86_64_GPU': AL2023_ARM_64_NVIDIA", "image"),
        _group({"taints": [{"key": "a", "effect": "NoSchedule"}]}, "'NoSchedule': NO_SCHEDULE", "effect"),
        _group({"updateConfig__updateStrategy": "FORCE"}, "'FORCE': DEFAULT, MINIMAL", "strategy"),
        _group({"updateConfig__maxUnavailablePercentage": 50}, "not both", "two limits"),
        _group({"labels": {"owner": "a" * 64}}, "has 64 characters, not 1 to 63", "label"),
        _group({"diskSize": 100}, "Disk size must be specified within the launch template", "disk"),
        _group({"launchTemplate": None}, "CAPACITY_BLOCK needs a launch template", "no template"),
        _group({"launchTemplate__name": "gpu"}, "by id or by name", "two templates"),
        _group({"launchTemplate__id": "lt-0"}, "launch template lt-0 does not exist", "another template"),
        _group({"launchTemplate__version": "2"}, "Could not find the specified version 2", "version"),
        _group({"instanceTypes": ["p6-b300.48xlarge"]}, "Cannot specify instance types in launch template", "types"),
        _group({"amiType": "AL2023_ARM_64_NVIDIA"}, "is not a valid instance type for requested amiType", "processor"),
        _group({"nodeRoleArn": "arn:aws:iam::1:role/no"}, "role with name arn:aws:iam::1:role/no", "role"),
        _group({"clusterName": "other"}, "No cluster found for name: other", "cluster"),
        _group({"subnetIds": ["subnet-0"]}, "The subnet ID 'subnet-0' does not exist", "subnet"),
        _group({"scalingconfig": {}}, "unknown property 'scalingconfig'; did you mean 'scalingConfig'?", "a word"),
    ],
)
def test_a_node_group(ready: AwsAccount, refused: Changes, telling: str) -> None:
    ready.make(ref.LAUNCH_TEMPLATE)
    with pytest.raises(RefusedError) as caught:
        ready.make(ref.NODE_GROUP, **refused)
    assert telling in str(caught.value)
    ready.make(ref.NODE_GROUP)
    assert len(ready.things(ref.INSTANCE)) == 1
    with pytest.raises(RefusedError, match="NodeGroup already exists with name gpu and cluster name kimi"):
        ready.make(ref.NODE_GROUP)


def test_nodes_live_in_their_clusters_vpc(ready: AwsAccount) -> None:
    ready.make(ref.LAUNCH_TEMPLATE)
    ready.make(ref.VPC)
    ready.make(ref.SUBNET)
    with pytest.raises(RefusedError, match="is not in the cluster's VPC"):
        ready.make(ref.NODE_GROUP)


def _cards(*cards: tuple[int, int, str]) -> Changes:
    group = [f"@{ref.CLUSTER}.vpcConfig"]
    return {
        "networkInterfaces": [
            {"networkCardIndex": card, "deviceIndex": device, "interfaceType": kind, "securityGroups": group}
            for card, device, kind in cards
        ]
    }


@pytest.mark.parametrize(
    ("refused", "telling"),
    [
        ({"name": "g"}, "3 to 128 letters"),
        ({"userData": "not base64!"}, "InvalidUserData.Malformed"),
        ({"userData": encoded("a" * (16 * 1024 + 1))}, "limited to 16384 bytes, this has 16385"),
        ({"instanceMarketOptions": {"marketType": "block"}}, "'block': spot, capacity-block"),
        (
            {"capacityReservationSpecification__capacityReservationPreference": "only"},
            "'only': capacity-reservations-only",
        ),
        ({"instanceType": "p6-b301.48xlarge"}, "Invalid instance type 'p6-b301.48xlarge'"),
        # The first card of p6-b300 knows no EFA, and there are 17.
        (_cards((0, 0, "efa")), "network card 0 of p6-b300.48xlarge does not support EFA"),
        (_cards((0, 0, "interface"), (17, 1, "efa-only")), "there are cards 0 to 16"),
        (_cards((0, 0, "interface"), (1, 1, "efa-only"), (1, 1, "efa-only")), "device 1 of card 1 is taken"),
        (_cards((1, 1, "efa-only")), "device 0 of card 0 is the primary interface"),
        (_cards((0, 0, "ena")), "'ena': interface, efa, efa-only"),
        ({"vpcSecurityGroupIds": ["sg-1"]}, "Network interfaces and an instance-level security groups"),
        ({"networkInterfaces": [{"securityGroups": ["sg-0"]}]}, "The security group 'sg-0' does not exist"),
    ],
)
def test_a_launch_template(ready: AwsAccount, refused: Changes, telling: str) -> None:
    with pytest.raises(RefusedError) as caught:
        ready.make(ref.LAUNCH_TEMPLATE, **refused)
    assert telling in str(caught.value)
    ready.make(ref.LAUNCH_TEMPLATE, **_cards((0, 0, "interface"), *((card, 1, "efa-only") for card in range(1, 17))))
    with pytest.raises(RefusedError, match="Launch template name already in use"):
        ready.make(ref.LAUNCH_TEMPLATE)


@pytest.mark.parametrize(
    ("template", "telling"),
    [
        ({"userData": encoded("#!/bin/sh")}, "User data was not in the MIME multipart format"),
        ({"networkInterfaces": [{"subnetId": f"@{ref.SUBNET}"}]}, "names a subnet or an instance profile"),
    ],
)
def test_a_launch_template_that_eks_takes_for_no_nodes(ready: AwsAccount, template: Changes, telling: str) -> None:
    ready.make(ref.LAUNCH_TEMPLATE, **template)
    with pytest.raises(RefusedError, match=telling):
        ready.make(ref.NODE_GROUP)


@pytest.mark.parametrize(
    ("template", "group", "telling"),
    [
        ({"instanceMarketOptions": None}, {}, "The market type .purchasing. option is not valid: 'on-demand'"),
        ({"capacityReservationSpecification": None}, {}, "needs a Capacity Block as its reservation target"),
        ({}, {"capacityType": "ON_DEMAND"}, "option is not valid: 'capacity-block'"),
        # The block is in us-west-2b.
        ({}, {"subnetIds": [f"@{ref.SUBNET}/first"]}, "ReservationCapacityExceeded"),
        # One machine is reserved: a group that wants two gets none.
        ({}, {"scalingConfig": {"minSize": 0, "desiredSize": 2, "maxSize": 2}}, "ReservationCapacityExceeded"),
    ],
)
def test_machines_that_are_never_launched(ready: AwsAccount, template: Changes, group: Changes, telling: str) -> None:
    ready.make(ref.LAUNCH_TEMPLATE, **template)
    before = ready.account.ledger().clock.now
    with pytest.raises(UnreadyError, match=f"CREATE_FAILED.*AsgInstanceLaunchFailures: .*{telling}"):
        ready.make(ref.NODE_GROUP, **group)
    assert ready.things(ref.INSTANCE) == []
    # EKS tries for 25 minutes before it says so, and the group is there and must be deleted.
    assert ready.account.ledger().clock.now - before >= 1500
    ready.delete(ready.only(ref.NODE_GROUP))


@pytest.mark.parametrize(
    ("template", "telling"),
    [
        (
            {"networkInterfaces": [{"deviceIndex": 0, "securityGroups": [f"@{ref.SECURITY_GROUP}"]}]},
            "its security groups lack",
        ),
        (_cards((0, 0, "interface"), (1, 1, "efa")), "efa-only is what joins"),
    ],
)
def test_machines_that_bill_and_never_join(ready: AwsAccount, template: Changes, telling: str) -> None:
    ready.make(ref.SECURITY_GROUP)
    ready.make(ref.LAUNCH_TEMPLATE, **template)
    with pytest.raises(UnreadyError, match=f"Instances failed to join the kubernetes cluster.*{telling}"):
        ready.make(ref.NODE_GROUP)
    assert len(ready.things(ref.INSTANCE)) == 1


@pytest.mark.parametrize(
    ("lacking", "telling"),
    [
        (aws.ATTACHMENT, "its role lacks arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"),
        (ref.ROUTE_TABLE_ASSOCIATION, "has no way out"),
    ],
)
def test_nodes_need_a_role_and_a_way_out(ready: AwsAccount, lacking: str, telling: str) -> None:
    ready.delete(ready.only(lacking))
    ready.make(ref.LAUNCH_TEMPLATE)
    with pytest.raises(UnreadyError, match=telling):
        ready.make(ref.NODE_GROUP)


@pytest.mark.parametrize(
    ("refused", "telling"),
    [
        ({"name": "a" * 101}, "1 to 100 letters"),
        ({"version": "1.29"}, "unsupported Kubernetes version 1.29"),
        (
            {"vpcConfig__endpointPublicAccess": False, "vpcConfig__endpointPrivateAccess": False},
            "cannot be false at the same time",
        ),
        (
            {"vpcConfig__endpointPublicAccess": False, "vpcConfig__publicAccessCidrs": ["203.0.113.0/24"]},
            "can only be set when `endpointPublicAccess` is true",
        ),
        ({"vpcConfig__subnetIds": [f"@{ref.SUBNET}"]}, "in at least two different AZs"),
        ({"vpcConfig__securityGroupIds": ["sg-0"]}, "The security group 'sg-0' does not exist"),
        ({"roleArn": "arn:aws:iam::1:role/no"}, "could not be assumed because it does not exist"),
        ({"vpcConfig__subnets": []}, "unknown property 'subnets'"),
    ],
)
def test_a_cluster(ready: AwsAccount, refused: Changes, telling: str) -> None:
    ready.delete(ready.only(ref.CLUSTER))
    with pytest.raises(RefusedError) as caught:
        ready.make(ref.CLUSTER, **refused)
    assert telling in str(caught.value)
    ready.make(ref.CLUSTER)
    with pytest.raises(RefusedError, match="Cluster already exists with name: kimi"):
        ready.make(ref.CLUSTER)


_PUBLIC = json.dumps({"Statement": [{"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject"}]})


@pytest.mark.parametrize(
    ("kind", "refused", "telling"),
    [
        (ref.VPC, {"cidrBlock": "10.0.0.0/8"}, "InvalidVpc.Range"),
        (ref.VPC, {"cidrBlock": "10.20.1.0/16"}, "InvalidVpc.Range"),
        (ref.SUBNET, {"cidrBlock": "10.21.0.0/24"}, "InvalidSubnet.Range"),
        (ref.SUBNET, {"cidrBlock": "10.20.1.128/25"}, "InvalidSubnet.Conflict"),
        (ref.SUBNET, {"cidrBlock": "10.20.9.0/24", "availabilityZone": "us-east-1a"}, "us-west-2a, us-west-2b"),
        (ref.SUBNET, {"vpcId": "vpc-0"}, "The vpc ID 'vpc-0' does not exist"),
        (ref.INTERNET_GATEWAY, {"vpcId": "vpc-0"}, "The vpc ID 'vpc-0' does not exist"),
        (ref.NAT_GATEWAY, {"allocationId": "eipalloc-0"}, "The allocation ID 'eipalloc-0' does not exist"),
        (ref.ROUTE_TABLE_ASSOCIATION, {}, "Resource.AlreadyAssociated"),
        (ref.ENDPOINT, {"serviceName": "com.amazonaws.us-east-1.s3"}, "InvalidServiceName"),
        (ref.ENDPOINT, {"subnetIds": [f"@{ref.SUBNET}"]}, "a Gateway endpoint takes route tables"),
        (ref.ENDPOINT, {"vpcEndpointType": "Interface"}, "an Interface endpoint takes subnets"),
        (ref.SECURITY_GROUP, {"name": "sg-own"}, "not beginning with sg-"),
        (ref.SECURITY_GROUP, {}, "InvalidGroup.Duplicate"),
        (ref.ROLE, {"name": "a" * 65}, "1 to 64 letters"),
        (ref.ROLE, {"name": "b", "assumeRolePolicy": "{"}, "MalformedPolicyDocument"),
        (ref.ROLE, {}, "Role with name kimi already exists"),
        (aws.ATTACHMENT, {"policyArn": "arn:aws:iam::123456789012:policy/no"}, "does not exist or is not attachable"),
        (aws.ATTACHMENT, {"role": "no"}, "The role with name no cannot be found"),
        (aws.ADDON, {"addonName": "vpc-cny"}, "Addon specified: vpc-cny is not supported"),
        (aws.ADDON, {"addonVersion": "1.20"}, "Addon version specified is not supported"),
        (aws.ADDON, {"configurationValues": "{"}, "ConfigurationValue provided in request is not valid"),
        (aws.ADDON, {}, "Addon already exists"),
        (aws.ENTRY_POLICY, {"policyArn": "arn:aws:iam::aws:policy/AdministratorAccess"}, "format is not valid"),
        (aws.ENTRY_POLICY, {"accessScope__type": "namespace"}, "belongs to the scope namespace"),
        (aws.ENTRY_POLICY, {"principalArn": "arn:aws:iam::1:role/other"}, "no access entry"),
        (ref.BUCKET, {"bucket": "Kimi"}, "3 to 63 lowercase letters"),
        (ref.BUCKET, {"bucket": "models"}, "The bucket namespace is shared by all users"),
        (ref.BUCKET, {}, "BucketAlreadyOwnedByYou"),
        (aws.LIFECYCLE, {"rules": [{"id": "a", "status": "On"}]}, "'On': Enabled, Disabled"),
        (aws.LIFECYCLE, {"bucket": "kimi-2"}, "The specified bucket does not exist: kimi-2"),
        (aws.BUCKET_POLICY, {"policy": "{"}, "MalformedPolicy"),
        (aws.BUCKET_POLICY, {"policy": _PUBLIC}, "public policies are blocked"),
        (aws.ON_DEMAND, {"availabilityZone": "eu-west-1a"}, "us-west-2a, us-west-2b"),
        (aws.PURCHASE, {"capacityBlockOfferingId": "cb-0"}, "the Capacity Block offering cb-0 does not exist"),
    ],
)
def test_everything_else(ready: AwsAccount, kind: str, refused: Changes, telling: str) -> None:
    # What is accepted: the fixture has made the rest.
    accepted: dict[str, list[str]] = {
        aws.ENTRY_POLICY: [aws.ENTRY, aws.ENTRY_POLICY],
        aws.LIFECYCLE: [ref.BUCKET, aws.LIFECYCLE],
        aws.BUCKET_POLICY: [ref.BUCKET, aws.PUBLIC_ACCESS, aws.BUCKET_POLICY],
    }
    for each in accepted.get(kind, [] if ready.things(kind) and kind != ref.SECURITY_GROUP else [kind]):
        if each == aws.PURCHASE:
            ready.make(each, capacityBlockOfferingId=ready.offering()["capacityBlockOfferingId"])
        else:
            ready.make(each)
    assert ready.things(kind)
    with pytest.raises(RefusedError) as caught:
        ready.make(kind, **refused)
    assert telling in str(caught.value)


def test_the_role_of_pods_trusts_their_agent(ready: AwsAccount) -> None:
    with pytest.raises(RefusedError, match="Trust policy of the role provided is invalid"):
        ready.make(aws.POD_IDENTITY)
    ready.make(ref.ROLE, name="pods", assumeRolePolicy=PODS)
    ready.make(aws.POD_IDENTITY)
    with pytest.raises(RefusedError, match="Association already exists"):
        ready.make(aws.POD_IDENTITY)


def test_access_entries_need_the_api(ready: AwsAccount) -> None:
    ready.make(aws.ENTRY)
    ready.delete(ready.only(aws.ENTRY))
    ready.delete(ready.only(ref.CLUSTER))
    ready.make(ref.CLUSTER, accessConfig__authenticationMode="CONFIG_MAP")
    with pytest.raises(RefusedError, match="authentication mode must be set to one of"):
        ready.make(aws.ENTRY)


def test_a_public_nat_gateway_needs_an_internet_gateway(tmp_path: Path) -> None:
    found = aws_account(tmp_path)
    for kind in (ref.VPC, ref.SUBNET, ref.ADDRESS):
        found.make(kind)
    with pytest.raises(RefusedError, match="has no Internet gateway attached"):
        found.make(ref.NAT_GATEWAY)
    found.make(ref.INTERNET_GATEWAY)
    found.make(ref.NAT_GATEWAY)


def test_an_add_on_with_replicas_waits_in_vain_for_nodes_without_taints(ready: AwsAccount) -> None:
    ready.make(ref.LAUNCH_TEMPLATE)
    ready.make(ref.NODE_GROUP)
    with pytest.raises(UnreadyError, match="InsufficientNumberOfReplicas"):
        ready.make(aws.ADDON, addonName="coredns")
    ready.delete(ready.only(aws.ADDON))
    ready.make(
        ref.NODE_GROUP,
        nodeGroupName="system",
        amiType="AL2023_x86_64_STANDARD",
        capacityType=None,
        launchTemplate=None,
        instanceTypes=["m7i.2xlarge"],
        taints=None,
    )
    ready.make(aws.ADDON, addonName="coredns")


def test_capacity_that_nobody_has_cannot_be_reserved(ready: AwsAccount) -> None:
    ready.account.configure(on_demand={aws.MACHINE: 0})
    with pytest.raises(RefusedError, match="InsufficientInstanceCapacity"):
        ready.make(aws.ON_DEMAND)
    ready.account.configure(on_demand={aws.MACHINE: 1})
    ready.make(aws.ON_DEMAND)


def test_a_type_that_the_sdk_does_not_have_is_refused(ready: AwsAccount) -> None:
    with pytest.raises(RefusedError, match=r"has no aws:ec2/vpcs:Vpc; did you mean aws:ec2/vpc:Vpc\?"):
        ready.make("aws:ec2/vpcs:Vpc")


def test_a_type_without_rules_has_the_outputs_that_the_sdk_promises(ready: AwsAccount) -> None:
    made = ready.make("aws:sns/topic:Topic", name="alarms")
    assert (made.outputs["name"], made.outputs["arn"]) == ("alarms", f"{made.id}/arn")
    with pytest.raises(RefusedError, match="unknown property 'topicName'"):
        ready.make("aws:sns/topic:Topic", topicName="alarms")


@pytest.mark.parametrize(("start", "accepted"), [("2026-01-02T00:00:00Z", True), ("2025-12-31T00:00:00Z", False)])
def test_a_scheduled_start_lies_in_the_future(ready: AwsAccount, start: str, accepted: bool) -> None:
    ready.make(ref.LAUNCH_TEMPLATE)
    group = ready.make(ref.NODE_GROUP, scalingConfig={"minSize": 0, "desiredSize": 0, "maxSize": 1})
    with pytest.raises(RefusedError, match="AutoScalingGroup name not found"):
        ready.make(aws.SCHEDULE, startTime=start)
    name = group.outputs["resources"][0]["autoscalingGroups"][0]["name"]  # pyright: ignore[reportIndexIssue]
    if accepted:
        ready.make(aws.SCHEDULE, startTime=start, autoscalingGroupName=name)
        return
    with pytest.raises(RefusedError, match="Given start time is in the past"):
        ready.make(aws.SCHEDULE, startTime=start, autoscalingGroupName=name)
    with pytest.raises(RefusedError, match="cannot be parsed as iso8601 in UTC"):
        ready.make(aws.SCHEDULE, startTime="2026-01-02T00:00:00", autoscalingGroupName=name)
