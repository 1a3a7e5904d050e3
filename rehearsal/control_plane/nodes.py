"""Node objects shaped like real machines, for the scheduler to decide over."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from rehearsal.control_plane.api import Json
from toolchain import versions

Effect = Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]
"""What a taint does to Pods that don't tolerate it."""


@dataclass(frozen=True, kw_only=True)
class Taint:
    """Keeps Pods without a matching toleration away from a node."""

    key: str
    value: str = ""
    effect: Effect = "NoSchedule"


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What a node offers to Pods: the allocatable amounts, after what a real kubelet would keep for itself."""

    architecture: Literal["amd64", "arm64"] = "amd64"
    cpu: int
    """Hardware threads."""
    memory_gb: int
    """Memory in GB (10⁹ bytes)."""
    ephemeral_storage_gb: int
    """Node storage in GB (10⁹ bytes), where emptyDir volumes live."""
    extended: Mapping[str, int] = field(default_factory=dict)
    """Further resources that device plugins offer, such as {"vpc.amazonaws.com/efa": 16}."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels beside those that every kubelet sets."""
    taints: Sequence[Taint] = ()


def gpu_node(name: str, machine: Machine, *, gpus: int, gpu_resource: str = "nvidia.com/gpu") -> Json:
    """Returns a Node with so many GPUs under the name that the scheduler counts them by."""
    return _node(name, machine, {gpu_resource: gpus, **machine.extended})


def cpu_node(name: str, machine: Machine | None = None) -> Json:
    """Returns a Node without GPUs; by default with 8 threads, 32 GB of memory and 100 GB of storage."""
    machine = machine or Machine(cpu=8, memory_gb=32, ephemeral_storage_gb=100)
    return _node(name, machine, machine.extended)


def _node(name: str, machine: Machine, extended: Mapping[str, int]) -> Json:
    amounts = {
        "cpu": str(machine.cpu),
        "memory": f"{machine.memory_gb}G",
        "ephemeral-storage": f"{machine.ephemeral_storage_gb}G",
        # The kubelet's own default (https://kubernetes.io/docs/reference/command-line-tools-reference/kubelet/).
        "pods": "110",
        **{resource: str(count) for resource, count in extended.items()},
    }
    labels = {
        "kubernetes.io/arch": machine.architecture,
        "kubernetes.io/os": "linux",
        "kubernetes.io/hostname": name,
        **machine.labels,
    }
    taints = [{"key": t.key, "value": t.value, "effect": t.effect} for t in machine.taints]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": taints},
        "status": {"capacity": amounts, "allocatable": amounts, "nodeInfo": _node_info(machine)},
    }


def _node_info(machine: Machine) -> Json:
    """What a kubelet reports about its machine; the API server wants every key."""
    unknown = dict.fromkeys(("machineID", "systemUUID", "bootID", "kernelVersion", "kubeProxyVersion"), "")
    return {
        **unknown,
        "architecture": machine.architecture,
        "operatingSystem": "linux",
        "osImage": "simulated by KWOK",
        "kubeletVersion": f"v{versions.KUBERNETES}",
        "containerRuntimeVersion": f"kwok://{versions.KWOK}",
    }
