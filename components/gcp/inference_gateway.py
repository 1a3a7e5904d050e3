"""GKE's Inference Gateway: one address in the VPC before several replicas, which knows what each has in its cache."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pulumi
import pulumi_gcp as gcp
import pulumi_kubernetes as kubernetes

from components import labels as our_labels
from components import naming
from components.chart import Chart, release
from components.gcp.cluster import Cluster
from components.gcp.network import Network
from components.gcp.provider import Place, identity
from components.inference_cluster import API_PORT
from components.settings import Mirror

# The last release with charts; later ones have neither a chart nor an endpoint picker.
CHART: Final = Chart(
    name="inferencepool",
    version="v1.5.0",
    repository="oci://registry.k8s.io/gateway-api-inference-extension/charts",
)
_IMAGES: Final = "registry.k8s.io/gateway-api-inference-extension"
_NAME: Final = "kimi-k3-gateway"
_NAME_MAX: Final = 63
TIMEOUT_SECONDS: Final = 3600
"""Google's accelerated-platforms has the same; the chart's 300 would cut an answer that thinks."""
HEALTH_CHECK_RANGES: Final = ("35.191.0.0/16", "130.211.0.0/22")
"""Where Google's health checks come from (Load Balancing, firewall rules)."""
LEADERS: Final[Mapping[str, str]] = {our_labels.LWS_WORKER_INDEX: "0", "kimi-k3/role": "leader"}
"""Workers have no API: whatever is sent to one is lost."""
_PATHS: Final = {"/v1": "PathPrefix", "/health": "Exact"}
"""What is forwarded: /invocations, /tokenize and /metrics answer without a key (vllm-project/vllm #58144)."""
_POOL_GROUP: Final = "inference.networking.k8s.io"


@dataclass(frozen=True, kw_only=True)
class InferenceGatewayArgs:
    """What the gateway takes."""

    cluster: Cluster
    place: Place
    network: Network
    mirror: Mirror
    """Where chart and image come from on a closed network."""
    labels: Mapping[str, str]
    """Labels of what is in the cluster."""
    after: Sequence[pulumi.Resource]
    """The namespace, beside what the cluster says is ready."""


