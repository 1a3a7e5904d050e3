"""NVIDIA's driver of compute domains: NVLink between the GPUs of several nodes, on every cloud that has such racks."""

from typing import Final

from components.chart import Chart
from components.settings import Mirror

CHART: Final = Chart(
    name="dra-driver-nvidia-gpu", version="0.5.0", repository="oci://registry.k8s.io/dra-driver-nvidia/charts"
)
_IMAGE: Final = "registry.k8s.io/dra-driver-nvidia/dra-driver-nvidia-gpu"


def compute_domain_values(driver_root: str, mirror: Mirror) -> dict[str, object]:
    """Return the chart's values: compute domains alone, GPUs stay with the device plugin.

    Args:
        driver_root: Where the GPU driver is on a node; the chart looks at the root.
        mirror: Where the image comes from on a closed network.
    """
    return {
        "nvidiaDriverRoot": driver_root,
        # The chart refuses its own default beside a device plugin.
        "resources": {"gpus": {"enabled": False}, "computeDomains": {"enabled": True}},
        **({"image": {"repository": mirror.mirrored(_IMAGE)}} if mirror.images else {}),
    }
