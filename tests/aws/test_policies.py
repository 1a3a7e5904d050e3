"""The IAM policies of the AWS page: the preview's buys and changes nothing, the deployer's is enough for its work."""

import fnmatch
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from cfnlint import api
from cfnlint.config import ManualArgs
from cfnlint.schema import PROVIDER_SCHEMA_MANAGER

from tests.aws.answers import AwsAnswers
from tests.aws.cloud_formation import resources
from tests.aws.stack import SUBNETS, program
from tests.aws.test_program import VARIANTS
from tests.stacks import PROJECT

FOLDER: Final = PROJECT / "docs" / "aws"
NAMES = ("deployer-policy", "preview-policy")
PURCHASES: Final = (
    "ec2:PurchaseCapacityBlock",
    "ec2:PurchaseCapacityBlockExtension",
    "sagemaker:CreateTrainingPlan",
    "sagemaker:ExtendTrainingPlan",
)
"""Every action of AWS that pays for a block or a plan at once (cfn-lint 1.58.0, Policies.json)."""
ASKS: Final[Mapping[str, tuple[str, ...]]] = {
    "getAvailabilityZones": ("ec2:DescribeAvailabilityZones",),
    "getCallerIdentity": ("sts:GetCallerIdentity",),
    "getCapacityBlockReservation": ("ec2:DescribeCapacityReservations",),
    "getInstanceTypeOfferings": ("ec2:DescribeInstanceTypeOfferings",),
    # Cloud Control asks EC2 with the caller's own rights.
    "getResource": ("cloudformation:GetResource", "ec2:DescribeCapacityReservations"),
    "getServiceQuota": ("servicequotas:GetServiceQuota",),
    "getSubnet": ("ec2:DescribeSubnets",),
}
"""What a look-up of the program asks AWS."""
UNUSED: Final = (
    "ec2:*NatGatewayAddress",
    "ec2:*SubnetCidrBlock",
    "ec2:*VpcEncryptionControl",
    "ec2:*VpnGateway*",
    "ec2:AcceptAddressTransfer",
    "ec2:ModifyVpcTenancy",
    "eks:ActivateCertificateAuthority",
    "iam:*InstanceProfile*",
    "iam:*PermissionsBoundary",
    "kms:*",
    "s3:*TableConfiguration",
    "s3:DeleteBucket?*",
    "s3:Put*",
    "s3tables:*",
    "vpc-lattice:*",
    "vpce:*",
)
"""Rights in AWS' models that belong to properties which no resource of ours has."""
NEEDED_PUTS: Final = ("s3:PutBucketPublicAccessBlock", "s3:PutBucketTagging", "s3:PutLifecycleConfiguration")


def statements(name: str) -> list[dict[str, Any]]:
    """Return the statements of a committed policy."""
    return json.loads((FOLDER / f"{name}.json").read_text())["Statement"]


def actions(name: str, effect: str) -> Iterator[str]:
    """Yield the actions of a policy's statements."""
    for statement in statements(name):
        if statement["Effect"] == effect:
            found = statement["Action"]
            yield from found if isinstance(found, list) else [found]


def allows(name: str, action: str) -> bool:
    """Return whether a policy allows an action on something, and denies it nowhere."""
    allowed, denied = (
        any(fnmatch.fnmatchcase(action, pattern) for pattern in actions(name, effect)) for effect in ("Allow", "Deny")
    )
    return allowed and not denied


@pytest.mark.parametrize("name", NAMES)
def test_a_policy_has_no_action_that_iam_does_not_know(name: str) -> None:
    document = json.loads((FOLDER / f"{name}.json").read_text())
    policy = {"Type": "AWS::IAM::ManagedPolicy", "Properties": {"PolicyDocument": document}}
    found = api.lint(json.dumps({"Resources": {"Policy": policy}}), config=ManualArgs(regions=["us-west-2"]))
    assert [f"{match.rule.id} {match.message}" for match in found] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_policy_is_within_iams_limit(name: str) -> None:
    # 6,144 characters of a managed policy, white space not counted (IAM user guide, quotas).
    assert len("".join((FOLDER / f"{name}.json").read_text().split())) <= 6_144


def test_a_preview_buys_nothing_whatever_else_its_role_may() -> None:
    (denied,) = [statement for statement in statements("preview-policy") if statement["Effect"] == "Deny"]
    assert set(denied["Action"]) == set(PURCHASES)
    assert denied["Resource"] == "*"
    assert "Condition" not in denied


