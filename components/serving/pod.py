"""The pod of one rank: leader and worker come from one function and differ in flags, probes, ports and key alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import pulumi

from components import labels
from components.inference_cluster import API_PORT, InferenceCluster, Manifest, PodNeeds
from components.plan.planner import CACHE_GIB, Plan
from components.serving import kernel_cache
from components.serving.arguments import MASTER_PORT, TLS_FOLDER, Role, arguments
from components.serving.environment import CACHE_FOLDER, environment, variables
from components.settings import Exposure, Mirror, Serving

_CPU_PER_RANK: Final = 4
"""A rank busy-waits on one core and loads with a few more."""


@dataclass(frozen=True, kw_only=True)
class PodInputs:
    """What a pod is made of; both roles share one."""

    name: str
    """The LeaderWorkerSet's name."""
    plan: Plan
    serving: Serving
    exposure: Exposure
    mirror: Mirror
    cluster: InferenceCluster
    common_labels: Mapping[str, str]
    api_key_secret: str
    """Name of the Secret that holds `api-key`."""
    api_key_digest: pulumi.Input[str]
    """Changes with the key, so that a new key restarts the group."""


def pod_template(inputs: PodInputs, role: Role) -> dict[str, object]:
    """Return the pod template of a role."""
    needs = inputs.cluster.pod
    annotations = {**needs.annotations, **_eviction(inputs.serving)}
    if role == "leader":
        metadata: Manifest = {**annotations, "kimi-k3/api-key-digest": inputs.api_key_digest}
    else:
        metadata = annotations
    return {
        "metadata": {
            "labels": {**inputs.common_labels, **needs.labels, "kimi-k3/role": role},
            "annotations": metadata,
        },
        "spec": _pod_spec(inputs, role),
    }


def _pod_spec(inputs: PodInputs, role: Role) -> dict[str, object]:
    cluster, serving = inputs.cluster, inputs.serving
    spec: dict[str, object] = {
        # A Service called vllm would put VLLM_PORT=tcp://... into the pod, which the engine takes for its port.
        "enableServiceLinks": False,
        "automountServiceAccountToken": cluster.pod.service_account is not None,
        "terminationGracePeriodSeconds": serving.shutdown.grace_seconds,
        "nodeSelector": {"kubernetes.io/arch": inputs.plan.machine.architecture, **cluster.placement.node_selector},
        "tolerations": list(cluster.placement.tolerations),
        "affinity": affinity(inputs),
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
        "initContainers": [*_kernels(inputs, role), *cluster.weights.init_containers],
        "containers": [_container(inputs, role)],
        "volumes": [*_volumes(inputs, role), *_shared_volumes(inputs)],
    }
    if cluster.pod.service_account is not None:
        spec["serviceAccountName"] = cluster.pod.service_account
    if cluster.pod.runtime_class:
        spec["runtimeClassName"] = cluster.pod.runtime_class
    if serving.host_network:
        spec |= {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}
    if claims := _claims(inputs):
        spec["resourceClaims"] = [
            {"name": name, "resourceClaimTemplateName": template} for name, template in claims.items()
        ]
    return spec


def _claims(inputs: PodInputs) -> dict[str, str]:
    """Return the templates of what a pod claims, by name of the claim."""
    imex = {"imex": f"{inputs.name}-imex"} if inputs.plan.layout.interconnect == "mnnvl" else {}
    return {**imex, **inputs.cluster.pod.claims}


def affinity(inputs: PodInputs) -> dict[str, object]:
    """Return one pod to a node, and all pods of a group in one NVLink domain where tensor parallelism needs that."""
    same_set = {"matchLabels": {labels.LWS_NAME: inputs.name}}
    alone = {"labelSelector": same_set, "topologyKey": "kubernetes.io/hostname"}
    anti_affinity: dict[str, object] = {"requiredDuringSchedulingIgnoredDuringExecution": [alone]}
    found: dict[str, object] = {"podAntiAffinity": anti_affinity}
    if inputs.plan.layout.interconnect == "mnnvl":
        domain = inputs.cluster.placement.nvlink_domain
        together = {
            "labelSelector": same_set,
            # Only pods of the same group attract each other; two groups may share a domain.
            "matchLabelKeys": [labels.LWS_GROUP_INDEX],
            "topologyKey": domain,
        }
        found["podAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": [together]}
        # Leaders come first: two in a domain with room for one group would keep both groups waiting for ever.
        apart = {
            "labelSelector": same_set,
            "mismatchLabelKeys": [labels.LWS_GROUP_INDEX],
            "topologyKey": domain,
        }
        anti_affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [{"weight": 100, "podAffinityTerm": apart}]
    if inputs.cluster.placement.node_affinity is not None:
        found["nodeAffinity"] = inputs.cluster.placement.node_affinity
    return found


def _container(inputs: PodInputs, role: Role) -> dict[str, object]:
    plan, serving, cluster = inputs.plan, inputs.serving, inputs.cluster
    tls = inputs.exposure.certificate_secret is not None
    literals = variables(plan, serving, cluster.weights)
    budget = plan.timing.engine_budget
    container: dict[str, object] = {
        "name": "vllm",
        "image": inputs.mirror.mirrored(plan.image),
        # A restart loop must not pull 10 GB through a NAT gateway each time.
        "imagePullPolicy": "IfNotPresent",
        "args": arguments(plan, serving, cluster.weights, role, tls=tls),
        "env": environment(literals, cluster.weights, list(cluster.pod.environment), role, inputs.api_key_secret),
        "resources": _resources(inputs),
        "securityContext": _security(plan),
        "volumeMounts": [*_mounts(inputs, role), *cluster.weights.mounts, *_host_mounts(cluster.pod)],
        "lifecycle": {"preStop": {"exec": {"command": ["sleep", str(_pre_stop(serving, role))]}}},
        **(_leader_probes(budget, tls=tls) if role == "leader" else _worker_probes(budget)),
    }
    if role == "leader":
        container["ports"] = [{"name": "api", "containerPort": API_PORT, "protocol": "TCP"}]
    return container


