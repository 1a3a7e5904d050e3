"""The bucket: private, filled by an identity of its own, read in three ways, kept or deleted as told."""

import json
from collections.abc import Mapping
from typing import Any

from tests.alicloud.answers import AlicloudAnswers
from tests.alicloud.stack import DISK, KEYS, MAINLAND, MAINLAND_ANSWERS, STREAM, Changes, only, program
from tests.conftest import Mocks

BUCKET = "kimi-k3-existing-1234567890123456-ap-southeast-1"


def statements(mocks: Mocks, name: str) -> list[dict[str, Any]]:
    return json.loads(only(mocks.of("Policy"), f"{name}-policy").inputs["policyDocument"])["Statement"]


def subject(mocks: Mocks, name: str) -> Mapping[str, str]:
    trust = json.loads(only(mocks.of("Role"), f"{name}-role").inputs["assumeRolePolicyDocument"])
    (statement,) = trust["Statement"]
    assert statement["Principal"] == {"Federated": ["acs:ram::1234567890123456:oidc-provider/ack-rrsa-c0123"]}
    assert (trust["Version"], statement["Action"]) == ("1", "sts:AssumeRole")
    return statement["Condition"]["StringEquals"]


def pod(mocks: Mocks) -> Mapping[str, Any]:
    return only(mocks.of("LeaderWorkerSet")).inputs["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]


def variables(mocks: Mocks) -> dict[str, Any]:
    (engine,) = pod(mocks)["containers"]
    return {each["name"]: each.get("value", each.get("valueFrom")) for each in engine["env"]}


def test_the_name_is_one_that_no_other_account_has() -> None:
    assert only(program().of("Bucket")).inputs["bucket"] == BUCKET


def test_the_bucket_is_closed_and_forgets_broken_uploads_after_a_day() -> None:
    mocks = program()
    bucket = only(mocks.of("Bucket")).inputs
    # Parts keep a bucket from being deleted (BucketNotEmpty, alibaba/terraform-provider #775).
    (rule,) = bucket["lifecycleRules"]
    assert rule == {
        "id": "broken-uploads",
        "enabled": True,
        "prefix": "",
        "abortMultipartUploads": [{"days": 1}],
    }
    assert only(mocks.of("BucketPublicAccessBlock")).inputs["blockPublicAccess"] is True
    # Both are deprecated, and closed is what a bucket is without them.
    assert {"acl", "policy"} & set(bucket) == set()


def test_the_bucket_is_kept_or_deleted_as_the_file_says() -> None:
    for keep in (True, False):
        mocks = program({"weights": {"keep": keep}})
        bucket = only(mocks.of("Bucket"))
        assert mocks.request(bucket).retainOnDelete is keep
        assert bucket.inputs["forceDestroy"] is not keep


def test_a_bucket_of_the_persons_own_is_filled_and_not_made() -> None:
    mocks = program({"weights": {"bucket": "my-models"}})
    assert mocks.of("Bucket") == []
    job = str(only(mocks.of("Job")).inputs)
    assert "oss://my-models/moonshotai/Kimi-K3/9f62e4e9fffbd0a83ddd60e1c209d828994b3569" in job
    # Kernels are code: not from a bucket that others write.
    assert "kernel-cache" not in str(pod(mocks))


def test_only_the_copy_may_write_and_only_this_bucket() -> None:
    mocks = program()
    own = [f"acs:oss:*:*:{BUCKET}", f"acs:oss:*:*:{BUCKET}/*"]
    (writing,) = statements(mocks, "weights-writer")
    assert writing["Resource"] == own
    assert {"oss:PutObject", "oss:AbortMultipartUpload"} <= set(writing["Action"])
    reading, kernels = statements(mocks, "weights-reader")
    assert reading["Resource"] == own
    assert {action.split(":")[1][:3] for action in reading["Action"]} == {"Get", "Lis"}
    assert kernels["Resource"] == [f"acs:oss:*:*:{BUCKET}/kernel-cache/*"]


def test_another_bucket_as_a_source_may_be_read() -> None:
    mocks = program({"weights": {"source": "oss://models/kimi"}})
    _, source = statements(mocks, "weights-writer")
    assert source["Resource"] == ["acs:oss:*:*:models", "acs:oss:*:*:models/*"]


def test_a_role_is_for_one_service_account_of_this_cluster() -> None:
    mocks = program()
    for name, account in (("weights-reader", "kimi-k3"), ("weights-writer", "weights")):
        assert subject(mocks, name) == {
            "oidc:iss": "https://oidc-ack-ap-southeast-1.oss-ap-southeast-1.aliyuncs.com/c0123",
            "oidc:aud": "sts.aliyuncs.com",
            "oidc:sub": f"system:serviceaccount:kimi-k3:{account}",
        }
        tied = only(mocks.of("ServiceAccount"), f"{account}-account").inputs["metadata"]["annotations"]
        assert tied["pod-identity.alibabacloud.com/role-name"] == f"kimi-k3-existing-{name}"
    assert only(mocks.of("Role"), "weights-reader-role").inputs["roleName"] == "kimi-k3-existing-weights-reader"


def test_no_oidc_provider_is_made_beside_the_clusters_own() -> None:
    assert program().of("OidcProvider") == []


def test_the_mount_is_made_by_fuse_pods_and_theirs_is_the_identity() -> None:
    # A trust in the account of the pod that reads ends in 403 (ACK, "Use RRSA for ossfs 2.0").
    mocks = program()
    assert subject(mocks, "weights-mount")["oidc:sub"] == "system:serviceaccount:ack-csi-fuse:csi-fuse-ossfs"
    (reading,) = statements(mocks, "weights-mount")
    assert not [action for action in reading["Action"] if "Put" in action or "Delete" in action]


def test_the_bucket_is_mounted_read_only_through_its_internal_address() -> None:
    mocks = program()
    spec = only(mocks.of("PersistentVolume")).inputs["spec"]
    assert (spec["accessModes"], spec["persistentVolumeReclaimPolicy"]) == (["ReadOnlyMany"], "Retain")
    assert spec["csi"]["driver"] == "ossplugin.csi.alibabacloud.com"
    assert spec["csi"]["volumeAttributes"] == {
        "bucket": BUCKET,
        "path": "/",
        "url": "https://oss-ap-southeast-1-internal.aliyuncs.com",
        "fuseType": "ossfs2",
        "authType": "rrsa",
        "roleName": "kimi-k3-existing-weights-mount",
        "otherOpts": "-o close_to_open=false",
    }
    claim = only(mocks.of("PersistentVolumeClaim")).inputs["spec"]
    assert claim["volumeName"] == only(mocks.of("PersistentVolume")).inputs["metadata"]["name"]
    assert claim["storageClassName"] == ""
    assert {"name": "weights", "persistentVolumeClaim": {"claimName": "weights", "readOnly": True}} in pod(mocks)[
        "volumes"
    ]


def test_the_engine_reads_the_mount_without_gpu_direct_files() -> None:
    (engine,) = pod(program())["containers"]
    folder = "/models/moonshotai/Kimi-K3/9f62e4e9fffbd0a83ddd60e1c209d828994b3569"
    assert folder in engine["args"]
    assert {"name": "weights", "mountPath": "/models", "readOnly": True} in engine["volumeMounts"]


def test_a_copy_onto_the_nodes_disk_asks_for_no_mount() -> None:
    mocks = program(DISK)
    assert (mocks.of("PersistentVolume"), [each.name for each in mocks.of("Role") if "mount" in each.name]) == ([], [])
    fetches = [each for each in pod(mocks)["initContainers"] if each["name"].startswith("fetch")]
    (fetch,) = fetches
    assert f"oss://{BUCKET}/moonshotai/Kimi-K3/9f62e4e9fffbd0a83ddd60e1c209d828994b3569" in fetch["args"]
    # Inside the region, from which the program makes the internal address.
    assert {"name": "AWS_REGION", "value": "ap-southeast-1"} in fetch["env"]


def streamed(changes: Changes | None = None) -> Mocks:
    return program({**STREAM, **(changes or {})}, secrets=KEYS)


def test_streaming_puts_the_bucket_into_the_hosts_name() -> None:
    # OSS refuses the other way (SecondLevelDomainForbidden), which boto3 takes with an endpoint of its own.
    mocks = streamed()
    found = variables(mocks)
    endpoint = "https://oss-ap-southeast-1-internal.aliyuncs.com"
    assert (found["AWS_ENDPOINT_URL"], found["RUNAI_STREAMER_S3_USE_VIRTUAL_ADDRESSING"]) == (endpoint, "1")
    assert found["AWS_CONFIG_FILE"] == "/etc/oss-client/config"
    (settings,) = [each for each in mocks.of("ConfigMap") if each.name == "weights-client"]
    assert "addressing_style = virtual" in settings.inputs["data"]["config"]
    (engine,) = pod(mocks)["containers"]
    assert f"s3://{BUCKET}/moonshotai/Kimi-K3/9f62e4e9fffbd0a83ddd60e1c209d828994b3569" in engine["args"]


def test_streaming_reads_with_keys_from_a_secret_and_checks_no_checksums_that_oss_lacks() -> None:
    found = variables(streamed())
    assert found["AWS_ACCESS_KEY_ID"] == {"secretKeyRef": {"name": "bucket-credentials", "key": "AWS_ACCESS_KEY_ID"}}
    assert (found["AWS_REQUEST_CHECKSUM_CALCULATION"], found["AWS_EC2_METADATA_DISABLED"]) == ("when_required", "true")


def test_the_engine_downloads_nothing_from_a_hub() -> None:
    # With tensor parallelism each rank would (vllm-project/vllm #13962, #16597).
    for mocks in (program(), program(DISK), streamed()):
        assert "VLLM_USE_MODELSCOPE" not in variables(mocks)


def test_in_the_mainland_the_copy_comes_from_modelscope_and_the_mirrors() -> None:
    mocks = program(MAINLAND, AlicloudAnswers(**MAINLAND_ANSWERS))
    (container,) = only(mocks.of("Job")).inputs["spec"]["template"]["spec"]["containers"]
    assert "modelscope" in container["args"]
    assert container["image"].startswith("registry-vpc.cn-hangzhou.cr.aliyuncs.com/mirror/")
    assert {"name": "PIP_INDEX_URL", "value": "https://mirrors.aliyun.com/pypi/simple/"} in container["env"]
    (engine,) = pod(mocks)["containers"]
    assert engine["image"] == "registry-vpc.cn-hangzhou.cr.aliyuncs.com/mirror/vllm/vllm-openai:v0.33.0"
    chart = only(mocks.of("Release"), "kimi-k3-lws-release").inputs["chart"]
    assert chart == "oci://registry-vpc.cn-hangzhou.cr.aliyuncs.com/mirror/lws"
