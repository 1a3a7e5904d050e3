"""`VllmServing`: Kimi K3 served by vLLM on any cluster."""

import base64
import hashlib
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pulumi
import pulumi_kubernetes as kubernetes

from components import labels, naming
from components.inference_cluster import API_PORT, InferenceCluster
from components.plan.planner import Plan
from components.pod_watch import Watched, watch_while_waiting
from components.serving import image_pull, kernel_cache, service, workload
from components.serving.leader_worker_set_controller import (
    LeaderWorkerSetController,
    LeaderWorkerSetControllerArgs,
)
from components.serving.pod import PodInputs
from components.settings import Exposure, Mirror, Serving

_KEY_BYTES: Final = 32
_KEY: Final = "api-key"
_PENDING: Final = "address-pending"
_SKIP_AWAIT: Final = {"pulumi.com/skipAwait": "true"}


@dataclass(frozen=True, kw_only=True)
class VllmServingArgs:
    """What serving takes; everything but the cluster and the key is plain."""

    plan: Plan
    """What is served, checked."""
    serving: Serving
    """Engine and pods."""
    exposure: Exposure
    """Who can reach the API."""
    mirror: Mirror
    """Where images and charts come from on a closed network."""
    owner: str
    """Who answers for the bill; an annotation of everything."""
    tags: Mapping[str, str]
    """Further labels of everything."""
    cluster: InferenceCluster
    """Where it runs."""
    api_key: pulumi.Output[str] | None = None
    """A secret; None lets one be generated and kept in the state."""


