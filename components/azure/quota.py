"""The quota that the nodes count against: the SDK has no call that reads it, so the preview says what to ask for."""

import re
from collections.abc import Mapping
from typing import Final

from components.azure.settings import AzureSettings
from components.plan.planner import Plan

FAMILIES: Final[Mapping[str, str]] = {
    "Standard_ND128isr_GB300_v6": "standardNDISRGB300V6Family",
    "Standard_ND128isrG5_GB300_v6": "standardNDISRGB300G5V6Family",
    "Standard_ND128isr_NDR_GB200_v6": "standardNDISRGB200V6NDRFamily",
    "Standard_ND96isr_H200_v5": "standardNDISRH200V5Family",
}
"""`name.value` of Azure's usage list, from public listings of subscriptions; Azure writes some with spaces in them."""
_CPU_SIZE: Final = re.compile(r"Standard_[A-Z]+(\d+)")


def quota(settings: AzureSettings, plan: Plan, subscription: str) -> str | None:
    """Return what the nodes count, where to look it up and how to ask for it; None where no quota is needed.

    Machines of a reservation that is there were counted when it was made.

    Args:
        settings: The stack's.
        plan: With the GPU nodes.
        subscription: Its id.
    """
    if not plan.gpu_nodes or settings.capacity.mode == "existing":
        return None
    machine, region = plan.machine, settings.region
    gpu = plan.gpu_nodes * machine.vcpus
    family = FAMILIES.get(machine.name, f"the family of {machine.name}")
    scope = f"/subscriptions/{subscription}/providers/Microsoft.Compute/locations/{region}"
    return (
        f"Quota, which Azure checks only when the nodes are made: {gpu} vCPUs of {family} in {region} "
        f"({plan.gpu_nodes} x {machine.vcpus}), and {gpu + cpu_vcpus(settings)} of the region's total (cores). "
        f"What there is: az vm list-usage --location {region} --output table. To ask: az quota update "
        f"--resource-name {family} --scope {scope} --limit-object value={gpu} --resource-type dedicated; "
        "a family that can't be raised so needs a support request, and days."
    )


def cpu_vcpus(settings: AzureSettings) -> int:
    """Return the vCPUs of the CPU nodes, which a size has in its name; 0 for one that hasn't."""
    nodes = settings.cluster.system_nodes
    found = _CPU_SIZE.match(nodes.type)
    return nodes.count * int(found[1]) if found else 0
