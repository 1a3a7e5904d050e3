"""Why a served model may be far slower than its layout: the likely cause, from what the engine counted meanwhile."""

from typing import Final

from checks.expectation import Expectation
from checks.metrics import Metrics

_FEW_ACCEPTED: Final = 0.3
_FAR: Final = 0.5
"""Below this share of the expectation a link or a mode is wrong, not a kernel."""
_RUNNING: Final = "vllm:num_requests_running"
_PREEMPTIONS: Final = "vllm:num_preemptions_total"
_DRAFTS: Final = "vllm:spec_decode_num_drafts_total"
_DRAFTED: Final = "vllm:spec_decode_num_draft_tokens_total"
_ACCEPTED: Final = "vllm:spec_decode_num_accepted_tokens_total"


def likely_cause(
    tokens_per_second: float, expectation: Expectation, before: Metrics | None, after: Metrics | None
) -> str:
    """Return the likeliest cause, and where to see whether it is so.

    Args:
        tokens_per_second: Of one request alone.
        expectation: What the plan said.
        before: What the engine counted before the load; None where it can't be read.
        after: The same afterwards.
    """
    if before is not None and after is not None:
        cause = _busy(before, after) or (_drafts(before, after) if expectation.draft_tokens else "")
        if cause:
            return cause
    far = tokens_per_second < _FAR * (expectation.tokens_per_second or 0.0)
    if far and expectation.nodes > 1:
        return (
            "likely a fallback to TCP between the nodes: with serving.extraEnv {NCCL_DEBUG: INFO} the leader's log "
            "must say NET/IB, NET/OFI or MNNVL, never NET/Socket; see the pods' RDMA resources and the ComputeDomain"
        )
    if far:
        return (
            "likely CUDA graphs are off (--enforce-eager in serving.extraArgs) or the GPUs are throttled (`nvidia-smi "
            "-q -d PERFORMANCE`)"
        )
    return (
        "likely untuned kernels: autotune is off (--no-enable-flashinfer-autotune) or another backend was chosen; "
        "compare the lines on MoE and attention backends in the leader's log with the recipe"
    )


def _busy(before: Metrics, after: Metrics) -> str:
    running = before.total(_RUNNING)
    if running:
        return (
            f"others were being served meanwhile ({running:.0f} requests before the load): repeat it when it is quiet"
        )
    preempted = after.total(_PREEMPTIONS) - before.total(_PREEMPTIONS)
    if preempted:
        return (
            f"the KV cache is full: {preempted:.0f} preemptions; see serving.maxModelLen and `GPU KV cache size` in "
            "the leader's log"
        )
    return ""


def _drafts(before: Metrics, after: Metrics) -> str:
    drafted, accepted = (after.total(name) - before.total(name) for name in (_DRAFTED, _ACCEPTED))
    if not after.has(_DRAFTS) or drafted <= 0:
        return (
            "speculative decoding is off, though the plan has it: see --speculative-config in the leader's arguments "
            "and whether the draft model is in place"
        )
    if accepted / drafted < _FEW_ACCEPTED:
        return (
            f"{accepted / drafted:.0%} of the draft's tokens were accepted: the draft's revision doesn't fit the "
            "model's, or these prompts don't suit it"
        )
    return ""
