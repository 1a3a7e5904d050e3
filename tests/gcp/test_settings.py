"""Faults of a GCP stack file: every one names the key, the rule and the way out, before Google is asked anything."""

import pytest

from components.faults import Fault, Faulty
from components.gcp import kubernetes_version
from components.gcp.machine_type import TYPES
from components.gcp.settings import GcpSettings
from components.plan.hardware import CATALOGUE
from components.plan.planner import Plan
from components.stack_file import load
from tests.gcp.stack import A4, EXISTING_NETWORK, FLEX, GATEWAY, GB200, H100, H200, PUBLIC, Changes
from tests.stacks import values

RDMA: Changes = {"topology": {"interconnect": "rdma"}}
FUTURE: Changes = {
    "machine": "a4-highgpu-8g",
    "capacity": {
        "mode": "future",
        "start": "2027-01-11T00:00:00Z",
        "days": 14,
        "acceptNonRefundable": True,
        "block": None,
        "subBlock": None,
    },
}


def faults(changes: Changes, stack: str = "gcp") -> dict[str, Fault]:
    """Return the faults of a committed stack file with these changes, by key."""
    with pytest.raises(Faulty) as caught:
        load(values(stack, **changes))
    return {fault.key: fault for fault in caught.value.faults}


def loaded(changes: Changes) -> tuple[GcpSettings, Plan]:
    """Return settings and plan of the committed stack file with these changes."""
    settings, plan = load(values("gcp", **changes))
    assert isinstance(settings, GcpSettings)
    return settings, plan


def test_the_committed_files_have_no_fault() -> None:
    settings, plan = loaded({})
    assert (settings.buys_capacity, str(plan.layout)) == (False, "TP8 on 2 nodes (mnnvl)")
    # Whoever copies the file has to say the word.
    assert list(faults({}, "gcp-capacity")) == ["capacity.acceptNonRefundable"]


# Section 8 of Google's machines: what holds 1.56 TB of weights with room for a cache, and joins its nodes.
@pytest.mark.parametrize(
    ("changes", "layout"),
    [
        ({}, "TP8 on 2 nodes (mnnvl)"),
        (GB200, "TP16 on 4 nodes (mnnvl)"),
        (A4, "TP8 x PP2 on 2 nodes (rdma)"),
        (H200, "TP8 x PP2 on 2 nodes (rdma)"),
        (H100, "TP8 x PP4 on 4 nodes (tcp)"),
    ],
)
def test_each_machine_has_its_layout(changes: Changes, layout: str) -> None:
    assert str(loaded(changes)[1].layout) == layout


def test_the_memory_of_a_gb300_is_what_the_driver_reports_and_not_288_gib() -> None:
    # 284,208 MiB on an A4X Max (279 GB on Google's page): x 1.048576 / 1000 = 298.0 decimal GB; 288 GiB were 309.2.
    assert CATALOGUE["a4x-maxgpu-4g-metal"].gpu.memory_gb == pytest.approx(298.0, abs=0.1)


def test_every_google_machine_of_the_catalogue_is_one_that_gke_is_told_about() -> None:
    assert {name for name, each in CATALOGUE.items() if each.cloud == "gcp"} == set(TYPES)
    assert set(kubernetes_version.FLOORS) == set(TYPES)


