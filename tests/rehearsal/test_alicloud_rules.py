"""What the stand-in of Alibaba Cloud's account refuses, each beside what it accepts."""

from pathlib import Path
from typing import Any

import pytest

from rehearsal.fakes.alicloud import references as ref
from rehearsal.fakes.rules import RefusedError, Resource, UnreadyError
from tests.rehearsal.alicloud_account import MACHINE, POOL, AlicloudAccount, account

Changes = dict[str, Any]
TAINT = {"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}


@pytest.fixture
def ready(tmp_path: Path) -> AlicloudAccount:
    """An account with a cluster, a node and a private pool of three."""
    found = account(tmp_path, until=ref.NODE_POOL)
    found.reserve()
    return found


# A type, the last type before it, a change that is accepted, one that is refused, and what is said then.
CASES: list[tuple[str, str, Changes, Changes, str]] = [
    (ref.VPC, "", {}, {"cidrBlock": "10.20.1.0/16"}, "InvalidCidrBlock.Malformed"),
    (ref.VPC, "", {"vpcName": "a" * 128}, {"vpcName": "a" * 129}, "1 to 128"),
    (ref.VPC, "", {}, {"vpcNam": "kimi"}, "did you mean 'vpcName'"),
    (ref.SWITCH, ref.VPC, {}, {"vpcId": "vpc-0"}, "InvalidVpcId.NotFound"),
    (ref.SWITCH, ref.VPC, {}, {"zoneId": "cn-hangzhou-k"}, "InvalidZoneId.NotFound"),
    (ref.SWITCH, ref.VPC, {}, {"cidrBlock": "10.21.0.0/20"}, "is not in the CIDR block of the VPC"),
    (
        ref.SWITCH,
        ref.SWITCH,
        {"cidrBlock": "10.20.160.0/20"},
        {"cidrBlock": "10.20.128.0/19"},
        "InvalidCidrBlock.Overlapped",
    ),
    (ref.NAT, ref.SWITCH, {}, {"natType": "Normal"}, "expected natType to be one of"),
    (ref.NAT, ref.SWITCH, {}, {"vswitchId": "vsw-0"}, "InvalidVSwitchId.NotFound"),
    (ref.ADDRESS, "", {}, {"bandwidth": "201"}, "is not in 1 to 200 Mbit/s"),
    (ref.ADDRESS, "", {}, {"bandwidth": 200}, "an integer is not text"),
    (
        ref.ADDRESS,
        "",
        {"bandwidth": "500", "internetChargeType": "PayByBandwidth"},
        {"bandwidth": "501", "internetChargeType": "PayByBandwidth"},
        "is not in 1 to 500",
    ),
    (ref.BINDING, ref.ADDRESS, {}, {"instanceId": "ngw-0"}, "InvalidInstanceId.NotFound"),
    (ref.SNAT, ref.BINDING, {}, {"snatIp": "203.0.113.200"}, "is not associated with the NAT gateway"),
    (ref.CLUSTER, ref.SNAT, {}, {"version": "1.33.1-aliyun.1"}, "ACK makes no cluster of 1.33.1-aliyun.1"),
    (ref.CLUSTER, ref.SNAT, {}, {"podCidr": "172.20.0.0/16"}, "exactly one of"),
    (ref.CLUSTER, ref.SNAT, {"serviceCidr": "192.168.0.0/16"}, {"serviceCidr": "10.20.0.0/16"}, "is none of"),
    (ref.CLUSTER, ref.SNAT, {}, {"newNatGateway": True}, "InstanceRouterExist"),
    (ref.CLUSTER, ref.SNAT, {}, {"clusterSpec": "ack.pro"}, "expected clusterSpec to be one of"),
    (ref.CLUSTER, ref.SNAT, {}, {"vswitchIds": ["vsw-0"]}, "InvalidVSwitchId.NotFound"),
    (
        ref.CLUSTER,
        ref.SNAT,
        {
            "addons": [
                {"name": "terway-eniip", "version": "v1.17.5"},
                {"name": "terway-controlplane", "version": "v1.17.5"},
            ]
        },
        {
            "addons": [
                {"name": "terway-eniip", "version": "v1.17.5"},
                {"name": "terway-controlplane", "version": "v1.17.4"},
            ]
        },
        "AddonDependencyNotMet",
    ),
    (ref.CLUSTER, ref.SNAT, {}, {"addons": [{"name": "terway-eniip"}]}, "needs its other half"),
    (ref.NODE_POOL, ref.CLUSTER, {}, {"desiredSize": 1}, "an integer is not text"),
    (ref.NODE_POOL, ref.CLUSTER, {}, {"nodeCount": 1}, "conflicts with"),
    (ref.NODE_POOL, ref.CLUSTER, {}, {"name": "pool"}, "one of `name,node_pool_name`"),
    (ref.NODE_POOL, ref.CLUSTER, {}, {"imageType": "AliyunLinux3"}, "expected imageType to be one of"),
    (ref.NODE_POOL, ref.CLUSTER, {}, {"clusterId": "c0"}, "ErrorClusterNotFound"),
    (
        ref.NODE_POOL,
        ref.CLUSTER,
        {"dataDisks": [{"size": 1261, "performanceLevel": "PL3"}]},
        {"dataDisks": [{"size": 1260, "performanceLevel": "PL3"}]},
        "PL3 with 1260 GiB, at least 1261",
    ),
    (
        ref.NODE_POOL,
        ref.CLUSTER,
        {},
        {"resourcePoolOptions": {"strategy": "PrivatePoolOnly", "privatePoolIds": ["crp-0"]}},
        "crp-0 does not exist",
    ),
    (
        ref.NODE_POOL,
        ref.CLUSTER,
        {},
        {"resourcePoolOptions": {"strategy": "None"}, "privatePoolOptions": {"privatePoolOptionsId": POOL}},
        "cannot be set together",
    ),
    (
        ref.NODE_POOL,
        ref.CLUSTER,
        {"type": "lingjun", "efloNodeGroup": {"clusterId": "i1", "groupId": "i2"}, "desiredSize": None},
        {"type": "lingjun", "desiredSize": None},
        "eflo_node_group.group_id is required",
    ),
    (ref.ADDON, ref.NODE_POOL, {"config": '{"a": 1}'}, {"config": "a: 1"}, "config is no JSON"),
    (ref.ADDON, ref.NODE_POOL, {}, {"config": {"a": 1}}, "a mapping is not text"),
    (ref.RESERVATION, "", {}, {"endTime": "2024-01-31T16:00:00Z"}, "is over, or there is none"),
    (ref.RESERVATION, "", {"endTimeType": "Unlimited"}, {"endTimeType": "Never"}, "expected endTimeType"),
    (ref.RESERVATION, "", {}, {"zoneIds": ["ap-southeast-1a", "ap-southeast-1b"]}, "exactly one zone"),
    (ref.ROLE, ref.CLUSTER, {}, {"assumeRolePolicyDocument": "{}"}, "MalformedPolicyDocument"),
    (ref.ROLE, ref.CLUSTER, {"roleName": "a" * 64}, {"roleName": "a" * 65}, "1 to 64"),
    (ref.POLICY, "", {}, {"rotateStrategy": "Always"}, "expected rotateStrategy"),
    (ref.BUCKET, "", {}, {"bucket": "Kimi"}, "3 to 63 lower-case"),
    (ref.BUCKET, "", {}, {"bucket": "models"}, "BucketAlreadyExists"),
    (ref.GROUP_RULE, ref.VPC, {}, {"portRange": "8000"}, "a range such as 8000/8000"),
]
IDS = [f"{kind.rpartition(':')[2]}: {said}" for kind, _, _, _, said in CASES]


@pytest.mark.parametrize(("kind", "until", "accepted", "refused", "said"), CASES, ids=IDS)
def test_the_account_takes_one_and_refuses_the_other(
    tmp_path: Path, kind: str, until: str, accepted: Changes, refused: Changes, said: str
) -> None:
    found = account(tmp_path, until=until)
    if kind == ref.GROUP_RULE:
        found.make(ref.GROUP)
    with pytest.raises(RefusedError) as caught:
        found.make(kind, "b", **refused)
    assert said in str(caught.value)
    assert found.make(kind, "b", **accepted).id


@pytest.mark.parametrize("kind", [ref.ROLE, ref.BUCKET, ref.ADDON])
def test_a_name_is_taken_once(ready: AlicloudAccount, kind: str) -> None:
    ready.make(kind)
    with pytest.raises(RefusedError, match=r"already exists|is not available|two resources for one add-on"):
        ready.make(kind, "again")


def test_a_role_trusts_the_cluster_that_is_there(ready: AlicloudAccount) -> None:
    trusted = ready.inputs(ref.ROLE)["assumeRolePolicyDocument"]
    assert ready.make(ref.ROLE).id == "kimi"
    other = str(trusted).replace("ack-rrsa-c", "ack-rrsa-x")
    with pytest.raises(RefusedError, match=r"EntityNotExist\.OIDCProvider"):
        ready.make(ref.ROLE, "b", roleName="other", assumeRolePolicyDocument=other)


def test_nodes_need_a_way_out(tmp_path: Path) -> None:
    without = account(tmp_path / "without", until=ref.SWITCH)
    without.make(ref.CLUSTER)
    with pytest.raises(UnreadyError, match=r"task failed \(here: nodes stay in Initializing"):
        without.make(ref.NODE_POOL)
    # The pool exists all the same, and has to be deleted.
    assert len(without.things(ref.NODE_POOL)) == 1
    assert account(tmp_path / "with", until=ref.NODE_POOL).things(ref.INSTANCE)


def test_an_add_on_needs_a_node_without_a_taint(tmp_path: Path) -> None:
    found = account(tmp_path, until=ref.CLUSTER)
    found.make(ref.NODE_POOL, taints=[TAINT])
    with pytest.raises(UnreadyError, match="no node takes its pods"):
        found.make(ref.ADDON)
    found.make(ref.NODE_POOL, "system")
    assert found.make(ref.ADDON, name="ack-erdma-controller").id.endswith(":ack-erdma-controller")


def test_a_private_pool_has_room_for_what_it_holds(ready: AlicloudAccount) -> None:
    with pytest.raises(
        UnreadyError, match=r"have 3 free instances of ecs\.ebmgn8v\.48xlarge in ap-southeast-1a, 4 are"
    ):
        ready.gpu_pool(desiredSize="4")
    ready.delete(ready.things(ref.NODE_POOL)[-1])
    assert len(ready.things(ref.INSTANCE)) == 1
    ready.gpu_pool()
    assert len(ready.things(ref.INSTANCE)) == 4


@pytest.mark.parametrize(
    "facts", [{"status": "Pending"}, {"zone": "ap-southeast-1b"}, {"machine": "ecs.gn8v-8x.48xlarge"}]
)
def test_a_pool_that_does_not_fit_gives_no_node(tmp_path: Path, facts: Changes) -> None:
    found = account(tmp_path, until=ref.NODE_POOL)
    found.reserve(**facts)
    with pytest.raises(UnreadyError, match="have 0 free instances"):
        found.gpu_pool()


def test_a_pool_in_mode_open_can_not_be_named(tmp_path: Path) -> None:
    found = account(tmp_path, until=ref.NODE_POOL)
    found.reserve(criteria="Open")
    with pytest.raises(RefusedError, match="only pools of mode Target can be named"):
        found.gpu_pool()


def test_what_is_sold_out_is_neither_launched_nor_reserved(ready: AlicloudAccount) -> None:
    ready.account.configure(sold={MACHINE: 2})
    with pytest.raises(RefusedError, match=r"OperationDenied\.NoStock"):
        ready.make(ref.RESERVATION)
    with pytest.raises(UnreadyError, match="InstanceTypeNoStock"):
        ready.gpu_pool(resourcePoolOptions=None)
    ready.account.configure(sold={MACHINE: 3})
    assert ready.make(ref.RESERVATION).outputs["status"] == "Active"


@pytest.mark.parametrize(
    ("notes", "said"),
    [
        ({"zone_maps": "ap-southeast-1a:vsw-0"}, "zone mappings are required"),
        ({"zone_maps": "ap-southeast-1a:vsw-0,ap-southeast-1b:vsw-1"}, "vsw-0 is not in ap-southeast-1a"),
        ({"protocol_port": "tcpssl:8000"}, "cert-id is required"),
        ({"protocol_port": "tcpssl:8000", "cert_id": "1-x", "preserve_client_ip": "on"}, "does not go with TCPSSL"),
        ({"idle_timeout": "901"}, "is not in 1 to 900"),
    ],
)
def test_a_load_balancer_is_made_as_its_controller_takes_it(
    ready: AlicloudAccount, notes: dict[str, str], said: str
) -> None:
    with pytest.raises(UnreadyError) as caught:
        ready.service(**notes)
    assert said in str(caught.value)
    ready.delete(ready.things("kubernetes:core/v1:Service")[0])
    good = {"idle_timeout": "900", "protocol_port": "tcpssl:8000", "cert_id": "1234567-ap-southeast-1"}
    assert "intranet" not in str(ready.service(**good).outputs["status"])


def test_a_load_balancer_is_public_unless_it_is_told(ready: AlicloudAccount) -> None:
    assert "nlb.aliyuncsslbintranet.com" in str(ready.service(address_type="intranet").outputs["status"])
    assert ready.things(ref.BALANCER)[0].inputs["public"] is False


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        (ref.VPC, "cidrBlock"),
        (ref.SWITCH, "zoneId"),
        (ref.CLUSTER, "podVswitchIds"),
        (ref.NODE_POOL, "type"),
        (ref.RESERVATION, "matchCriteria"),
        (ref.BUCKET, "redundancyType"),
    ],
)
def test_some_changes_mean_a_new_thing_and_others_do_not(tmp_path: Path, kind: str, change: str) -> None:
    found = account(tmp_path)
    resource = Resource(urn="urn:pulumi:dev::kimi-k3::x::a", type=kind, name="a", inputs={})
    assert found.cloud.rules.replaces(resource, change)
    assert not found.cloud.rules.replaces(resource, "tags")
