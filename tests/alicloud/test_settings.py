"""Faults of an Alibaba Cloud stack file: each names the key, the rule and the way out, before anything is asked."""

import pytest

from components.alicloud.settings import AlicloudSettings
from components.faults import Fault, Faulty
from components.plan.planner import Plan
from components.stack_file import load
from tests.alicloud.stack import ERDMA, FOUR, LINGJUN, MAINLAND, PUBLIC, RESERVE, Changes
from tests.stacks import values

VPC = "vpc-t4nabcdefgh"
SWITCH = "vsw-t4nabcdefgh"
TEE = "ecs.gn8v-tee-8x.48xlarge"


def faults(changes: Changes) -> dict[str, Fault]:
    """Return the faults of the committed stack file with these changes, by key."""
    with pytest.raises(Faulty) as caught:
        load(values("alicloud", **changes))
    return {fault.key: fault for fault in caught.value.faults}


def loaded(changes: Changes) -> tuple[AlicloudSettings, Plan]:
    """Return settings and plan of the committed stack file with these changes."""
    settings, plan = load(values("alicloud", **changes))
    assert isinstance(settings, AlicloudSettings)
    return settings, plan


@pytest.mark.parametrize(
    ("changes", "layout"),
    [
        ({}, "TP8 x PP3 on 3 nodes (tcp)"),
        (FOUR, "TP8 x PP4 on 4 nodes (tcp)"),
        ({"machine": "ecs.gn8v-8x.48xlarge"}, "TP8 x PP3 on 3 nodes (tcp)"),
        ({"machine": "ecs.gn8v-8x.16xlarge"}, "TP8 x PP3 on 3 nodes (tcp)"),
        ({"machine": TEE}, "TP8 x PP3 on 3 nodes (tcp)"),
        ({"machine": "ecs.gn8v-tee-8x.16xlarge"}, "TP8 x PP3 on 3 nodes (tcp)"),
        (LINGJUN, "TP8 x PP2 on 2 nodes (tcp)"),
        ({**LINGJUN, "machine": "GU8TEF"}, "TP8 x PP2 on 2 nodes (tcp)"),
        ({**LINGJUN, "machine": "GU8TF"}, "TP8 x PP4 on 4 nodes (tcp)"),
        (ERDMA, "TP8 x PP3 on 3 nodes (rdma)"),
    ],
)
def test_each_machine_that_serves_the_model_has_its_layout(changes: Changes, layout: str) -> None:
    assert str(loaded(changes)[1].layout) == layout


def test_the_engine_is_told_what_hopper_needs_and_a_release_that_knows_stages() -> None:
    plan = loaded({})[1]
    # The image of day 0 dies with pipeline stages (vllm-project/vllm #50446, mended in 0.27.1).
    assert (plan.image, plan.profile.generation, plan.draft_tokens) == ("vllm/vllm-openai:v0.33.0", "hopper", 0)


def test_that_nobody_has_tried_the_model_on_these_gpus_is_said() -> None:
    assert [note for note in loaded({})[1].warnings if "H20" in note or "recipe" in note]


@pytest.mark.parametrize(
    ("machine", "why"),
    [
        ("ecs.gn8v.4xlarge", "fewer than eight GPUs"),
        ("ecs.gn8v-2x.8xlarge", "fewer than eight GPUs"),
        ("ecs.gn8v-4x.8xlarge", "fewer than eight GPUs"),
        ("ecs.gn8v-8x", "is a family; its sizes are ecs.gn8v-8x.16xlarge and ecs.gn8v-8x.48xlarge"),
        ("ecs.ebmgn8v", "its size is ecs.ebmgn8v.48xlarge"),
        ("ecs.ebmgn9ge.64xlarge", "on PCIe without NVLink"),
        ("ecs.ebmgn9gc.64xlarge", "by invitation"),
        ("ecs.ebmgn9g.64xlarge", "8 x 48 GB = 384 GB"),
        ("ecs.ebmgn8te.32xlarge", "8 x 47 GB"),
        ("ecs.ebmgn9t.48xlarge", "a newer number, and less memory"),
        ("ZW810E", "isn't CUDA"),
        ("P16EN", "isn't CUDA"),
        ("GU120", "ecs.ebmgn8v.48xlarge"),
        ("efg3.GN9A.ch72", "a subscription alone"),
    ],
)
def test_each_machine_that_does_not_is_refused_with_the_reason(machine: str, why: str) -> None:
    assert why in str(faults({"machine": machine})["machine"])