class InferenceGateway(pulumi.ComponentResource):
    """Pool of leaders, endpoint picker, gateway and route; the kinds are GKE's, which brings them itself."""

    ready: Sequence[pulumi.Resource]
    endpoint: pulumi.Output[str]
    """Base URL of the API in the VPC, with /v1."""

    def __init__(self, name: str, args: InferenceGatewayArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("kimi:gcp:InferenceGateway", name, {"chart": CHART.version}, opts)
        address = gcp.compute.Address(
            f"{name}-address",
            name=naming.fit(f"{identity()}-gateway", _NAME_MAX),
            region=args.place.region,
            subnetwork=args.network.subnet,
            address_type="INTERNAL",
            opts=pulumi.ResourceOptions(parent=self),
        )
        child = pulumi.ResourceOptions(
            parent=self, provider=args.cluster.access.provider, depends_on=[*args.cluster.ready, *args.after]
        )
        pool = release(
            f"{name}-{CHART.name}",
            CHART,
            args.mirror,
            namespace=args.cluster.access.namespace,
            values=chart_values(args.mirror),
            opts=child,
        )
        policy = kubernetes.networking.v1.NetworkPolicy(
            f"{name}-proxies",
            metadata=kubernetes.meta.v1.ObjectMetaArgs(
                name=_NAME, namespace=args.cluster.access.namespace, labels=args.labels
            ),
            spec=policy_spec(args.network.proxies or ""),
            opts=child,
        )
        before: list[pulumi.Resource] = [pool, policy]
        for kind, (api_version, spec) in objects(address.name).items():
            # One after the other: the route goes before its gateway, and the policies before the pool.
            before.append(_object(f"{name}-{kind.lower()}", (kind, api_version, spec), args, self, [*before]))
        self.ready = before
        self.endpoint = pulumi.Output.concat("http://", address.address, "/v1")
        self.register_outputs({"endpoint": self.endpoint})


def chart_values(mirror: Mirror) -> dict[str, object]:
    """Return the chart's values: without its policies for GKE, whose timeout of five minutes can't be set."""
    image = {"image": {"hub": mirror.mirrored(_IMAGES)}} if mirror.images else {}
    return {
        "inferencePool": {
            "modelServerType": "vllm",
            "targetPorts": [{"number": API_PORT}],
            "modelServers": {"matchLabels": dict(LEADERS)},
        },
        "inferenceExtension": {"replicas": 1, **image},
        "provider": {"name": "none"},
    }


def objects(address: pulumi.Input[str]) -> dict[str, tuple[str, Mapping[str, object]]]:
    """Return API version and spec of each object by its kind, in the order in which they are made.

    Args:
        address: Name of the reserved address.
    """
    pool = {"group": _POOL_GROUP, "kind": "InferencePool", "name": CHART.name}
    health = {"type": "HTTP", "httpHealthCheck": {"requestPath": "/health", "port": API_PORT}}
    listener = {"name": "api", "protocol": "HTTP", "port": API_PORT, "allowedRoutes": {"namespaces": {"from": "Same"}}}
    matches = [{"path": {"type": kind, "value": path}} for path, kind in _PATHS.items()]
    return {
        # Without it GKE asks for "/", which the engine doesn't have, and takes every replica for dead.
        "HealthCheckPolicy": ("networking.gke.io/v1", {"targetRef": pool, "default": {"config": health}}),
        "GCPBackendPolicy": (
            "networking.gke.io/v1",
            {"targetRef": pool, "default": {"timeoutSec": TIMEOUT_SECONDS}},
        ),
        "Gateway": (
            "gateway.networking.k8s.io/v1",
            {
                # The global classes know no InferencePool.
                "gatewayClassName": "gke-l7-rilb",
                "listeners": [listener],
                "addresses": [{"type": "NamedAddress", "value": address}],
            },
        ),
        "HTTPRoute": (
            "gateway.networking.k8s.io/v1",
            {
                "parentRefs": [{"kind": "Gateway", "name": _NAME}],
                "rules": [{"matches": matches, "backendRefs": [pool]}],
            },
        ),
    }


def policy_spec(proxies: str) -> kubernetes.networking.v1.NetworkPolicySpecArgs:
    """Return the policy that lets the gateway's proxies and Google's health checks reach the leaders.

    Args:
        proxies: CIDR range of the proxies.
    """
    peers = [
        kubernetes.networking.v1.NetworkPolicyPeerArgs(ip_block=kubernetes.networking.v1.IPBlockArgs(cidr=cidr))
        for cidr in (proxies, *HEALTH_CHECK_RANGES)
    ]
    port = kubernetes.networking.v1.NetworkPolicyPortArgs(port=API_PORT, protocol="TCP")
    return kubernetes.networking.v1.NetworkPolicySpecArgs(
        pod_selector=kubernetes.meta.v1.LabelSelectorArgs(match_labels=LEADERS),
        policy_types=["Ingress"],
        ingress=[kubernetes.networking.v1.NetworkPolicyIngressRuleArgs(from_=peers, ports=[port])],
    )


def _object(
    name: str,
    what: tuple[str, str, Mapping[str, object]],
    args: InferenceGatewayArgs,
    parent: pulumi.Resource,
    before: Sequence[pulumi.Resource],
) -> kubernetes.apiextensions.CustomResource:
    kind, api_version, spec = what
    return kubernetes.apiextensions.CustomResource(
        name,
        api_version=api_version,
        kind=kind,
        metadata=kubernetes.meta.v1.ObjectMetaArgs(
            name=_NAME, namespace=args.cluster.access.namespace, labels=args.labels
        ),
        spec=spec,
        opts=pulumi.ResourceOptions(parent=parent, provider=args.cluster.access.provider, depends_on=before),
    )
