"""AKS agent pools: what AKS checks, which machines it gets, and what has to be gone before they can go."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from rehearsal.fakes.account import Ledger, Rate, Thing
from rehearsal.fakes.azure_native import nodes
from rehearsal.fakes.azure_native import references as ref
from rehearsal.fakes.azure_native.access import CONTRIBUTOR, may
from rehearsal.fakes.azure_native.cluster import CLUSTER_PATH, identity_of, version_of
from rehearsal.fakes.azure_native.machine import Size, size
from rehearsal.fakes.azure_native.reservation import fitting, members_of, no_capacity, users_of
from rehearsal.fakes.kubernetes.kinds import kind_of
from rehearsal.fakes.paths import number_at, text_at, texts_at
from rehearsal.fakes.resource_kind import ResourceKind, fits
from rehearsal.fakes.rules import Failure, RefusedError, Resource
from rehearsal.fakes.values import Properties

_IDENTITY: Final = ref.path_of(f"{CLUSTER_PATH}/agentPools/{{agentPoolName}}")
_START_SECONDS: Final = 420.0
_DRAIN_SECONDS: Final = 180.0
_IMAGE_FROM: Final = (1, 35)
"""From here on `Ubuntu` is 24.04 (AKS release notes, 2026-01-04)."""
_INFINIBAND_SIZES: Final = ("H100", "H200")
_KUBERNETES_OWN: Final = re.compile(r"(kubernetes|kubernetes\.azure)\.(io|com)/")


def surge_failures(inputs: Properties) -> Iterator[Failure]:
    """A pool can't be upgraded by no node at all (AKS, upgrade-options)."""
    settings = {key: text_at(inputs, f"upgradeSettings.{key}") for key in ("maxSurge", "maxUnavailable")}
    if settings["maxSurge"] in ("0", "0%") and settings["maxUnavailable"] in ("", "0", "0%"):
        text = "maxSurge and maxUnavailable cannot both be 0."
        yield Failure("upgradeSettings", f'Status=400 Code="InvalidParameter" Message="{text}"')
    if text_at(inputs, "mode") == "System" and settings["maxUnavailable"] not in ("", "0"):
        text = "maxUnavailable cannot be set on system node pools."
        yield Failure("upgradeSettings.maxUnavailable", f'Status=400 Code="InvalidParameter" Message="{text}"')


def count_failures(inputs: Properties) -> Iterator[Failure]:
    """A pool that doesn't scale by itself says how large it is (pulumi-azure-native #2943)."""
    if inputs.get("enableAutoScaling") is not True and inputs.get("count") is None:
        text = "Required parameter agentPoolProfile.count is missing."
        yield Failure("count", f'Status=400 Code="InvalidParameter" Message="{text}"')


def reservation_failures(inputs: Properties) -> Iterator[Failure]:
    """What uses no reservation (AKS, use-capacity-reservation-groups; Azure/AKS #5943)."""
    if not text_at(inputs, "capacityReservationGroupID"):
        return
    if text_at(inputs, "type") == "VirtualMachines" or text_at(inputs, "proximityPlacementGroupID"):
        text = "Capacity reservation groups need a scale set without a proximity placement group."
        yield Failure("capacityReservationGroupID", f'Status=400 Code="BadRequest" Message="{text}"')


def label_failures(inputs: Properties) -> Iterator[Failure]:
    """Labels of Kubernetes' and AKS' own prefixes are theirs (AKS, use-labels)."""
    labels = inputs.get("nodeLabels")
    for label in labels if isinstance(labels, dict) else ():
        if _KUBERNETES_OWN.match(str(label)):
            yield Failure("nodeLabels", f'Status=400 Code="InvalidParameter" Message="Label {label} is reserved."')


def refuse_missing_cluster(resource: Resource, ledger: Ledger) -> None:
    """A pool is a cluster's (Resource Manager, `ParentResourceNotFound`)."""
    if _cluster(resource, ledger) is None:
        path = _IDENTITY(resource, ledger).partition("/agentPools/")[0]
        raise ref.refused(resource.name, 404, "ParentResourceNotFound", f"The parent '{path}' could not be found.")


def refuse_unfit_machine(resource: Resource, ledger: Ledger) -> None:
    """A size that the region has, with an image and a driver that start on it.

    Azure/ai-infrastructure-on-azure, infrastructure_references/aks, 2026-04: GB200 and GB300 have NVMe disks alone,
    which images before Ubuntu 24.04 can't start from, and AKS has no driver for them.
    """
    name, cluster = text_at(resource.inputs, "vmSize"), _cluster(resource, ledger)
    found = size(name)
    if found is None:
        text = f"The VM size of {name} is not allowed in your subscription in location '{ref.region(ledger)}'."
        raise ref.refused(resource.name, 400, "BadRequest", text)
    if not found.rack:
        return
    if cluster is not None and version_of(cluster) < _IMAGE_FROM:
        text = f"The selected VM size '{name}' cannot boot with OS image: its disk controller type is NVMe."
        raise ref.refused(resource.name, 400, "InvalidParameter", text)
    if text_at(resource.inputs, "gpuProfile.driver") != "None":
        text = f"GPU driver installation is not supported for VM size {name}."
        raise ref.refused(resource.name, 400, "InvalidParameter", text)


