"""Whether the endpoint is alive, serves what the plan says, and refuses whoever has no key."""

from typing import Any, Final

from checks.check import FailedError, Finding, SkippedError, Subject
from checks.endpoint import CallError, Endpoint, Json

_OPEN_PATHS: Final = ("/invocations", "/tokenize", "/metrics")
"""What vLLM 0.33 answers without a key (entrypoints/serve/middleware/authenticate.py guards /v1 and three others)."""
_WRONG_KEY: Final = "sk-this-is-no-key"


def health(subject: Subject) -> Finding:
    """Expect 200."""
    status = subject.endpoint.get("/health").status
    if status != 200:
        raise FailedError(f"/health answers {status}", CallError("status", "", status).hint)
    return Finding(detail="200")


def models(subject: Subject) -> Finding:
    """Expect the model by its name, with the context that was planned."""
    served = served_models(subject.endpoint)
    if subject.model not in served:
        raise FailedError(
            f"{subject.model!r} isn't among the served models: {', '.join(served) or 'none'}",
            "see --served-model-name in serving.extraArgs; clients ask by that name",
        )
    length, planned = served[subject.model], subject.expectation.context
    if planned is not None and length is not None and length < planned:
        raise FailedError(
            f"{length:,} tokens of context where the plan says {planned:,}",
            "see --max-model-len in serving.extraArgs and the line `GPU KV cache size` in the leader's log; "
            "`pulumi up` where the stack file changed since",
        )
    context = "an unknown context" if length is None else f"{length:,} tokens of context"
    return Finding(detail=f"{subject.model} with {context}", data={"maxModelLen": length})


def key(subject: Subject) -> Finding:
    """Expect 401 for a request without a key and for one with a wrong key."""
    if subject.endpoint.key is None:
        raise SkippedError("no key was given, so none is expected")
    for name, given in {"no key": None, "a wrong key": _WRONG_KEY}.items():
        status = subject.endpoint.post("/v1/chat/completions", _short(subject), key=given).status
        if status not in (401, 403):
            raise FailedError(
                f"a request with {name} got {status}",
                "the engine runs without a key: VLLM_API_KEY is empty or missing in the leader (an empty one means "
                "none); put the Secret back with `pulumi up` and restart the group",
            )
    return Finding(detail="refused without a key and with a wrong one")


def open_paths(subject: Subject) -> Finding:
    """Expect no answer from the paths that the key doesn't guard, where the internet can ask them.

    vllm-project/vllm #58144: /invocations is a full chat completion without a key.
    """
    answers = {path: _without_key(subject, path) for path in _OPEN_PATHS}
    answered = [path for path, status in answers.items() if status == 200]
    if answered and subject.public:
        raise FailedError(
            f"{', '.join(answered)} answered without a key, at a public address",
            "put a route before it that forwards /v1 and /health alone; where exposure.allowedRanges holds nobody but "
            "your own callers: --skip open-paths",
        )
    where = "at this address, which isn't public" if answered else "anywhere"
    return Finding(detail=f"{', '.join(answered) or 'nothing'} without a key {where}", data={"status": answers})


def served_models(endpoint: Endpoint) -> dict[str, int | None]:
    """Return the context of each served model, by name.

    Raises:
        CallError: The list can't be had.
    """
    answer = endpoint.get("/v1/models")
    if answer.status != 200:
        raise CallError("status", f"/v1/models answers {answer.status}: {answer.text[:200]}", answer.status)
    found: list[dict[str, Any]] = answer.json().get("data") or []
    return {each["id"]: each.get("max_model_len") for each in found}


def _without_key(subject: Subject, path: str) -> int:
    bodies: dict[str, Json] = {
        "/invocations": _short(subject),
        "/tokenize": {"model": subject.model, "prompt": "harbour"},
    }
    if path in bodies:
        return subject.endpoint.post(path, bodies[path], key=None).status
    return subject.endpoint.get(path, keyed=False).status


def _short(subject: Subject) -> Json:
    return {"model": subject.model, "max_tokens": 1, "messages": [{"role": "user", "content": "Ahoy"}]}
