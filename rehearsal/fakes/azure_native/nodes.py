"""Nodes in the real control plane of a full rehearsal, shaped like the machines of an agent pool."""

from collections.abc import Sequence
from typing import Final

from rehearsal.control_plane import compute_domain
from rehearsal.control_plane.api import Json
from rehearsal.control_plane.nodes import Effect, Machine, Taint, cpu_node, gpu_node
from rehearsal.fakes.account import Ledger, Thing
from rehearsal.fakes.azure_native.machine import Size
from rehearsal.fakes.azure_native.references import region
from rehearsal.fakes.control_plane import add_nodes, remove_nodes
from rehearsal.fakes.paths import number_at, text_at, texts_at
from rehearsal.fakes.values import Properties, mapping, sequence

_KUBELETS_SHARE: Final = 0.95
"""AKS keeps more of a machine than others do (AKS, node-resource-reservations)."""
_DEFAULT_DISK_GB: Final = 128
_ADAPTERS: Final = {"rdma/shared_ib": 63}
"""What NVIDIA's network operator hands out of a node (Azure/aks-rdma-infiniband)."""
_EFFECTS: Final[dict[str, Effect]] = {
    "NoSchedule": "NoSchedule",
    "NoExecute": "NoExecute",
    "PreferNoSchedule": "PreferNoSchedule",
}


def join(pool: Properties, size: Size, launched: Sequence[Thing], ledger: Ledger) -> None:
    """Let machines become nodes.

    Args:
        pool: Inputs of the agent pool, or of one within a cluster.
        size: The machines'.
        launched: The machines.
        ledger: The account.
    """
    add_nodes([_node(pool, size, each, ledger) for each in launched])


def leave(ended: Sequence[Thing]) -> None:
    """Take the nodes of machines away."""
    remove_nodes([each.id for each in ended])


def _node(pool: Properties, size: Size, machine: Thing, ledger: Ledger) -> Json:
    shape = Machine(
        architecture=size.architecture,
        cpu=size.vcpus,
        memory_gb=int(size.memory_gb * _KUBELETS_SHARE),
        ephemeral_storage_gb=number_at(pool, "osDiskSizeGB", _DEFAULT_DISK_GB),
        extended=_ADAPTERS if size.gpus else {},
        labels=_labels(pool, size, machine, ledger),
        taints=[_taint(each) for each in texts_at(pool, "nodeTaints")],
    )
    return gpu_node(machine.id, shape, gpus=size.gpus) if size.gpus else cpu_node(machine.id, shape)


def _labels(pool: Properties, size: Size, machine: Thing, ledger: Ledger) -> dict[str, str]:
    place, zones = region(ledger), texts_at(pool, "availabilityZones")
    found = {
        "kubernetes.azure.com/agentpool": text_at(pool, "agentPoolName"),
        "agentpool": text_at(pool, "agentPoolName"),
        "kubernetes.azure.com/mode": text_at(pool, "mode").lower(),
        "node.kubernetes.io/instance-type": size.name,
        "topology.kubernetes.io/region": place,
        # AKS numbers nodes of no zone.
        "topology.kubernetes.io/zone": f"{place}-{zones[0]}" if zones else "0",
    }
    if size.rack:
        found[compute_domain.CLIQUE_LABEL] = _clique(machine, ledger)
    return {**found, **{key: str(value) for key, value in mapping(pool.get("nodeLabels")).items()}}


def _clique(machine: Thing, ledger: Ledger) -> str:
    """The NVLink domain of a machine, which NVIDIA's feature discovery labels: one for all, or as the account says."""
    cliques = [str(each) for each in sequence(ledger.settings.get("cliques"))]
    index = number_at(machine.inputs, "index")
    return cliques[index] if index < len(cliques) else "domain.0"


def _taint(text: str) -> Taint:
    pair, _, effect = text.rpartition(":")
    key, _, value = pair.partition("=")
    return Taint(key=key, value=value, effect=_EFFECTS[effect])