def refuse_wrong_feature(resource: Resource, ledger: Ledger) -> None:
    """The subscription's InfiniBand feature as the size wants it (Azure/ai-infrastructure-on-azure, 2026-04)."""
    name, there = text_at(resource.inputs, "vmSize"), ledger.settings.get("infiniband") is True
    found = size(name)
    if found is None or not found.gpus or there == any(each in name for each in _INFINIBAND_SIZES):
        return
    # What the text is on Azure isn't published: nodes don't come up.
    text = f"AKSInfinibandSupport is {'registered' if there else 'not registered'}, and nodes of {name} don't start."
    raise ref.refused(resource.name, 400, "ReconcileVMSSAgentPoolFailed", text)


def refuse_without_right(resource: Resource, ledger: Ledger) -> None:
    """AKS uses a group with the cluster's identity, a Contributor of its resource group for long enough.

    AKS, use-capacity-reservation-groups, 2026-05: it takes up to 60 minutes.
    """
    group, cluster = text_at(resource.inputs, "capacityReservationGroupID"), _cluster(resource, ledger)
    if not group or cluster is None:
        return
    identity = identity_of(cluster, ledger)
    if identity is None:
        text = "Capacity reservation groups need a cluster with a user-assigned managed identity."
        raise ref.refused(resource.name, 400, "BadRequest", text)
    scope = group.partition("/providers/")[0]
    if not may(text_at(identity.outputs, "principalId"), CONTRIBUTOR, scope, ledger):
        text = (
            f"The client does not have authorization to perform action 'Microsoft.Compute/capacityReservationGroups/"
            f"deploy/action' over scope '{group}' or the scope is invalid. If access was recently granted, please "
            "refresh your credentials."
        )
        raise ref.refused(resource.name, 403, "LinkedAuthorizationFailed", text)


def refuse_without_quota(resource: Resource, ledger: Ledger) -> None:
    """Machines count against the family's quota, those that are reserved too (AKS, `ErrCode_InsufficientVCPUQuota`)."""
    found, quota = size(text_at(resource.inputs, "vmSize")), ledger.settings.get("quota_vcpus")
    if found is None or not found.gpus or not isinstance(quota, int):
        return
    wanted = found.vcpus * number_at(resource.inputs, "count")
    if wanted > quota:
        text = (
            f"Insufficient vcpu quota requested {wanted}, remaining {quota} for the family of {found.name} for region "
            f"{ref.region(ledger)}."
        )
        raise ref.refused(resource.name, 400, "ErrCode_InsufficientVCPUQuota", text)


def refuse_without_machines(resource: Resource, ledger: Ledger) -> None:
    """Quota is no capacity (Compute, `AllocationFailed`)."""
    free, wanted = ledger.settings.get("free_machines"), number_at(resource.inputs, "count")
    machine = text_at(resource.inputs, "vmSize")
    found = size(machine)
    if found is not None and found.gpus and isinstance(free, int) and _unreserved(resource.inputs, ledger) > free:
        raise ref.refused(resource.name, 409, "AllocationFailed", f"{no_capacity(machine)} (here: {wanted} wanted)")


def start(pool: Thing, ledger: Ledger) -> None:
    """Launch the nodes; a group without a fitting reservation is forgotten, with a warning that nobody reads."""
    group = text_at(pool.inputs, "capacityReservationGroupID")
    if group and _reservation(pool.inputs, ledger) is None:
        held = ", ".join(text_at(each.inputs, "sku.name") for each in members_of(group, ledger)) or "nothing"
        # AKS, use-capacity-reservation-groups, 2026-05.
        pool.outputs.pop("capacityReservationGroupID", None)
        ledger.note("refuse", pool, f"warning: made without the group, which holds {held}: what it holds bills unused")
    _launch(pool, number_at(pool.inputs, "count"), ledger)
    ledger.clock.advance(_START_SECONDS)


def scale(pool: Thing, ledger: Ledger) -> None:
    """Launch or end nodes until there are as many as the pool says."""
    running, count = machines_of(pool.id, ledger), number_at(pool.inputs, "count")
    if len(running) > count:
        end(running[count:], ledger, f"scaled down to {count}")
    else:
        _launch(pool, count - len(running), ledger)


