"""The canonical arguments of `vllm serve` for Kimi K3, as a pure function of the plan; a list, no shell.

Sources: vLLM's Kimi K3 recipe (https://recipes.vllm.ai/moonshotai/Kimi-K3, repository of 2026-08-21), the argument
parser of the pinned release, and the issues that are named where a flag answers one. `tests/serving` holds the flags,
choices and variables of that release and checks every list that a plan can emit.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal

from components.inference_cluster import API_PORT, Weights
from components.overrides import flag_names
from components.plan.memory import SHARD_GB
from components.plan.planner import Plan
from components.settings import Serving

Role = Literal["leader", "worker"]
"""The leader is rank 0 and has the API; workers are the other nodes' pods."""

MASTER_PORT: Final = 29501
"""Rank 0's rendezvous: every other rank connects to it, and it listens as long as rank 0 lives."""
TLS_FOLDER: Final = "/etc/vllm/tls"
_PREFIX_MATCH_TOKENS: Final = 128
_STREAM_CONCURRENCY: Final = 32


def arguments(plan: Plan, serving: Serving, weights: Weights, role: Role, *, tls: bool = False) -> list[str]:
    """Return what follows `vllm serve` (the image's entry point): the model first, then flags.

    Flags of `serving.extraArgs` replace ours of the same name and come last.
    """
    ours = [
        *_model(plan),
        *_parallel(plan),
        *_rank(plan, role),
        *_memory(plan, serving),
        *_generation(plan, serving),
        *_loading(plan, weights),
        *_features(plan, serving, weights),
        *(_frontend(serving, tls=tls) if role == "leader" else ()),
    ]
    return [weights.location, *_without(ours, flag_names(serving.extra_args)), *serving.extra_args]


def loader(plan: Plan, weights: Weights) -> str:
    """Return vLLM's load format: a URI is streamed, a path is read by the fast loader where its staging fits.

    Any other format with a URI is refused by vLLM's config; the fast loaders stage whole shards on the GPU.
    """
    if weights.streamed:
        return "runai_streamer"
    if plan.profile.generation == "cdna4" or not _staging_fits(plan, shards=1):
        return "auto"
    return weights.loader


def serial_staging(plan: Plan, weights: Weights) -> bool:
    """Whether only one shard at a time fits beside the weights while they load (default: two)."""
    return loader(plan, weights) == "fastsafetensors" and not _staging_fits(plan, shards=2)


def _staging_fits(plan: Plan, *, shards: int) -> bool:
    return plan.memory.weights + shards * SHARD_GB <= plan.memory.usable


def _model(plan: Plan) -> list[str]:
    return [
        *("--served-model-name", plan.model.served_name),
        # The tokenizer and the image processor are code of the repository; hence the pinned revision.
        "--trust-remote-code",
        "--enable-auto-tool-choice",
        *("--tool-call-parser", "kimi_k3"),
        *("--reasoning-parser", "kimi_k3"),
    ]


def _parallel(plan: Plan) -> list[str]:
    layout = plan.layout
    found = ["--tensor-parallel-size", str(layout.tensor_parallel)]
    if layout.pipeline_parallel > 1:
        found += ["--pipeline-parallel-size", str(layout.pipeline_parallel)]
    if layout.data_parallel > 1:
        found += ["--data-parallel-size", str(layout.data_parallel)]
    if layout.expert_parallel:
        found.append("--enable-expert-parallel")
    return found


def _rank(plan: Plan, role: Role) -> list[str]:
    """Join the nodes without Ray, which the image hasn't had since 0.18: both flags or the config passes and dies."""
    if plan.layout.nodes == 1:
        return []
    return [
        *("--distributed-executor-backend", "mp"),
        *("--nnodes", str(plan.layout.nodes)),
        *("--node-rank", "0" if role == "leader" else "$(LWS_WORKER_INDEX)"),
        *("--master-addr", "$(LWS_LEADER_ADDRESS)"),
        *("--master-port", str(MASTER_PORT)),
        # A rank waits for the others past boot, image pull and weights of the slowest node.
        *("--distributed-timeout-seconds", str(plan.timing.await_budget)),
        *("--cpu-distributed-timeout-seconds", str(plan.timing.await_budget)),
        # Without it a worker starts a second API server, and vLLM says nothing.
        *(() if role == "leader" else ("--headless",)),
    ]


