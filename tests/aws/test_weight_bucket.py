"""The bucket: closed, unversioned, kept or emptied as the state says; and the ways of the weights to the GPUs."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.aws.answers import AwsAnswers
from tests.aws.stack import PAIR, PAIR_BLOCK, Changes, only, program
from tests.conftest import Mocks

NAME = "kimi-k3-existing-111122223333-us-west-2"
REVISION = "9f62e4e9fffbd0a83ddd60e1c209d828994b3569"
FOLDER = f"moonshotai/Kimi-K3/{REVISION}"
STREAM: Changes = {"weights": {"delivery": "stream"}}


def engine_pod(mocks: Mocks, role: str = "leaderTemplate") -> Mapping[str, Any]:
    """Return the spec of the engine's pods."""
    return only(mocks.of("LeaderWorkerSet")).inputs["spec"]["leaderWorkerTemplate"][role]["spec"]


def engine(mocks: Mocks) -> Mapping[str, Any]:
    """Return the engine's container."""
    (found,) = engine_pod(mocks)["containers"]
    return found


def fetches(mocks: Mocks) -> dict[str, Mapping[str, Any]]:
    """Return the containers that copy weights before the engine starts."""
    return {each["name"]: each for each in engine_pod(mocks)["initContainers"] if each["name"].startswith("fetch")}


def literals(container: Mapping[str, Any]) -> dict[str, str]:
    """Return a container's variables that have a value of their own."""
    return {entry["name"]: entry["value"] for entry in container.get("env", []) if "value" in entry}


def flag(container: Mapping[str, Any], name: str) -> str:
    """Return what follows a flag."""
    return container["args"][container["args"].index(name) + 1]


def test_the_bucket_is_closed_to_everybody_else() -> None:
    closed = only(program().of("BucketPublicAccessBlock")).inputs
    flags = ("blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets")
    assert {name: closed[name] for name in flags} == dict.fromkeys(flags, True)
    assert closed["bucket"] == "weights-bucket-id"


def test_versions_of_weights_are_not_kept() -> None:
    # They can be fetched again by their commit, and a second copy would double the bill.
    mocks = program()
    assert mocks.of("BucketVersioning") == []
    assert not {"versioning", "versionings"} & set(only(mocks.of("Bucket")).inputs)


def test_parts_of_broken_uploads_end_after_a_day() -> None:
    (rule,) = only(program().of("BucketLifecycleConfiguration")).inputs["rules"]
    assert (rule["status"], rule["filter"]) == ("Enabled", {"prefix": ""})
    assert rule["abortIncompleteMultipartUpload"] == {"daysAfterInitiation": 1}
    # Nothing else: a rule that expires objects would take the weights of a paid block away.
    assert not {"expiration", "transitions", "noncurrentVersionExpiration"} & set(rule)


@pytest.mark.parametrize("keep", [True, False])
def test_what_happens_to_the_bucket_is_in_the_state_before_it_is_destroyed(keep: bool) -> None:
    # `pulumi destroy` doesn't run the program: a non-empty bucket goes only if its state says so.
    mocks = program({"weights": {"keep": keep}})
    bucket = only(mocks.of("Bucket"))
    assert bucket.inputs["forceDestroy"] is not keep
    parts = [bucket, only(mocks.of("BucketPublicAccessBlock")), only(mocks.of("BucketLifecycleConfiguration"))]
    assert [mocks.request(each).retainOnDelete for each in parts] == [keep] * 3
    # Protected, it would stop `destroy` half way, with the nodes still billing.
    assert not mocks.request(bucket).protect


def test_the_buckets_name_says_whose_it_is_and_is_the_same_in_previews() -> None:
    assert only(program().of("Bucket")).inputs["bucket"] == NAME
    assert only(program(unknown=True).of("Bucket")).inputs["bucket"] == NAME


def test_a_bucket_of_the_persons_own_is_filled_and_not_managed() -> None:
    mocks = program({"weights": {"bucket": "my-models"}})
    assert [each.type for each in mocks.resources if each.type.startswith("aws:s3/")] == []
    (copy,) = only(mocks.of("Job")).inputs["spec"]["template"]["spec"]["containers"]
    assert flag(copy, "--to") == f"s3://my-models/{FOLDER}"


