"""What the stand-in of Google's project refuses, each beside what it accepts."""

from pathlib import Path
from typing import Any

import pytest

from rehearsal.fakes.gcp import rdma
from rehearsal.fakes.gcp import references as ref
from rehearsal.fakes.gcp.machine import machine_type
from rehearsal.fakes.gcp.provider import GcpRules
from rehearsal.fakes.rules import RefusedError, Resource, UnreadyError
from tests.rehearsal.gcp_project import IN_ORDER, MEMBER, PATH, PRINCIPAL, SUB_BLOCK, GcpProject, project

AFFINITY = "nodeConfig__reservationAffinity__values"
Changes = dict[str, Any]


@pytest.fixture
def empty(tmp_path: Path) -> GcpProject:
    """A project without anything."""
    return project(tmp_path)


@pytest.fixture
def ready(tmp_path: Path) -> GcpProject:
    """A project with a cluster and a reservation of two hosts."""
    return project(tmp_path, with_cluster=True)


# A pool's change that is accepted, the one that is refused, and what is said then.
POOLS: list[tuple[str, Changes, Changes, str]] = [
    ("a whole path", {}, {AFFINITY: ["kimi-k3/reservationBlocks/b1/reservationSubBlocks/s1"]}, "Error 404: Not found"),
    (
        "a block's path",
        {AFFINITY: [f"{PATH}/reservationBlocks/b1"]},
        {AFFINITY: [f"{PATH}/reservationBlocks/b2"]},
        "404",
    ),
    (
        "the driver",
        {},
        {
            "nodeConfig__guestAccelerators": [
                {"type": "nvidia-gb300", "count": 4, "gpuDriverInstallationConfig": {"gpuDriverVersion": "latest"}}
            ]
        },
        "'latest': DEFAULT",
    ),
    (
        "all GPUs",
        {},
        {"nodeConfig__guestAccelerators": [{"type": "nvidia-gb300", "count": 2}]},
        "has 4 of nvidia-gb300",
    ),
    ("the zone", {}, {"nodeLocations": None}, "Invalid value for field 'resource.reservationAffinity'"),
    ("hyperdisk", {}, {"nodeConfig__bootDisk": {"diskType": "pd-ssd"}}, "[pd-ssd] features are not compatible"),
    (
        "a reservation",
        {},
        {"nodeConfig__reservationAffinity": {"consumeReservationType": "NO_RESERVATION"}},
        "specific reservation only",
    ),
    (
        "the policy",
        {"placementPolicy": None},
        {"placementPolicy": {"type": "COMPACT", "policyName": "x"}},
        "Error 404: The resource 'x'",
    ),
    ("COMPACT", {}, {"placementPolicy": {"type": "SPREAD", "policyName": "rack"}}, "'SPREAD': COMPACT"),
    (
        "surge",
        {"upgradeSettings": {"maxSurge": 1}},
        {"nodeCount": 18, "upgradeSettings": {"maxSurge": 1}},
        "No more than 18 instances",
    ),
    (
        "the version",
        {"version": "1.35.0-gke.2745000"},
        {"version": "1.35.0-gke.1000000"},
        "need GKE 1.35.0-gke.2745000 or newer",
    ),
    ("the name", {"name": "a" * 40}, {"name": "a" * 41}, "1 to 40 lower-case letters"),
    ("the account", {}, {"nodeConfig__serviceAccount": "x@y.iam.gserviceaccount.com"}, "does not exist"),
    ("the profile", {"networkConfig": None}, {"networkConfig": {"acceleratorNetworkProfile": "fast"}}, "'fast': auto"),
    ("a field", {}, {"nodeConfig__hugepages": 4096}, "hugepages"),
    ("a count", {}, {"autoscaling": {"totalMaxNodeCount": 2}}, "should not be set alongside autoscaling"),
]


