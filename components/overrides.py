"""What `serving.extraArgs` and `serving.extraEnv` may not touch, and what the engine would refuse too late.

vLLM accepts a good deal at start-up that fails only after 1.56 TB of weights were loaded; each rule here stands in the
source of the pinned release.
"""

from collections.abc import Iterable
from typing import Final

from components.faults import Fault
from components.plan.planner import Plan
from components.settings import Serving, StackSettings

_ELSEWHERE: Final = "the plan or another key decides it"

RESERVED_FLAGS: Final[dict[str, str]] = {
    "--model": "leave it out",
    "--revision": "weights.revision",
    "--served-model-name": "leave it out",
    "--tensor-parallel-size": "topology.tensorParallel",
    "-tp": "topology.tensorParallel",
    "--pipeline-parallel-size": "topology.pipelineParallel",
    "-pp": "topology.pipelineParallel",
    "--data-parallel-size": "topology.dataParallel",
    "-dp": "topology.dataParallel",
    "--enable-expert-parallel": "topology.expertParallel",
    "-ep": "topology.expertParallel",
    "--nnodes": "leave it out",
    "-n": "leave it out",
    "--node-rank": "leave it out",
    "-r": "leave it out",
    "--master-addr": "leave it out",
    "--master-port": "leave it out",
    "--headless": "leave it out",
    "--distributed-executor-backend": "leave it out",
    "--host": "leave it out",
    "--port": "leave it out",
    "--api-key": "pulumi config set --secret kimi-k3:apiKey",
    "--ssl-keyfile": "exposure.certificateSecret",
    "--ssl-certfile": "exposure.certificateSecret",
    "--load-format": "weights.loader",
    "--max-model-len": "serving.maxModelLen",
    "--enable-prefix-caching": "serving.prefixCaching",
    "--no-enable-prefix-caching": "serving.prefixCaching",
    "--speculative-config": "serving.speculativeDecoding",
    "--language-model-only": "serving.textOnly",
    "--kv-offloading-size": "serving.kvOffloadGibPerRank",
    "--shutdown-timeout": "serving.shutdown.drainSeconds",
}
"""Flags of ours alone, and the key or command to use instead."""

RESERVED_VARIABLES: Final[dict[str, str]] = {
    "VLLM_API_KEY": "pulumi config set --secret kimi-k3:apiKey",
    "VLLM_HOST_IP": "leave it out",
    "VLLM_PORT": "leave it out",
    "HF_TOKEN": "leave it out",
    "GLOO_SOCKET_IFNAME": "serving.socketInterface",
    "NCCL_SOCKET_IFNAME": "serving.socketInterface",
}
"""Variables of ours alone; LWS_* belong to the LeaderWorkerSet controller."""


_ESTIMATED: Final = frozenset(
    {"--gpu-memory-utilization", "--max-num-batched-tokens", "--kv-cache-dtype", "--decode-context-parallel-size"}
)
_OURS: Final = {True: "use_prefill_query_quantization", False: ""}
"""What our own --attention-config holds, by whether the profile has an fp8 cache."""


def flag_names(arguments: Iterable[str]) -> list[str]:
    """Return the flags of an argument list without their values: `--a=1 --b 2` gives `--a`, `--b`."""
    return [word.split("=", 1)[0] for word in arguments if word.startswith("-") and not _is_number(word)]


def override_faults(settings: StackSettings) -> list[Fault]:
    """Return a fault for each argument or variable that contradicts the plan."""
    serving = settings.serving
    found = [
        Fault(key="serving.extraArgs", given=flag, allowed=_ELSEWHERE, instead=RESERVED_FLAGS[flag])
        for flag in map(_canonical, flag_names(serving.extra_args))
        if flag in RESERVED_FLAGS
    ]
    if serving.extra_args and not serving.extra_args[0].startswith("-"):
        found.append(
            Fault(
                key="serving.extraArgs",
                given=serving.extra_args[0],
                allowed="must begin with a flag: the model is the only positional argument",
                instead=f"--flag, then {serving.extra_args[0]}",
            )
        )
    found += [
        Fault(
            key=f"serving.extraEnv.{name}",
            given="a value",
            allowed=_ELSEWHERE,
            instead=RESERVED_VARIABLES.get(name, "leave it out"),
        )
        for name in serving.extra_env
        if name in RESERVED_VARIABLES or name.startswith("LWS_")
    ]
    return found


def engine_faults(plan: Plan, serving: Serving) -> list[Fault]:
    """Return a fault for each extra argument that the engine takes and then fails with, weights and all loaded."""
    given = flag_values(serving.extra_args)
    cache, fp8 = given.get("--kv-cache-dtype"), plan.profile.generation == "blackwell"
    attention = given.get("--attention-config")
    unit = given.get("--prefix-match-unit", "")
    block = plan.memory.cache.block_tokens
    rules = [
        (
            cache in ("fp8_e5m2", "fp8_ds_mla"),
            "--kv-cache-dtype",
            "Kimi K3's attention takes auto, bfloat16 or fp8",
            "fp8",
        ),
        (
            (cache == "fp8" or (cache is None and fp8))
            and "use_prefill_query_quantization" not in (attention or _OURS[fp8]),
            "--attention-config",
            "an fp8 cache asserts use_prefill_query_quantization in the first forward pass",
            '{"use_prefill_query_quantization":true}',
        ),
        (
            given.get("--moe-backend") == "deep_gemm_mega_moe" and not plan.layout.expert_parallel,
            "--moe-backend",
            "deep_gemm_mega_moe needs expert parallelism",
            "topology: {expertParallel: true}",
        ),
        (
            "--no-enable-chunked-prefill" in given and serving.prefix_caching,
            "--no-enable-chunked-prefill",
            "prefix caching needs chunked prefill",
            "serving.prefixCaching: false",
        ),
        (
            unit.isdigit() and block % int(unit or 1) != 0,
            "--prefix-match-unit",
            f"must divide the {block} tokens of a cache block",
            "128",
        ),
    ]
    return [
        Fault(key="serving.extraArgs", given=flag, allowed=rule, instead=instead)
        for broken, flag, rule, instead in rules
        if broken
    ]


def estimate_warnings(serving: Serving) -> list[str]:
    """Return a warning for each extra argument that changes what the plan's memory figures stand on."""
    changed = [flag for flag in flag_values(serving.extra_args) if flag in _ESTIMATED]
    return [f"serving.extraArgs sets {flag}: the plan's memory figures don't know it" for flag in changed]


def flag_values(arguments: Iterable[str]) -> dict[str, str]:
    """Return the flags of an argument list with their values; a switch has an empty one."""
    found: dict[str, str] = {}
    flag = ""
    for word in arguments:
        if word.startswith("-") and not _is_number(word):
            flag, _, value = word.partition("=")
            flag = _canonical(flag)
            found[flag] = value
        elif flag:
            found[flag] = f"{found[flag]} {word}".strip()
    return found


def _canonical(flag: str) -> str:
    # vLLM's parser takes underscores for hyphens.
    return flag.replace("_", "-")


def _is_number(word: str) -> bool:
    return word[1:].replace(".", "", 1).isdigit()
