"""Nodes in the real control plane of a full rehearsal, shaped like the machines of a node pool."""

from collections.abc import Mapping, Sequence
from typing import Final

from rehearsal.control_plane import compute_domain
from rehearsal.control_plane.api import Json
from rehearsal.control_plane.nodes import Effect, Machine, Taint, cpu_node, gpu_node
from rehearsal.fakes.account import Ledger, Thing
from rehearsal.fakes.control_plane import add_nodes, remove_nodes
from rehearsal.fakes.gcp import rdma
from rehearsal.fakes.gcp.machine import GPUS, MachineType
from rehearsal.fakes.gcp.naming import last, region
from rehearsal.fakes.paths import number_at, text_at
from rehearsal.fakes.values import mapping, sequence

_KUBELETS_SHARE: Final = 0.95
"""GKE keeps more of a machine than others do (GKE, node sizes)."""
_PAGE_BYTES: Final = 2 * 1024 * 1024
_PROFILE: Final = "gke.networks.io/accelerator-network-profile"
_EFFECTS: Final[Mapping[str, Effect]] = {
    "NO_SCHEDULE": "NoSchedule",
    "NO_EXECUTE": "NoExecute",
    "PREFER_NO_SCHEDULE": "PreferNoSchedule",
}


def join(pool: Thing, type_: MachineType | None, launched: Sequence[Thing], ledger: Ledger) -> None:
    """Let machines become nodes."""
    if type_ is not None:
        add_nodes([_node(pool, type_, each, ledger) for each in launched])
        rdma.offer([each.id for each in launched], rdma.adapters(pool, type_))


def leave(ended: Sequence[Thing]) -> None:
    """Take the nodes of machines away."""
    remove_nodes([each.id for each in ended])
    rdma.withdraw([each.id for each in ended])


def _node(pool: Thing, type_: MachineType, instance: Thing, ledger: Ledger) -> Json:
    machine = Machine(
        architecture=type_.architecture,
        cpu=type_.vcpus,
        memory_gb=int(type_.memory_gb * _KUBELETS_SHARE),
        ephemeral_storage_gb=_disk_gb(pool, type_),
        extended=_huge_pages(pool),
        labels=_labels(pool, type_, instance, ledger),
        taints=_taints(pool, type_),
    )
    if not type_.gpus:
        return cpu_node(instance.id, machine)
    return gpu_node(instance.id, machine, gpus=type_.gpus)


def _disk_gb(pool: Thing, type_: MachineType) -> int:
    """The disk of a node: all its local disks where the pool makes node storage of them, else the boot disk."""
    if number_at(pool.inputs, "nodeConfig.ephemeralStorageLocalSsdConfig.localSsdCount"):
        return type_.nvme_gb
    return number_at(pool.inputs, "nodeConfig.bootDisk.sizeGb") or number_at(pool.inputs, "nodeConfig.diskSizeGb", 100)


def _huge_pages(pool: Thing) -> dict[str, int]:
    pages = number_at(pool.inputs, "nodeConfig.linuxNodeConfig.hugepagesConfig.hugepageSize2m")
    return {"hugepages-2Mi": pages * _PAGE_BYTES} if pages else {}


def _labels(pool: Thing, type_: MachineType, instance: Thing, ledger: Ledger) -> dict[str, str]:
    zone = text_at(instance.inputs, "zone")
    found = {
        "cloud.google.com/gke-nodepool": last(pool.id),
        "cloud.google.com/gke-os-distribution": "cos",
        "node.kubernetes.io/instance-type": type_.name,
        "topology.kubernetes.io/region": region(ledger),
        "topology.kubernetes.io/zone": zone,
    }
    if type_.gpus:
        found["cloud.google.com/gke-accelerator"] = GPUS[type_.name]
    if text_at(pool.inputs, "networkConfig.acceleratorNetworkProfile"):
        found[_PROFILE] = "auto"
    if text_at(pool.inputs, "placementPolicy.policyName"):
        # One rack: GKE's label, and the one of NVIDIA's driver.
        found |= {"cloud.google.com/gce-topology-subblock": "rack-0001", compute_domain.CLIQUE_LABEL: "domain.0"}
    return {**found, **{key: str(value) for key, value in mapping(_config(pool).get("labels")).items()}}


def _taints(pool: Thing, type_: MachineType) -> list[Taint]:
    """Those of the pool, and the one of every machine that isn't x86 (GKE, Arm workloads)."""
    given = [mapping(taint) for taint in sequence(_config(pool).get("taints"))]
    found = [
        Taint(key=text_at(each, "key"), value=text_at(each, "value"), effect=_EFFECTS[text_at(each, "effect")])
        for each in given
    ]
    arm = text_at(pool.inputs, "nodeConfig.taintConfig.architectureTaintBehavior") != "NONE"
    if type_.architecture == "arm64" and arm:
        found.append(Taint(key="kubernetes.io/arch", value="arm64"))
    return found


def _config(pool: Thing) -> dict[str, object]:
    return mapping(pool.inputs.get("nodeConfig"))
