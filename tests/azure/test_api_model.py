"""What is planned, held against the SDK's own types and Azure's limits: no unknown field, no value that it refuses."""

from dataclasses import replace
from typing import Any

import pytest

from tests.azure import api_limits
from tests.azure.stack import Changes, only, program, registered
from tests.azure.test_program import CASES
from tests.conftest import Mocks, run_program
from tests.stacks import values


def ours(mocks: Mocks) -> list[Any]:
    """Return what is Azure's own."""
    return [each for each in mocks.resources if each.type.startswith("azure-native:")]


@pytest.mark.parametrize("changes", CASES)
def test_azure_takes_everything_that_is_planned(changes: Changes) -> None:
    found = ours(program(changes))
    assert len(found) >= 12
    assert [fault for each in found for fault in api_limits.faults(each)] == []


def test_names_stay_valid_for_a_stack_with_the_longest_name(monkeypatch: pytest.MonkeyPatch) -> None:
    # Pulumi takes 100 characters.
    monkeypatch.setattr("tests.conftest.STACK", "Team_Inference.production-" + "x" * 74)
    mocks = run_program(values("azure"), cloud=registered({}))
    assert [fault for each in ours(mocks) for fault in api_limits.faults(each)] == []
    groups = [each.inputs["resourceGroupName"] for each in mocks.of("ResourceGroup")]
    # Cut in their readable part, and still two.
    assert len({*groups, only(mocks.of("ManagedCluster")).inputs["nodeResourceGroup"]}) == 3


@pytest.mark.parametrize(
    ("kind", "change", "telling"),
    [
        ("AgentPool", {"gpuProfile": {"driver": "Skip"}}, "none of GPUDriver"),
        # Came with 2025-10-01, which this SDK doesn't speak.
        ("AgentPool", {"osSKU": "Ubuntu2404"}, "none of OSSKU"),
        ("AgentPool", {"interconnectBlockProfile": {}}, "unknown property"),
        ("AgentPool", {"agentPoolName": "kimi-k3-gpus"}, "doesn't fit"),
        ("AgentPool", {"scaleDownMode": "Keep"}, "none of ScaleDownMode"),
        ("AgentPool", {"osDiskSizeGB": 4096}, "is not from 0 to 2048"),
        ("ManagedCluster", {"networkProfile": {"networkDataplane": "ebpf"}}, "none of NetworkDataplane"),
        ("StorageAccount", {"accountName": "kimi-k3"}, "doesn't fit"),
        ("StorageAccount", {"minimumTlsVersion": "TLS12"}, "none of MinimumTlsVersion"),
        ("CapacityReservation", {"scheduleProfile": {}}, "unknown property"),
    ],
)
def test_the_check_itself_finds_what_azure_would_refuse(kind: str, change: dict[str, Any], telling: str) -> None:
    mocks = program({"capacity": {"mode": "targeted", "allowUnsupportedSize": True}})
    (resource,) = [each for each in ours(mocks) if each.type.endswith(f":{kind}")]
    inputs = {
        **resource.inputs,
        **{key: {**resource.inputs.get(key, {}), **value} if isinstance(value, dict) else value
           for key, value in change.items()},
    }  # fmt: skip
    (fault,) = api_limits.faults(replace(resource, inputs=inputs))
    assert telling in fault
