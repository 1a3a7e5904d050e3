"""What GKE has to be told about each GPU machine type, beside what the catalogue knows of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from components.plan.layout import Layout

RACK_NODES: Final = 18
"""Nodes of one NVL72 rack; a pool with the rack's placement takes no more (Google's A4X Max page, 2026-04)."""


@dataclass(frozen=True, kw_only=True)
class MachineType:
    """One machine type."""

    accelerator: str
    """GKE's name of its GPU."""
    local_ssds: int
    """Disks of its own, all of them node storage."""
    rdma_devices: int
    """What a pod that uses RDMA claims: all of the node's, since pods can't share them."""
    boot_disk: str = "hyperdisk-balanced"
    """The newer machines take no persistent disk."""
    huge_pages: int = 0
    """Of 2 MiB, set aside for asapd-lite, which brings up the NICs of a bare-metal node: 8 GiB."""
    rack_topology: str | None = None
    """Shape of the rack that one NVLink domain is; None where NVLink stays in the node."""
    nccl_tuner: str | None = None
    """The tuner file of Google's NCCL plugin gIB; None where the machine doesn't use it."""
    flex_start: bool = True
    """Whether DWS flex-start and calendar mode sell it; else it comes by a reservation of your account team alone."""

    @property
    def bare_metal(self) -> bool:
        """Whether its adapters and huge pages are ours to bring up."""
        return self.huge_pages > 0


TYPES: Final[Mapping[str, MachineType]] = {
    "a4x-maxgpu-4g-metal": MachineType(
        accelerator="nvidia-gb300",
        local_ssds=4,
        rdma_devices=8,
        huge_pages=4096,
        rack_topology="1x72",
        flex_start=False,
    ),
    "a4x-highgpu-4g": MachineType(
        accelerator="nvidia-gb200", local_ssds=4, rdma_devices=4, rack_topology="1x72", flex_start=False
    ),
    "a4-highgpu-8g": MachineType(
        accelerator="nvidia-b200", local_ssds=32, rdma_devices=8, nccl_tuner="tuner_config_a4.txtpb"
    ),
    "a3-ultragpu-8g": MachineType(
        accelerator="nvidia-h200-141gb", local_ssds=32, rdma_devices=8, nccl_tuner="tuner_config_a3u.txtpb"
    ),
    # Its GPUs' own network is GPUDirect-TCPXO, which needs a daemon in every pod; pipeline stages do with TCP.
    "a3-megagpu-8g": MachineType(
        accelerator="nvidia-h100-mega-80gb", local_ssds=16, rdma_devices=0, boot_disk="pd-ssd"
    ),
}
"""Google's pages of the A4X Max, A4X, A4 and A3 machines, and cluster-toolkit's disk and GPU definitions (2026-06)."""


def fast_network(machine: MachineType, layout: Layout) -> bool:
    """Return whether the nodes get their GPU network: bare-metal NVLink nodes always do, others for RDMA."""
    return machine.rack_topology is not None or uses_rdma(layout)


def uses_rdma(layout: Layout) -> bool:
    """Return whether the pods of a replica talk over RDMA."""
    return layout.nodes > 1 and layout.interconnect == "rdma"
