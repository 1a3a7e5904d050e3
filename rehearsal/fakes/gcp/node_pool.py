"""GKE node pools: what GKE checks, what becomes of the nodes, and what follows when they end."""

import re
from collections.abc import Iterator
from typing import Final

from components.gcp.kubernetes_version import FLOORS
from rehearsal.fakes.account import Ledger, Rate, Thing
from rehearsal.fakes.gcp import nodes
from rehearsal.fakes.gcp import references as ref
from rehearsal.fakes.gcp.cluster import refuse_unknown_account, version_of
from rehearsal.fakes.gcp.machine import GPUS, RESERVED_ALONE, MachineType, machine_type
from rehearsal.fakes.gcp.naming import fits, last
from rehearsal.fakes.gcp.reservation import part
from rehearsal.fakes.paths import number_at, text_at, texts_at
from rehearsal.fakes.resource_kind import ResourceKind, digest
from rehearsal.fakes.rules import Failure, Resource, UnreadyError
from rehearsal.fakes.values import Properties

RACK_INSTANCES: Final = 18
_START_SECONDS: Final = 240.0
_METAL_SECONDS: Final = 1500.0
"""From creation to ready; bare metal takes 15 to 30 minutes (operators of a GB300 cluster, 2026-07)."""
_DRAIN_SECONDS: Final = 180.0
_DEFAULT_TYPE: Final = "e2-medium"
_ZONES: Final = 3
"""Of a region."""

# container.v1 of 2026-10-27.
_OPTIONS: Final = {
    "upgradeSettings.strategy": ("BLUE_GREEN", "SHORT_LIVED", "SURGE"),
    "placementPolicy.type": ("COMPACT", "TYPE_UNSPECIFIED"),
    "networkConfig.acceleratorNetworkProfile": ("auto",),
    "nodeConfig.taints.effect": ("NO_EXECUTE", "NO_SCHEDULE", "PREFER_NO_SCHEDULE"),
    "nodeConfig.taintConfig.architectureTaintBehavior": ("ARM", "NONE"),
    "nodeConfig.workloadMetadataConfig.mode": ("GCE_METADATA", "GKE_METADATA"),
    "nodeConfig.reservationAffinity.consumeReservationType": (
        "ANY_RESERVATION",
        "NO_RESERVATION",
        "SPECIFIC_RESERVATION",
    ),
    "nodeConfig.guestAccelerators.gpuDriverInstallationConfig.gpuDriverVersion": (
        "DEFAULT",
        "INSTALLATION_DISABLED",
        "LATEST",
    ),
}


def option_failures(inputs: Properties) -> Iterator[Failure]:
    """Options that GKE has; gcloud's own spelling, `latest`, isn't one."""
    for path, allowed in _OPTIONS.items():
        for value in texts_at(inputs, path):
            if value not in allowed:
                yield Failure(path, f"'{value}': {', '.join(allowed)}")


def size_failures(inputs: Properties) -> Iterator[Failure]:
    """A pool that scales by itself has no count of its own, and flex-start scales (provider; GKE, flex-start)."""
    scales, flex = inputs.get("autoscaling") is not None, inputs.get("nodeConfig")
    if scales and inputs.get("nodeCount") is not None:
        yield Failure("nodeCount", "should not be set alongside autoscaling")
    if not isinstance(flex, dict) or flex.get("flexStart") is not True:
        return
    if not scales:
        yield Failure("nodeConfig.flexStart", "flex-start needs autoscaling")
    if inputs.get("management") == {"autoRepair": True}:
        yield Failure("management.autoRepair", "flex-start has no auto-repair")
    if text_at(inputs, "nodeConfig.reservationAffinity.consumeReservationType") == "SPECIFIC_RESERVATION":
        yield Failure("nodeConfig.reservationAffinity", "flex-start uses no reservation")


def upgrade_failures(inputs: Properties) -> Iterator[Failure]:
    """A pool in one rack has no room for a surge past 18 nodes (operators of a GB300 cluster, 2026-07)."""
    wanted = number_at(inputs, "nodeCount") + number_at(inputs, "upgradeSettings.maxSurge", 1)
    if text_at(inputs, "placementPolicy.policyName") and wanted > RACK_INSTANCES:
        yield Failure("upgradeSettings.maxSurge", "No more than 18 instances can be created with this resource policy")


def accelerator_failures(inputs: Properties) -> Iterator[Failure]:
    """A GPU machine has its own GPUs, all of them (Compute Engine, accelerator-optimized machines)."""
    type_ = machine_type(text_at(inputs, "nodeConfig.machineType"))
    if type_ is None or not type_.gpus:
        return
    wanted = (
        text_at(inputs, "nodeConfig.guestAccelerators.type"),
        number_at(inputs, "nodeConfig.guestAccelerators.count"),
    )
    if wanted != (GPUS[type_.name], type_.gpus):
        yield Failure(
            "nodeConfig.guestAccelerators", f"{type_.name} has {type_.gpus} of {GPUS[type_.name]}, not {wanted}"
        )


