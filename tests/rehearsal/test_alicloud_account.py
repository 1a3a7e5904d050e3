"""What goes, what stays and what bills when things of Alibaba Cloud's stand-in are deleted."""

from pathlib import Path

import pytest

from rehearsal.fakes.account import Rate, Thing
from rehearsal.fakes.alicloud import references as ref
from rehearsal.fakes.alicloud.bucket import PARTS, leave_parts
from rehearsal.fakes.meter import charges
from rehearsal.fakes.rules import RefusedError
from rehearsal.fakes.weights import OBJECTS
from tests.rehearsal.alicloud_account import POOL, AlicloudAccount, account


@pytest.fixture
def ready(tmp_path: Path) -> AlicloudAccount:
    """An account with a cluster and a node."""
    return account(tmp_path, until=ref.NODE_POOL)


def test_a_reservation_bills_from_its_creation_used_or_not(ready: AlicloudAccount) -> None:
    reservation = ready.make(ref.RESERVATION)
    # Three machines with eight GPUs, without a public price.
    assert reservation.rate == Rate(usd_per_hour=120.0, gpus=24)
    with ready.account.open() as ledger:
        ledger.clock.advance(3600)
    ready.delete(reservation)
    ledger = ready.account.ledger()
    (charge,) = [each for each in charges(ledger.events, ledger.clock.now) if each.type == ref.RESERVATION]
    assert charge.usd == pytest.approx(120.0, rel=0.01)
    assert not charge.open


def test_nodes_in_a_reservation_that_bills_cost_nothing_more(ready: AlicloudAccount) -> None:
    reservation = ready.make(ref.RESERVATION)
    ready.gpu_pool(resourcePoolOptions={"strategy": "PrivatePoolOnly", "privatePoolIds": [reservation.id]})
    assert {each.rate for each in ready.things(ref.INSTANCE) if each.inputs["pool"]} == {Rate()}


def test_nodes_of_a_pool_that_was_there_show_what_they_cost(ready: AlicloudAccount) -> None:
    pool = ready.reserve()
    assert pool.left_because == "it was there before, and bills until it is released"
    ready.gpu_pool()
    used = [each for each in ready.things(ref.INSTANCE) if each.inputs["pool"] == POOL]
    assert [each.rate for each in used] == [Rate(usd_per_hour=40.0, gpus=8)] * 3


def test_nodes_end_with_their_pool_and_so_do_the_interfaces_of_their_pods(ready: AlicloudAccount) -> None:
    ready.reserve()
    pool = ready.gpu_pool()
    assert len(ready.things(ref.INTERFACE)) == 4
    ready.delete(pool)
    assert (len(ready.things(ref.INSTANCE)), len(ready.things(ref.INTERFACE))) == (1, 1)


def test_a_vswitch_goes_after_whatever_stands_in_it(ready: AlicloudAccount) -> None:
    pods = next(each for each in ready.things(ref.SWITCH) if each.name == "pods")
    with pytest.raises(RefusedError, match="DependencyViolation"):
        ready.delete(pods)
    ready.delete(ready.things(ref.NODE_POOL)[0])
    with pytest.raises(RefusedError, match="DependencyViolation"):
        ready.delete(pods)
    ready.delete(ready.things(ref.CLUSTER)[0])
    ready.delete(pods)
    assert "pods" not in {each.name for each in ready.things(ref.SWITCH)}


def test_an_interface_that_lingers_holds_its_vswitch(tmp_path: Path) -> None:
    found = account(tmp_path, until=ref.SWITCH)
    (pods,) = [each for each in found.things(ref.SWITCH) if each.name == "pods"]
    with found.account.open() as ledger:
        ledger.add(Thing(ref.INTERFACE, "eni-1", "lingering", {"vswitchId": pods.id}, {}))
    with pytest.raises(RefusedError, match="is still in use by eni-1"):
        found.delete(pods)


def test_a_gateway_goes_after_its_addresses_and_they_after_the_rule(ready: AlicloudAccount) -> None:
    (gateway,), (address,), (binding,), (rule,) = (
        ready.things(kind) for kind in (ref.NAT, ref.ADDRESS, ref.BINDING, ref.SNAT)
    )
    for thing, said in ((gateway, "EIPS"), (address, "IncorrectEipStatus"), (binding, "is in use by stb-")):
        with pytest.raises(RefusedError, match=said):
            ready.delete(thing)
    for thing in (rule, binding, address, gateway):
        ready.delete(thing)
    assert ready.things("alicloud:vpc/natGateway:*") == []


def test_a_vpc_goes_last(tmp_path: Path) -> None:
    found = account(tmp_path, until=ref.SWITCH)
    (vpc,) = found.things(ref.VPC)
    with pytest.raises(RefusedError, match=r"DependencyViolation\.VSwitch"):
        found.delete(vpc)
    for switch in found.things(ref.SWITCH):
        found.delete(switch)
    found.delete(vpc)
    assert found.account.ledger().things == []


@pytest.mark.parametrize("protected", [True, None])
def test_a_protected_cluster_stays(tmp_path: Path, protected: bool | None) -> None:
    found = account(tmp_path, until=ref.SNAT)
    # One that the program says nothing of may be protected: ACK decides, and the provider doesn't switch it off.
    cluster = found.make(ref.CLUSTER, deletionProtection=protected)
    with pytest.raises(RefusedError, match="the cluster has deletion protection"):
        found.delete(cluster)


