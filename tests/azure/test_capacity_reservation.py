"""Where the GPU nodes come from: a group that is there, machines that the stack reserves, or what the quota gives."""

import pytest

from tests.azure.answers import GROUP, SUBSCRIPTION
from tests.azure.stack import RESERVED, TARGETED, Changes, gpu_nodes, only, program

CONTRIBUTOR = "b24988ac-6180-42a0-ab88-20f7382dd24c"
"""The built-in role (Azure, built-in-roles)."""


def test_without_a_reservation_nothing_is_reserved_and_a_loud_line_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr("pulumi.warn", said.append)
    mocks = program()
    assert [each.type for each in mocks.resources if "CapacityReservation" in each.type] == [
        "kimi:azure:CapacityReservation"
    ]
    assert "capacityReservationGroupID" not in gpu_nodes(mocks).inputs
    (line,) = [each for each in said if each.startswith("capacity.mode is none")]
    assert "a quota is a permission, not a machine" in line
    assert "Standard_ND128isr_GB300_v6 left in eastus2" in line


@pytest.mark.parametrize("changes", [RESERVED, TARGETED, {"replicas": 0}])
def test_nobody_is_warned_where_machines_are_reserved_or_not_wanted(
    monkeypatch: pytest.MonkeyPatch, changes: Changes
) -> None:
    said: list[str] = []
    monkeypatch.setattr("pulumi.warn", said.append)
    program(changes)
    assert not [each for each in said if "quota is a permission" in each]


def test_a_group_that_is_there_is_used_and_never_managed() -> None:
    mocks = program(RESERVED)
    assert gpu_nodes(mocks).inputs["capacityReservationGroupID"] == GROUP
    assert (mocks.of("CapacityReservationGroup"), mocks.of("CapacityReservation")[1:]) == ([], [])


def test_aks_may_use_the_group_before_it_exists() -> None:
    # A system-assigned identity can't; and Contributor on the group alone isn't enough, it is on its resource group.
    mocks = program(RESERVED)
    right = only(mocks.of("RoleAssignment"), "cluster-reservation")
    assert right.inputs["roleDefinitionId"].endswith(f"/roleDefinitions/{CONTRIBUTOR}")
    assert right.inputs["scope"] == f"/subscriptions/{SUBSCRIPTION}/resourceGroups/shared"
    assert right.inputs["principalId"] == "cluster-identity-principal"
    assert "cluster-reservation" in mocks.before(only(mocks.of("ManagedCluster")))
    assert "cluster-reservation" in mocks.before(gpu_nodes(mocks))


def test_machines_of_the_stacks_own_are_reserved_after_the_weights_and_before_the_pool() -> None:
    mocks = program(TARGETED)
    reservation = only(mocks.of("CapacityReservation"), "gpu-reservation")
    assert reservation.inputs["sku"] == {"name": "Standard_ND128isr_GB300_v6", "capacity": 2}
    group = only(mocks.of("CapacityReservationGroup")).inputs
    assert reservation.inputs["capacityReservationGroupName"] == group["capacityReservationGroupName"]
    # From its first second on it costs what the machines cost.
    assert "weights-model-job" in mocks.before(reservation)
    # A group without a member is no reservation to AKS; and with the pool gone first, Azure lets it go.
    assert {"gpu-reservation", "capacity-group"} <= mocks.before(gpu_nodes(mocks))
    assert gpu_nodes(mocks).inputs["capacityReservationGroupID"] == "capacity-group-id"
    # The machines leave it some time after the pool is gone (terraform-provider-azurerm #19051).
    assert mocks.request(reservation).customTimeouts.delete == "60m"


def test_a_zone_is_the_groups_the_reservations_and_the_nodes() -> None:
    mocks = program({"capacity": {"mode": "targeted", "allowUnsupportedSize": True, "zone": "2"}})
    zones = [
        only(mocks.of("CapacityReservationGroup")).inputs["zones"],
        only(mocks.of("CapacityReservation"), "gpu-reservation").inputs["zones"],
        gpu_nodes(mocks).inputs["availabilityZones"],
    ]
    assert zones == [["2"]] * 3


def test_a_parked_stack_reserves_no_machine() -> None:
    mocks = program({**TARGETED, "replicas": 0})
    assert [each.name for each in mocks.of("CapacityReservation")] == ["capacity"]