@pytest.mark.parametrize(("accepted", "refused", "telling"), [pytest.param(*case, id=name) for name, *case in POOLS])
def test_a_node_pool(ready: GcpProject, accepted: Changes, refused: Changes, telling: str) -> None:
    with pytest.raises(RefusedError) as caught:
        ready.make(ref.NODE_POOL, **refused)
    assert telling in str(caught.value)
    ready.make(ref.NODE_POOL, **accepted)
    assert len(ready.things(ref.INSTANCE)) == 2


@pytest.mark.parametrize(
    ("accepted", "refused", "telling"),
    [
        ({"enableShieldedNodes": False}, {"enableShieldedNodes": True}, "Shielded nodes are not supported"),
        ({"enableShieldedNodes": False}, {"enableShieldedNodes": None}, "Shielded nodes are not supported"),
        ({}, {"datapathProvider": "LEGACY_DATAPATH"}, "needs Dataplane V2"),
    ],
)
def test_a_cluster_for_bare_metal(tmp_path: Path, accepted: Changes, refused: Changes, telling: str) -> None:
    for index, changes in enumerate((refused, accepted)):
        found = project(tmp_path / str(index), with_cluster=True)
        found.delete(found.things(ref.CLUSTER)[0])
        found.make(ref.CLUSTER, **changes)
        if changes is refused:
            with pytest.raises(RefusedError, match=telling):
                found.make(ref.NODE_POOL)
        else:
            found.make(ref.NODE_POOL)


CLUSTERS: list[tuple[Changes, str]] = [
    ({"name": "a" * 41}, "1 to 40 lower-case letters"),
    ({"minMasterVersion": "1.29"}, 'Master version "1.29" is unsupported'),
    ({"network": "other"}, "Error 404: The resource 'other'"),
    ({"subnetwork": "other"}, "Error 404: The resource 'other'"),
    ({"ipAllocationPolicy": {"clusterSecondaryRangeName": "none"}}, 'Secondary range "none" does not exist'),
    ({"nodeConfig": {"serviceAccount": "x@y"}}, 'Service account "x@y" does not exist'),
    ({"maintenancePolicy": {"maintenanceExclusions": []}}, "must be specified"),
    ({"shieldedNodes": True}, "shieldedNodes"),
]


@pytest.mark.parametrize(("refused", "telling"), CLUSTERS)
def test_a_cluster(ready: GcpProject, refused: Changes, telling: str) -> None:
    ready.delete(ready.things(ref.CLUSTER)[0])
    with pytest.raises(RefusedError) as caught:
        ready.make(ref.CLUSTER, **refused)
    assert telling in str(caught.value)
    ready.make(ref.CLUSTER)
    with pytest.raises(RefusedError, match="already exists, alreadyExists"):
        ready.make(ref.CLUSTER)


