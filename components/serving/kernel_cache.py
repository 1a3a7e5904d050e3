"""Compiled kernels that outlive their node: restored before the engine starts, saved once it serves.

A fresh node compiles for 8 to 30 minutes while all its GPUs bill, and what it compiles depends on image, GPU and flags
alone. A cached kernel is code that runs on GPU nodes, so who can merely write the bucket must not be able to plant one:
what is restored is signed. The signature comes from the API key, so that a key of the person's own outlives `destroy`,
and the kernels with it.
"""

import hashlib
import hmac
import json
from collections.abc import Sequence
from typing import Final

from components.inference_cluster import API_PORT, KernelCache, Manifest, Weights
from components.plan.planner import Plan
from components.serving.arguments import Role, arguments
from components.serving.environment import CACHE_FOLDER, variables
from components.settings import Mirror, Serving
from components.weights import program
from components.weights.kernel_cache import SECRET_VARIABLE
from components.weights.program import Program

SECRET_KEY: Final = "kernel-cache"  # noqa: S105 - the key in the Secret
_HEALTH: Final = "://$(LWS_LEADER_ADDRESS):{port}/health"
_CACHE_MOUNT: Final = {"name": "cache", "mountPath": CACHE_FOLDER}
_SCRATCH: Final = {"name": "kernels", "mountPath": "/kernels"}
_SCRATCH_GIB: Final = 10
"""Room for one archive; larger ones are left."""


def secret(api_key: str) -> str:
    """Return what signs the kernels; nobody learns the API key from it."""
    return hmac.new(api_key.encode(), b"kernel cache", hashlib.sha256).hexdigest()


def key(plan: Plan, serving: Serving, weights: Weights) -> str:
    """Return a digest of all that decides whether kernels fit: image, GPU, layout, every flag and variable."""
    said = {
        "image": plan.image,
        "gpu": plan.machine.gpu.name,
        "architecture": plan.machine.architecture,
        "layout": str(plan.layout),
        "arguments": arguments(plan, serving, weights, "leader", tls=False),
        "variables": variables(plan, serving, weights),
    }
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:32]


def containers(
    cache: KernelCache, mirror: Mirror, cache_key: str, secret_name: str, role: Role, *, tls: bool
) -> list[Manifest]:
    """Return the init container that restores, and the sidecar that saves.

    Args:
        cache: The place.
        mirror: Where the program's image and libraries come from on a closed network.
        cache_key: The result of `key`.
        secret_name: Name of the Secret that holds `SECRET_KEY`.
        role: A leader is rank 0.
        tls: Whether the leader speaks TLS.
    """
    reference = {"name": secret_name, "key": SECRET_KEY}
    env = [{"name": SECRET_VARIABLE, "valueFrom": {"secretKeyRef": reference}}, *cache.environment]
    rank = "0" if role == "leader" else "$(LWS_WORKER_INDEX)"
    common = ["--bucket", cache.url, "--key", cache_key, "--rank", rank]
    common += ["--folder", CACHE_FOLDER, "--scratch", _SCRATCH["mountPath"]]
    health = ("https" if tls else "http") + _HEALTH.format(port=API_PORT)
    return [
        _container(cache, mirror, ["restore", *common], env),
        # A sidecar: it starts before the engine, and the pod doesn't wait for its end.
        {
            **_container(cache, mirror, ["save", *common, "--health", health], env, stays=True),
            "restartPolicy": "Always",
        },
    ]


def volumes(cache: KernelCache, mirror: Mirror, present: Sequence[Manifest]) -> list[Manifest]:
    """Return the volumes that these containers need and the pod doesn't have yet."""
    names = {volume["name"] for volume in present}
    wanted = [
        *program.volumes(_program(cache, mirror)),
        {"name": "kernels", "emptyDir": {"sizeLimit": f"{_SCRATCH_GIB}Gi"}},
    ]
    return [volume for volume in wanted if volume["name"] not in names]


def _program(cache: KernelCache, mirror: Mirror) -> Program:
    return Program(config_map=cache.config_map, mirror=mirror, image=cache.image)


def _container(
    cache: KernelCache, mirror: Mirror, arguments: Sequence[str], env: Sequence[Manifest], *, stays: bool = False
) -> dict[str, object]:
    files = _program(cache, mirror)
    made = program.container(
        f"kernels-{arguments[0]}",
        files,
        "components.weights.kernel_cache",
        arguments,
        env,
        ending="stay" if stays else "forgive",
    )
    mounts = made["volumeMounts"]
    ours = list(mounts) if isinstance(mounts, list) else []
    return {**made, "volumeMounts": [*ours, _CACHE_MOUNT, _SCRATCH]}
