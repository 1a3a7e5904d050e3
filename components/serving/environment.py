"""The environment of the engine's container: what the recipe and the pinned release ask for, as a pure function.

Only variables that vLLM 0.33.0 knows are set (its envs.py): an unknown VLLM_ variable is a mere warning there and an
error with --fail-on-environ-validation.
"""

from collections.abc import Mapping
from typing import Final

from components.inference_cluster import Manifest, Weights
from components.plan.planner import STREAMER_GIB_PER_RANK, Plan
from components.serving.arguments import Role, serial_staging
from components.settings import Serving

CACHE_FOLDER: Final = "/root/.cache"
"""Compiled kernels and the tokenizer's files; the image runs as root."""
_PREVIEW_TAG: Final = ":kimi-k3"


def variables(plan: Plan, serving: Serving, weights: Weights) -> dict[str, str]:
    """Return the literal variables of every rank; `serving.extraEnv` wins last."""
    return {
        **_always(plan),
        **_loading(plan, weights),
        **_network(plan, serving),
        **_generation(plan),
        **_preview_image(plan),
        **serving.extra_env,
    }


def environment(
    literals: Mapping[str, str], weights: Weights, cloud: list[Manifest], role: Role, api_key: str
) -> list[Manifest]:
    """Return the container's `env` list.

    Args:
        literals: The result of `variables`.
        weights: Adds what the loader needs, such as credentials by reference.
        cloud: Adds what the cloud needs on every pod.
        role: The leader alone gets the API key.
        api_key: Name of the Secret with the key `api-key`. An empty variable would mean an open server.
    """
    found: list[Manifest] = [
        # Without it vLLM guesses an address among the pod's interfaces and other ranks can't connect back.
        {"name": "VLLM_HOST_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        *({"name": name, "value": value} for name, value in literals.items()),
    ]
    if role == "leader":
        reference = {"name": api_key, "key": "api-key"}
        found.append({"name": "VLLM_API_KEY", "valueFrom": {"secretKeyRef": reference}})
    ours = {str(entry["name"]) for entry in found}
    return [*found, *(entry for entry in [*weights.environment, *cloud] if entry["name"] not in ours)]


def _always(plan: Plan) -> dict[str, str]:
    return {
        # Its default of 600 is less than the weights take.
        "VLLM_ENGINE_READY_TIMEOUT_S": str(plan.timing.engine_budget),
        # Load balancers and client pools keep connections longer than the default of 5 s.
        "VLLM_HTTP_TIMEOUT_KEEP_ALIVE": "900",
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_CACHE_ROOT": f"{CACHE_FOLDER}/vllm",
        "TRITON_CACHE_DIR": f"{CACHE_FOLDER}/triton",
        "TORCHINDUCTOR_CACHE_DIR": f"{CACHE_FOLDER}/inductor",
        "FLASHINFER_WORKSPACE_BASE": CACHE_FOLDER,
        "DG_JIT_CACHE_DIR": f"{CACHE_FOLDER}/deep_gemm",
        # The weights are in place: nothing may be fetched from a hub while GPUs bill.
        "HF_HUB_OFFLINE": "1",
    }


def _loading(plan: Plan, weights: Weights) -> dict[str, str]:
    if weights.streamed:
        return {"RUNAI_STREAMER_MEMORY_LIMIT": str(STREAMER_GIB_PER_RANK * 1024**3)}
    # -1 loads one shard at a time; the default stages two on the GPU.
    return {"VLLM_FASTSAFETENSORS_QUEUE_SIZE": "-1"} if serial_staging(plan, weights) else {}


def _network(plan: Plan, serving: Serving) -> dict[str, str]:
    if plan.layout.nodes == 1:
        return {}
    # The same on every rank: with neither set Gloo binds the loopback address (aws-samples/aws-do-eks PR#50).
    interface = serving.socket_interface or "eth0"
    found = {"GLOO_SOCKET_IFNAME": interface, "NCCL_SOCKET_IFNAME": interface}
    if plan.layout.pipeline_parallel > 1:
        found["VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS"] = "1800"
    if plan.profile.generation == "cdna4":
        return found
    if plan.layout.interconnect == "mnnvl":
        found |= {"NCCL_MNNVL_ENABLE": "1", "NCCL_CUMEM_ENABLE": "1", "NCCL_NVLS_ENABLE": "1"}
        return found | {"VLLM_ALLREDUCE_USE_FLASHINFER": "1", "VLLM_FLASHINFER_ALLREDUCE_BACKEND": "mnnvl"}
    found |= {"NCCL_MNNVL_ENABLE": "0", "VLLM_ALLREDUCE_USE_FLASHINFER": "0"}
    if plan.layout.tensor_parallel_spans_nodes(plan.machine.gpus):
        # This kernel needs all ranks of a tensor-parallel group in one NVLink domain.
        found["VLLM_KIMI_K3_GEMM_AR"] = "0"
    return found


def _generation(plan: Plan) -> dict[str, str]:
    match plan.profile.generation:
        case "blackwell":
            return {"NCCL_CUMEM_ENABLE": "1"} if plan.layout.pipeline_parallel > 1 else {}
        case "hopper":
            return {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
        case "cdna4":
            return {
                "VLLM_ROCM_USE_AITER": "1",
                "VLLM_ROCM_USE_AITER_MOE_SITUV2": "a8w4",
                "SAFETENSORS_FAST_GPU": "1",
                "VLLM_USE_BREAKABLE_CUDAGRAPH": "0",
            }


def _preview_image(plan: Plan) -> dict[str, str]:
    """Return what the preview image of July 2026 needs and no release knows."""
    if not plan.image.endswith(_PREVIEW_TAG) or plan.profile.generation != "blackwell":
        return {}
    return {"VLLM_ENABLE_K3_LATENT_MOE_TAIL_FUSION": "1", "VLLM_USE_NCCL_SYMM_MEM": "0"}
