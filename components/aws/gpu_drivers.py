"""What makes the nodes' GPUs and EFA adapters known to the scheduler; the drivers themselves are in the AMI."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pulumi

from components.aws.cluster import Cluster
from components.chart import Chart, release
from components.settings import Mirror

DEVICE_PLUGIN: Final = Chart(
    name="nvidia-device-plugin", version="0.20.0", repository="https://nvidia.github.io/k8s-device-plugin"
)
EFA_PLUGIN: Final = Chart(
    name="aws-efa-k8s-device-plugin", version="v0.5.30", repository="https://aws.github.io/eks-charts"
)
_NAMESPACE: Final = "kube-system"
_IMAGE: Final = "nvcr.io/nvidia/k8s-device-plugin"
# Of one region: EKS keeps it in each, and the chart's own default is this one.
_EFA_IMAGE: Final = "602401143452.dkr.ecr.us-west-2.amazonaws.com/eks/aws-efa-k8s-device-plugin"


@dataclass(frozen=True, kw_only=True)
class GpuDriversArgs:
    """What the plugins take."""

    cluster: Cluster
    mirror: Mirror
    """Where charts and images come from on a closed network."""
    efa: bool
    """Whether the nodes have EFA adapters: its plugin dies on nodes without."""


class GpuDrivers(pulumi.ComponentResource):
    """The device plugins."""

    ready: Sequence[pulumi.Resource]

    def __init__(self, name: str, args: GpuDriversArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("kimi:aws:GpuDrivers", name, {"efa": args.efa}, opts)
        child = pulumi.ResourceOptions(
            parent=self, provider=args.cluster.access.provider, depends_on=list(args.cluster.ready)
        )
        wanted = [(DEVICE_PLUGIN, device_plugin_values(args.mirror))]
        wanted += [(EFA_PLUGIN, efa_plugin_values(args.mirror))] if args.efa else []
        self.ready = [
            release(f"{name}-{chart.name}", chart, args.mirror, namespace=_NAMESPACE, values=values, opts=child)
            for chart, values in wanted
        ]
        self.register_outputs({})


def device_plugin_values(mirror: Mirror) -> dict[str, object]:
    """Return the chart's values; it tolerates our taint and selects our label (nvidia.com/gpu.present) by itself."""
    return {"image": {"repository": mirror.mirrored(_IMAGE)}} if mirror.images else {}


def efa_plugin_values(mirror: Mirror) -> dict[str, object]:
    """Return the chart's values; it selects the machines by itself and tolerates nothing of ours."""
    ours = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
    image = {"image": {"repository": mirror.mirrored(_EFA_IMAGE)}} if mirror.images else {}
    return {"tolerations": [{"key": "CriticalAddonsOnly", "operator": "Exists"}, ours], **image}
