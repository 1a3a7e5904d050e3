"""Each rule refuses what it is for, and says why in the words of the resource."""

from collections.abc import Mapping
from typing import Any

import pytest
from planned import Planned
from rules import RULES

AWS_BLOCK = {"blockPublicAcls": True, "blockPublicPolicy": True, "ignorePublicAcls": True}
SERVICE = "kubernetes:core/v1:Service"
INGRESS = "kubernetes:networking.k8s.io/v1:Ingress"
RELEASE = "kubernetes:helm.sh/v3:Release"
DAEMON_SET = "kubernetes:apps/v1:DaemonSet"
GROUP = "kubernetes:leaderworkerset.x-k8s.io/v1:LeaderWorkerSet"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
AGENT_POOL = "azure-native:containerservice:AgentPool"
GCP_POOL = "gcp:container/nodePool:NodePool"
ALI_POOL = "alicloud:cs/nodePool:NodePool"
BLOCK = "aws:ec2/capacityBlockReservation:CapacityBlockReservation"
S3 = "aws:s3/bucket:Bucket"
GCS = "gcp:storage/bucket:Bucket"
CLOSED_GCS = {"publicAccessPrevention": "enforced", "uniformBucketLevelAccess": True}
RESERVED = {"capacityReservationSpecification": {"capacityReservationPreference": "capacity-reservations-only"}}
SPECIFIC = {"consumeReservationType": "SPECIFIC_RESERVATION"}
PRIVATE_POOL = {"strategy": "PrivatePoolOnly"}


def balancer(*ranges: str) -> dict[str, Any]:
    return {"spec": {"type": "LoadBalancer", "loadBalancerSourceRanges": list(ranges)}}


def pod(**spec: object) -> dict[str, Any]:
    return {"spec": {"template": {"spec": {"containers": [], **spec}}}}


def container(**fields: object) -> dict[str, Any]:
    return pod(containers=[{"name": "main", "image": "registry.example.com/a:1.2", **fields}])


def leader(*env: Mapping[str, object]) -> dict[str, Any]:
    spec = {"containers": [{"name": "vllm", "env": list(env)}]}
    return {"spec": {"leaderWorkerTemplate": {"leaderTemplate": {"spec": spec}}}}


