"""Faults of an Azure stack file: every one names the key, the rule and the way out, before Azure is asked anything."""

import pytest

from components.azure.quota import FAMILIES
from components.azure.settings import AzureSettings
from components.faults import Fault, Faulty
from components.plan.hardware import CATALOGUE
from components.plan.planner import Plan
from components.stack_file import load
from tests.azure.answers import ACCOUNT, GROUP, SUBNET
from tests.azure.stack import (
    GB200,
    H200,
    OVER_TCP,
    PUBLIC,
    RACK_OVER_INFINIBAND,
    RESERVED,
    TARGETED,
    THEIR_ACCOUNT,
    THEIR_SUBNET,
    Changes,
)
from tests.stacks import values


def faults(changes: Changes) -> dict[str, Fault]:
    """Return the faults of the committed stack file with these changes, by key."""
    with pytest.raises(Faulty) as caught:
        load(values("azure", **changes))
    return {fault.key: fault for fault in caught.value.faults}


def loaded(changes: Changes) -> tuple[AzureSettings, Plan]:
    """Return settings and plan of the committed stack file with these changes."""
    settings, plan = load(values("azure", **changes))
    assert isinstance(settings, AzureSettings)
    return settings, plan


# What holds 1.56 TB of weights with room for a cache, and joins its nodes: the layouts of vLLM's and Dynamo's recipes.
@pytest.mark.parametrize(
    ("changes", "layout", "gpu_nodes"),
    [
        ({}, "TP8 on 2 nodes (mnnvl)", 2),
        ({"replicas": 3}, "TP8 on 2 nodes (mnnvl)", 6),
        ({"machine": "Standard_ND128isrG5_GB300_v6"}, "TP8 on 2 nodes (mnnvl)", 2),
        (RACK_OVER_INFINIBAND, "TP4 x PP2 on 2 nodes (rdma)", 2),
        (OVER_TCP, "TP4 x PP2 on 2 nodes (tcp)", 2),
        (GB200, "TP16 on 4 nodes (mnnvl)", 4),
        (H200, "TP8 x PP2 on 2 nodes (rdma)", 2),
    ],
)
def test_each_machine_has_its_layout(changes: Changes, layout: str, gpu_nodes: int) -> None:
    plan = loaded(changes)[1]
    assert (str(plan.layout), plan.gpu_nodes) == (layout, gpu_nodes)


