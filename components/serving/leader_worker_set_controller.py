"""The controller that runs LeaderWorkerSets, by its own chart."""

from dataclasses import dataclass
from typing import Final

import pulumi
import pulumi_kubernetes as kubernetes

from components.settings import Mirror

CHART_VERSION: Final = "0.9.0"
"""The version that the control-plane tests run; kubernetes-sigs/lws release v0.9.0."""
CHARTS: Final = "oci://registry.k8s.io/lws/charts"
NAMESPACE: Final = "lws-system"
_IMAGE: Final = "registry.k8s.io/lws/lws"


@dataclass(frozen=True, kw_only=True)
class LeaderWorkerSetControllerArgs:
    """What the controller's installation takes."""

    provider: kubernetes.Provider
    mirror: Mirror
    """Where chart and image come from on a closed network."""


def chart(mirror: Mirror) -> str:
    """Return the chart's reference: its registry, or a folder or registry of the person's."""
    return f"{(mirror.charts or CHARTS).rstrip('/')}/lws"


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
        props = {"chart": chart(args.mirror), "version": CHART_VERSION}
        super().__init__("kimi:serving:LeaderWorkerSetController", name, props, opts)
        child = pulumi.ResourceOptions(parent=self, provider=args.provider)
        # Ours, not Helm's createNamespace, which is never deleted.
        namespace = kubernetes.core.v1.Namespace(
            f"{name}-namespace", metadata=kubernetes.meta.v1.ObjectMetaArgs(name=NAMESPACE), opts=child
        )
        self.release = kubernetes.helm.v3.Release(
            f"{name}-release",
            name="lws",
            chart=chart(args.mirror),
            version=CHART_VERSION,
            namespace=namespace.metadata.name,
            values=values(args.mirror),
            # The webhooks must answer before the first LeaderWorkerSet is sent; Helm waits for the Deployment.
            skip_await=False,
            timeout=600,
            opts=child,
        )
        self.register_outputs({"namespace": NAMESPACE})