def metal_failures(inputs: Properties) -> Iterator[Failure]:
    """A bare-metal machine takes hyperdisks alone (AI Hypercomputer, create A4X Max instances)."""
    type_ = machine_type(text_at(inputs, "nodeConfig.machineType"))
    disk = text_at(inputs, "nodeConfig.bootDisk.diskType") or text_at(inputs, "nodeConfig.diskType")
    if type_ is not None and type_.bare_metal and not disk.startswith("hyperdisk"):
        yield Failure("nodeConfig.bootDisk", f"[{disk or 'pd-balanced'}] features are not compatible with {type_.name}")


def refuse_taken_name(resource: Resource, ledger: Ledger) -> None:
    """A name is taken once in a cluster (container.v1, `alreadyExists`)."""
    ref.not_taken(resource, _identity(resource, ledger), ledger)


def refuse_for_cluster(resource: Resource, ledger: Ledger) -> None:
    """What a cluster can't have: bare metal beside shielded nodes, a GPU network without Dataplane V2.

    Google's page of A4X Max (`--no-enable-shielded-nodes`) and of GKE's managed DRANET, 2026-04.
    """
    cluster, type_ = _surroundings(resource, ledger)
    network = text_at(resource.inputs, "networkConfig.acceleratorNetworkProfile")
    if cluster is None:
        return
    if type_ and type_.bare_metal and cluster.inputs.get("enableShieldedNodes", True) is not False:
        raise _refused(resource, f"Shielded nodes are not supported with machine type {type_.name}")
    if network and text_at(cluster.inputs, "datapathProvider") != "ADVANCED_DATAPATH":
        raise _refused(resource, "acceleratorNetworkProfile needs Dataplane V2")


def refuse_too_old(resource: Resource, ledger: Ledger) -> None:
    """Nodes older than their machine (Google's page of A4X Max and of GKE's managed DRANET, 2026-04)."""
    cluster, type_ = _surroundings(resource, ledger)
    wanted = text_at(resource.inputs, "version") or (text_at(cluster.outputs, "masterVersion") if cluster else "")
    floors = FLOORS.get(type_.name, {}) if type_ else {}
    floor = floors.get(_numbers(wanted)[1], "") if wanted else ""
    if floor and _numbers(version_of(wanted)) < _numbers(floor):
        raise _refused(resource, f"the nodes would have GKE {wanted}, and need GKE {floor} or newer")


def _surroundings(resource: Resource, ledger: Ledger) -> tuple[Thing | None, MachineType | None]:
    cluster = ref.found(ref.CLUSTER, text_at(resource.inputs, "cluster"), ledger)
    return cluster, machine_type(text_at(resource.inputs, "nodeConfig.machineType") or _DEFAULT_TYPE)


def refuse_bad_reservation(resource: Resource, ledger: Ledger) -> None:
    """A reservation by its whole path, of the machine and the zone, for those who name it (Compute Engine)."""
    type_ = text_at(resource.inputs, "nodeConfig.machineType")
    kind = text_at(resource.inputs, "nodeConfig.reservationAffinity.consumeReservationType")
    if kind != "SPECIFIC_RESERVATION":
        if type_ in RESERVED_ALONE:
            raise _refused(resource, f"Machine type {type_} can be used with a specific reservation only")
        return
    path = text_at(resource.inputs, "nodeConfig.reservationAffinity.values")
    found = part(path, ledger)
    if found is None:
        # What a short form is answered with (cluster-toolkit PR #5043).
        raise ref.refused(resource.name, f"Error 404: Not found: reservation {path} not found., notFound")
    facts = found.thing.outputs
    shape = (text_at(facts, "machine"), text_at(facts, "zone"))
    zones = texts_at(resource.inputs, "nodeLocations")
    if facts.get("specific") is not True or shape[0] != type_ or zones != [shape[1]]:
        # AI-Hypercomputer/xpk #476.
        raise _refused(
            resource,
            f"Invalid value for field 'resource.reservationAffinity': '{path}'. The reservation holds {shape[0]} in "
            f"{shape[1]}, and the pool wants {type_} in {', '.join(zones) or 'all zones of the region'}",
        )


def start(pool: Thing, ledger: Ledger) -> None:
    """Launch the nodes of a new pool.

    Raises:
        UnreadyError: The reservation has not enough hosts; the pool exists, in state ERROR.
    """
    count = number_at(pool.inputs, "nodeCount") or number_at(pool.inputs, "autoscaling.totalMaxNodeCount")
    if reason := _launch(pool, count, ledger):
        raise UnreadyError(f"Error waiting for creating GKE NodePool: {reason}", pool)


