"""The controller that runs LeaderWorkerSets, by its own chart."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pulumi
import pulumi_kubernetes as kubernetes

from components.chart import Chart, release
from components.settings import Mirror

CHART_VERSION: Final = "0.9.0"
"""The version that the control-plane tests run; kubernetes-sigs/lws release v0.9.0."""
CHART: Final = Chart(name="lws", version=CHART_VERSION, repository="oci://registry.k8s.io/lws/charts")
NAMESPACE: Final = "lws-system"
_IMAGE: Final = "registry.k8s.io/lws/lws"


@dataclass(frozen=True, kw_only=True)
class LeaderWorkerSetControllerArgs:
    """What the controller's installation takes."""

    provider: kubernetes.Provider
    mirror: Mirror
    """Where chart and image come from on a closed network."""
    after: Sequence[pulumi.Resource] = ()
    """What it needs to run."""


def values(mirror: Mirror) -> dict[str, object]:
    """Return the chart's values; the chart's own tag is the branch `main`, so the release is pinned here."""
    return {
        "image": {
            "manager": {"repository": mirror.mirrored(_IMAGE), "tag": f"v{CHART_VERSION}", "pullPolicy": "IfNotPresent"}
        },
        "replicaCount": 1,
        "resources": {"requests": {"cpu": "250m", "memory": "512Mi"}},
    }


class LeaderWorkerSetController(pulumi.ComponentResource):
    """LeaderWorkerSet's controller, webhooks and CRDs. Helm leaves the CRDs in place when it is uninstalled."""

    def __init__(
        self, name: str, args: LeaderWorkerSetControllerArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        props = {"chart": CHART.reference(args.mirror), "version": CHART_VERSION}
        super().__init__("kimi:serving:LeaderWorkerSetController", name, props, opts)
        child = pulumi.ResourceOptions(parent=self, provider=args.provider, depends_on=list(args.after))
        # Ours, not Helm's createNamespace, which is never deleted.
        namespace = kubernetes.core.v1.Namespace(
            f"{name}-namespace", metadata=kubernetes.meta.v1.ObjectMetaArgs(name=NAMESPACE), opts=child
        )
        self.release = release(
            f"{name}-release",
            CHART,
            args.mirror,
            namespace=namespace.metadata.name,
            values=values(args.mirror),
            opts=child,
        )
        self.register_outputs({"namespace": NAMESPACE})
