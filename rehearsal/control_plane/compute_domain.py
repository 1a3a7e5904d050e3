"""NVIDIA's DRA driver for memory shared over NVLink between nodes: its definition, class and channels.

KWOK plays its controller (`kwok-stages.yaml`); what the driver does on a node, the IMEX daemons, nothing plays.
"""

from collections.abc import Sequence
from pathlib import Path

from rehearsal.control_plane.api import Api, Json

DEFINITION = Path(__file__).parent.parent / "definitions" / "compute_domain.yaml"
DRIVER = "compute-domain.nvidia.com"
CLIQUE_LABEL = "nvidia.com/gpu.clique"
"""Nodes with the same value share an NVLink domain; the driver's plugin sets it."""
DEVICE_CLASS = "compute-domain-default-channel.nvidia.com"

_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_CLASSES = "/apis/resource.k8s.io/v1/deviceclasses"
_SLICES = "/apis/resource.k8s.io/v1/resourceslices"


def create_definition(api: Api) -> None:
    """Creates the definition and waits until the API server serves it.

    Raises:
        TimeoutError: It was not established within 60 s.
    """
    api.create(_DEFINITIONS, DEFINITION.read_bytes())
    # The schema is published last, and KWOK reads it for the kinds of its stages.
    api.wait_for("/openapi/v3", lambda found: "apis/resource.nvidia.com/v1beta1" in found["paths"], seconds=60)


def create_class(api: Api) -> None:
    """Creates the device class that claim templates ask for."""
    choice = f"device.driver == '{DRIVER}' && device.attributes['{DRIVER}'].type == 'channel'"
    api.create(
        _CLASSES,
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": DEVICE_CLASS},
            "spec": {"selectors": [{"cel": {"expression": choice}}]},
        },
    )


def offer_channels(api: Api, nodes: Sequence[str]) -> None:
    """Says for each node that it has one channel, as the driver's kubelet plugin does."""
    for node in nodes:
        api.create(_SLICES, _slice(node))


def withdraw_channels(api: Api, nodes: Sequence[str]) -> None:
    """Takes back what `offer_channels` said; nothing there is fine."""
    for node in nodes:
        api.delete(f"{_SLICES}/{_slice_name(node)}")


def _slice_name(node: str) -> str:
    return f"{node}-{DRIVER}"


def _slice(node: str) -> Json:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": _slice_name(node)},
        "spec": {
            "driver": DRIVER,
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "channel-0", "attributes": {"type": {"string": "channel"}}}],
        },
    }