@pytest.mark.parametrize(
    ("kind", "refused", "telling"),
    [
        (ref.NETWORK, {"name": "Kimi"}, "1 to 63 lower-case letters"),
        (
            ref.SUBNETWORK,
            {"name": "b", "ipCidrRange": "10.20.128.0/20", "secondaryIpRanges": None},
            "conflicts with subnetwork",
        ),
        (ref.SUBNETWORK, {"name": "b", "ipCidrRange": "10.9.1.0/16", "secondaryIpRanges": None}, "Invalid IPCidrRange"),
        (ref.ROUTER, {"name": "b", "network": "other"}, "Error 404: The resource 'other'"),
        (ref.NAT, {"name": "b", "enableEndpointIndependentMapping": True}, "can't be on with dynamic port allocation"),
        (ref.NAT, {"name": "b", "minPortsPerVm": 500}, "500 is no power of two"),
        (ref.RESOURCE_POLICY, {"name": "b", "workloadPolicy__type": "HIGH_AVAILABILITY"}, "only with HIGH_THROUGHPUT"),
        (ref.RESOURCE_POLICY, {"name": "b", "workloadPolicy__maxTopologyDistance": "BLOCK"}, "without a distance"),
        (ref.SERVICE_ACCOUNT, {"accountId": "gke"}, "6 to 30 lower-case letters"),
        (ref.BUCKET, {"name": "models"}, "The bucket namespace is shared by all users"),
        (ref.BUCKET, {"name": "Models"}, "3 to 63 lower-case letters"),
        (ref.FUTURE_RESERVATION, {"name": "b", "timeWindow__startTime": "2025-01-11T00:00:00Z"}, "is in the past"),
        (ref.FUTURE_RESERVATION, {"deploymentType": "FLEXIBLE"}, "has DENSE alone"),
        (ref.FUTURE_RESERVATION, {"timeWindow__duration": None}, "has a duration"),
    ],
)
def test_everything_else(ready: GcpProject, kind: str, refused: Changes, telling: str) -> None:
    # What is accepted: the fixture has made these, but for the last two kinds.
    if kind in (ref.BUCKET, ref.FUTURE_RESERVATION):
        ready.make(kind)
    assert ready.things(kind)
    with pytest.raises(RefusedError) as caught:
        ready.make(kind, **refused)
    assert telling in str(caught.value)


def test_a_bucket_that_we_have_already_is_refused_in_googles_own_words(empty: GcpProject) -> None:
    empty.make(ref.BUCKET)
    with pytest.raises(RefusedError, match=r"you already own it\., conflict"):
        empty.make(ref.BUCKET)


def test_a_request_for_a_reservation_cannot_be_made_twice(empty: GcpProject) -> None:
    empty.make(ref.FUTURE_RESERVATION)
    with pytest.raises(RefusedError, match="already exists, alreadyExists"):
        empty.make(ref.FUTURE_RESERVATION)


def test_identities_come_with_the_projects_first_cluster(empty: GcpProject) -> None:
    empty.make(ref.BUCKET)
    with pytest.raises(RefusedError, match=r"Identity Pool does not exist \(my-project.svc.id.goog\)"):
        empty.make(MEMBER)
    for kind in IN_ORDER:
        empty.make(kind)
    empty.make(MEMBER)


@pytest.mark.parametrize(
    "member",
    [
        PRINCIPAL.replace("123456789012", "my-project"),
        PRINCIPAL.replace("my-project.svc", "other.svc"),
        f"{PRINCIPAL}/x",
    ],
)
def test_an_identity_is_named_by_number_and_id(ready: GcpProject, member: str) -> None:
    ready.make(ref.BUCKET)
    with pytest.raises(RefusedError, match="is of an unknown type"):
        ready.make(MEMBER, member=member)
    ready.make(MEMBER)


def test_a_sub_block_without_enough_healthy_hosts_leaves_a_pool_in_error(ready: GcpProject) -> None:
    with ready.account.open() as ledger:
        (reservation,) = ledger.of_type(ref.RESERVATION)
        reservation.outputs["degraded"] = 1
    with pytest.raises(UnreadyError, match="1 of 2 hosts are healthy and free, 2 are wanted"):
        ready.make(ref.NODE_POOL)
    # It exists all the same, and must be deleted.
    assert len(ready.things(ref.NODE_POOL)) == 1
    assert ready.things(ref.INSTANCE) == []


def test_a_second_pool_finds_no_host_in_a_full_sub_block(ready: GcpProject) -> None:
    ready.make(ref.NODE_POOL)
    with pytest.raises(UnreadyError, match="0 of 2 hosts are healthy and free, 2 are wanted"):
        ready.make(ref.NODE_POOL, name="gpu2")


