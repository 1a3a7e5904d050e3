"""What goes, what stays, what bills and what happens by itself in the stand-in's AWS account."""

from pathlib import Path

import pytest

from rehearsal.bill import bill
from rehearsal.fakes.account import Rate, Thing
from rehearsal.fakes.aws import references as ref
from rehearsal.fakes.aws.reservation import BLOCK
from rehearsal.fakes.rules import RefusedError, UnreadyError
from rehearsal.fakes.values import Properties
from rehearsal.fakes.weights import OBJECTS
from tests.rehearsal import aws_account as aws
from tests.rehearsal.aws_account import AwsAccount, aws_account, trust

HOUR = 3600.0
DAY = 24 * HOUR
BY_CONTROLLER: Properties = {"loadBalancerClass": "service.k8s.aws/nlb"}
NO_NODES = {"minSize": 0, "desiredSize": 0, "maxSize": 1}


@pytest.fixture
def ready(tmp_path: Path) -> AwsAccount:
    """An account with a cluster."""
    return aws_account(tmp_path, with_cluster=True)


def group_of(found: AwsAccount, **changes: object) -> Thing:
    """Make the GPU node group."""
    found.make(ref.LAUNCH_TEMPLATE)
    return found.make(ref.NODE_GROUP, **changes)


def test_a_block_that_has_not_started_launches_nothing(ready: AwsAccount) -> None:
    ready.reserve(starts=DAY)
    with pytest.raises(UnreadyError, match=rf"The Capacity Block {aws.BLOCK} is scheduled, not active"):
        group_of(ready)
    ready.delete(ready.only(ref.NODE_GROUP))
    ready.wait(DAY)
    ready.make(ref.NODE_GROUP)
    assert len(ready.things(ref.INSTANCE)) == 1


def test_nodes_come_by_themselves_when_the_block_starts(ready: AwsAccount) -> None:
    ready.reserve(starts=DAY)
    group = group_of(ready, scalingConfig=NO_NODES)
    name = group.outputs["resources"][0]["autoscalingGroups"][0]["name"]  # pyright: ignore[reportIndexIssue]
    start = ready.account.ledger().clock.stamp(DAY)
    ready.make(aws.SCHEDULE, autoscalingGroupName=name, startTime=start)
    ready.wait(DAY - 60)
    assert ready.things(ref.INSTANCE) == []
    ready.wait(120)
    assert len(ready.things(ref.INSTANCE)) == 1


def test_nodes_leave_forty_minutes_before_their_block_ends(ready: AwsAccount) -> None:
    ends = ready.account.ledger().clock.now + DAY
    ready.reserve(starts=-DAY, days=2)
    group_of(ready)
    ready.wait(ends - 41 * 60 - ready.account.ledger().clock.now)
    assert len(ready.things(ref.INSTANCE)) == 1
    ready.wait(2 * 60)
    assert ready.things(ref.INSTANCE) == []


def test_a_second_group_finds_its_reservation_used_up(ready: AwsAccount) -> None:
    ready.reserve(instances=1)
    group_of(ready)
    with pytest.raises(UnreadyError, match="ReservationCapacityExceeded"):
        ready.make(ref.NODE_GROUP, nodeGroupName="second")


def test_a_group_that_grows_past_its_reservation_stays_as_it_is(ready: AwsAccount) -> None:
    ready.reserve(instances=1)
    group = group_of(ready)
    asked = ready.asked(ref.NODE_GROUP, scalingConfig={"minSize": 0, "desiredSize": 2, "maxSize": 2})
    ready.cloud.update(asked, group.id)
    assert len(ready.things(ref.INSTANCE)) == 1
    assert "ReservationCapacityExceeded" in ready.account.ledger().events[-1].text


def test_machines_bill_from_launch_to_the_end_of_their_group(ready: AwsAccount) -> None:
    ready.reserve()
    group = group_of(ready)
    # 8 x 14.04 USD in a Capacity Block: AWS' price page, 2026-08.
    assert ready.only(ref.INSTANCE).rate == Rate(usd_per_hour=112.32, gpus=8)
    ready.wait(HOUR)
    ready.delete(group)
    ready.wait(DAY)
    (charge,) = [each for each in bill(ready.account.ledger()).charges if each.gpu_hours]
    # Three minutes until it was ready, an hour, two minutes of draining.
    assert charge.hours == pytest.approx(65 / 60)
    assert charge.usd == pytest.approx(112.32 * 65 / 60)


