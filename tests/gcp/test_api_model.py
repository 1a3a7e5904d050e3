"""What is planned, held against Google's own API: no field that it doesn't know, no value that it doesn't take."""

import ipaddress
import re

import pytest

from tests.conftest import Mocks, run_program
from tests.gcp import api_schemas
from tests.gcp.answers import GcpAnswers
from tests.gcp.stack import A4, FLEX, GATEWAY, GB200, H100, H200, Changes, gpu_nodes, only, program
from tests.stacks import values

LAYOUTS = {"GB300": {}, "GB200": GB200, "B200": A4, "B200 by flex-start": FLEX, "H200": H200, "H100": H100}
CASES = [pytest.param(changes, id=name) for name, changes in LAYOUTS.items()]
CLUSTER_PARTS = (
    "addonsConfig",
    "initialNodeCount",
    "ipAllocationPolicy",
    "location",
    "masterAuthorizedNetworksConfig",
    "name",
    "nodeConfig",
    "privateClusterConfig",
    "releaseChannel",
    "resourceLabels",
    "workloadIdentityConfig",
)
"""Those of the cluster's inputs that are the API's own; the provider has other names and shapes for the rest."""
# container.v1, descriptions of Cluster.name and NodePool.name; compute.v1 has patterns of its own.
GKE_NAME = r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?"


@pytest.mark.parametrize("changes", CASES)
def test_the_api_takes_every_node_pool(changes: Changes) -> None:
    mocks = program(changes)
    pools = mocks.of("NodePool")
    assert [each.name for each in pools] == ["cluster-system", "gpu-nodes"]
    assert [fault for each in pools for fault in api_schemas.faults("NodePool", each.inputs, each.name)] == []
    assert [each.inputs["name"] for each in pools if not re.fullmatch(GKE_NAME, each.inputs["name"])] == []


def test_the_api_takes_the_network_with_and_without_a_gateway() -> None:
    for changes in ({}, GATEWAY):
        mocks = program(changes)
        for kind in ("Network", "Subnetwork", "RouterNat"):
            for each in mocks.of(kind):
                if each.type.startswith("gcp:"):
                    assert api_schemas.faults(kind, each.inputs, each.name) == []


def test_the_api_takes_the_clusters_parts() -> None:
    inputs = only(program().of("Cluster"), "cluster-gke").inputs
    parts = {key: inputs[key] for key in CLUSTER_PARTS}
    assert api_schemas.faults("Cluster", parts, "cluster-gke") == []
    assert re.fullmatch(GKE_NAME, inputs["name"])


@pytest.mark.parametrize("changes", [{}, GB200])
def test_the_api_takes_the_racks_policy(changes: Changes) -> None:
    (policy,) = program(changes).of("ResourcePolicy")
    assert api_schemas.faults("ResourcePolicyWorkloadPolicy", policy.inputs["workloadPolicy"], policy.name) == []


def test_the_api_takes_the_request_for_a_reservation() -> None:
    answers = GcpAnswers(machine="a4-highgpu-8g")
    mocks: Mocks = run_program(values("gcp-capacity", capacity={"acceptNonRefundable": True}), cloud=answers)
    request = only([each for each in mocks.of("FutureReservation") if each.type.startswith("gcp:")])
    assert api_schemas.faults("FutureReservation", request.inputs, request.name) == []


@pytest.mark.parametrize(
    ("field", "value", "telling"),
    [
        ("upgradeSettings", {"strategy": "ROLLING"}, "'ROLLING' is none of"),
        ("placementPolicy", {"type": "SPREAD"}, "'SPREAD' is none of"),
        ("networkConfig", {"acceleratorProfile": "auto"}, "NodeNetworkConfig has no such field"),
        # gcloud's own spelling, which it turns into capitals.
        (
            "nodeConfig",
            {"guestAccelerators": [{"gpuDriverInstallationConfig": {"gpuDriverVersion": "latest"}}]},
            "'latest' is none of",
        ),
        ("nodeConfig", {"reservationAffinity": {"consumeReservationType": "SPECIFIC"}}, "'SPECIFIC' is none of"),
        ("nodeConfig", {"linuxNodeConfig": {"hugepagesConfig": {"hugepageSize2M": 4096}}}, "has no such field"),
        ("nodeConfig", {"taintConfig": {"architectureTaintBehavior": "ARM64"}}, "'ARM64' is none of"),
    ],
)
def test_the_check_itself_finds_what_google_would_refuse(field: str, value: object, telling: str) -> None:
    inputs = {**gpu_nodes(program()), field: value}
    (fault,) = api_schemas.faults("NodePool", inputs, "gpu")
    assert fault.startswith(f"gpu.{field}")
    assert telling in fault


def test_no_range_of_the_network_overlaps_another() -> None:
    mocks = program(GATEWAY)
    subnets = mocks.of("Subnetwork")
    found = [each.inputs["ipCidrRange"] for each in subnets]
    found += [part["ipCidrRange"] for each in subnets for part in each.inputs.get("secondaryIpRanges", [])]
    ranges = [ipaddress.IPv4Network(each) for each in found]
    assert len(ranges) == 4
    assert [(a, b) for a in ranges for b in ranges if a < b and a.overlaps(b)] == []
    assert all(each.subnet_of(ipaddress.IPv4Network("10.20.0.0/16")) for each in ranges)
