"""Nodes in the real control plane of a full rehearsal, shaped like the machines of a node pool."""

from collections.abc import Sequence
from typing import Final

from rehearsal.control_plane.api import Json
from rehearsal.control_plane.nodes import Effect, Machine, Taint, cpu_node, gpu_node
from rehearsal.fakes.account import Ledger, Thing
from rehearsal.fakes.alicloud import references as ref
from rehearsal.fakes.alicloud.machine import MachineType, machine_type
from rehearsal.fakes.control_plane import add_nodes, remove_nodes
from rehearsal.fakes.paths import number_at, text_at
from rehearsal.fakes.values import mapping, sequence

_KUBELETS_SHARE: Final = 0.95
_RDMA: Final = {
    "ack-erdma-controller": ("aliyun/erdma", 400),
    "ack-rdma-device-plugin": ("rdma/hca", 1_000),
}
"""Add-ons by what they offer: 400 of eRDMA's on a node in a public guide (Ray on ACK); Lingjun's count is made up."""
_EFFECTS: Final[dict[str, Effect]] = {
    "NoSchedule": "NoSchedule",
    "NoExecute": "NoExecute",
    "PreferNoSchedule": "PreferNoSchedule",
}


def join(pool: Thing, type_: MachineType, launched: Sequence[Thing], ledger: Ledger) -> None:
    """Let instances become nodes."""
    add_nodes([_node(pool, type_, each.id, ledger) for each in launched])


def leave(ended: Sequence[Thing]) -> None:
    """Take the nodes of instances away."""
    remove_nodes([each.id for each in ended])


def join_lingjun(pool: Thing, ledger: Ledger) -> None:
    """Let the nodes of the group join, as the person adds them by hand."""
    type_ = machine_type(text_at(mapping(ledger.settings.get("lingjun")), "machine"))
    if type_ is not None:
        add_nodes([_node(pool, type_, name, ledger) for name in _lingjun_names(ledger)])


def leave_lingjun(pool: Thing, ledger: Ledger) -> None:
    """Take them out of the cluster again; they stay in their group."""
    del pool
    remove_nodes(_lingjun_names(ledger))


def _lingjun_names(ledger: Ledger) -> list[str]:
    return [f"lingjun-{index}" for index in range(number_at(mapping(ledger.settings.get("lingjun")), "nodes"))]


def _node(pool: Thing, type_: MachineType, name: str, ledger: Ledger) -> Json:
    given = {text_at(mapping(each), "key"): text_at(mapping(each), "value") for each in _list(pool, "labels")}
    switch = ledger.find(ref.SWITCH, text_at(pool.inputs, "vswitchIds"))
    zone = text_at(switch.inputs, "zoneId") if switch else ""
    taints = [
        Taint(key=text_at(each, "key"), value=text_at(each, "value"), effect=_EFFECTS[text_at(each, "effect")])
        for each in map(mapping, _list(pool, "taints"))
    ]
    machine = Machine(
        cpu=type_.vcpus,
        memory_gb=int(type_.memory_gb * _KUBELETS_SHARE),
        ephemeral_storage_gb=number_at(pool.inputs, "systemDiskSize", 500),
        extended=_rdma(ledger) if type_.gpus else {},
        labels={
            "node.kubernetes.io/instance-type": type_.name,
            "topology.kubernetes.io/zone": zone,
            "alibabacloud.com/nodepool-id": pool.id.partition(":")[2],
            **given,
        },
        taints=taints,
    )
    return gpu_node(name, machine, gpus=type_.gpus) if type_.gpus else cpu_node(name, machine)


def _rdma(ledger: Ledger) -> dict[str, int]:
    """What the add-ons of RDMA networks offer on nodes that come after them."""
    there = {text_at(each.inputs, "name") for each in ledger.of_type(ref.ADDON)}
    return {resource: count for addon, (resource, count) in _RDMA.items() if addon in there}


def _list(pool: Thing, key: str) -> list[object]:
    return sequence(pool.inputs.get(key))
