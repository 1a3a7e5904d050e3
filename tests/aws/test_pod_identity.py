"""Pod Identity: each service account has a role of its own, with the rights that it needs and no others."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.aws.stack import Changes, only, program
from tests.conftest import Mocks

BUCKET = "arn:aws:s3:::kimi-k3-existing-111122223333-us-west-2"
READ = {"s3:GetObject", "s3:ListBucket", "s3:GetBucketLocation"}


def rights(mocks: Mocks, name: str) -> Sequence[Mapping[str, Any]]:
    """Return the statements of a role's policy."""
    return json.loads(only(mocks.of("RolePolicy"), f"{name}-policy").inputs["policy"])["Statement"]


def test_three_accounts_have_a_role_and_each_its_own() -> None:
    mocks = program({"exposure": {"mode": "internal"}})
    found = [each.inputs for each in mocks.of("PodIdentityAssociation")]
    assert {(each["namespace"], each["serviceAccount"]) for each in found} == {
        ("kimi-k3", "kimi-k3"),
        ("kimi-k3", "weights"),
        ("kube-system", "aws-load-balancer-controller"),
    }
    assert len({each["roleArn"] for each in found}) == 3
    assert {each["clusterName"] for each in found} == {"kimi-k3-existing"}


def test_the_pods_run_as_the_accounts_that_have_the_roles() -> None:
    mocks = program()
    pods = only(mocks.of("LeaderWorkerSet")).inputs["spec"]["leaderWorkerTemplate"]
    assert {pods[role]["spec"]["serviceAccountName"] for role in ("leaderTemplate", "workerTemplate")} == {"kimi-k3"}
    assert only(mocks.of("Job")).inputs["spec"]["template"]["spec"]["serviceAccountName"] == "weights"
    made = {each.inputs["metadata"]["name"] for each in mocks.of("ServiceAccount")}
    assert made == {"kimi-k3", "weights"}


def test_the_agent_may_take_a_role_and_tag_its_session() -> None:
    # Without sts:TagSession a pod gets no credentials at all (EKS user guide, pod-id-role).
    mocks = program({"exposure": {"mode": "internal"}})
    roles = [each for each in mocks.of("Role") if each.name != "cluster-node"]
    assert len(roles) == 3
    for role in roles:
        (statement,) = json.loads(role.inputs["assumeRolePolicy"])["Statement"]
        assert statement["Principal"] == {"Service": "pods.eks.amazonaws.com"}
        assert set(statement["Action"]) == {"sts:AssumeRole", "sts:TagSession"}


def test_the_engine_reads_its_bucket_and_writes_nothing_into_it_but_compiled_kernels() -> None:
    read, write = rights(program(), "weights-reader")
    assert (set(read["Action"]), read["Resource"]) == (READ, [BUCKET, f"{BUCKET}/*"])
    assert (set(write["Action"]), write["Resource"]) == (
        {"s3:PutObject", "s3:AbortMultipartUpload"},
        [f"{BUCKET}/kernel-cache/*"],
    )


def test_the_copy_writes_its_bucket_and_no_other() -> None:
    (statement,) = rights(program(), "weights-writer")
    assert statement["Resource"] == [BUCKET, f"{BUCKET}/*"]
    # Parts of a broken upload are listed and taken away again; the bucket itself is out of its reach.
    assert set(statement["Action"]) - READ == {
        "s3:PutObject",
        "s3:DeleteObject",
        "s3:AbortMultipartUpload",
        "s3:ListBucketMultipartUploads",
        "s3:ListMultipartUploadParts",
    }


def test_in_a_bucket_of_the_persons_own_the_engine_writes_nothing_at_all() -> None:
    mocks = program({"weights": {"bucket": "my-models"}})
    (statement,) = rights(mocks, "weights-reader")
    assert (set(statement["Action"]), statement["Resource"]) == (
        READ,
        ["arn:aws:s3:::my-models", "arn:aws:s3:::my-models/*"],
    )


def test_weights_from_another_bucket_are_read_there_by_the_copy_alone() -> None:
    mocks = program({"weights": {"source": "s3://company-models/kimi-k3"}})
    own, other = rights(mocks, "weights-writer")
    assert own["Resource"] == [BUCKET, f"{BUCKET}/*"]
    assert (set(other["Action"]), other["Resource"]) == (
        READ,
        ["arn:aws:s3:::company-models", "arn:aws:s3:::company-models/*"],
    )
    assert "company-models" not in json.dumps(rights(mocks, "weights-reader"))


@pytest.mark.parametrize(
    ("changes", "start"),
    [
        ({}, "arn:aws:s3:::"),
        (
            {"region": "us-gov-east-1", "preflight": {"skip": ["reservation"]}, "capacity": {"zone": "us-gov-east-1a"}},
            "arn:aws-us-gov:s3:::",
        ),
    ],
)
def test_a_right_names_the_bucket_as_its_region_does(changes: Changes, start: str) -> None:
    for statement in rights(program(changes), "weights-reader"):
        assert all(resource.startswith(start) for resource in statement["Resource"])


def test_no_policy_allows_everything_anywhere() -> None:
    mocks = program({"exposure": {"mode": "internal"}})
    for policy in mocks.of("RolePolicy"):
        for statement in json.loads(policy.inputs["policy"])["Statement"]:
            actions = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
            assert not [action for action in actions if action in ("*", "s3:*", "ec2:*", "iam:*")], policy.name
            assert statement["Effect"] == "Allow"


def test_every_policy_is_within_iams_limit() -> None:
    # 10,240 characters for all inline policies of a role, white space not counted (IAM user guide, quotas).
    for policy in program({"exposure": {"mode": "internal"}}).of("RolePolicy"):
        assert len("".join(policy.inputs["policy"].split())) <= 10_240, policy.name


def test_role_names_have_room_for_what_pulumi_adds() -> None:
    # 64 characters in IAM, of which Pulumi takes a hyphen and seven.
    names = [each.name for each in program({"exposure": {"mode": "internal"}}).of("Role")]
    assert [name for name in names if len(name) > 64 - 8] == []
