"""The GPU nodes: launch template and node group as EC2 and EKS take them, and every way in which others went wrong."""

import base64
import email
import json
from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from components.aws.gpu_node_pool import EFA_CARDS, network_interfaces
from components.plan.hardware import CATALOGUE
from tests.aws.answers import AwsAnswers
from tests.aws.stack import PAIR, PAIR_BLOCK, gpu_nodes, only, program, template

RESERVATION = "cr-0123456789abcdef0"

# (card, device, type) of every adapter, written out from the EC2 user guide (efa-acc-inst-types) and
# terraform-aws-eks #3653: the first has the node's address, all others carry RDMA alone.
ADAPTERS: Mapping[str, list[tuple[int, int, str]]] = {
    # Card 0 takes no EFA (aws-parallelcluster #7143): 17 adapters, 16 of them EFA.
    "p6-b300.48xlarge": [
        (0, 0, "interface"),
        (1, 0, "efa-only"),
        (2, 0, "efa-only"),
        (3, 0, "efa-only"),
        (4, 0, "efa-only"),
        (5, 0, "efa-only"),
        (6, 0, "efa-only"),
        (7, 0, "efa-only"),
        (8, 0, "efa-only"),
        (9, 0, "efa-only"),
        (10, 0, "efa-only"),
        (11, 0, "efa-only"),
        (12, 0, "efa-only"),
        (13, 0, "efa-only"),
        (14, 0, "efa-only"),
        (15, 0, "efa-only"),
        (16, 0, "efa-only"),
    ],
    # Eight cards, each with EFA; card 0 has the address on device 0 and EFA on device 1.
    "p6-b200.48xlarge": [
        (0, 0, "interface"),
        (0, 1, "efa-only"),
        (1, 0, "efa-only"),
        (2, 0, "efa-only"),
        (3, 0, "efa-only"),
        (4, 0, "efa-only"),
        (5, 0, "efa-only"),
        (6, 0, "efa-only"),
        (7, 0, "efa-only"),
    ],
    # Sixteen cards likewise.
    "p5en.48xlarge": [
        (0, 0, "interface"),
        (0, 1, "efa-only"),
        (1, 0, "efa-only"),
        (2, 0, "efa-only"),
        (3, 0, "efa-only"),
        (4, 0, "efa-only"),
        (5, 0, "efa-only"),
        (6, 0, "efa-only"),
        (7, 0, "efa-only"),
        (8, 0, "efa-only"),
        (9, 0, "efa-only"),
        (10, 0, "efa-only"),
        (11, 0, "efa-only"),
        (12, 0, "efa-only"),
        (13, 0, "efa-only"),
        (14, 0, "efa-only"),
        (15, 0, "efa-only"),
    ],
}


def pair() -> Any:
    """Return the program of two nodes that talk over EFA."""
    return program(PAIR, AwsAnswers(block=PAIR_BLOCK))


def test_a_node_is_launched_into_the_block_and_nowhere_else() -> None:
    launched = template(program())
    # Market and target go together: one without the other is refused by EC2, or bought on demand.
    assert launched["instanceMarketOptions"] == {"marketType": "capacity-block"}
    assert launched["capacityReservationSpecification"] == {
        "capacityReservationPreference": "capacity-reservations-only",
        "capacityReservationTarget": {"capacityReservationId": RESERVATION},
    }
    assert gpu_nodes(program()).inputs["capacityType"] == "CAPACITY_BLOCK"


def test_type_and_disk_are_in_the_launch_template_alone() -> None:
    mocks = program()
    assert template(mocks)["instanceType"] == "p6-b300.48xlarge"
    assert not {"instanceTypes", "diskSize", "remoteAccess", "version", "releaseVersion"} & set(gpu_nodes(mocks).inputs)
    (disk,) = template(mocks)["blockDeviceMappings"]
    assert disk["deviceName"] == "/dev/xvda"
    assert disk["ebs"] == {"volumeSize": 200, "volumeType": "gp3", "encrypted": "true", "deleteOnTermination": "true"}


def test_the_template_names_neither_an_image_nor_a_role() -> None:
    # EKS brings both, and refuses a template that has them (EKS user guide, launch-templates).
    refused = {"imageId", "iamInstanceProfile", "vpcSecurityGroupIds", "securityGroupNames", "hibernationOptions"}
    assert not refused & set(template(program()))
    assert "subnetId" not in json.dumps(template(pair()))


def test_the_node_group_names_a_version_by_its_number() -> None:
    # "$Latest" would be another version than the one in EKS' own copy, for ever (pulumi-eks #633).
    mocks = program()
    assert gpu_nodes(mocks).inputs["launchTemplate"] == {"id": "gpu-template-id", "version": "1"}
    assert template(mocks)["updateDefaultVersion"] is True


def test_the_user_data_is_what_nodeadm_reads() -> None:
    message = email.message_from_bytes(base64.b64decode(template(program())["userData"]))
    # EKS merges its own parts into a MIME document of several parts, and into nothing else.
    assert message.get_content_type() == "multipart/mixed"
    assert message.defects == []
    _, part = message.walk()
    assert part.get_content_type() == "application/node.eks.aws"
    assert yaml.safe_load(str(part.get_payload())) == {
        "apiVersion": "node.eks.aws/v1alpha1",
        "kind": "NodeConfig",
        "spec": {"instance": {"localStorage": {"strategy": "RAID0"}}},
    }