class VllmServing(pulumi.ComponentResource):
    """The model as an API: LeaderWorkerSet, Service, NetworkPolicies and the API key."""

    endpoint: pulumi.Output[str]
    """Base URL of the OpenAI-compatible API, with /v1; inside the cluster unless it is exposed."""
    api_key: pulumi.Output[str]
    """A secret."""

    def __init__(self, name: str, args: VllmServingArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("kimi:serving:VllmServing", name, _props(args), opts)
        cluster, group = args.cluster, naming.leader_worker_set_name(name, args.plan.replicas)
        child = pulumi.ResourceOptions(parent=self, provider=cluster.access.provider, depends_on=list(cluster.ready))
        key = _api_key(f"{name}-api-key", _metadata(args, f"{group}-api-key"), args.api_key, child)
        self.api_key = pulumi.Output.secret(key.data.apply(lambda data: _decoded(data[_KEY])))
        policies = [
            kubernetes.networking.v1.NetworkPolicy(
                f"{name}-{purpose}", metadata=_metadata(args, f"{group}-{purpose}"), spec=spec, opts=child
            )
            for purpose, spec in {
                "group": service.group_policy_spec(group),
                "api": service.api_policy_spec(group, args.exposure, cluster.load_balancer, args.serving),
            }.items()
        ]
        inputs = PodInputs(
            name=group,
            plan=args.plan,
            serving=args.serving,
            exposure=args.exposure,
            mirror=args.mirror,
            cluster=cluster,
            common_labels=_labels(args, group),
            api_key_secret=f"{group}-api-key",
            api_key_digest=pulumi.Output.unsecret(self.api_key.apply(_digest)),
        )
        before = [*_controller(name, args, self), key, *policies, *_image_pull(name, args, group, child)]
        before += _compute_domain(name, args, group, child) if args.plan.layout.interconnect == "mnnvl" else []
        self.workload = _leader_worker_set(name, args, inputs, pulumi.ResourceOptions.merge(child, _after(before)))
        # Deleted before the workload, so that no load balancer outlives it; made after it, so that it has endpoints.
        api = kubernetes.core.v1.Service(
            f"{name}-service",
            metadata=_metadata(args, f"{group}-api", _service_annotations(args)),
            spec=service.service_spec(group, args.exposure, cluster.load_balancer),
            opts=pulumi.ResourceOptions.merge(child, _after([self.workload])),
        )
        self.endpoint = _endpoint(api, _route(name, args, group, api, child), args)
        self.register_outputs({"endpoint": self.endpoint})


def _waits(args: VllmServingArgs) -> bool:
    """Whether `up` waits for the model: not for nodes that come days later."""
    return args.serving.wait and args.cluster.starts_at is None


def await_seconds(serving: Serving, plan: Plan) -> int:
    """Return how long `pulumi up` waits for the groups: what the stack file says, or what the plan foresees."""
    minutes = serving.ready_timeout_minutes
    return plan.timing.await_budget if minutes is None else minutes * 60


def await_annotations(seconds: int, replicas: int, *, wait: bool) -> Mapping[str, str]:
    """Return how `pulumi up` waits for the groups: until all are up to date and ready, or not at all."""
    if not wait:
        return _SKIP_AWAIT
    conditions = [f"jsonpath={{.status.updatedReplicas}}={replicas}", f"jsonpath={{.status.readyReplicas}}={replicas}"]
    return {
        "pulumi.com/waitFor": json.dumps([*conditions, "condition=Available"]),
        "pulumi.com/timeoutSeconds": str(seconds),
    }


def _service_annotations(args: VllmServingArgs) -> Mapping[str, pulumi.Input[str]]:
    found = service.service_annotations(args.exposure, args.cluster.load_balancer)
    # Without ready leaders the Service has no endpoint to wait for.
    return found if _waits(args) else {**found, **_SKIP_AWAIT}


def _props(args: VllmServingArgs) -> dict[str, object]:
    plan = args.plan
    return {
        "model": plan.model.repository,
        "machine": plan.machine.name,
        "layout": str(plan.layout),
        "replicas": plan.replicas,
        "image": plan.image,
        "exposure": args.exposure.mode,
    }


def _labels(args: VllmServingArgs, name: str) -> dict[str, str]:
    return labels.common(name, pulumi.get_project(), pulumi.get_stack(), args.tags)


def _metadata(
    args: VllmServingArgs, name: str, annotations: Mapping[str, pulumi.Input[str]] | None = None
) -> kubernetes.meta.v1.ObjectMetaArgs:
    return kubernetes.meta.v1.ObjectMetaArgs(
        name=name,
        namespace=args.cluster.access.namespace,
        labels=_labels(args, name),
        annotations={labels.OWNER_ANNOTATION: args.owner, **(annotations or {})},
    )


def _after(resources: Sequence[pulumi.Resource]) -> pulumi.ResourceOptions:
    return pulumi.ResourceOptions(depends_on=list(resources))


def _api_key(
    name: str,
    metadata: kubernetes.meta.v1.ObjectMetaArgs,
    given: pulumi.Output[str] | None,
    opts: pulumi.ResourceOptions,
) -> kubernetes.core.v1.Secret:
    """Keep the key in a Secret: the given one, or one that is generated once and then left alone."""
    key = given if given is not None else pulumi.Output.secret(secrets.token_urlsafe(_KEY_BYTES))
    # Not stringData: the provider turns that into data, so ignoring its changes would empty the Secret on every up.
    once = pulumi.ResourceOptions(ignore_changes=[] if given is not None else ["data"])
    data = {_KEY: key.apply(_encoded), kernel_cache.SECRET_KEY: key.apply(kernel_cache.secret).apply(_encoded)}
    return kubernetes.core.v1.Secret(name, metadata=metadata, data=data, opts=pulumi.ResourceOptions.merge(opts, once))


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _decoded(data: str) -> str:
    return base64.b64decode(data).decode()


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:16]


def _controller(name: str, args: VllmServingArgs, parent: pulumi.Resource) -> list[pulumi.Resource]:
    if args.cluster.controller_present:
        return []
    controller = LeaderWorkerSetControllerArgs(
        provider=args.cluster.access.provider, mirror=args.mirror, after=args.cluster.controllers_after
    )
    return [LeaderWorkerSetController(f"{name}-lws", controller, pulumi.ResourceOptions(parent=parent))]