@pytest.mark.parametrize(
    ("changes", "key", "telling"),
    [
        ({"project": "My_Project"}, "project", "id of the Google Cloud project"),
        ({"region": "us-central1-b"}, "region", "us-central1"),
        ({"machine": "p6-b300.48xlarge"}, "machine", "must be a Google machine type"),
        ({"subscription": "x"}, "subscription", "there is no such key"),
        ({"capacity": {"reservation": None}}, "capacity.reservation", "mode existing needs it"),
        ({"capacity": {"zone": "us-east4-a"}}, "capacity.zone", "must be a zone of the region us-central1"),
        ({"capacity": {"zone": "us-central1"}}, "capacity.zone", "zone of the nodes"),
        ({"capacity": {"block": None}}, "capacity.block", "cluster-toolkit PR #5043"),
        ({"capacity": {"subBlock": None}}, "capacity.subBlock", "one rack, which is one sub-block"),
        # The whole path is built here: a slash in a name would make another one of it.
        ({"capacity": {"reservation": "projects/p/reservations/r"}}, "capacity.reservation", "pattern"),
        ({"capacity": {"maxRunHours": 24}}, "capacity.maxRunHours", "mode existing takes reservation"),
        ({"capacity": {"days": 14}}, "capacity.days", "mode existing takes reservation"),
        ({"capacity": {"acceptNonRefundable": True}}, "capacity.acceptNonRefundable", "takes reservation"),
        ({**FLEX, "machine": "a4x-maxgpu-4g-metal"}, "capacity.mode", "by a reservation of your account team alone"),
        ({**FLEX, "machine": "a4x-highgpu-4g"}, "capacity.mode", "by a reservation of your account team alone"),
        ({**FUTURE, "machine": "a4x-maxgpu-4g-metal"}, "capacity.mode", "by a reservation of your account team alone"),
        ({"replicas": 10}, "replicas", "20 nodes, and a rack has 18"),
        (RDMA, "topology.interconnect", "NCCL hangs at its start within one rack"),
        ({**RDMA, "capacity": {"subBlock": None}}, "serving.image", "no doca-ofed-userspace"),
        ({"network": {"cidr": "10.20.0.0/19"}}, "network.cidr", "from /13 to /18"),
        ({"network": {"cidr": "10.0.0.0/12"}}, "network.cidr", "from /13 to /18"),
        ({"network": {"cidr": "10.20.1.0/16"}}, "network.cidr", "host bits zero"),
        ({"network": {"subnet": "gke"}}, "network.subnet", "belongs to a VPC that is there"),
        ({"network": {"name": "shared"}}, "network.podsRange", "shared is used through it"),
        ({"network": {"name": "shared"}}, "network.servicesRange", "shared is used through it"),
        ({**GATEWAY, **EXISTING_NETWORK}, "network.proxyRange", "shared is used through it"),
        ({"cluster": {"version": "1.33"}}, "cluster.version", "needs GKE 1.34.3-gke.1318000 or newer"),
        ({"cluster": {"version": "1.34.2-gke.9999999"}}, "cluster.version", "1.34.3-gke.1318000"),
        # Two floors: this one is newer than 1.34.3 and still too old.
        ({"cluster": {"version": "1.35.0-gke.1000000"}}, "cluster.version", "1.35.0-gke.2745000"),
        ({"cluster": {"gpuNodeVersion": "1.36.0-gke.4681000"}}, "cluster.gpuNodeVersion", "every CUDA context"),
        ({**A4, "cluster": {"version": "1.34.0-gke.5"}}, "cluster.version", "1.34.1-gke.1829001"),
        ({"cluster": {"publicAccessRanges": ["0.0.0.0/0"]}}, "cluster.publicAccessRanges", "to everybody"),
        ({"cluster": {"nodeServiceAccount": "nodes"}}, "cluster.nodeServiceAccount", "defaultNodeServiceAccount"),
        ({"cluster": {"systemNodes": {"count": 1}}}, "cluster.systemNodes.count", "greater than or equal to 2"),
        ({"weights": {"delivery": "fuse"}}, "weights.delivery", "Cloud Storage FUSE"),
        ({"weights": {"bucket": "My.Models"}}, "weights.bucket", "pattern"),
        ({"weights": {"source": "modelscope"}}, "weights.source", "the files are code: pin them"),
        ({"weights": {"source": "s3://models/kimi-k3"}}, "weights.source", "opens no bucket of another cloud"),
        (
            {"weights": {"source": "gs://models/kimi-k3"}, "serving": {"speculativeDecoding": True}},
            "weights.source",
            "the draft model is copied from Hugging Face alone",
        ),
        ({"exposure": {"mode": "public"}}, "exposure.allowedRanges", "closed ranges"),
        ({"exposure": {"mode": "public"}}, "exposure.certificateSecret", "a public API speaks TLS"),
        ({"exposure": {"inferenceGateway": True}}, "exposure.inferenceGateway", "chooses among replicas"),
        ({**GATEWAY, "exposure": {"inferenceGateway": True, "mode": "internal"}}, "exposure.mode", "is the way in"),
        (
            {"serving": {"hostNetwork": True, "socketInterface": "ens3"}},
            "serving.hostNetwork",
            "may not read the bucket",
        ),
        ({"tags": {"Team": "x"}}, "tags.Team", "lower-case letters"),
        ({"preflight": {"skip": ["quota"]}}, "preflight.skip.0", "auth-plugin"),
        ({**FUTURE, "capacity": {"mode": "future"}}, "capacity.start", "mode future needs it"),
        ({**FUTURE, "capacity": {"mode": "future"}}, "capacity.days", "mode future needs it"),
        ({**FUTURE, "capacity": {"mode": "future"}}, "capacity.acceptNonRefundable", "used or not"),
    ],
)
def test_a_fault_names_its_key_and_its_rule(changes: Changes, key: str, telling: str) -> None:
    found = faults(changes)
    assert key in found, list(found)
    assert telling in str(found[key])
    assert found[key].instead