def test_two_nodes_of_eight_times_96_gb_are_too_small() -> None:
    # 2 x 8 x 96 = 1,536 GB hold not even the weights of 1,560 (the guide took them for H200).
    found = str(faults({"topology": {"pipelineParallel": 2}}))
    assert "1,680 GB" in found


@pytest.mark.parametrize("size", [16, 32])
def test_tensor_parallelism_across_nodes_is_refused(size: int) -> None:
    assert "topology" in " ".join(faults({"topology": {"tensorParallel": size, "interconnect": "tcp"}}))


@pytest.mark.parametrize(
    ("changes", "key", "telling"),
    [
        ({"region": "Singapore"}, "region", "ap-southeast-1"),
        ({"machine": "p6-b300.48xlarge"}, "machine", "a type of Alibaba Cloud"),
        ({"capacity": {"ids": []}}, "capacity.ids", "mode existing needs it"),
        ({"capacity": {"ids": ["cr-0123456789abcdef0"]}}, "capacity.ids.0", "pattern"),
        ({"capacity": {"zone": "cn-hangzhou-k"}}, "capacity.zone", "must be a zone of the region ap-southeast-1"),
        ({"capacity": {"mode": "none"}}, "capacity.ids", "mode none takes zone"),
        ({"capacity": {"mode": "none", "ids": []}}, "capacity.zone", "mode none needs it"),
        ({"capacity": {"mode": "purchase"}}, "capacity.mode", "reserve"),
        ({"capacity": {"endTime": "2099-01-31T16:00:00Z"}}, "capacity.endTime", "mode existing takes ids"),
        ({"capacity": {"instanceChargeType": "PrePaid"}}, "capacity.instanceChargeType", "there is no such key"),
        ({"capacity": {"period": 12}}, "capacity.period", "there is no such key"),
        ({"preflight": {"skip": ["reservation"]}}, "capacity.zone", "needs it"),
        ({"preflight": {"skip": ["quota"]}}, "preflight.skip.0", "instance-type"),
        ({"network": {"cidr": "10.20.0.0/18"}}, "network.cidr", "/16 or /17"),
        ({"network": {"cidr": "10.20.1.0/16"}}, "network.cidr", "host bits zero"),
        ({"network": {"cidr": "172.21.0.0/16"}}, "network.cidr", "outside the Services' 172.21.0.0/20"),
        ({"network": {"cidr": "8.8.0.0/16"}}, "network.cidr", "private"),
        ({"network": {"vswitchIds": [SWITCH]}}, "network.vswitchIds", "vpcId as well"),
        ({"network": {"vpcId": VPC, "vswitchIds": [SWITCH]}}, "network.vswitchIds", "two zones"),
        ({"network": {"vpcId": VPC}}, "network.podVswitchIds", "two ids"),
        ({"network": {"secondZone": "cn-hangzhou-k"}}, "network.secondZone", "ap-southeast-1"),
        ({"network": {"addresses": 3}}, "network.addresses", "greater than or equal to 4"),
        ({"cluster": {"gpuDriver": "570.172.08"}}, "cluster.gpuDriver", "580 or later"),
        ({"cluster": {"version": "1.36"}}, "cluster.version", "1.36.2-aliyun.1"),
        ({"cluster": {"systemNodes": {"count": 1}}}, "cluster.systemNodes.count", "greater than or equal to 2"),
        ({"weights": {"delivery": "nvme"}}, "weights.delivery", "mounted"),
        ({"weights": {"delivery": "disk", "disk": {"gib": 1500}}}, "weights.disk.gib", "90 % of 1500 GiB is 1,450 GB"),
        ({"weights": {"delivery": "disk", "disk": {"gib": 40000}}}, "weights.disk.gib", "32768"),
        ({"weights": {"bucket": "My_Models"}}, "weights.bucket", "pattern"),
        ({"weights": {"source": "modelscope"}}, "weights.source", "pin them"),
        ({"exposure": {"mode": "public"}}, "exposure.certificateId", "speaks TLS"),
        ({"exposure": {"mode": "public"}}, "exposure.allowedRanges", "closed ranges"),
        ({"exposure": {**PUBLIC["exposure"], "allowedRanges": ["0.0.0.0/0"]}}, "exposure.allowedRanges", "closed"),  # pyright: ignore[reportGeneralTypeIssues]
        ({"exposure": {"certificateSecret": "tls"}}, "exposure.certificateSecret", "certificateId"),
        ({"tags": {"aliyun-x": "y"}}, "tags.aliyun-x", "begins with aliyun"),
        ({"tags": {"docs": "https://example.com"}}, "tags.docs", "https://"),
        ({"tags": {f"t{index}": "x" for index in range(6)}}, "tags", "room for 10 tags, and 5 are ours"),
        ({"topology": {"interconnect": "rdma"}}, "serving.hostNetwork", "the node's own"),
        ({"topology": {"interconnect": "rdma"}}, "serving.image", "silently fall back to TCP"),
        ({**LINGJUN, "machine": "ecs.ebmgn8v.48xlarge"}, "capacity.mode", "existing, none or reserve"),
        ({"machine": "GX8SF", "topology": {"interconnect": "tcp"}}, "capacity.mode", "Lingjun node group"),
        ({**LINGJUN, "weights": {"delivery": "disk"}}, "weights.delivery", "no disk is added"),
    ],
)
def test_a_fault_names_its_key_and_the_rule(changes: Changes, key: str, telling: str) -> None:
    assert telling in str(faults(changes)[key])


