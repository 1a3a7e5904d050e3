"""cfn-lint over everything that is planned on AWS: a clean program has no finding, and each seeded fault has one."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.aws.answers import AwsAnswers
from tests.aws.cloud_formation import findings, resources, unmapped
from tests.aws.stack import Changes, program
from tests.aws.test_program import IDS, VARIANTS
from tests.conftest import Mocks, Registered


@pytest.mark.parametrize(("changes", "answers"), VARIANTS, ids=IDS)
def test_nothing_that_is_planned_is_against_awss_own_schemas(changes: Changes, answers: AwsAnswers) -> None:
    assert findings(program(changes, answers)) == []


@pytest.mark.parametrize(("changes", "answers"), VARIANTS, ids=IDS)
def test_every_type_of_aws_is_checked(changes: Changes, answers: AwsAnswers) -> None:
    assert unmapped(program(changes, answers)) == set()


def test_the_template_holds_what_was_planned() -> None:
    found = resources(program())
    (template,) = [each for each in found.values() if each["Type"] == "AWS::EC2::LaunchTemplate"]
    data = template["Properties"]["LaunchTemplateData"]
    assert data["InstanceMarketOptions"] == {"MarketType": "capacity-block"}
    bucket = found["WeightsBucket"]["Properties"]
    assert set(bucket) == {"BucketName", "PublicAccessBlockConfiguration", "LifecycleConfiguration"}


def seeded(mocks: Mocks, name: str, change: Mapping[str, Any]) -> Mocks:
    """Return the program with other inputs of one resource."""
    found: list[Registered] = []
    for each in mocks.resources:
        changed = each.name == name and each.type.startswith(("aws:", "eks:"))
        found.append(replace(each, inputs={**each.inputs, **change}) if changed else each)
    assert found != mocks.resources
    return replace(mocks, resources=found)


ADAPTER = {"networkCard": 0, "deviceIndex": 0}
POLICY = '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:ListBuckets", "Resource": "*"}]}'
TRUST = '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "sts:TagSesion"}]}'


@pytest.mark.parametrize(
    ("name", "change", "rule"),
    [
        ("gpu-template", {"instanceMarketOptions": {"marketType": "capacity_block"}}, "E3030"),
        ("gpu-template", {"capacityReservationSpecification": {"capacityReservationPreference": "only"}}, "E3030"),
        ("gpu-template", {"instanceType": "p6-b300.96xlarge"}, "E3628"),
        ("gpu-template", {"networkInterfaces": [ADAPTER]}, "E3002"),
        ("gpu-template", {"colour": "green"}, "E3002"),
        ("gpu-nodes", {"capacityType": "capacity-block"}, "E3030"),
        ("gpu-nodes", {"amiType": "AL2023_NVIDIA"}, "E3030"),
        ("gpu-nodes", {"updateConfig": {"maxUnavailable": 1, "updateStrategy": "MINIMUM"}}, "E3030"),
        ("gpu-nodes", {"scalingConfig": {"minSize": 0, "desiredSize": 0, "maxSize": 0}}, "E3034"),
        ("gpu-nodes", {"taints": [{"key": "gpu", "value": "present", "effect": "NoSchedule"}]}, "E3030"),
        ("cluster-eks", {"upgradePolicy": {"supportType": "CHEAP"}}, "E3030"),
        ("cluster-eks", {"authenticationMode": "CONFIGMAP"}, "E3030"),
        ("cluster-coredns", {"resolveConflictsOnCreate": "REPLACE"}, "E3030"),
        ("network-s3", {"vpcEndpointType": "Gate"}, "E3030"),
        ("network-vpc", {"cidrBlock": "10.20.0.0/33"}, "E3002"),
        ("weights-reader-policy", {"policy": POLICY}, "W3037"),
        ("weights-reader-role", {"assumeRolePolicy": TRUST}, "W3037"),
        ("weights-bucket", {"bucket": "Kimi_K3"}, "E3031"),
    ],
)
def test_a_seeded_fault_is_found(name: str, change: dict[str, Any], rule: str) -> None:
    found = findings(seeded(program(), name, change))
    assert [each for each in found if each.startswith(rule)], found


def test_a_region_without_the_machine_is_found() -> None:
    # Price lists of 2026-10-20 know p6-b300 in eight regions, and this isn't one.
    found = findings(program(), region="eu-west-1")
    (finding,) = found
    assert finding.startswith("E3628 Resources/GpuTemplate/Properties/LaunchTemplateData/InstanceType: ")
