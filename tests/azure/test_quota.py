"""What the preview says of the quota, which the SDK can't read and Azure checks only when the nodes are made."""

import pytest

from components.azure.quota import quota
from components.azure.settings import AzureSettings
from components.stack_file import load
from tests.azure.answers import SUBSCRIPTION
from tests.azure.stack import GB200, H200, RESERVED, TARGETED, Changes, program
from tests.stacks import values


def said(changes: Changes) -> str | None:
    """Return what is said of the committed stack file with these changes."""
    settings, plan = load(values("azure", **changes))
    assert isinstance(settings, AzureSettings)
    return quota(settings, plan, SUBSCRIPTION)


# vCPUs by hand: 2 x 128; 4 x 128; 2 x 96; and 2 x 8 of the CPU nodes in the region's total.
@pytest.mark.parametrize(
    ("changes", "family", "gpu", "total"),
    [
        ({}, "standardNDISRGB300V6Family", 256, 272),
        ({"replicas": 2}, "standardNDISRGB300V6Family", 512, 528),
        (GB200, "standardNDISRGB200V6NDRFamily", 512, 528),
        (H200, "standardNDISRH200V5Family", 192, 208),
        (TARGETED, "standardNDISRGB300V6Family", 256, 272),
        (
            {"cluster": {"systemNodes": {"type": "Standard_D16s_v5", "count": 3}}},
            "standardNDISRGB300V6Family",
            256,
            304,
        ),
    ],
)
def test_family_need_and_request_are_exact(changes: Changes, family: str, gpu: int, total: int) -> None:
    text = said(changes)
    assert text is not None
    assert f"{gpu} vCPUs of {family} in eastus2" in text
    assert f"and {total} of the region's total (cores)" in text
    assert f"--resource-name {family} " in text
    assert f"--scope /subscriptions/{SUBSCRIPTION}/providers/Microsoft.Compute/locations/eastus2 " in text
    assert f"--limit-object value={gpu} " in text


@pytest.mark.parametrize("changes", [RESERVED, {"replicas": 0}, {"serve": False}])
def test_machines_that_are_reserved_or_not_wanted_need_none(changes: Changes) -> None:
    assert said(changes) is None


def test_the_preview_prints_it(monkeypatch: pytest.MonkeyPatch) -> None:
    printed: list[str] = []
    monkeypatch.setattr("pulumi.info", printed.append)
    program(unknown=True)
    assert said({}) in printed