def reserve(**changes: object) -> Changes:
    capacity = RESERVE["capacity"]
    assert isinstance(capacity, dict)
    return {"capacity": {**capacity, **changes}}


@pytest.mark.parametrize(
    ("changes", "key", "telling"),
    [
        (reserve(acknowledgeBilling=False), "capacity.acknowledgeBilling", "from its creation, used or not"),
        (reserve(endTime=None), "capacity.endTime", "mode reserve needs it"),
        (reserve(endTime="2099-02-31T16:00:00Z"), "capacity.endTime", "no such day"),
        (reserve(endTime="tomorrow"), "capacity.endTime", "2027-01-31T16:00:00Z"),
        (reserve(zone=None), "capacity.zone", "mode reserve needs it"),
        (reserve(ids=["crp-bp67acfmxazb4ph0abcd"]), "capacity.ids", "mode reserve takes zone, endTime"),
    ],
)
def test_nothing_is_reserved_by_a_half_filled_form(changes: Changes, key: str, telling: str) -> None:
    assert telling in str(faults(changes)[key])


def test_halves_of_the_network_add_on_in_two_versions_are_refused() -> None:
    found = faults({"cluster": {"addonVersions": {"terway-eniip": "v1.17.5"}}})
    assert "AddonDependencyNotMet" in str(found["cluster.addonVersions"])
    both = {"terway-eniip": "v1.17.5", "terway-controlplane": "v1.17.5"}
    assert loaded({"cluster": {"addonVersions": both}})[0].cluster.addon_versions == both


def test_the_mainland_lacks_everything_at_once() -> None:
    found = faults({"region": "cn-beijing"})
    assert set(found) == {"mirror.images", "mirror.charts", "mirror.pythonIndex", "weights.source"}
    assert loaded(MAINLAND)[0].weights.source == "modelscope"


@pytest.mark.parametrize("region", ["ap-southeast-1", "cn-hongkong", "eu-central-1"])
def test_no_mirror_is_asked_of_an_open_network(region: str) -> None:
    assert loaded({"region": region})[0].mirror.images is None


def test_an_image_with_the_libraries_needs_no_package_index() -> None:
    weights = {"source": "modelscope", "digest": "0" * 64, "image": "registry.example.com/weights:1"}
    mirror = {"images": "registry.example.com/mirror", "charts": "oci://registry.example.com/mirror"}
    assert loaded({**MAINLAND, "weights": weights, "mirror": mirror})[0].mirror.python_index is None


def test_what_goes_on_billing_is_said() -> None:
    what = [" ".join(each.what.split()) for each in loaded({})[0].after_destroy]
    assert what == [
        "the private pools crp-bp67acfmxazb4ph0abcd, until you release them",
        "the bucket with the weights (weights.keep)",
    ]
    assert loaded({**RESERVE, "weights": {"keep": False}})[0].after_destroy == ()
    assert "subscription" in loaded(LINGJUN)[0].after_destroy[0].what


@pytest.mark.parametrize(
    ("changes", "seconds"),
    [
        # 1,561 GB are 12,487 Gbit: over 4 and 20 addresses of 200 Mbit/s, and over the hub's own 12.8 Gbit/s.
        ({}, 12_487 / 0.8),
        ({"network": {"addresses": 20}}, 12_487 / 4),
        ({"weights": {"source": "oss://models/kimi"}}, 12_487 / 12.8),
    ],
)
def test_the_forecast_knows_how_narrow_the_way_out_is(changes: Changes, seconds: float) -> None:
    (weights,) = [phase for phase in loaded(changes)[1].timing.phases if phase.name == "weights"]
    assert weights.takes.median == pytest.approx(seconds, rel=0.01)
