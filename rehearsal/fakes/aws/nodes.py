"""Nodes in the real control plane of a full rehearsal, shaped like the instances that a node group launches."""

from collections.abc import Mapping, Sequence
from typing import Final

from rehearsal.control_plane.api import Json
from rehearsal.control_plane.nodes import Effect, Machine, Taint, cpu_node, gpu_node
from rehearsal.fakes.account import Ledger, Thing
from rehearsal.fakes.aws.instance import Launch
from rehearsal.fakes.aws.launch_template import user_data
from rehearsal.fakes.aws.naming import region
from rehearsal.fakes.aws.network_interface import efa_count
from rehearsal.fakes.aws.subnet import zone_of
from rehearsal.fakes.control_plane import add_nodes, remove_nodes
from rehearsal.fakes.paths import number_at, text_at
from rehearsal.fakes.values import Properties, mapping, sequence

_KUBELETS_SHARE: Final = 0.97
_DEFAULT_DISK_GB: Final = 20
_PRESENT: Final = "nvidia.com/gpu.present"
# awslabs/amazon-eks-ami: what the service that sets huge pages up for EFA asks for, in pages of 2 MiB.
_HUGE_PAGES: Final = 5_128
_PAGE_BYTES: Final = 2 * 1024 * 1024
_EFFECTS: Final[Mapping[str, Effect]] = {
    "NO_SCHEDULE": "NoSchedule",
    "NO_EXECUTE": "NoExecute",
    "PREFER_NO_SCHEDULE": "PreferNoSchedule",
}


def join(group: Thing, wanted: Launch, launched: Sequence[Thing], ledger: Ledger) -> None:
    """Let instances become nodes."""
    add_nodes([_node(group, wanted, each, ledger) for each in launched])


def leave(ended: Sequence[Thing], ledger: Ledger) -> None:
    """Take the nodes of instances away."""
    remove_nodes([name_of(each, ledger) for each in ended])


def name_of(instance: Thing, ledger: Ledger) -> str:
    """The name under which an instance joins."""
    address = text_at(instance.inputs, "address").replace(".", "-")
    return f"ip-{address}.{region(ledger)}.compute.internal"


def gpus_offered(group: Thing, wanted: Launch) -> int:
    """How many GPUs a node offers to pods.

    None without NVIDIA's driver in the image, and none where the device plugin's DaemonSet finds no node: its chart
    wants the label (NVIDIA/k8s-device-plugin, values.yaml; eksctl-io/eksctl #8858).
    """
    driver = "NVIDIA" in text_at(group.inputs, "amiType")
    labelled = mapping(group.inputs.get("labels")).get(_PRESENT) == "true"
    return wanted.type.gpus if driver and labelled else 0


def disk_gb(wanted: Launch) -> int:
    """The disk of a node: all its NVMe where nodeadm makes one of it, else the root volume."""
    if "localStorage" in user_data(wanted.template) and wanted.type.nvme_gb:
        return wanted.type.nvme_gb
    return number_at(wanted.template, "blockDeviceMappings.ebs.volumeSize", _DEFAULT_DISK_GB)


def _node(group: Thing, wanted: Launch, instance: Thing, ledger: Ledger) -> Json:
    type_, interfaces = wanted.type, efa_count(wanted.template)
    efa = {"vpc.amazonaws.com/efa": interfaces, "hugepages-2Mi": _HUGE_PAGES * _PAGE_BYTES} if interfaces else {}
    machine = Machine(
        architecture=type_.architecture,
        cpu=type_.vcpus,
        memory_gb=int(type_.memory_gb * _KUBELETS_SHARE),
        ephemeral_storage_gb=disk_gb(wanted),
        extended=efa,
        labels=_labels(group, wanted, ledger),
        taints=[_taint(mapping(taint)) for taint in sequence(group.inputs.get("taints"))],
    )
    name, gpus = name_of(instance, ledger), gpus_offered(group, wanted)
    return gpu_node(name, machine, gpus=gpus, gpu_resource=type_.gpu_resource) if gpus else cpu_node(name, machine)


def _labels(group: Thing, wanted: Launch, ledger: Ledger) -> dict[str, str]:
    given = {key: str(value) for key, value in mapping(group.inputs.get("labels")).items()}
    return {
        "eks.amazonaws.com/nodegroup": text_at(group.inputs, "nodeGroupName"),
        "eks.amazonaws.com/capacityType": text_at(group.outputs, "capacityType"),
        "node.kubernetes.io/instance-type": wanted.type.name,
        "topology.kubernetes.io/region": region(ledger),
        "topology.kubernetes.io/zone": zone_of(wanted.subnet, ledger),
        **given,
    }


def _taint(given: Properties) -> Taint:
    effect = _EFFECTS[text_at(given, "effect")]
    return Taint(key=text_at(given, "key"), value=text_at(given, "value"), effect=effect)