def _compute_domain(
    name: str, args: VllmServingArgs, group: str, opts: pulumi.ResourceOptions
) -> list[pulumi.Resource]:
    return [
        kubernetes.apiextensions.CustomResource(
            f"{name}-compute-domain",
            api_version=workload.COMPUTE_DOMAIN_API_VERSION,
            kind="ComputeDomain",
            metadata=_metadata(args, group),
            spec=workload.compute_domain_spec(group),
            opts=opts,
        )
    ]


def _image_pull(name: str, args: VllmServingArgs, group: str, opts: pulumi.ResourceOptions) -> list[pulumi.Resource]:
    """Pull the engine's image beside the copy of the weights, where there is one to wait for."""
    cluster, machine = args.cluster, args.plan.machine
    if not cluster.weights.init_containers or not args.plan.replicas:
        return []
    image = args.mirror.mirrored(args.plan.image)
    labelled = _labels(args, f"{group}-image")
    return [
        kubernetes.apiextensions.CustomResource(
            f"{name}-image",
            api_version="apps/v1",
            kind="DaemonSet",
            # It may take minutes, and nothing depends on it.
            metadata=_metadata(args, f"{group}-image", _SKIP_AWAIT),
            spec=image_pull.daemon_set_spec(image, machine.architecture, cluster.placement, labelled),
            opts=opts,
        )
    ]


def _leader_worker_set(
    name: str, args: VllmServingArgs, inputs: PodInputs, opts: pulumi.ResourceOptions
) -> kubernetes.apiextensions.CustomResource:
    seconds = await_seconds(args.serving, args.plan)
    timeouts = pulumi.CustomTimeouts(create=f"{seconds}s", update=f"{seconds}s")
    watched = Watched(
        access=args.cluster.access,
        selector={labels.LWS_NAME: inputs.name},
        # The leader's log tells how far loader and compiler are.
        speaker={labels.LWS_WORKER_INDEX: "0"},
        pods=args.plan.gpu_nodes,
        budget_seconds=seconds,
    )
    hooks = watch_while_waiting(name, watched) if _waits(args) else None
    return kubernetes.apiextensions.CustomResource(
        f"{name}-group",
        api_version=workload.API_VERSION,
        kind="LeaderWorkerSet",
        metadata=_metadata(args, inputs.name, await_annotations(seconds, args.plan.replicas, wait=_waits(args))),
        spec=workload.leader_worker_set_spec(inputs),
        opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(custom_timeouts=timeouts, hooks=hooks)),
    )


def _route(
    name: str, args: VllmServingArgs, group: str, api: kubernetes.core.v1.Service, opts: pulumi.ResourceOptions
) -> kubernetes.networking.v1.Ingress | None:
    """Make the public route, where the cloud has one: it goes before the Service that it forwards to."""
    balancer = args.cluster.load_balancer
    if balancer.route is None or service.way_in(args.exposure, balancer) != "route":
        return None
    return kubernetes.networking.v1.Ingress(
        f"{name}-route",
        metadata=_metadata(args, f"{group}-route", {**balancer.route.annotations, **args.exposure.annotations}),
        spec=service.ingress_spec(f"{group}-api", balancer.route),
        opts=pulumi.ResourceOptions.merge(opts, _after([api])),
    )


def _endpoint(
    api: kubernetes.core.v1.Service, route: kubernetes.networking.v1.Ingress | None, args: VllmServingArgs
) -> pulumi.Output[str]:
    if route is not None:
        return pulumi.Output.concat("https://", route.status.apply(_address), "/v1")
    exposure = args.exposure
    scheme = "https" if exposure.certificate_secret or args.cluster.load_balancer.tls else "http"
    if exposure.mode == "none":
        host = pulumi.Output.concat(api.metadata.name, ".", api.metadata.namespace, ".svc")
    else:
        host = api.status.apply(_address)
    return pulumi.Output.concat(scheme, "://", host, f":{API_PORT}/v1")


def _address(
    status: kubernetes.core.v1.outputs.ServiceStatus | kubernetes.networking.v1.outputs.IngressStatus | None,
) -> str:
    balancer = status.load_balancer if status else None
    first = balancer.ingress[0] if balancer and balancer.ingress else None
    return (first.ip or first.hostname or _PENDING) if first else _PENDING
