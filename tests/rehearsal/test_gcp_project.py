"""What goes, what stays and what bills when things of the stand-in's project are deleted."""

from pathlib import Path

import pytest

from rehearsal.fakes.account import Account, Rate, Thing
from rehearsal.fakes.gcp import references as ref
from rehearsal.fakes.gcp.bucket import SOFT_DELETED
from rehearsal.fakes.gcp.provider import GcpRules
from rehearsal.fakes.life_cycle import LifeCycle
from rehearsal.fakes.rules import RefusedError
from rehearsal.fakes.values import Properties
from rehearsal.fakes.weights import OBJECTS
from tests.rehearsal.gcp_project import GcpProject, project

INTERNAL = {"loadBalancerClass": "networking.gke.io/l4-regional-internal"}


@pytest.fixture
def ready(tmp_path: Path) -> GcpProject:
    """A project with a cluster and a reservation of two hosts."""
    return project(tmp_path, with_cluster=True)


def filled(found: GcpProject, **changes: object) -> Thing:
    """Make a bucket and put the weights into it."""
    bucket = found.make(ref.BUCKET, **changes)
    with found.account.open() as ledger:
        ledger.add(Thing(OBJECTS, bucket.id, "weights", {}, {}, rate=Rate(usd_per_hour=0.05)))
    return bucket


@pytest.mark.parametrize("protected", [True, None])
def test_a_protected_cluster_is_not_deleted_whatever_the_program_says_by_now(
    ready: GcpProject, protected: bool | None
) -> None:
    ready.delete(ready.things(ref.CLUSTER)[0])
    # The provider's default protects: a stack that never said anything is protected.
    cluster = ready.make(ref.CLUSTER, deletionProtection=protected)
    with pytest.raises(RefusedError, match="Cannot destroy cluster because deletion_protection is set to true"):
        ready.delete(cluster)
    assert len(ready.things(ref.CLUSTER)) == 1


def test_an_unprotected_cluster_goes_after_its_pools(ready: GcpProject) -> None:
    pool, (cluster,) = ready.make(ref.NODE_POOL), ready.things(ref.CLUSTER)
    with pytest.raises(RefusedError, match="node pools are still in the state: gpu"):
        ready.delete(cluster)
    ready.delete(pool)
    ready.delete(cluster)
    assert ready.things("gcp:container/*") == []


def test_machines_end_with_their_pool_and_free_the_reservation(ready: GcpProject) -> None:
    pool = ready.make(ref.NODE_POOL)
    # Four GPUs each, without a public price.
    assert {each.rate for each in ready.things(ref.INSTANCE)} == {Rate(usd_per_hour=40.0, gpus=4)}
    ready.delete(pool)
    assert ready.things(ref.INSTANCE) == []
    assert ready.make(ref.NODE_POOL).inputs["nodeCount"] == 2


def test_the_reservation_stays_and_says_why(ready: GcpProject) -> None:
    (reservation,) = ready.things(ref.RESERVATION)
    assert reservation.left_because == "it was there before, and is billed until it ends"


def test_a_network_goes_after_what_is_in_it(ready: GcpProject) -> None:
    (network,) = ready.things(ref.NETWORK)
    with pytest.raises(RefusedError, match=r"is already being used by .*/subnetworks/kimi', resourceInUseByAnother"):
        ready.delete(network)
    for kind in (ref.CLUSTER, ref.NAT, ref.ROUTER, ref.SUBNETWORK, ref.NETWORK):
        ready.delete(ready.things(kind)[0])
    assert ready.things("gcp:compute/network:*") == []


def test_a_policy_goes_after_its_pool(ready: GcpProject) -> None:
    pool, (policy,) = ready.make(ref.NODE_POOL), ready.things(ref.RESOURCE_POLICY)
    with pytest.raises(RefusedError, match=r"The resource_policy resource .* is already being used by"):
        ready.delete(policy)
    ready.delete(pool)
    ready.delete(policy)


def test_a_service_takes_its_load_balancer_along_while_the_cluster_is_there(ready: GcpProject) -> None:
    service = ready.service(**INTERNAL)
    status = service.outputs["status"]
    # An address of the subnet 10.20.128.0/19.
    assert "'ip': '10.20.128." in str(status)
    assert len(ready.things(ref.FORWARDING_RULE)) == len(ready.things(ref.ENDPOINT_GROUP)) == 1
    ready.delete(service)
    assert ready.things(ref.FORWARDING_RULE) + ready.things(ref.ENDPOINT_GROUP) == []


