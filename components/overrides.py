"""What `serving.extraArgs` and `serving.extraEnv` may not touch, because the plan has decided it."""

from collections.abc import Iterable
from typing import Final

from components.faults import Fault
from components.settings import StackSettings

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


def _canonical(flag: str) -> str:
    # vLLM's parser takes underscores for hyphens.
    return flag.replace("_", "-")


def _is_number(word: str) -> bool:
    return word[1:].replace(".", "", 1).isdigit()