def scale(pool: Thing, ledger: Ledger) -> None:
    """Launch or end nodes until there are as many as the pool says."""
    running, count = instances_of(pool, ledger), number_at(pool.inputs, "nodeCount")
    if len(running) > count:
        _end(running[count:], ledger, f"scaled down to {count}")
    elif reason := _launch(pool, count - len(running), ledger):
        ledger.note("refuse", pool, reason)


def stop(pool: Thing, ledger: Ledger) -> None:
    """End all nodes with their pool; they bill until GKE has drained them."""
    ledger.clock.advance(_DRAIN_SECONDS)
    _end(instances_of(pool, ledger), ledger, f"went with NodePool {last(pool.id)}")


def instances_of(pool: Thing, ledger: Ledger) -> list[Thing]:
    """The machines of a pool, oldest first."""
    return [each for each in ledger.of_type(ref.INSTANCE) if text_at(each.inputs, "nodePool") == pool.id]


def _launch(pool: Thing, count: int, ledger: Ledger) -> str:
    """Launch so many machines; returns why not, or an empty text."""
    type_ = machine_type(text_at(pool.inputs, "nodeConfig.machineType") or _DEFAULT_TYPE)
    path = text_at(pool.inputs, "nodeConfig.reservationAffinity.values")
    held = part(path, ledger) if path else None
    if held is not None and held.free < count:
        return (
            f"Google Compute Engine: Specified reservation '{path}' does not have available resources for the request. "
            f"(here: {held.free} of {held.total} hosts are healthy and free, {count} are wanted)"
        )
    # Without a zone of its own a pool has so many nodes in each zone of the region.
    count *= len(texts_at(pool.inputs, "nodeLocations")) or _ZONES
    launched = [_instance(pool, type_, index, held.thing if held else None, ledger) for index in range(count)]
    for each in launched:
        ledger.add(each)
    ledger.clock.advance(_METAL_SECONDS if type_ and type_.bare_metal else _START_SECONDS)
    nodes.join(pool, type_, launched, ledger)
    return ""


def _instance(pool: Thing, type_: MachineType | None, index: int, reservation: Thing | None, ledger: Ledger) -> Thing:
    name = f"gke-{last(pool.id)}-{digest(pool.id, index, len(ledger.events), length=8)}-{index}"
    inputs: Properties = {
        "machineType": type_.name if type_ else "",
        "nodePool": pool.id,
        "reservation": reservation.id if reservation else None,
        "zone": text_at(pool.inputs, "nodeLocations"),
    }
    rate = Rate(usd_per_hour=type_.usd_per_hour, gpus=type_.gpus) if type_ else Rate()
    return Thing(ref.INSTANCE, name, f"{pool.name} ({inputs['machineType']})", inputs, {}, rate=rate)


def _end(ended: list[Thing], ledger: Ledger, why: str) -> None:
    nodes.leave(ended)
    for each in ended:
        ledger.remove(each, why)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"[0-9]+", version))


def _refused(resource: Resource, text: str) -> Exception:
    return ref.refused(resource.name, f"Error 400: {text}., badRequest")


def _identity(resource: Resource, ledger: Ledger) -> str:
    cluster = ref.found(ref.CLUSTER, text_at(resource.inputs, "cluster"), ledger)
    return f"{cluster.id if cluster else resource.inputs.get('cluster')}/nodePools/{resource.inputs.get('name')}"


def _computed(resource: Resource, identity: str, ledger: Ledger) -> Properties:
    cluster = ref.found(ref.CLUSTER, text_at(resource.inputs, "cluster"), ledger)
    version = text_at(resource.inputs, "version") or (text_at(cluster.outputs, "masterVersion") if cluster else "")
    return {"version": version, "location": identity.split("/")[3] if identity.count("/") > 3 else ""}


KIND: Final = ResourceKind(
    type=ref.NODE_POOL,
    identity=_identity,
    name="name",
    # provider, node_config.go and resource_container_node_pool.go: ForceNew.
    replaced_by=(
        "cluster",
        "initialNodeCount",
        "networkConfig.acceleratorNetworkProfile",
        "nodeConfig.ephemeralStorageLocalSsdConfig",
        "nodeConfig.flexStart",
        "nodeConfig.guestAccelerators",
        "nodeConfig.machineType",
        "nodeConfig.reservationAffinity",
        "nodeConfig.serviceAccount",
        "nodeConfig.spot",
        "placementPolicy",
    ),
    checks=(
        fits("name", r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?", "1 to 40 lower-case letters, digits and -"),
        option_failures,
        size_failures,
        upgrade_failures,
        accelerator_failures,
        metal_failures,
    ),
    admissions=(
        ref.exists("cluster", ref.CLUSTER),
        ref.exists("placementPolicy.policyName", ref.RESOURCE_POLICY),
        refuse_unknown_account,
        refuse_taken_name,
        refuse_for_cluster,
        refuse_too_old,
        refuse_bad_reservation,
    ),
    computed=_computed,
    made=start,
    changed=scale,
    gone=stop,
    patience=7200.0,
)