def stop(pool: Thing, ledger: Ledger) -> None:
    """Drain and end the nodes, unless a budget allows no disruption (terraform-provider-azurerm #10411).

    Raises:
        RefusedError: Something in the cluster can't be evicted.
    """
    budgets = [each for each in ledger.of_type("kubernetes:*") if _is_budget(each)]
    if budgets:
        ledger.clock.advance(_DRAIN_SECONDS)
        text = (
            f"Drain node failed when evicting pod with error Too Many Requests err code 429. This is often caused by a "
            f"restrictive Pod Disruption Budget (PDB) policy: {', '.join(each.id for each in budgets)}."
        )
        raise ref.refused(pool.name, 400, "PodDrainFailure", text)
    ledger.clock.advance(_DRAIN_SECONDS)
    end(machines_of(pool.id, ledger), ledger, f"went with AgentPool {ref.last(pool.id)}")


def machines_of(owner: str, ledger: Ledger) -> list[Thing]:
    """The machines of a pool, or of a cluster's own pools, oldest first."""
    return [each for each in ledger.of_type(ref.MACHINE) if text_at(each.inputs, "pool") == owner]


def end(machines: Sequence[Thing], ledger: Ledger, why: str) -> None:
    """Take machines away, first as nodes."""
    nodes.leave(machines)
    for each in machines:
        ledger.remove(each, why)


def _launch(pool: Thing, count: int, ledger: Ledger) -> None:
    found = size(text_at(pool.inputs, "vmSize"))
    if found is None:
        return
    first = len(machines_of(pool.id, ledger))
    launched = [_machine(pool, found, first + index, ledger) for index in range(count)]
    nodes.join(pool.inputs, found, launched, ledger)


def _machine(pool: Thing, found: Size, index: int, ledger: Ledger) -> Thing:
    member = _reservation(pool.inputs, ledger)
    held = number_at(member.inputs, "sku.capacity") if member else 0
    reserved = member is not None and len(users_of(member, ledger)) < held
    name = f"aks-{ref.last(pool.id)}-{ref.made_up_uuid(pool.id)[:8]}-vmss{index:06}"
    inputs: Properties = {
        "vmSize": found.name,
        "pool": pool.id,
        "index": index,
        "reservation": member.id if member and reserved else None,
    }
    # A machine of a reservation is paid by it.
    paid = reserved and member is not None and member.rate.usd_per_hour
    rate = Rate() if paid else Rate(usd_per_hour=found.usd_per_hour, gpus=found.gpus)
    return ledger.add(Thing(ref.MACHINE, name, f"{pool.name} ({found.name})", inputs, {}, rate=rate))


def _unreserved(inputs: Properties, ledger: Ledger) -> int:
    """How many machines a pool wants beside those that are reserved."""
    member = _reservation(inputs, ledger)
    return max(number_at(inputs, "count") - (number_at(member.inputs, "sku.capacity") if member else 0), 0)


def _reservation(inputs: Properties, ledger: Ledger) -> Thing | None:
    group = text_at(inputs, "capacityReservationGroupID")
    return fitting(group, text_at(inputs, "vmSize"), texts_at(inputs, "availabilityZones"), ledger) if group else None


def _cluster(resource: Resource, ledger: Ledger) -> Thing | None:
    return ledger.find(ref.CLUSTER, _IDENTITY(resource, ledger).partition("/agentPools/")[0])


def _is_budget(thing: Thing) -> bool:
    try:
        return kind_of(thing.type, thing.inputs).name == "PodDisruptionBudget"
    except RefusedError:
        return False


KIND: Final = ResourceKind(
    type=ref.POOL,
    identity=_IDENTITY,
    # pulumi-azure-native, replacement.go: three, and the path.
    replaced_by=(
        "resourceGroupName",
        "resourceName",
        "agentPoolName",
        "vmSize",
        "gpuInstanceProfile",
        "networkProfile.nodePublicIPTags",
    ),
    checks=(
        # azure-mgmt-containerservice 40.1.0; Linux.
        fits("agentPoolName", r"[a-z][a-z0-9]{0,11}", "1 to 12 lower-case letters and digits"),
        surge_failures,
        count_failures,
        reservation_failures,
        label_failures,
    ),
    admissions=(
        ref.group_exists,
        refuse_missing_cluster,
        ref.not_taken(_IDENTITY),
        ref.subnet_exists("vnetSubnetID"),
        refuse_unfit_machine,
        refuse_wrong_feature,
        refuse_without_right,
        refuse_without_quota,
        refuse_without_machines,
    ),
    fills=True,
    made=start,
    changed=scale,
    gone=stop,
    patience=1800.0,
)