def test_a_cluster_goes_after_its_pools(ready: AlicloudAccount) -> None:
    (cluster,), (pool,) = ready.things(ref.CLUSTER), ready.things(ref.NODE_POOL)
    with pytest.raises(RefusedError, match="node pools are still in the state"):
        ready.delete(cluster)
    ready.delete(pool)
    ready.delete(cluster)
    assert ready.things("alicloud:cs/*") == []


def test_the_storage_operator_leaves_a_file_system_that_holds_the_vswitch(tmp_path: Path) -> None:
    found = account(tmp_path, until=ref.SNAT)
    addons = [{"name": "terway-eniip"}, {"name": "terway-controlplane"}, {"name": "storage-operator"}]
    found.delete(found.make(ref.CLUSTER, addons=addons))
    (left,) = found.things(ref.FILE_SYSTEM)
    assert left.left_because == "storage-operator made it, and neither ACK nor the stack deletes it"
    for kind in (ref.SNAT, ref.BINDING, ref.NAT):
        found.delete(found.things(kind)[0])
    with pytest.raises(RefusedError, match="is still in use by cnfs-nas"):
        found.delete(next(each for each in found.things(ref.SWITCH) if each.name == "a"))


def test_without_it_there_is_none(ready: AlicloudAccount) -> None:
    assert ready.things(ref.FILE_SYSTEM) == []


def test_a_load_balancer_goes_with_its_service_and_holds_the_vswitch_until_then(ready: AlicloudAccount) -> None:
    group = ready.make(ref.GROUP)
    service = ready.service(security_group_ids=group.id)
    second = next(each for each in ready.things(ref.SWITCH) if each.name == "second")
    for thing in (second, group):
        with pytest.raises(RefusedError, match="is still in use by nlb-"):
            ready.delete(thing)
    ready.delete(service)
    ready.delete(second)
    ready.delete(group)
    assert ready.things(ref.BALANCER) == []


def test_a_load_balancer_that_nobody_saw_going_stays_where_the_cluster_is_told_to_keep_it(tmp_path: Path) -> None:
    for mode, left in (("retain", 1), ("delete", 0)):
        found = account(tmp_path / mode, until=ref.SNAT)
        cluster = found.make(ref.CLUSTER, deleteOptions=[{"resourceType": "SLB", "deleteMode": mode}])
        found.service()
        found.delete(cluster)
        assert len(found.things(ref.BALANCER)) == left


def filled(found: AlicloudAccount, **changes: object) -> Thing:
    """Make a bucket and put the weights into it."""
    bucket = found.make(ref.BUCKET, **changes)
    with found.account.open() as ledger:
        ledger.add(Thing(OBJECTS, bucket.id, "weights", {}, {}, rate=Rate(usd_per_hour=0.05)))
    return bucket


def test_a_bucket_with_objects_goes_only_when_it_was_told_before(tmp_path: Path) -> None:
    found = account(tmp_path)
    kept = filled(found, forceDestroy=False)
    with pytest.raises(RefusedError, match="BucketNotEmpty"):
        found.delete(kept)
    found.delete(filled(found, bucket="other"))
    assert [each.id for each in found.things(OBJECTS)] == ["kimi-weights"]


def test_parts_of_a_broken_copy_hold_a_bucket_whatever_it_was_told(tmp_path: Path) -> None:
    found = account(tmp_path)
    bucket = found.make(ref.BUCKET)
    with found.account.open() as ledger:
        leave_parts(bucket.id, ledger)
    with pytest.raises(RefusedError, match="has parts of multipart uploads in it"):
        found.delete(bucket)
    assert found.things(PARTS)[0].rate != Rate()


def test_a_rule_of_the_bucket_aborts_them_after_a_day_and_then_it_goes(tmp_path: Path) -> None:
    found = account(tmp_path)
    rule = {"enabled": True, "abortMultipartUploads": [{"days": 1}]}
    bucket = found.make(ref.BUCKET, lifecycleRules=[rule])
    with found.account.open() as ledger:
        leave_parts(bucket.id, ledger)
        ledger.clock.advance(23 * 3600)
    with pytest.raises(RefusedError, match="multipart"):
        found.delete(bucket)
    with found.account.open() as ledger:
        ledger.clock.advance(2 * 3600)
    found.delete(bucket)
    assert found.account.ledger().things == []


def test_a_role_goes_after_what_is_attached_to_it(ready: AlicloudAccount) -> None:
    role, policy, attachment = (ready.make(kind) for kind in (ref.ROLE, ref.POLICY, ref.ATTACHMENT))
    for thing in (role, policy):
        with pytest.raises(RefusedError, match="DeleteConflict"):
            ready.delete(thing)
    for thing in (attachment, role, policy):
        ready.delete(thing)
    assert ready.things("alicloud:ram/*") == []


def test_nothing_answers_in_a_cluster_that_is_not_there(tmp_path: Path) -> None:
    found = account(tmp_path, until=ref.SWITCH)
    with pytest.raises(RefusedError, match="configured Kubernetes cluster is unreachable"):
        found.service()