@pytest.mark.parametrize(
    ("changes", "key", "telling"),
    [
        ({"region": "East US 2"}, "region", "the Azure region"),
        ({"subscription": "mine"}, "subscription", "the subscription's id"),
        ({"machine": "p6-b300.48xlarge"}, "machine", "must be a VM size"),
        ({"project": "x"}, "project", "there is no such key"),
        ({"capacity": {"mode": "existing"}}, "capacity.id", "mode existing needs it"),
        ({"capacity": {"mode": "none", "id": GROUP}}, "capacity.id", "mode none takes none"),
        # A name is not an id: the group may be in another resource group than ours.
        ({"capacity": {"mode": "existing", "id": "gpus"}}, "capacity.id", "resource id"),
        ({"capacity": {"mode": "existing", "id": SUBNET}}, "capacity.id", "resource id"),
        ({"capacity": {"mode": "purchase"}}, "capacity.mode", "targeted"),
        ({"capacity": {"mode": "targeted"}}, "capacity.mode", "don't take ND sizes"),
        ({"capacity": {"zone": "eastus2-1"}}, "capacity.zone", "availability zone"),
        ({"cluster": {"version": "1.34"}}, "cluster.version", "AKS' Ubuntu is 22.04"),
        ({"cluster": {"version": "1.9"}}, "cluster.version", "pattern"),
        ({"cluster": {"publicAccessRanges": ["0.0.0.0/0"]}}, "cluster.publicAccessRanges", "open to everybody"),
        ({"cluster": {"systemNodes": {"count": 1}}}, "cluster.systemNodes.count", "greater than or equal to 2"),
        ({"cluster": {"admins": ["platform"]}}, "cluster.admins.0", "pattern"),
        ({"network": {"cidr": "10.20.0.1/16"}}, "network.cidr", "host bits zero"),
        ({"network": {"cidr": "10.20.0.0/26"}}, "network.cidr", "from /8 to /24"),
        ({"network": {"serviceCidr": "10.20.0.0/16"}}, "network.serviceCidr", "overlaps network.cidr"),
        ({"network": {"podCidr": "172.16.0.0/12"}}, "network.serviceCidr", "overlaps network.podCidr"),
        ({"network": {"subnetId": ACCOUNT}}, "network.subnetId", "Microsoft.Storage"),
        ({"weights": {"source": "s3://models/kimi"}}, "weights.source", "nothing here may read another bucket"),
        ({"weights": {"accountId": "mymodels"}}, "weights.accountId", "pattern"),
        ({"weights": {"container": "My_Models"}}, "weights.container", "pattern"),
        ({"weights": {"container": "ab"}}, "weights.container", "pattern"),
        # One disk can't be on two nodes: a claim isn't among the deliveries.
        ({"weights": {"delivery": "pvc"}}, "weights.delivery", "nvme"),
        ({"exposure": {"mode": "public"}}, "exposure.allowedRanges", "closed ranges"),
        ({"exposure": {"mode": "public"}}, "exposure.certificateSecret", "a public API speaks TLS"),
        ({"preflight": {"skip": ["quota"]}}, "preflight.skip.0", "infiniband"),
        # Tensor parallelism over nodes that NVLink doesn't join hangs at its start (vllm-project/vllm #58290).
        ({**OVER_TCP, "topology": {"interconnect": "tcp", "tensorParallel": 8}}, "topology.tensorParallel", "NVLink"),
    ],
)
def test_a_fault_names_its_key_and_its_rule(changes: Changes, key: str, telling: str) -> None:
    found = faults(changes)
    assert key in found, list(found)
    assert telling in str(found[key])
    assert found[key].instead


def test_all_faults_come_at_once() -> None:
    changes = {"region": "East US", "capacity": {"mode": "existing"}, "cluster": {"version": "1.33"}, "owner": ""}
    assert {"region", "capacity.id", "cluster.version", "owner"} <= set(faults(changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"cluster": {"version": "1.36", "publicAccessRanges": []}},
        {"capacity": {"mode": "none", "zone": "1"}},
        RESERVED,
        TARGETED,
        THEIR_SUBNET,
        THEIR_ACCOUNT,
        PUBLIC,
        # The range of a network that isn't made can't overlap anything.
        {"network": {"subnetId": SUBNET, "podCidr": "10.20.0.0/16"}},
    ],
)
def test_what_is_allowed_is_allowed(changes: Changes) -> None:
    loaded(changes)


@pytest.mark.parametrize(
    ("changes", "lasting"),
    [
        ({}, ["the storage account"]),
        (RESERVED, ["the reservations of the group gpus", "the storage account"]),
        (TARGETED, ["the storage account"]),
        ({"weights": {"keep": False}}, []),
        (THEIR_ACCOUNT, []),
    ],
)
def test_what_goes_on_billing_after_destroy_is_said(changes: Changes, lasting: list[str]) -> None:
    found = loaded(changes)[0].after_destroy
    assert [each.what.startswith(want) for each, want in zip(found, lasting, strict=True)] == [True] * len(lasting)


def test_the_platform_costs_what_its_parts_cost() -> None:
    # 0.10 control plane + 0.025 load balancer + 0.005 address + 2 x 0.384 for Standard_D8s_v5.
    settings, _ = loaded({})
    assert settings.platform_usd_hour == pytest.approx(0.898)
    # 1,561 GB at 0.023 USD is 36 USD a month.
    assert settings.storage_usd_month == pytest.approx(36, abs=1)
    assert loaded(THEIR_ACCOUNT)[0].storage_usd_month == 0


def test_every_machine_with_a_layout_of_its_own_has_a_family_of_quota() -> None:
    sizes = {name for name, each in CATALOGUE.items() if each.cloud == "azure"}
    assert set(FAMILIES) <= sizes
    assert sizes - set(FAMILIES) == {"Standard_ND96isr_H100_v5"}