def test_endpoint_groups_of_a_service_that_was_not_deleted_hold_the_network(ready: GcpProject) -> None:
    ready.service(**INTERNAL)
    for kind in (ref.CLUSTER, ref.NAT, ref.ROUTER):
        ready.delete(ready.things(kind)[0])
    with pytest.raises(RefusedError, match=r"is already being used by .*/networkEndpointGroups/k8s2-"):
        ready.delete(ready.things(ref.SUBNETWORK)[0])


def test_a_service_without_a_class_is_public(ready: GcpProject) -> None:
    ready.service()
    assert ready.things(ref.FORWARDING_RULE)[0].inputs["scheme"] == "EXTERNAL"


def test_nothing_answers_without_a_cluster(ready: GcpProject) -> None:
    service = ready.service(**INTERNAL)
    ready.delete(ready.things(ref.CLUSTER)[0])
    for ask in (ready.service, lambda: ready.delete(service)):
        with pytest.raises(RefusedError, match="configured Kubernetes cluster is unreachable"):
            ask()


def test_a_bucket_with_weights_stays_unless_the_state_says_otherwise(ready: GcpProject) -> None:
    bucket = filled(ready, forceDestroy=False)
    with pytest.raises(RefusedError, match="containing objects without `force_destroy` set to true"):
        ready.delete(bucket)
    assert len(ready.things(OBJECTS)) == 1


@pytest.mark.parametrize(("policy", "billing"), [(None, 1), ({"retentionDurationSeconds": 0}, 0)])
def test_deleted_weights_bill_for_a_week_unless_the_bucket_keeps_none(
    ready: GcpProject, policy: dict[str, int] | None, billing: int
) -> None:
    bucket = filled(ready, softDeletePolicy=policy)
    ready.delete(bucket)
    left = ready.things(SOFT_DELETED)
    assert [each.left_because.split(":")[0] for each in left] == ["soft delete"] * billing
    assert [each.rate for each in left] == [Rate(usd_per_hour=0.05)] * billing
    assert ready.things(OBJECTS) == []


def test_the_look_ups_tell_what_is_free_in_the_sub_block(ready: GcpProject) -> None:
    asked: Properties = {"name": "s1", "reservation": "kimi-k3", "reservationBlock": "b1", "zone": "us-central1-b"}
    token = "gcp:compute/getReservationSubBlock:getReservationSubBlock"
    before = ready.cloud.invoke(token, asked)
    assert (before["subBlockCount"], before["inUseCount"]) == (2, 0)
    ready.make(ref.NODE_POOL)
    assert ready.cloud.invoke(token, asked)["inUseCount"] == 2
    with pytest.raises(RefusedError, match="Error 404"):
        ready.cloud.invoke(token, {**asked, "name": "s2"})


@pytest.mark.parametrize(
    ("token", "arguments", "telling"),
    [
        ("gcp:compute/getReservation:getReservation", {"name": "other", "zone": "us-central1-b"}, "reservations/other"),
        ("gcp:compute/getReservation:getReservation", {"name": "kimi-k3", "zone": "us-east4-a"}, "zones/us-east4-a"),
        ("gcp:container/getCluster:getCluster", {"name": "other", "location": "us-central1"}, "clusters/other"),
        ("gcp:compute/getSubnetwork:getSubnetwork", {"name": "other"}, "subnetworks/other"),
        ("gcp:organizations/getProject:getProject", {"projectId": "other"}, "does not have permission on other"),
    ],
)
def test_a_look_up_of_nothing_is_refused(
    ready: GcpProject, token: str, arguments: dict[str, object], telling: str
) -> None:
    with pytest.raises(RefusedError, match=telling):
        ready.cloud.invoke(token, arguments)


def test_gpu_machines_are_offered_where_the_project_has_them(tmp_path: Path) -> None:
    account = Account(tmp_path / "account.json")
    account.configure(gpu_zones=["us-central1-b"])
    cloud, token = LifeCycle(GcpRules(), account), "gcp:compute/getMachineTypes:getMachineTypes"
    for zone, there in (("us-central1-b", 1), ("us-central1-a", 0)):
        found = cloud.invoke(token, {"filter": 'name = "a4-highgpu-8g"', "zone": zone})
        assert len(found["machineTypes"]) == there  # pyright: ignore[reportArgumentType]
