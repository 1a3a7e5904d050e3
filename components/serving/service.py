"""The way in: a Service that selects leaders only, and the policies that say who may come."""

from collections.abc import Sequence
from typing import Final, Literal

import pulumi
import pulumi_kubernetes as kubernetes

from components import labels
from components.inference_cluster import API_PORT, LoadBalancer, Route
from components.settings import Exposure, Serving

NetworkPolicySpec = kubernetes.networking.v1.NetworkPolicySpecArgs

PRIVATE_RANGES: Final = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")
"""RFC 1918: who may call an internal load balancer when no range is given."""
PUBLIC_PATHS: Final = {"/v1": "Prefix", "/health": "Exact"}
"""What a public route forwards; /invocations, /tokenize and /metrics answer without a key."""
WayIn = Literal["none", "load balancer", "route"]
_NAMESPACE_NAME: Final = "kubernetes.io/metadata.name"


def group_selector(name: str) -> dict[str, str]:
    """Return the labels of every pod of the set."""
    return {labels.LWS_NAME: name}


def leader_selector(name: str) -> dict[str, str]:
    """Return the labels of the leaders: workers have no API."""
    return {labels.LWS_NAME: name, labels.LWS_WORKER_INDEX: "0"}


def allowed_ranges(exposure: Exposure) -> Sequence[str]:
    """Return the CIDR ranges that may call the API from outside the cluster's pods."""
    if exposure.allowed_ranges or exposure.mode == "none":
        return exposure.allowed_ranges
    return PRIVATE_RANGES


def way_in(exposure: Exposure, cloud: LoadBalancer) -> WayIn:
    """Return what callers outside the cluster come through."""
    if exposure.mode == "none":
        return "none"
    return "route" if exposure.mode == "public" and cloud.route is not None else "load balancer"


def service_annotations(exposure: Exposure, cloud: LoadBalancer) -> dict[str, pulumi.Input[str]]:
    """Return the Service's annotations: the cloud's for its load balancer, then the person's."""
    exposed = way_in(exposure, cloud) == "load balancer"
    return {**cloud.annotations, **exposure.annotations} if exposed else {}


def service_spec(name: str, exposure: Exposure, cloud: LoadBalancer) -> kubernetes.core.v1.ServiceSpecArgs:
    """Return the spec of the Service of the leaders."""
    exposed = way_in(exposure, cloud) == "load balancer"
    return kubernetes.core.v1.ServiceSpecArgs(
        type="LoadBalancer" if exposed else "ClusterIP",
        selector=leader_selector(name),
        ports=[
            kubernetes.core.v1.ServicePortArgs(name="api", port=API_PORT, target_port=API_PORT, protocol="TCP"),
        ],
        load_balancer_class=(exposure.load_balancer_class or cloud.load_balancer_class) if exposed else None,
        load_balancer_source_ranges=list(allowed_ranges(exposure)) if exposed else None,
        # Local keeps the caller's address, without which neither these ranges nor the policy below can match.
        external_traffic_policy="Local" if exposed else None,
    )


def ingress_spec(service: str, route: Route) -> kubernetes.networking.v1.IngressSpecArgs:
    """Return the public route: the API and its health, and nothing that the engine answers without a key.

    Args:
        service: Name of the leaders' Service.
        route: The cloud's controller.
    """
    port = kubernetes.networking.v1.ServiceBackendPortArgs(number=API_PORT)
    backend = kubernetes.networking.v1.IngressServiceBackendArgs(name=service, port=port)
    paths = [
        kubernetes.networking.v1.HTTPIngressPathArgs(
            path=path, path_type=kind, backend=kubernetes.networking.v1.IngressBackendArgs(service=backend)
        )
        for path, kind in PUBLIC_PATHS.items()
    ]
    http = kubernetes.networking.v1.HTTPIngressRuleValueArgs(paths=paths)
    return kubernetes.networking.v1.IngressSpecArgs(
        ingress_class_name=route.ingress_class, rules=[kubernetes.networking.v1.IngressRuleArgs(http=http)]
    )


def group_policy_spec(name: str) -> NetworkPolicySpec:
    """Return the policy inside the groups: every port, since NCCL, Gloo and ZeroMQ choose theirs at random."""
    group = kubernetes.meta.v1.LabelSelectorArgs(match_labels=group_selector(name))
    peer = kubernetes.networking.v1.NetworkPolicyPeerArgs(pod_selector=group)
    return kubernetes.networking.v1.NetworkPolicySpecArgs(
        pod_selector=group,
        policy_types=["Ingress"],
        ingress=[kubernetes.networking.v1.NetworkPolicyIngressRuleArgs(from_=[peer])],
    )


def api_policy_spec(name: str, exposure: Exposure, cloud: LoadBalancer, serving: Serving) -> NetworkPolicySpec:
    """Return the policy of the API: pods of the cluster while it isn't exposed, else the allowed ranges alone.

    A load balancer that speaks for its callers comes from addresses of its own, and keeps the ranges itself. With
    metrics on, the monitoring namespace may reach the same port, which also serves /metrics.
    """
    spoken_for = exposure.mode != "none" and cloud.sources
    callers = [_range(cidr) for cidr in (cloud.sources if spoken_for else allowed_ranges(exposure))]
    if exposure.mode == "none":
        callers.append(_namespaces({}))
    rules = [_to_api(callers)]
    if serving.metrics:
        rules.append(_to_api([_namespaces({_NAMESPACE_NAME: serving.monitoring_namespace})]))
    return kubernetes.networking.v1.NetworkPolicySpecArgs(
        pod_selector=kubernetes.meta.v1.LabelSelectorArgs(match_labels=leader_selector(name)),
        policy_types=["Ingress"],
        ingress=rules,
    )


def _to_api(
    peers: list[kubernetes.networking.v1.NetworkPolicyPeerArgs],
) -> kubernetes.networking.v1.NetworkPolicyIngressRuleArgs:
    port = kubernetes.networking.v1.NetworkPolicyPortArgs(port=API_PORT, protocol="TCP")
    return kubernetes.networking.v1.NetworkPolicyIngressRuleArgs(from_=peers, ports=[port])


def _range(cidr: str) -> kubernetes.networking.v1.NetworkPolicyPeerArgs:
    return kubernetes.networking.v1.NetworkPolicyPeerArgs(ip_block=kubernetes.networking.v1.IPBlockArgs(cidr=cidr))


def _namespaces(match: dict[str, str]) -> kubernetes.networking.v1.NetworkPolicyPeerArgs:
    selector = kubernetes.meta.v1.LabelSelectorArgs(match_labels=match)
    return kubernetes.networking.v1.NetworkPolicyPeerArgs(namespace_selector=selector)