def test_the_user_data_is_within_ec2s_limit() -> None:
    assert len(base64.b64decode(template(program())["userData"])) < 16 * 1024


def test_instance_metadata_needs_a_token_and_reaches_pods() -> None:
    assert template(program())["metadataOptions"] == {
        "httpEndpoint": "enabled",
        "httpTokens": "required",
        "httpPutResponseHopLimit": 2,
    }


def test_a_node_alone_has_the_one_adapter_that_eks_gives_it() -> None:
    assert "networkInterfaces" not in template(program())
    assert len(program().of("Release")) == 2


@pytest.mark.parametrize("machine", ADAPTERS)
def test_the_adapters_of_a_node_that_talks_over_efa(machine: str) -> None:
    found = network_interfaces(machine, "sg-0123456789abcdef0")
    assert [(each.network_card_index, each.device_index, each.interface_type) for each in found] == ADAPTERS[machine]


def test_p5_has_an_efa_adapter_on_each_of_its_32_cards() -> None:
    layout = [(0, 1), *((card, 0) for card in range(1, 32))]
    assert EFA_CARDS["p5.48xlarge"] == layout


def test_every_machine_of_aws_with_efa_has_its_adapters_here() -> None:
    ours = {name for name, machine in CATALOGUE.items() if machine.cloud == "aws"}
    assert ours == set(EFA_CARDS)


def test_every_adapter_has_the_clusters_own_security_group_and_ends_with_its_node() -> None:
    # A template that names adapters gets nothing from EKS: without this group no node ever joins.
    adapters = template(pair())["networkInterfaces"]
    assert len(adapters) == 9
    assert {tuple(each["securityGroups"]) for each in adapters} == {("sg-0123456789abcdef0",)}
    assert {each["deleteOnTermination"] for each in adapters} == {"true"}
    assert not {"associatePublicIpAddress", "subnetId"} & {key for each in adapters for key in each}


def test_the_security_group_is_known_as_eks_own_and_not_one_of_the_components() -> None:
    # With groups of its own the component's output would be another one; see `skipDefaultSecurityGroups`.
    mocks = pair()
    assert only(mocks.of("Cluster"), "cluster-eks").inputs["skipDefaultSecurityGroups"] is True


def test_a_full_block_is_updated_without_a_node_more() -> None:
    mocks = program()
    group = gpu_nodes(mocks)
    assert group.inputs["updateConfig"] == {"maxUnavailable": 1, "updateStrategy": "MINIMAL"}
    request = mocks.request(group)
    assert (request.deleteBeforeReplace, request.deleteBeforeReplaceDefined) == (True, True)


def test_no_node_is_repaired_away() -> None:
    assert gpu_nodes(program()).inputs["nodeRepairConfig"] == {"enabled": False}


def test_the_group_can_be_empty_and_never_larger_than_the_plan() -> None:
    assert gpu_nodes(program()).inputs["scalingConfig"] == {"minSize": 0, "desiredSize": 1, "maxSize": 1}
    assert gpu_nodes(pair()).inputs["scalingConfig"] == {"minSize": 0, "desiredSize": 2, "maxSize": 2}


def test_two_replicas_of_two_nodes_are_four_nodes() -> None:
    mocks = program({**PAIR, "replicas": 2}, AwsAnswers(block={**PAIR_BLOCK, "instanceCount": 4}))
    assert gpu_nodes(mocks).inputs["scalingConfig"]["desiredSize"] == 4


def test_only_the_engine_runs_on_the_gpu_nodes() -> None:
    mocks = program()
    taint = {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}
    assert gpu_nodes(mocks).inputs["taints"] == [taint]
    pods = only(mocks.of("LeaderWorkerSet")).inputs["spec"]["leaderWorkerTemplate"]
    for role in ("leaderTemplate", "workerTemplate"):
        spec = pods[role]["spec"]
        assert {"key": "nvidia.com/gpu", "operator": "Exists"} in spec["tolerations"]
        assert gpu_nodes(mocks).inputs["labels"].items() <= spec["nodeSelector"].items()


def test_the_nodes_carry_the_label_that_the_device_plugin_looks_for() -> None:
    # nvidia-device-plugin 0.20.0, values.yaml: one of three affinities, and no pod at all without.
    assert gpu_nodes(program()).inputs["labels"] == {"nvidia.com/gpu.present": "true"}


def test_the_image_of_the_nodes_brings_driver_and_toolkit() -> None:
    assert gpu_nodes(program()).inputs["amiType"] == "AL2023_x86_64_NVIDIA"


def test_eks_has_time_for_the_largest_machines() -> None:
    mocks = program()
    assert mocks.request(gpu_nodes(mocks)).customTimeouts.create == "60m"


def test_nothing_ignores_a_change_of_the_number_of_nodes() -> None:
    # The end of a block is refused in the preview instead: an ignored size would ignore `replicas` too.
    mocks = program()
    assert list(mocks.request(gpu_nodes(mocks)).ignoreChanges) == []