@pytest.mark.parametrize("weights_first", [True, False])
def test_the_bill_tells_whether_gpus_waited_for_the_weights(ready: AwsAccount, weights_first: bool) -> None:
    ready.reserve()
    bucket = ready.make(ref.BUCKET)
    if weights_first:
        ready.fill(bucket)
    group_of(ready)
    if not weights_first:
        ready.fill(bucket)
    assert bill(ready.account.ledger()).waited is weights_first


def test_an_offering_is_bought_once(ready: AwsAccount) -> None:
    ready.account.configure(offering={"id": "cb-1", "upfrontFee": "18869.76"})
    assert ready.offering()["capacityBlockOfferingId"] == "cb-1"
    ready.make(aws.PURCHASE)
    # EC2 offers another one afterwards, under another id.
    assert ready.offering()["capacityBlockOfferingId"] != "cb-1"
    with pytest.raises(RefusedError, match="offering cb-1 does not exist"):
        ready.make(aws.PURCHASE)
    assert [thing.rate.usd_once for thing in ready.things(BLOCK)] == [18869.76]


def test_another_offering_is_another_purchase(ready: AwsAccount) -> None:
    for _ in range(2):
        ready.make(aws.PURCHASE, capacityBlockOfferingId=ready.offering()["capacityBlockOfferingId"])
    # 8 GPUs x 14.04 USD x 168 hours, paid twice.
    assert sum(charge.usd for charge in bill(ready.account.ledger()).charges) > 2 * 18869.0
    assert len(ready.things(BLOCK)) == 2


def test_a_purchase_outlives_its_resource(ready: AwsAccount) -> None:
    ready.delete(ready.make(aws.PURCHASE, capacityBlockOfferingId=ready.offering()["capacityBlockOfferingId"]))
    assert ready.only(BLOCK).left_because.startswith("bought for 18,869.76 USD and paid until ")


@pytest.mark.parametrize(("after", "state"), [(0, "payment-pending"), (120, "scheduled"), (2 * HOUR, "active")])
def test_a_block_that_was_bought_is_paid_then_scheduled_then_active(
    ready: AwsAccount, after: float, state: str
) -> None:
    offering = ready.offering()["capacityBlockOfferingId"]
    block = ready.make(aws.PURCHASE, capacityBlockOfferingId=offering)
    ready.wait(after)
    arguments: Properties = {"id": block.id}
    token = "aws:ec2/getCapacityBlockReservation:getCapacityBlockReservation"
    found = ready.cloud.invoke(token, arguments)
    # Before its start, EC2 doesn't say how many instances it has.
    assert (found["state"], found["instanceCount"]) == (state, 1 if state == "active" else 0)


def test_an_on_demand_reservation_bills_whether_it_is_used_or_not(ready: AwsAccount) -> None:
    made = ready.make(aws.ON_DEMAND)
    assert made.rate is not None
    assert made.rate.usd_per_hour == pytest.approx(142.42, abs=0.01)
    assert made.rate.gpus == 8


def test_a_bucket_with_objects_stays(ready: AwsAccount) -> None:
    bucket = ready.make(ref.BUCKET)
    ready.fill(bucket)
    with pytest.raises(RefusedError, match="BucketNotEmpty"):
        ready.delete(bucket)
    ready.cloud.update(ready.asked(ref.BUCKET, forceDestroy=True), bucket.id)
    ready.delete(bucket)
    assert ready.things(ref.BUCKET) == ready.things(OBJECTS) == []


def test_a_load_balancer_goes_with_its_service(ready: AwsAccount) -> None:
    ready.controller()
    service = ready.service(**BY_CONTROLLER)
    balancer = ready.only(ref.LOAD_BALANCER)
    assert balancer.inputs["scheme"] == "internal"
    assert f"{balancer.id}.elb.us-west-2.amazonaws.com" in str(service.outputs["status"])
    ready.delete(service)
    assert ready.things(ref.LOAD_BALANCER) == []


def test_a_load_balancer_outlives_its_service_without_the_controller_and_blocks_the_network(ready: AwsAccount) -> None:
    controller = ready.controller()
    service = ready.service(**BY_CONTROLLER)
    ready.delete(controller)
    ready.delete(service)
    assert len(ready.things(ref.LOAD_BALANCER)) == 1
    subnet, vpc = ready.things(ref.SUBNET)[0], ready.only(ref.VPC)
    ready.delete(ready.only(ref.CLUSTER))
    with pytest.raises(RefusedError, match=r"The subnet 'subnet-\w+' has dependencies .* LoadBalancer k8s-default-api"):
        ready.delete(subnet)
    with pytest.raises(RefusedError, match=r"The vpc 'vpc-\w+' has dependencies and cannot be deleted"):
        ready.delete(vpc)