VIOLATIONS = [
    ("closed-exposure", SERVICE, balancer(), "is empty"),
    ("closed-exposure", SERVICE, balancer("203.0.113.0/24", "0.0.0.0/0"), "0.0.0.0/0"),
    ("closed-exposure", SERVICE, balancer("0.0.0.0/1", "128.0.0.0/1"), "0.0.0.0/1"),
    ("closed-exposure", SERVICE, balancer("::/0"), "::/0"),
    ("closed-exposure", SERVICE, {"spec": {"type": "NodePort"}}, "NodePort"),
    ("closed-exposure", INGRESS, {"metadata": {"annotations": {}}}, "inbound-cidrs"),
    ("closed-exposure", GROUP, leader(), "VLLM_API_KEY"),
    ("closed-exposure", GROUP, leader({"name": "VLLM_API_KEY", "value": "plain"}), "from a Secret"),
    ("expected-capacity", TEMPLATE, {"instanceType": "p6-b300.48xlarge"}, "outside a reservation"),
    ("expected-capacity", TEMPLATE, {"instanceType": "g6.48xlarge"}, "outside a reservation"),
    (
        "expected-capacity",
        TEMPLATE,
        {"instanceType": "p5.48xlarge", **RESERVED, "instanceMarketOptions": {"marketType": "spot"}},
        "spot",
    ),
    ("expected-capacity", NODE_GROUP, {"instanceTypes": ["p5en.48xlarge"]}, "without a launch template"),
    ("expected-capacity", NODE_GROUP, {"capacityType": "SPOT"}, "SPOT"),
    ("expected-capacity", AGENT_POOL, {"vmSize": "Standard_ND96isr_H200_v5", "enableAutoScaling": True}, "number"),
    (
        "expected-capacity",
        AGENT_POOL,
        {"vmSize": "Standard_ND96isr_H200_v5", "count": 2, "scaleSetPriority": "Spot"},
        "Spot",
    ),
    ("expected-capacity", GCP_POOL, {"nodeConfig": {"machineType": "a4-highgpu-8g"}}, "without a reservation"),
    (
        "expected-capacity",
        GCP_POOL,
        {"nodeConfig": {"machineType": "a4-highgpu-8g", "reservationAffinity": SPECIFIC, "spot": True}},
        "spot is true",
    ),
    ("expected-capacity", ALI_POOL, {"instanceTypes": ["ecs.ebmgn8v.48xlarge"]}, "outside a private pool"),
    (
        "expected-capacity",
        ALI_POOL,
        {"instanceTypes": ["ecs.gn8v.8xlarge"], "resourcePoolOptions": PRIVATE_POOL, "spotStrategy": "SpotAsPriceGo"},
        "spotStrategy",
    ),
    ("labelled", "pulumi:providers:aws", {}, "owner, project, stack"),
    ("labelled", "pulumi:providers:aws", {"defaultTags": '{"tags": {"project": "a", "stack": "b"}}'}, "lacks owner"),
    ("labelled", "pulumi:providers:gcp", {"defaultLabels": {"project": "a", "owner": "b"}}, "lacks stack"),
    ("labelled", AGENT_POOL, {"tags": {"stack": "a", "owner": ""}}, "owner, project"),
    ("private-bucket", S3, {"acl": "public-read"}, "acl"),
    ("private-bucket", S3, {"versioning": {"enabled": True}}, "old versions"),
    ("private-bucket", "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock", AWS_BLOCK, "restrictPublicBuckets"),
    (
        "private-bucket",
        "aws:s3/bucketVersioning:BucketVersioning",
        {"versioningConfiguration": {"status": "Enabled"}},
        "old versions",
    ),
    ("private-bucket", "azure-native:storage:BlobContainer", {"publicAccess": "Blob"}, "publicAccess"),
    ("private-bucket", "azure-native:storage:BlobServiceProperties", {"isVersioningEnabled": True}, "old versions"),
    ("private-bucket", "azure-native:storage:StorageAccount", {"allowSharedKeyAccess": False}, "allowBlobPublicAccess"),
    ("private-bucket", "azure-native:storage:StorageAccount", {"allowBlobPublicAccess": False}, "allowSharedKeyAccess"),
    ("private-bucket", GCS, {"uniformBucketLevelAccess": True}, "publicAccessPrevention"),
    ("private-bucket", GCS, {"publicAccessPrevention": "enforced"}, "uniformBucketLevelAccess"),
    ("private-bucket", GCS, {**CLOSED_GCS, "versioning": {"enabled": True}}, "old versions"),
    ("private-bucket", "gcp:storage/bucketIAMMember:BucketIAMMember", {"member": "allUsers"}, "everybody"),
    ("private-bucket", "alicloud:oss/bucket:Bucket", {"versioning": {"status": "Enabled"}}, "old versions"),
    ("private-bucket", "alicloud:oss/bucket:Bucket", {"acl": "public-read"}, "acl"),
    ("private-bucket", "alicloud:oss/bucketAcl:BucketAcl", {"acl": "public-read-write"}, "acl"),
    ("private-bucket", "alicloud:oss/bucketPublicAccessBlock:BucketPublicAccessBlock", {}, "blockPublicAccess"),
    ("gated-purchase", BLOCK, {}, "kimi:aws:CapacityBlock"),
    ("gated-purchase", "gcp:compute/futureReservation:FutureReservation", {}, "kimi:gcp:FutureReservation"),
    ("gated-purchase", "alicloud:ecs/elasticityAssurance:ElasticityAssurance", {}, "commitment"),
    ("gated-purchase", ALI_POOL, {"instanceChargeType": "PrePaid"}, "PrePaid"),
    ("pinned", DAEMON_SET, container(image="vllm/vllm-openai"), "isn't pinned"),
    ("pinned", DAEMON_SET, container(image="vllm/vllm-openai:latest"), "isn't pinned"),
    ("pinned", DAEMON_SET, container(image="registry.example.com:5000/vllm"), "isn't pinned"),
    ("pinned", DAEMON_SET, pod(initContainers=[{"image": "busybox"}]), "busybox"),
    ("pinned", RELEASE, {"chart": "lws"}, "None"),
    ("pinned", RELEASE, {"chart": "lws", "version": "^0.9.0"}, "exact"),
    ("pinned", RELEASE, {"chart": "lws", "version": "0.9"}, "exact"),
    ("unprivileged", DAEMON_SET, container(securityContext={"privileged": True}), "main is privileged"),
    ("unprivileged", DAEMON_SET, container(securityContext={"allowPrivilegeEscalation": True}), "may escalate"),
    ("unprivileged", DAEMON_SET, container(securityContext={"capabilities": {"add": ["SYS_ADMIN"]}}), "SYS_ADMIN"),
    ("unprivileged", DAEMON_SET, pod(hostPID=True), "hostPID"),
    ("unprivileged", DAEMON_SET, pod(hostNetwork=True), "hostNetwork"),
    ("unprivileged", DAEMON_SET, pod(hostIPC=True), "hostIPC"),
    ("unprivileged", DAEMON_SET, pod(volumes=[{"hostPath": {"path": "/"}}]), "hostPath /"),
    ("unprivileged", DAEMON_SET, pod(volumes=[{"hostPath": {"path": "/var/run/docker.sock"}}]), "docker.sock"),
    (
        "unprivileged",
        "kubernetes:batch/v1:Job",
        {**pod(hostPID=True), "metadata": {"namespace": "kube-system", "name": "node-disks"}},
        "hostPID",
    ),
]


@pytest.mark.parametrize(("rule", "type_", "props", "want"), VIOLATIONS)
def test_a_rule_refuses_what_it_is_for(rule: str, type_: str, props: dict[str, Any], want: str) -> None:
    got = RULES[rule](Planned(type=type_, props=props))
    assert want in "; ".join(got)


def test_every_rule_has_a_violation() -> None:
    assert {rule for rule, *_ in VIOLATIONS} == set(RULES)


def test_a_purchase_behind_its_gate_is_allowed() -> None:
    assert RULES["gated-purchase"](Planned(type=BLOCK, props={}, parents=("kimi:aws:CapacityBlock",))) == []


def test_an_image_is_pinned_by_its_digest_without_a_tag() -> None:
    digest = container(image=f"vllm/vllm-openai@sha256:{'0' * 64}")
    assert RULES["pinned"](Planned(type=DAEMON_SET, props=digest)) == []


def test_machines_without_gpus_need_no_reservation() -> None:
    for type_, props in (
        (TEMPLATE, {"instanceType": "m7i.2xlarge"}),
        (AGENT_POOL, {"vmSize": "Standard_D8s_v5", "enableAutoScaling": True}),
        (GCP_POOL, {"nodeConfig": {"machineType": "e2-standard-8"}}),
        (ALI_POOL, {"instanceTypes": ["ecs.g8i.2xlarge"]}),
    ):
        assert RULES["expected-capacity"](Planned(type=type_, props=props)) == []