def test_a_preview_asks_and_changes_nothing() -> None:
    verbs = {action.split(":")[1] for action in actions("preview-policy", "Allow")}
    assert [verb for verb in verbs if not verb.startswith(("Describe", "Get", "List"))] == []
    # It sees no object of the bucket, and so none of the weights.
    assert not allows("preview-policy", "s3:GetObject")


def test_the_deployer_of_what_serves_buys_nothing_either() -> None:
    assert [action for action in PURCHASES if allows("deployer-policy", action)] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_question_of_the_program_may_be_asked(name: str) -> None:
    asked: set[str] = set()
    on_demand = {"AvailabilityZone": "us-west-2b", "InstanceType": "p6-b300.48xlarge"}
    for changes in (*(changes for changes, _ in VARIANTS), {"capacity": {"kind": "on-demand"}}):
        answers = AwsAnswers(
            subnets=SUBNETS,
            on_demand=on_demand,
            block={"instanceType": changes.get("machine", "p6-b300.48xlarge"), "instanceCount": 2},
        )
        program(changes, answers)
        asked |= {question for question, _ in answers.asked}
    assert asked == set(ASKS)
    assert [action for found in ASKS.values() for action in found if not allows(name, action)] == []


def test_what_a_purchase_asks_may_be_asked_by_its_preview() -> None:
    assert allows("preview-policy", "ec2:DescribeCapacityBlockOfferings")


def rights(kind: str) -> set[str]:
    """Return what AWS' own model of a type needs to make, change and delete it, but for what we don't use."""
    handlers = PROVIDER_SCHEMA_MANAGER.get_resource_schema("us-west-2", kind).schema["handlers"]
    found = {
        right for step in ("create", "update", "delete") for right in handlers.get(step, {}).get("permissions", ())
    }
    return {
        right for right in found if right in NEEDED_PUTS or not any(fnmatch.fnmatchcase(right, each) for each in UNUSED)
    }


def test_the_deployer_may_make_change_and_delete_whatever_is_planned() -> None:
    kinds = {each["Type"] for changes, answers in VARIANTS for each in resources(program(changes, answers)).values()}
    assert len(kinds) > 15
    missing = {kind: sorted(right for right in rights(kind) if not allows("deployer-policy", right)) for kind in kinds}
    assert {kind: found for kind, found in missing.items() if found} == {}


def test_the_deployers_roles_and_clusters_are_the_ones_that_the_program_names() -> None:
    mocks = program({"exposure": {"mode": "internal"}})
    by_sid = {statement["Sid"]: statement for statement in statements("deployer-policy")}
    roles = [pattern.rpartition("/")[2] for pattern in by_sid["RolesOfThisProject"]["Resource"]]
    # Pulumi adds a hyphen and seven characters to each name.
    names = [f"{each.name}-0a1b2c3" for each in mocks.of("Role")]
    assert [name for name in names if not any(fnmatch.fnmatchcase(name, pattern) for pattern in roles)] == []
    for each in mocks.of("NodeGroup"):
        assert fnmatch.fnmatchcase(f"cluster/{each.inputs['clusterName']}", "*/kimi-k3-*")
    attached = set(by_sid["PoliciesOfControlPlaneAndNodes"]["Condition"]["ArnEquals"]["iam:PolicyARN"])
    assert {each.inputs["policyArn"] for each in mocks.of("RolePolicyAttachment")} <= attached
    (bucket,) = mocks.of("Bucket")
    assert fnmatch.fnmatchcase(f"arn:aws:s3:::{bucket.inputs['bucket']}", by_sid["BucketsOfThisProject"]["Resource"][0])


def test_no_role_can_be_handed_to_anything_but_eks_and_its_nodes() -> None:
    passing = [statement for statement in statements("deployer-policy") if statement["Action"] == "iam:PassRole"]
    services = {"ec2.amazonaws.com", "eks.amazonaws.com", "pods.eks.amazonaws.com"}
    assert [set(each["Condition"]["StringEquals"]["iam:PassedToService"]) for each in passing] == [services]
    for statement in statements("deployer-policy"):
        assert "iam:*" not in str(statement["Action"])
        assert statement["Effect"] == "Deny" or "*" not in statement["Action"]


def test_both_policies_are_where_the_page_says() -> None:
    page = (PROJECT / "docs" / "aws.md").read_text()
    for name in NAMES:
        assert f"aws/{name}.json" in page
    assert {path.stem for path in Path(FOLDER).glob("*.json")} == set(NAMES)
