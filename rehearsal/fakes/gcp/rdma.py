"""GKE's managed DRANET in the control plane of a full rehearsal: each node's RDMA adapters as devices to be claimed.

What the driver does on a node, nothing plays.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from rehearsal.control_plane.api import Api, Json
from rehearsal.fakes.account import Thing
from rehearsal.fakes.control_plane import control_plane
from rehearsal.fakes.gcp.machine import MachineType
from rehearsal.fakes.paths import number_at, text_at
from rehearsal.fakes.values import mapping

DEVICE_CLASS: Final = "mrdma.google.com"
_DRIVER: Final = "dra.net"
_SWITCH: Final = "cloud.google.com/gke-networking-dra-driver"
_CLASSES: Final = "/apis/resource.k8s.io/v1/deviceclasses"
_SLICES: Final = "/apis/resource.k8s.io/v1/resourceslices"
_ADAPTERS: Final[Mapping[str, int]] = {
    "a4x-maxgpu-4g-metal": 8,
    "a4x-highgpu-4g": 4,
    "a4-highgpu-8g": 8,
    "a3-ultragpu-8g": 8,
}
"""Devices of a node (Google's pages of the machines; container-engine-accelerators' NCCL tests, 2026-06)."""
_METAL_PAGES: Final = 4096
"""Of 2 MiB: without them the program that brings bare-metal adapters up never starts, and there is no device."""


def adapters(pool: Thing, type_: MachineType) -> int:
    """How many devices a node of a pool offers: none without the network profile and the label that switches it on."""
    labels = mapping(mapping(pool.inputs.get("nodeConfig")).get("labels"))
    profile = text_at(pool.inputs, "networkConfig.acceleratorNetworkProfile")
    pages = number_at(pool.inputs, "nodeConfig.linuxNodeConfig.hugepagesConfig.hugepageSize2m")
    if not profile or labels.get(_SWITCH) != "true" or (type_.bare_metal and pages < _METAL_PAGES):
        return 0
    return _ADAPTERS.get(type_.name, 0)


def offer(nodes: Sequence[str], count: int) -> None:
    """Say for each node that it has so many adapters, if there is a control plane."""
    api = control_plane()
    if api is None or not count:
        return
    _create_class(api)
    for node in nodes:
        api.create(_SLICES, _slice(node, count))


def withdraw(nodes: Sequence[str]) -> None:
    """Take back what `offer` said; nothing there is fine."""
    api = control_plane()
    if api is None:
        return
    for node in nodes:
        api.delete(f"{_SLICES}/{_name(node)}")


def _create_class(api: Api) -> None:
    if any(each["metadata"]["name"] == DEVICE_CLASS for each in api.items(_CLASSES)):
        return
    choice = {"cel": {"expression": f"device.driver == '{_DRIVER}'"}}
    metadata = {"name": DEVICE_CLASS}
    described = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": metadata}
    api.create(_CLASSES, {**described, "spec": {"selectors": [choice]}})


def _name(node: str) -> str:
    return f"{node}-{_DRIVER}"


def _slice(node: str, count: int) -> Json:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": _name(node)},
        "spec": {
            "driver": _DRIVER,
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": f"gpu{index}rdma0"} for index in range(count)],
        },
    }
