"""What the pods are doing while `pulumi up` waits for the model: a line whenever it changes, with the reason.

The engine's own wait knows conditions, not pods: without this a group that no node can hold ends, after hours, in
"timed out waiting for the condition".
"""

import contextvars
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pulumi
import yaml

from components import labels

_FIRST_LOOK_SECONDS: Final = 3
_LOOK_SECONDS: Final = 10
_HEARTBEAT_SECONDS: Final = 300

Pod = Mapping[str, Any]
"""A pod as the API server returns it."""


@dataclass(frozen=True, kw_only=True)
class Watched:
    """Which pods are watched, and how the cluster is reached."""

    kubeconfig: pulumi.Input[str]
    """Path or contents."""
    context: str | None
    namespace: str
    group: str
    """The LeaderWorkerSet's name."""
    pods: int
    """How many there should be."""
    budget_seconds: int


def watch_while_waiting(name: str, watched: Watched) -> pulumi.ResourceHookBinding:
    """Return hooks that follow the pods from the moment that the workload is sent until all are ready."""

    async def start(_: pulumi.ResourceHookArgs) -> None:
        kubeconfig = await pulumi.Output.from_input(watched.kubeconfig).future()
        # The engine's address is a context variable, which a thread doesn't inherit.
        follow = contextvars.copy_context().run
        thread = threading.Thread(target=follow, args=(_follow, watched, str(kubeconfig)), daemon=True)
        thread.start()

    hook = pulumi.ResourceHook(f"{name}-progress", start)
    return pulumi.ResourceHookBinding(before_create=[hook], before_update=[hook])


def lines(looks: Iterable[tuple[float, list[Pod]]], pods: int) -> Iterator[str]:
    """Yield what a person should read, once for each change and at least every five minutes.

    Args:
        looks: Seconds since the start, and the pods at that time.
        pods: How many there should be; ends when all of them are ready.
    """
    shown, last = "", 0.0
    for seconds, found in looks:
        text = "; ".join([*map(describe, sorted(found, key=_name)), *_missing(len(found), pods)])
        if text != shown or seconds - last >= _HEARTBEAT_SECONDS:
            yield f"{seconds / 60:.0f} min: {text}"
            shown, last = text, seconds
        if len(found) >= pods and all(map(_ready, found)):
            return


def describe(pod: Pod) -> str:
    """Return a pod's name and what it does or waits for, with the reason of whoever holds it up."""
    return f"{_name(pod)} {_state(pod)}"


def _state(pod: Pod) -> str:
    if pod["metadata"].get("deletionTimestamp"):
        return "ends"
    if _ready(pod):
        return "is ready"
    condition = _condition(pod, "PodScheduled")
    if condition.get("status") == "False":
        return f"waits for a node: {condition.get('message') or condition.get('reason')}"
    for status in [*_statuses(pod, "initContainerStatuses"), *_statuses(pod, "containerStatuses")]:
        trouble = _trouble(status)
        if trouble:
            return trouble
    return "starts"


def _trouble(status: Mapping[str, Any]) -> str:
    waiting, ended = status["state"].get("waiting"), status.get("lastState", {}).get("terminated")
    if waiting and waiting.get("reason") not in (None, "ContainerCreating", "PodInitializing"):
        return f"waits: {waiting['reason']} {waiting.get('message', '')}".rstrip()
    if ended:
        reason = f"{ended.get('reason', 'ended')}, exit code {ended.get('exitCode')}"
        return f"starts again after {reason} ({status.get('restartCount', 0)} restarts)"
    return ""


def _follow(watched: Watched, kubeconfig: str) -> None:
    try:
        for line in lines(_looks(watched, kubeconfig), watched.pods):
            pulumi.info(line)
    except Exception as error:  # noqa: BLE001 - whatever a look meets, it must not end an `up` that goes well
        pulumi.warn(f"the pods can't be watched from here, the engine waits all the same: {error}")


def _looks(watched: Watched, kubeconfig: str) -> Iterator[tuple[float, list[Pod]]]:
    # In here: no preview and no quick `up` pays for the client.
    import kr8s  # noqa: PLC0415

    started = time.monotonic()
    time.sleep(_FIRST_LOOK_SECONDS)
    contents = yaml.safe_load(kubeconfig) if "\n" in kubeconfig else kubeconfig
    api = kr8s.api(kubeconfig=contents, context=watched.context)
    selector = {labels.LWS_NAME: watched.group}
    while (seconds := time.monotonic() - started) < watched.budget_seconds:
        found = api.get("pods", namespace=watched.namespace, label_selector=selector)
        yield seconds, [pod if isinstance(pod, dict) else pod.raw for pod in found]
        time.sleep(_LOOK_SECONDS)


def _missing(found: int, pods: int) -> list[str]:
    return [f"{found} of {pods} pods are there"] if found < pods else []


def _name(pod: Pod) -> str:
    return pod["metadata"]["name"]


def _ready(pod: Pod) -> bool:
    return _condition(pod, "Ready").get("status") == "True"


def _condition(pod: Pod, kind: str) -> Mapping[str, str]:
    conditions = pod.get("status", {}).get("conditions") or []
    return next((each for each in conditions if each["type"] == kind), {})


def _statuses(pod: Pod, key: str) -> list[Mapping[str, Any]]:
    return pod.get("status", {}).get(key) or []
