"""Faults of an AWS stack file: every one names the key, the rule and the way out, before AWS is asked anything."""

import datetime

import pytest

from components.aws import kubernetes_version
from components.aws.settings import AwsSettings
from components.faults import Fault, Faulty
from components.plan.hardware import CATALOGUE
from components.plan.planner import Plan
from components.stack_file import load
from tests.aws.stack import PAIR, PUBLIC, Changes, refusal
from tests.stacks import values

SUBNET = "subnet-0123456789abcdef0"
VPC = "vpc-0123456789abcdef0"


def faults(changes: Changes) -> dict[str, Fault]:
    """Return the faults of the committed stack file with these changes, by key."""
    with pytest.raises(Faulty) as caught:
        load(values("aws", **changes))
    return {fault.key: fault for fault in caught.value.faults}


def loaded(changes: Changes) -> tuple[AwsSettings, Plan]:
    """Return settings and plan of the committed stack file with these changes."""
    settings, plan = load(values("aws", **changes))
    assert isinstance(settings, AwsSettings)
    return settings, plan


def test_the_committed_files_have_no_fault() -> None:
    settings, plan = loaded({})
    assert (settings.buys_capacity, str(plan.layout)) == (False, "TP8 on 1 node")
    with pytest.raises(Faulty) as caught:
        load(values("aws-capacity"))
    # Whoever copies the file has to say the word.
    assert [fault.key for fault in caught.value.faults] == ["capacity.acceptNonRefundable"]


@pytest.mark.parametrize(
    ("changes", "key", "telling"),
    [
        ({"region": "us-west-2b"}, "region", "us-west-2"),
        ({"capacity": {"id": "cr-1"}}, "capacity.id", "cr-0123456789abcdef0"),
        ({"capacity": {"id": None}}, "capacity.id", "mode existing needs it"),
        ({"capacity": {"zone": "us-east-1a"}}, "capacity.zone", "must be a zone of the region us-west-2"),
        ({"capacity": {"mode": "none"}}, "capacity.id", "mode none takes zone"),
        ({"capacity": {"mode": "none"}}, "capacity.zone", "mode none needs it"),
        ({"capacity": {"maxUpfrontFee": 20000}}, "capacity.maxUpfrontFee", "mode existing takes id"),
        ({"capacity": {"offeringId": "cb-0123456789abcdef0"}}, "capacity.offeringId", "mode existing takes id"),
        ({"capacity": {"startsAt": "2026-12-07T11:30:00Z"}}, "capacity.startsAt", "mode existing takes id"),
        ({"preflight": {"skip": ["reservation"]}}, "capacity.zone", "needs it"),
        ({"preflight": {"skip": ["quotas"]}}, "preflight.skip.0", "quota"),
        ({"network": {"cidr": "10.20.0.0/21"}}, "network.cidr", "from /16 to /20"),
        ({"network": {"cidr": "10.20.0.0/15"}}, "network.cidr", "from /16 to /20"),
        ({"network": {"cidr": "10.20.1.0/16"}}, "network.cidr", "host bits zero"),
        ({"network": {"privateSubnetIds": [SUBNET]}}, "network.privateSubnetIds", "vpcId as well"),
        ({"network": {"vpcId": VPC}}, "network.privateSubnetIds", "two ids or more"),
        ({"network": {"vpcId": VPC, "privateSubnetIds": [SUBNET]}}, "network.privateSubnetIds", "two zones"),
        (
            {**PUBLIC, "network": {"vpcId": VPC, "privateSubnetIds": [SUBNET, f"{SUBNET[:-1]}1"]}},
            "network.publicSubnetIds",
            "two zones",
        ),
        ({"cluster": {"version": "1.33"}}, "cluster.version", "left standard support on 2026-07-29"),
        ({"cluster": {"version": "1.29"}}, "cluster.version", "0.60 USD an hour instead of 0.10"),
        ({"cluster": {"publicAccessRanges": ["0.0.0.0/0"]}}, "cluster.publicAccessRanges", "open to everybody"),
        ({"cluster": {"publicAccessRanges": ["10.0.0.1"]}}, "cluster.publicAccessRanges.0", "pattern"),
        ({"cluster": {"admins": ["platform"]}}, "cluster.admins.0", "arn:aws"),
        ({"cluster": {"systemNodes": {"count": 1}}}, "cluster.systemNodes.count", "greater than or equal to 2"),
        ({"cluster": {"kubeconfig": "x"}}, "cluster.kubeconfig", "there is no such key"),
        ({"weights": {"delivery": "mounted"}}, "weights.delivery", "nvme"),
        ({"weights": {"path": "/models"}}, "weights.path", "there is no such key"),
        ({"weights": {"bucket": "My_Models"}}, "weights.bucket", "pattern"),
        ({"exposure": {"mode": "public"}}, "exposure.certificateArn", "arn:aws:acm"),
        ({"exposure": {"mode": "public"}}, "exposure.allowedRanges", "closed ranges"),
        (
            {"exposure": {"mode": "internal", "certificateSecret": "tls"}},
            "exposure.certificateSecret",
            "certificateArn",
        ),
        ({"machine": "8xB300"}, "machine", "must be an EC2 type"),
        ({"machine": "4xGB300"}, "machine", "p6-b300.48xlarge"),
    ],
)
def test_fault(changes: Changes, key: str, telling: str) -> None:
    found = faults(changes)
    assert key in found, found
    assert telling in str(found[key])