def test_all_faults_come_at_once() -> None:
    found = faults({"project": "X", "capacity": {"zone": "us-east4-a", "block": None}, "tags": {"A": "b"}})
    assert {"project", "capacity.zone", "capacity.block", "tags.A"} <= set(found)


@pytest.mark.parametrize(
    "changes",
    [
        {"cluster": {"version": "1.34.3-gke.1318000"}},
        {"cluster": {"version": "1.35.0-gke.2745000"}},
        {"cluster": {"version": "1.36"}},
        {"replicas": 9},
        {**RDMA, "capacity": {"subBlock": None}, "serving": {"image": "registry.example.com/vllm-doca:1"}},
        EXISTING_NETWORK,
        FLEX,
        FUTURE,
        PUBLIC,
        GATEWAY,
        {"weights": {"source": "gs://models/kimi-k3"}},
    ],
)
def test_what_is_allowed_is_allowed(changes: Changes) -> None:
    loaded(changes)


def test_pods_of_all_nodes_need_room_in_the_range() -> None:
    # /18: the pods' half is a /19 = 32 x /24; 30 CPU nodes... 20 are the most, with 9 x 4 GB200 nodes = 36 + 20 + 2.
    changes = {**H100, "replicas": 4, "network": {"cidr": "10.20.0.0/18"}, "cluster": {"systemNodes": {"count": 20}}}
    assert "16 nodes" not in str(faults(changes).get("machine"))
    assert "36 nodes + 2 on the way = 38, and there is room for 32" in str(faults(changes)["network.cidr"])


@pytest.mark.parametrize(
    ("changes", "lasting"),
    [
        ({}, ["the reservation kimi-k3", "the bucket"]),
        ({"weights": {"keep": False}}, ["the reservation kimi-k3"]),
        ({"weights": {"bucket": "mine"}}, ["the reservation kimi-k3"]),
        (FLEX, ["the bucket"]),
        (FUTURE, ["the future reservation kimi-k3"]),
    ],
)
def test_what_goes_on_billing_after_destroy_is_said(changes: Changes, lasting: list[str]) -> None:
    found = loaded(changes)[0].after_destroy
    assert [each.what.startswith(want) for each, want in zip(found, lasting, strict=True)] == [True] * len(lasting)


def test_the_platform_costs_what_its_parts_cost() -> None:
    # 0.10 for the control plane + 2 x 0.268 for e2-standard-8; 1,561 GB x 0.023 is 36 USD a month.
    settings, _ = loaded({})
    assert settings.platform_usd_hour == pytest.approx(0.636)
    assert settings.storage_usd_month == pytest.approx(36, abs=1)
    assert loaded(FUTURE)[0].platform_usd_hour == 0