@pytest.mark.parametrize(
    ("facts", "telling"),
    [
        ({"machine": "a4-highgpu-8g"}, "The reservation holds a4-highgpu-8g"),
        ({"specific": False}, "Invalid value for field"),
    ],
)
def test_a_reservation_of_another_shape_is_refused(tmp_path: Path, facts: Changes, telling: str) -> None:
    found = project(tmp_path, with_cluster=True)
    with found.account.open() as ledger:
        ledger.things.remove(ledger.of_type(ref.RESERVATION)[0])
    found.reserve(**facts)
    with pytest.raises(RefusedError, match=telling):
        found.make(ref.NODE_POOL)
    with found.account.open() as ledger:
        ledger.things.remove(ledger.of_type(ref.RESERVATION)[0])
    found.reserve()
    assert found.make(ref.NODE_POOL).inputs["name"] == "gpu"
    assert SUB_BLOCK in str(found.things(ref.NODE_POOL)[0].inputs)


FLEX: Changes = {
    "nodeCount": None,
    "placementPolicy": None,
    "autoscaling": {"totalMinNodeCount": 0, "totalMaxNodeCount": 2},
    "management": {"autoRepair": False},
    "nodeConfig__machineType": "a4-highgpu-8g",
    "nodeConfig__guestAccelerators": [{"type": "nvidia-b200", "count": 8}],
    "nodeConfig__reservationAffinity": {"consumeReservationType": "NO_RESERVATION"},
    "nodeConfig__flexStart": True,
    "nodeConfig__maxRunDuration": "604800s",
}


@pytest.mark.parametrize(
    ("refused", "telling"),
    [
        ({"autoscaling": None, "nodeCount": 2}, "flex-start needs autoscaling"),
        ({"management": {"autoRepair": True}}, "flex-start has no auto-repair"),
        (
            {
                "nodeConfig__reservationAffinity": {
                    "consumeReservationType": "SPECIFIC_RESERVATION",
                    "values": [SUB_BLOCK],
                }
            },
            "flex-start uses no reservation",
        ),
    ],
)
def test_flex_start(ready: GcpProject, refused: Changes, telling: str) -> None:
    with pytest.raises(RefusedError, match=telling):
        ready.make(ref.NODE_POOL, **{**FLEX, **refused})
    ready.make(ref.NODE_POOL, **FLEX)
    assert len(ready.things(ref.INSTANCE)) == 2


SWITCH: Changes = {"nodeConfig__labels": {"cloud.google.com/gke-networking-dra-driver": "true"}}
PAGES: Changes = {"nodeConfig__linuxNodeConfig": {"hugepagesConfig": {"hugepageSize2m": 4096}}}


@pytest.mark.parametrize(
    ("changes", "count"),
    [
        ({**SWITCH, **PAGES}, 8),
        # Any of the three missing, and every claim is pending (operators of a GB300 cluster: 20 hours).
        (SWITCH, 0),
        (PAGES, 0),
        ({**SWITCH, **PAGES, "networkConfig": None}, 0),
    ],
)
def test_a_node_offers_its_adapters_with_profile_label_and_huge_pages(
    ready: GcpProject, changes: Changes, count: int
) -> None:
    pool, type_ = ready.make(ref.NODE_POOL, **changes), machine_type("a4x-maxgpu-4g-metal")
    assert type_ is not None
    assert rdma.adapters(pool, type_) == count


@pytest.mark.parametrize(
    ("path", "replaced"),
    [
        ("nodeConfig.labels.team", False),
        ("nodeConfig.taints[0].value", False),
        ("nodeCount", False),
        ("upgradeSettings.maxSurge", False),
        ("nodeConfig.reservationAffinity.values[0]", True),
        ("nodeConfig.guestAccelerators[0].gpuDriverInstallationConfig.gpuDriverVersion", True),
        ("placementPolicy.policyName", True),
        ("networkConfig.acceleratorNetworkProfile", True),
    ],
)
def test_what_replaces_a_pool_and_its_machines(path: str, replaced: bool) -> None:
    resource = Resource(urn="urn", type=ref.NODE_POOL, name="a", inputs={})
    assert GcpRules().replaces(resource, path) is replaced