def _pre_stop(serving: Serving, role: Role) -> int:
    """Return the seconds before SIGTERM: a worker ends at once on it, so it waits for the leader's drain."""
    shutdown = serving.shutdown
    return shutdown.pre_stop_seconds + (shutdown.drain_seconds if role == "worker" else 0)


def _leader_probes(budget: int, *, tls: bool) -> dict[str, object]:
    get = {"httpGet": {"path": "/health", "port": API_PORT, "scheme": "HTTPS" if tls else "HTTP"}}
    return {
        "startupProbe": {**get, "periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": budget // 10},
        "readinessProbe": {**get, "periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": 3},
        # Slow on purpose: a long prefill must not look like a death, and a restart costs the whole start.
        "livenessProbe": {**get, "periodSeconds": 30, "timeoutSeconds": 10, "failureThreshold": 10},
    }


def _worker_probes(budget: int) -> dict[str, object]:
    """Return probes for a rank without an HTTP server: it is alive while rank 0's rendezvous answers it.

    A worker survives its leader's death and the leader's /health stays 200 without its workers, so without this a
    dead group can look alive; the failed container makes the LeaderWorkerSet controller start the group again.
    """
    code = f"import os, socket; socket.create_connection((os.environ['LWS_LEADER_ADDRESS'], {MASTER_PORT}), 5).close()"
    check = {"exec": {"command": ["python3", "-c", code]}}
    return {
        "startupProbe": {**check, "periodSeconds": 10, "timeoutSeconds": 10, "failureThreshold": budget // 10},
        "livenessProbe": {**check, "periodSeconds": 30, "timeoutSeconds": 10, "failureThreshold": 10},
    }


def _resources(inputs: PodInputs) -> dict[str, object]:
    plan = inputs.plan
    accelerators = {plan.machine.gpu_resource: str(plan.machine.gpus), **inputs.cluster.pod.resources}
    requests = {
        **accelerators,
        "cpu": str(min(_CPU_PER_RANK * plan.machine.gpus, plan.machine.vcpus * 3 // 4)),
        "memory": f"{plan.host_memory_gib}Gi",
        "ephemeral-storage": f"{CACHE_GIB}Gi",
    }
    # No CPU limit: throttled ranks hold up the whole group. No memory limit: the page cache of the weights counts.
    found: dict[str, object] = {"requests": requests, "limits": accelerators}
    if claims := _claims(inputs):
        found["claims"] = [{"name": name} for name in claims]
    return found


def _security(plan: Plan) -> dict[str, object]:
    capabilities: dict[str, object] = {"drop": ["ALL"]}
    if plan.layout.interconnect == "rdma":
        # Registering memory with the NIC pins it.
        capabilities["add"] = ["IPC_LOCK"]
    return {"allowPrivilegeEscalation": False, "capabilities": capabilities}


def _volumes(inputs: PodInputs, role: Role) -> list[Manifest]:
    size = f"{inputs.serving.shared_memory_gib}Gi"
    found: list[Manifest] = [
        {"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": size}},
        {"name": "cache", "emptyDir": {"sizeLimit": f"{CACHE_GIB}Gi"}},
    ]
    if role == "leader" and inputs.exposure.certificate_secret is not None:
        found.append({"name": "tls", "secret": {"secretName": inputs.exposure.certificate_secret}})
    return found


def _mounts(inputs: PodInputs, role: Role) -> list[Manifest]:
    found: list[Manifest] = [
        {"name": "shared-memory", "mountPath": "/dev/shm"},  # noqa: S108 - the kernel's own place for it
        {"name": "cache", "mountPath": CACHE_FOLDER},
    ]
    if role == "leader" and inputs.exposure.certificate_secret is not None:
        found.append({"name": "tls", "mountPath": TLS_FOLDER, "readOnly": True})
    return found


def _kernels(inputs: PodInputs, role: Role) -> list[Manifest]:
    cache, weights = inputs.cluster.weights.kernel_cache, inputs.cluster.weights
    if cache is None or not inputs.serving.kernel_cache:
        return []
    key = kernel_cache.key(inputs.plan, inputs.serving, weights)
    tls = inputs.exposure.certificate_secret is not None
    return kernel_cache.containers(cache, inputs.mirror, key, inputs.api_key_secret, role, tls=tls)


def _shared_volumes(inputs: PodInputs) -> list[Manifest]:
    """Return the volumes of weights, kernels and node."""
    weights = inputs.cluster.weights
    found = [*weights.volumes, *_host_volumes(inputs.cluster.pod)]
    if weights.kernel_cache is not None and inputs.serving.kernel_cache:
        found += kernel_cache.volumes(weights.kernel_cache, inputs.mirror, found)
    return found


def _host_volumes(needs: PodNeeds) -> list[Manifest]:
    return [
        {"name": f"host-{index}", "hostPath": {"path": folder, "type": "Directory"}}
        for index, folder in enumerate(needs.host_folders.values())
    ]


def _host_mounts(needs: PodNeeds) -> list[Manifest]:
    return [
        {"name": f"host-{index}", "mountPath": path, "readOnly": True} for index, path in enumerate(needs.host_folders)
    ]


def _eviction(serving: Serving) -> dict[str, str]:
    """Keep both autoscalers from moving a pod in the middle of an hour's start (defilantech/LLMKube#660)."""
    if not serving.eviction_protection:
        return {}
    return {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false", "karpenter.sh/do-not-disrupt": "true"}