def _memory(plan: Plan, serving: Serving) -> list[str]:
    engine = plan.profile
    found = [
        *("--gpu-memory-utilization", f"{engine.gpu_memory_utilization:.2f}"),
        # Plain digits: the parser reads 1m as a million and 1M as 1,048,576.
        *("--max-model-len", "auto" if plan.max_model_len is None else str(plan.max_model_len)),
    ]
    if engine.max_num_batched_tokens is not None:
        found += ["--max-num-batched-tokens", str(engine.max_num_batched_tokens)]
    if engine.max_num_seqs is not None:
        found += ["--max-num-seqs", str(engine.max_num_seqs)]
    if serving.kv_offload_gib_per_rank:
        # The flag takes the sum over the ranks.
        total = serving.kv_offload_gib_per_rank * plan.layout.tensor_parallel * plan.layout.pipeline_parallel
        found += ["--kv-offloading-size", str(total), "--kv-offloading-backend", "native"]
    return found


def _generation(plan: Plan, serving: Serving) -> list[str]:
    match plan.profile.generation:
        case "blackwell":
            found = [
                "--no-enable-flashinfer-autotune",
                *("--kv-cache-dtype", "fp8"),
                # An fp8 cache asserts this in the first forward pass, after the weights were loaded.
                *(
                    "--attention-config",
                    _json({"use_prefill_query_quantization": True, "mla_prefill_backend": "flashinfer"}),
                ),
            ]
        case "hopper":
            found = [
                "--no-enable-flashinfer-autotune",
                # Hopper has no FP4 units, and FLASH_ATTN_MLA ends in "cp_world_size must be positive" with stages.
                *("--moe-backend", "marlin"),
                *("--attention-backend", "FLASHMLA"),
                "--disable-custom-all-reduce",
            ]
        case "cdna4":
            found = [] if serving.text_only else ["--mm-encoder-tp-mode", "data"]
    return found + _compilation(plan)


def _compilation(plan: Plan) -> list[str]:
    config: dict[str, object] = {}
    if plan.profile.generation == "cdna4":
        config = {"cudagraph_mode": "FULL_DECODE_ONLY", "custom_ops": ["+fused_rms_norm_gated"]}
    elif plan.layout.interconnect in ("rdma", "tcp"):
        # FlashInfer's fused all-reduce takes several nodes for one NVLink domain and hangs (vllm #51986).
        config = {"pass_config": {"fuse_allreduce_rms": False}}
    return ["--compilation-config", _json(config)] if config else []


def _loading(plan: Plan, weights: Weights) -> list[str]:
    found = ["--load-format", loader(plan, weights)]
    if weights.streamed:
        # Otherwise every rank of a node streams the whole checkpoint.
        extra = {"distributed": True, "concurrency": _STREAM_CONCURRENCY}
        found += ["--model-loader-extra-config", _json(extra)]
    return found


def _features(plan: Plan, serving: Serving, weights: Weights) -> list[str]:
    found: list[str] = []
    if not serving.prefix_caching:
        found.append("--no-enable-prefix-caching")
    else:
        found.append("--enable-prefix-caching")
        if plan.profile.generation == "blackwell":
            found += ["--prefix-match-unit", str(_PREFIX_MATCH_TOKENS)]
    if serving.text_only:
        found.append("--language-model-only")
    if plan.draft_tokens:
        draft = {
            "model": weights.draft_location,
            "num_speculative_tokens": plan.draft_tokens,
            "method": "dspark",
            "draft_sample_method": "probabilistic",
            "rejection_sample_method": "block",
        }
        found += ["--speculative-config", _json(draft)]
    return found


def _frontend(serving: Serving, *, tls: bool) -> list[str]:
    """Return the flags of the process that has the API; the key comes by environment, never as an argument."""
    found = [
        *("--host", "0.0.0.0"),  # noqa: S104 - a pod's own address; the NetworkPolicy and the Service decide who comes
        *("--port", str(API_PORT)),
        *("--shutdown-timeout", str(serving.shutdown.drain_seconds)),
    ]
    if tls:
        found += ["--ssl-certfile", f"{TLS_FOLDER}/tls.crt", "--ssl-keyfile", f"{TLS_FOLDER}/tls.key"]
    return found


def _without(ours: Sequence[str], names: Iterable[str]) -> list[str]:
    """Drop our flags, with their values, that are set again, in either form of a switch."""
    again = {_plain(name) for name in names}
    kept: list[str] = []
    keep = True
    for word in ours:
        if word.startswith("--"):
            keep = _plain(word) not in again
        if keep:
            kept.append(word)
    return kept


def _plain(flag: str) -> str:
    return flag.replace("_", "-").replace("--no-", "--", 1)


def _json(value: Mapping[str, object]) -> str:
    return json.dumps(value, separators=(",", ":"))