def test_the_copy_into_the_bucket_runs_on_the_cpu_nodes_alone() -> None:
    pod = only(program().of("Job")).inputs["spec"]["template"]["spec"]
    # The GPU nodes are tainted and not there yet; without a toleration it can't wait for them.
    assert "tolerations" not in pod
    (copy,) = pod["containers"]
    assert (flag(copy, "--to"), flag(copy, "--revision")) == (f"s3://{NAME}/{FOLDER}", REVISION)
    assert literals(copy)["AWS_REGION"] == "us-west-2"


def test_a_finished_copy_stays_so_that_it_is_not_run_again() -> None:
    job = only(program().of("Job")).inputs
    assert "ttlSecondsAfterFinished" not in job["spec"]
    assert job["metadata"]["name"].endswith(REVISION[:12])


def test_by_default_each_node_copies_the_weights_onto_its_disks_first() -> None:
    mocks = program()
    (fetch,) = fetches(mocks).values()
    assert (flag(fetch, "--from"), flag(fetch, "--to")) == (f"s3://{NAME}/{FOLDER}", f"/models/{FOLDER}")
    assert literals(fetch)["AWS_REGION"] == "us-west-2"
    # Below the mount of nodeadm's RAID 0: an emptyDir would lose 1.5 TB with each pod.
    (volume,) = [each for each in engine_pod(mocks)["volumes"] if each["name"] == "weights"]
    assert volume["hostPath"] == {"path": "/mnt/k8s-disks/0/kimi-k3", "type": "DirectoryOrCreate"}
    assert engine(mocks)["args"][0] == f"/models/{FOLDER}"
    assert flag(engine(mocks), "--load-format") == "fastsafetensors"


def test_every_rank_copies_for_itself() -> None:
    mocks = program(PAIR, AwsAnswers(block=PAIR_BLOCK))
    leader, worker = (engine_pod(mocks, role)["initContainers"] for role in ("leaderTemplate", "workerTemplate"))
    assert [each["name"] for each in worker if each["name"].startswith("fetch")] == ["fetch-model"]
    assert [each for each in leader if each["name"] == "fetch-model"] == [
        each for each in worker if each["name"] == "fetch-model"
    ]


def test_streamed_weights_go_into_the_gpus_without_a_copy() -> None:
    mocks = program(STREAM)
    assert fetches(mocks) == {}
    assert engine(mocks)["args"][0] == f"s3://{NAME}/{FOLDER}"
    # Without the region the streamer says "File access error" and nothing more (vllm-project/vllm #12311).
    assert literals(engine(mocks))["AWS_REGION"] == "us-west-2"
    assert "weights" not in [volume["name"] for volume in engine_pod(mocks)["volumes"]]


@pytest.mark.parametrize("weights", [{}, {"delivery": "stream"}, {"bucket": "my-models", "delivery": "stream"}])
def test_the_fast_loader_never_gets_an_address_in_s3(weights: Mapping[str, object]) -> None:
    container = engine(program({"weights": weights}))
    streamed = container["args"][0].startswith("s3://")
    assert flag(container, "--load-format") == ("runai_streamer" if streamed else "fastsafetensors")


def test_the_draft_model_comes_with_speculative_decoding() -> None:
    mocks = program({"serving": {"speculativeDecoding": True}})
    assert {each.name for each in mocks.of("Job")} == {"weights-model-job", "weights-draft-job"}
    assert set(fetches(mocks)) == {"fetch-model", "fetch-draft"}


def test_the_node_copies_as_fast_as_its_link_and_the_plan_is_asked_for_it() -> None:
    (fetch,) = fetches(program(PAIR, AwsAnswers(block=PAIR_BLOCK))).values()
    # 200 Gbit/s of ENA, which pods use (EC2 specifications of p6-b200.48xlarge).
    assert flag(fetch, "--link-gbps") == "200"


def test_no_credential_is_in_a_pod() -> None:
    text = json.dumps([engine_pod(program()), only(program().of("Job")).inputs])
    assert "AWS_ACCESS_KEY_ID" not in text
    assert "AWS_SECRET_ACCESS_KEY" not in text


def test_compiled_kernels_are_kept_in_a_bucket_of_our_own_alone() -> None:
    # They are code: whoever may write into a shared bucket could run it on the GPUs.
    assert f"s3://{NAME}/kernel-cache" in json.dumps(engine_pod(program()))
    assert "kernel-cache" not in json.dumps(engine_pod(program({"weights": {"bucket": "my-models"}})))
