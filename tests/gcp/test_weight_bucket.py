"""The bucket: private, cheap to delete, read and written by identities without keys, and three ways to the GPUs."""

import pytest

from tests.gcp.answers import NUMBER
from tests.gcp.stack import Changes, engine, engine_pod, environment, only, program

BUCKET = f"kimi-k3-existing-{NUMBER}-us-central1"
POOL = f"principal://iam.googleapis.com/projects/{NUMBER}/locations/global/workloadIdentityPools/my-project.svc.id.goog"
MODEL = "moonshotai/Kimi-K3/9f62e4e9fffbd0a83ddd60e1c209d828994b3569"


def test_the_bucket_is_private_regional_and_bills_nothing_that_was_deleted() -> None:
    bucket = only(program().of("Bucket")).inputs
    assert (bucket["name"], bucket["location"]) == (BUCKET, "us-central1")
    assert (bucket["uniformBucketLevelAccess"], bucket["publicAccessPrevention"]) == (True, "enforced")
    # Google keeps and bills deleted objects for seven days by default, and leaving the block out leaves that.
    assert bucket["softDeletePolicy"] == {"retentionDurationSeconds": 0}
    # Parts of a broken upload are invisible, and bill.
    (rule,) = bucket["lifecycleRules"]
    assert rule == {"action": {"type": "AbortIncompleteMultipartUpload"}, "condition": {"age": 1}}
    assert "versioning" not in bucket


@pytest.mark.parametrize("keep", [True, False])
def test_a_kept_bucket_survives_destroy_and_another_is_emptied_by_it(keep: bool) -> None:
    mocks = program({"weights": {"keep": keep}})
    bucket = only(mocks.of("Bucket"))
    assert mocks.request(bucket).retainOnDelete is keep
    # Read from the state by destroy, which doesn't run the program.
    assert bucket.inputs["forceDestroy"] is not keep


@pytest.mark.parametrize(("changes", "folders"), [({}, None), ({"weights": {"hierarchicalNamespace": True}}, True)])
def test_real_folders_are_made_on_demand_alone(changes: Changes, folders: bool | None) -> None:
    bucket = only(program(changes).of("Bucket")).inputs
    assert bucket.get("hierarchicalNamespace") == ({"enabled": True} if folders else None)


def test_each_service_account_has_one_role_on_the_bucket_and_no_key_is_made() -> None:
    mocks = program()
    roles = {each.name: each.inputs for each in mocks.of("BucketIAMMember")}
    assert roles == {
        "weights-reader-role": {
            "bucket": BUCKET,
            "role": "roles/storage.objectViewer",
            # By the number first and by the id then; with the id twice Google finds nobody.
            "member": f"{POOL}/subject/ns/kimi-k3/sa/kimi-k3",
        },
        "weights-writer-role": {
            "bucket": BUCKET,
            "role": "roles/storage.objectUser",
            "member": f"{POOL}/subject/ns/kimi-k3/sa/weights",
        },
    }
    assert [each.type for each in mocks.resources if "serviceaccount/key" in each.type] == []
    assert engine_pod(mocks)["serviceAccountName"] == "kimi-k3"
    assert only(mocks.of("Job")).inputs["spec"]["template"]["spec"]["serviceAccountName"] == "weights"


def test_the_copy_runs_on_cpu_nodes_and_writes_to_the_bucket() -> None:
    pod = only(program().of("Job")).inputs["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {"cloud.google.com/gke-nodepool": "system"}
    (container,) = pod["containers"]
    assert f"gs://{BUCKET}/{MODEL}" in str(container)
    assert {"name": "GOOGLE_CLOUD_PROJECT", "value": "my-project"} in container["env"]


def test_a_bucket_of_theirs_is_filled_and_never_made_or_deleted() -> None:
    mocks = program({"weights": {"bucket": "my-models"}})
    assert mocks.of("Bucket") == []
    assert {each.inputs["bucket"] for each in mocks.of("BucketIAMMember")} == {"my-models"}
    assert "gs://my-models/" in str(only(mocks.of("Job")).inputs)


def test_weights_from_another_bucket_may_be_read_and_not_written() -> None:
    roles = {
        each.name: each.inputs for each in program({"weights": {"source": "gs://others/k3"}}).of("BucketIAMMember")
    }
    assert (roles["weights-writer-source-role"]["bucket"], roles["weights-writer-source-role"]["role"]) == (
        "others",
        "roles/storage.objectViewer",
    )
    assert roles["weights-writer-role"]["bucket"] == BUCKET


def test_by_default_each_node_copies_the_weights_onto_its_own_disks() -> None:
    mocks = program()
    for role in ("leader", "worker"):
        pod = engine_pod(mocks, role)
        (volume,) = [each for each in pod["volumes"] if each["name"] == "weights"]
        # The RAID of the local disks, where GKE puts it; on the boot disk there is no room for 1.56 TB.
        assert volume["hostPath"]["path"] == "/mnt/stateful_partition/kube-ephemeral-ssd/kimi-k3"
        (fetch,) = pod["initContainers"]
        assert f"gs://{BUCKET}/{MODEL}" in str(fetch)
    assert f"/models/{MODEL}" in str(engine(mocks)["args"])
    assert "fastsafetensors" in str(engine(mocks)["args"])


def test_streamed_weights_never_touch_a_disk_and_have_their_own_loader() -> None:
    mocks = program({"weights": {"delivery": "stream"}})
    assert engine_pod(mocks)["initContainers"] == []
    arguments = engine(mocks)["args"]
    assert f"gs://{BUCKET}/{MODEL}" in str(arguments)
    assert "runai_streamer" in str(arguments)
    assert "fastsafetensors" not in str(arguments)
    assert environment(mocks)["GOOGLE_CLOUD_PROJECT"] == "my-project"
    # Without a limit its buffers have killed the pod (runai-model-streamer #76).
    assert "RUNAI_STREAMER_MEMORY_LIMIT" in environment(mocks)


def test_a_mounted_bucket_has_a_sidecar_without_the_limits_that_kill_it() -> None:
    mocks = program({"weights": {"delivery": "mount"}})
    (group,) = mocks.of("LeaderWorkerSet")
    for role in ("leader", "worker"):
        template = group.inputs["spec"]["leaderWorkerTemplate"][f"{role}Template"]
        wanted = {
            "gke-gcsfuse/volumes": "true",
            "gke-gcsfuse/cpu-limit": "0",
            "gke-gcsfuse/memory-limit": "0",
            "gke-gcsfuse/ephemeral-storage-limit": "0",
        }
        assert wanted.items() <= template["metadata"]["annotations"].items()
        (volume,) = [each for each in template["spec"]["volumes"] if each["name"] == "weights"]
        assert (volume["csi"]["driver"], volume["csi"]["readOnly"]) == ("gcsfuse.csi.storage.gke.io", True)
        assert volume["csi"]["volumeAttributes"]["bucketName"] == BUCKET
        # No init container: old GKE versions mount nothing into one (gcs-fuse-csi-driver #38).
        assert template["spec"]["initContainers"] == []
    assert f"/models/{MODEL}" in str(engine(mocks)["args"])


def test_no_other_way_has_the_sidecar() -> None:
    for delivery in ("nvme", "stream"):
        (group,) = program({"weights": {"delivery": delivery}}).of("LeaderWorkerSet")
        assert "gcsfuse" not in str(group.inputs)


def test_no_cache_is_made_that_bills_outside_the_state() -> None:
    assert [each for each in program({"weights": {"delivery": "mount"}}).resources if "Cache" in each.type] == []