def test_without_a_class_kubernetes_itself_makes_a_public_load_balancer(ready: AwsAccount) -> None:
    ready.service()
    assert ready.only(ref.LOAD_BALANCER).inputs["scheme"] == "internet-facing"
    with pytest.raises(RefusedError, match=r"has some mapped public address\(es\)"):
        ready.delete(ready.only(ref.INTERNET_GATEWAY))


def test_a_service_waits_in_vain_for_a_controller_that_is_not_there(ready: AwsAccount) -> None:
    with pytest.raises(UnreadyError, match="no controller answers for its class"):
        ready.service(**BY_CONTROLLER)


def test_a_service_waits_in_vain_where_no_subnet_carries_the_tag(tmp_path: Path) -> None:
    found = aws_account(tmp_path, with_cluster=True)
    with found.account.open() as ledger:
        for subnet in ledger.of_type(ref.SUBNET):
            subnet.inputs.pop("tags", None)
    found.controller()
    with pytest.raises(UnreadyError, match="unable to resolve at least one subnet"):
        found.service(**BY_CONTROLLER)


def test_a_network_goes_from_the_inside_out(ready: AwsAccount) -> None:
    order = [
        (ref.VPC, "has dependencies"),
        (ref.SUBNET, "has dependencies"),
        (ref.ADDRESS, "is in use"),
        (ref.INTERNET_GATEWAY, "mapped public address"),
        (ref.ROUTE_TABLE, "has dependencies"),
    ]
    for kind, telling in order:
        with pytest.raises(RefusedError, match=telling):
            ready.delete(ready.things(kind)[-1])
    inside_out = [
        ref.CLUSTER,
        ref.ROUTE_TABLE_ASSOCIATION,
        ref.ROUTE_TABLE,
        ref.NAT_GATEWAY,
        ref.ADDRESS,
        ref.SUBNET,
        ref.INTERNET_GATEWAY,
        ref.VPC,
        aws.ATTACHMENT,
        ref.ROLE,
    ]
    for kind in inside_out:
        for thing in ready.things(kind):
            ready.delete(thing)
    assert ready.things("*") == []


def test_a_role_goes_after_its_policies(ready: AwsAccount) -> None:
    with pytest.raises(RefusedError, match="must detach all policies first: kimi"):
        ready.delete(ready.only(ref.ROLE))


def test_a_cluster_goes_after_its_node_groups_and_takes_its_parts_along(ready: AwsAccount) -> None:
    ready.reserve()
    group = group_of(ready)
    ready.make(
        ref.ROLE, name="pods", assumeRolePolicy=trust("pods.eks.amazonaws.com", "sts:AssumeRole", "sts:TagSession")
    )
    for kind in (aws.ADDON, aws.ENTRY, aws.ENTRY_POLICY, aws.POD_IDENTITY):
        ready.make(kind)
    with pytest.raises(RefusedError, match="Cluster has nodegroups attached"):
        ready.delete(ready.only(ref.CLUSTER))
    ready.delete(group)
    ready.delete(ready.only(ref.CLUSTER))
    assert ready.things("aws:eks/*") == ready.things(ref.SECURITY_GROUP) == []


def test_a_protected_cluster_stays(ready: AwsAccount) -> None:
    (cluster,) = ready.things(ref.CLUSTER)
    ready.cloud.update(ready.asked(ref.CLUSTER, deletionProtection=True), cluster.id)
    with pytest.raises(RefusedError, match="has deletion protection"):
        ready.delete(cluster)


def test_nothing_answers_in_a_cluster_that_is_gone(ready: AwsAccount) -> None:
    ready.delete(ready.only(ref.CLUSTER))
    with pytest.raises(RefusedError, match="configured Kubernetes cluster is unreachable"):
        ready.service()


def test_nodes_hold_their_subnet_until_their_group_is_gone(ready: AwsAccount) -> None:
    ready.reserve()
    group = group_of(ready)
    ready.delete(group)
    assert ready.things(ref.INSTANCE) == []
    ready.make(ref.NODE_GROUP)
    with pytest.raises(RefusedError, match=r"has dependencies.*NodeGroup kimi:gpu, Instance i-"):
        ready.delete(ready.things(ref.SUBNET)[-1])