@pytest.mark.parametrize(
    "image",
    [None, "vllm/vllm-openai:v0.33.0", "docker.io/vllm/vllm-openai:v0.33.0", f"vllm/vllm-openai@sha256:{'0' * 64}"],
)
def test_the_stock_image_is_refused_between_nodes_that_pay_for_efa(image: str | None) -> None:
    found = faults({**PAIR, "serving": {"image": image}})
    assert set(found) == {"serving.image"}
    assert "NCCL would silently fall back to TCP" in found["serving.image"].allowed


def test_the_stock_image_is_taken_where_nothing_is_said_over_efa() -> None:
    assert loaded({})[1].layout.nodes == 1
    tcp = {"machine": "p6-b200.48xlarge", "topology": {"interconnect": "tcp"}}
    assert loaded(tcp)[1].layout.nodes == 2
    assert loaded(PAIR)[1].layout.interconnect == "rdma"


@pytest.mark.parametrize(("machine", "nodes"), [("p6-b200.48xlarge", 2), ("p5en.48xlarge", 2), ("p5.48xlarge", 4)])
def test_machines_that_are_too_small_alone_are_planned_as_a_group(machine: str, nodes: int) -> None:
    assert loaded({**PAIR, "machine": machine})[1].layout.nodes == nodes
    alone = {**PAIR, "machine": machine, "topology": {"tensorParallel": 8, "pipelineParallel": 1}}
    # 1,432 GiB of 8 x B200 and 1,128 GiB of 8 x H200 hold less than weights and work (1,680 GB).
    assert "1,680 GB" in str(faults(alone))


def test_every_machine_of_aws_in_the_catalogue_is_one_that_the_stack_takes() -> None:
    ours = [name for name, machine in CATALOGUE.items() if machine.cloud == "aws"]
    assert set(ours) == {"p6-b300.48xlarge", "p6-b200.48xlarge", "p5en.48xlarge", "p5.48xlarge"}
    for name in ours:
        loaded({**PAIR, "machine": name})


@pytest.mark.parametrize(
    ("version", "today", "taken"),
    [
        ("1.34", "2026-12-01", True),
        ("1.34", "2026-12-02", False),
        ("1.35", "2027-03-26", True),
        ("1.35", "2027-03-27", False),
        ("1.36", "2027-03-27", True),
        ("1.32", "2020-01-01", False),
    ],
)
def test_a_version_is_taken_until_its_standard_support_ends(version: str, today: str, taken: bool) -> None:
    found = kubernetes_version.faults("cluster.version", version, datetime.date.fromisoformat(today))
    assert (found == []) is taken


def test_the_default_version_has_all_its_addons_pinned() -> None:
    pins = kubernetes_version.addons(kubernetes_version.DEFAULT, {})
    assert set(pins) == {"vpc-cni", "kube-proxy", "coredns", "eks-pod-identity-agent"}
    assert all(pins.values())
    # Interfaces of type efa-only are known from 1.18.5 on (EKS user guide, node-efa).
    assert tuple(map(int, str(pins["vpc-cni"])[1:].split("-")[0].split("."))) >= (1, 18, 5)
    assert str(pins["kube-proxy"]).startswith(f"v{kubernetes_version.DEFAULT}.")


def test_a_version_without_pins_takes_what_eks_says_and_what_the_person_says() -> None:
    found = kubernetes_version.addons("1.36", {"coredns": "v1.14.0-eksbuild.1"})
    assert found["kube-proxy"] is None
    assert found["coredns"] == "v1.14.0-eksbuild.1"


@pytest.mark.parametrize(
    ("changes", "want"),
    [
        (
            {},
            ["the reservation cr-0123456789abcdef0: paid until its end", "the bucket with the weights (weights.keep)"],
        ),
        ({"weights": {"keep": False}}, ["the reservation cr-0123456789abcdef0: paid until its end"]),
        (
            {"capacity": {"kind": "on-demand"}, "weights": {"bucket": "my-models"}},
            ["the reservation cr-0123456789abcdef0: billed by the hour until you cancel it"],
        ),
        ({"capacity": {"mode": "none", "id": None, "zone": "us-west-2b"}, "weights": {"keep": False}}, []),
    ],
)
def test_what_bills_after_destroy_is_said_before(changes: Changes, want: list[str]) -> None:
    assert [lasting.what for lasting in loaded(changes)[1].cost.after_destroy] == want


def test_the_bucket_costs_what_its_bytes_cost() -> None:
    # 1,560,998,998,830 bytes at 0.023 USD a GB and month.
    assert loaded({})[0].storage_usd_month == pytest.approx(35.90, abs=0.01)
    assert loaded({"weights": {"bucket": "my-models"}})[0].storage_usd_month == 0


def test_the_platform_costs_control_plane_nodes_and_gateway() -> None:
    # 0.10 + 2 x 0.4032 + 0.045
    assert loaded({})[0].platform_usd_hour == pytest.approx(0.9514)
    subnets = [SUBNET, f"{SUBNET[:-1]}1"]
    assert loaded({"network": {"vpcId": VPC, "privateSubnetIds": subnets}})[0].platform_usd_hour == pytest.approx(
        0.9064
    )


def test_files_of_modelscope_are_pinned_like_everywhere() -> None:
    assert "ModelScope's branches move" in refusal({"weights": {"source": "modelscope"}})
