"""What the pods are doing while `pulumi up` waits for a group or a Job: a line whenever it changes, with the reason.

The engine's own wait knows conditions, not pods: without this a group that no node can hold ends, after hours, in
"timed out waiting for the condition", and a copy that was refused in "job has failed".
"""

import contextlib
import contextvars
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol, cast, runtime_checkable

import pulumi

from components.inference_cluster import ClusterAccess

_FIRST_LOOK_SECONDS: Final = 3
_LOOK_SECONDS: Final = 10
_HEARTBEAT_SECONDS: Final = 300
_SAYING_SECONDS: Final = 60
_SAYING_CHARACTERS: Final = 200
_LAST_WORDS_CHARACTERS: Final = 1000

Pod = Mapping[str, Any]
"""A pod as the API server returns it."""


@runtime_checkable
class LoggedPod(Protocol):
    """A pod as the client returns it."""

    raw: dict[str, Any]

    def logs(self, *, tail_lines: int) -> Iterable[str]:
        """Return the last lines of its log."""
        ...


@dataclass(frozen=True, kw_only=True)
class Look:
    """What was seen at one time."""

    seconds: float
    """Since the start."""
    pods: list[Pod]
    says: str = ""
    """The last line of the speaker's log."""


@dataclass(frozen=True, kw_only=True)
class Watched:
    """Which pods are watched, and how the cluster is reached."""

    access: ClusterAccess
    selector: Mapping[str, str]
    """Labels of all of them."""
    speaker: Mapping[str, str]
    """Labels of the one whose log tells how far the work is."""
    pods: int
    """How many there should be."""
    budget_seconds: int


def watch_while_waiting(name: str, watched: Watched) -> pulumi.ResourceHookBinding:
    """Return hooks that follow the pods from the moment that their owner is sent until all are ready or done."""

    async def start(_: pulumi.ResourceHookArgs) -> None:
        kubeconfig = await pulumi.Output.from_input(watched.access.kubeconfig).future()
        # The engine's address is a context variable, which a thread doesn't inherit.
        follow = contextvars.copy_context().run
        thread = threading.Thread(target=follow, args=(_follow, watched, str(kubeconfig)), daemon=True)
        thread.start()

    async def failed(_: pulumi.ErrorHookArgs) -> bool:
        kubeconfig = await pulumi.Output.from_input(watched.access.kubeconfig).future()
        for line in _last_words(watched, str(kubeconfig)):
            pulumi.error(line)
        return False

    hook = pulumi.ResourceHook(f"{name}-progress", start)
    last_words = pulumi.ErrorHook(f"{name}-last-words", failed)
    return pulumi.ResourceHookBinding(before_create=[hook], before_update=[hook], on_error=[last_words])


def lines(looks: Iterable[Look], pods: int) -> Iterator[str]:
    """Yield what a person should read: each change of a pod at once, what the engine says once a minute.

    Args:
        looks: What was seen, one after the other.
        pods: How many there should be; ends when all of them are ready or done.
    """
    states, said, last = "", "", 0.0
    for look in looks:
        found = sorted(look.pods, key=_name)
        now = "; ".join([*map(describe, found), *_missing(len(found), pods)])
        waited = look.seconds - last
        if now != states or (look.says != said and waited >= _SAYING_SECONDS) or waited >= _HEARTBEAT_SECONDS:
            yield f"{look.seconds / 60:.0f} min: {now}{f' | {look.says}' if look.says else ''}"
            states, said, last = now, look.says, look.seconds
        # A Job keeps the pods that failed beside those that took their place.
        living = [pod for pod in found if _phase(pod) != "Failed"]
        if len(living) >= pods and all(map(_well, living)):
            return


def describe(pod: Pod) -> str:
    """Return a pod's name and what it does or waits for, with the reason of whoever holds it up."""
    return f"{_name(pod)} {_state(pod)}"


def _state(pod: Pod) -> str:
    if pod["metadata"].get("deletionTimestamp"):
        return "ends"
    if _phase(pod) in ("Succeeded", "Failed"):
        return "is done" if _phase(pod) == "Succeeded" else f"failed: {_last_word(pod)}"
    if _ready(pod):
        return "is ready"
    condition = _condition(pod, "PodScheduled")
    if condition.get("status") == "False":
        # What preemption could do instead is no reason.
        reason = (condition.get("message") or condition.get("reason") or "").split(" preemption:")[0]
        return f"waits for a node: {reason}"
    for status in [*_statuses(pod, "initContainerStatuses"), *_statuses(pod, "containerStatuses")]:
        trouble = _trouble(status)
        if trouble:
            return trouble
    return "starts"


def _last_word(pod: Pod) -> str:
    """Return why a pod failed: what its container said last, or what the cluster says of it."""
    for status in _statuses(pod, "containerStatuses"):
        ended = status["state"].get("terminated") or {}
        if ended.get("exitCode"):
            said = (ended.get("message") or ended.get("reason") or "").strip()[-_LAST_WORDS_CHARACTERS:]
            return f"exit code {ended['exitCode']}: {said}"
    return pod["status"].get("message") or pod["status"].get("reason") or "for no stated reason"


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


def _last_words(watched: Watched, kubeconfig: str) -> list[str]:
    """Return a line for each pod that isn't well when the wait has failed."""
    try:
        pods = [_raw(each) for each in _listed(watched, kubeconfig)()]
    except Exception as error:  # noqa: BLE001 - the engine's own error must come out, whatever this meets
        return [f"the pods can't be read from here: {error}"]
    return [describe(pod) for pod in sorted(pods, key=_name) if not _well(pod)]


def _looks(watched: Watched, kubeconfig: str) -> Iterator[Look]:
    started = time.monotonic()
    time.sleep(_FIRST_LOOK_SECONDS)
    listed = _listed(watched, kubeconfig)
    while (seconds := time.monotonic() - started) < watched.budget_seconds:
        found = listed()
        yield Look(seconds=seconds, pods=[_raw(each) for each in found], says=_last_line(found, watched.speaker))
        time.sleep(_LOOK_SECONDS)


def _listed(watched: Watched, kubeconfig: str) -> Callable[[], list[object]]:
    """Return what lists the watched pods."""
    # In here: no preview and no quick `up` pays for the client.
    import kr8s  # noqa: PLC0415
    import yaml  # noqa: PLC0415

    contents = yaml.safe_load(kubeconfig) if "\n" in kubeconfig else kubeconfig
    # Of each new Kubernetes version the client warns for a while; pods are what they were.
    warnings.filterwarnings("ignore", message="Kubernetes version", module="kr8s")
    api = kr8s.api(kubeconfig=contents, context=watched.access.context)
    selector = dict(watched.selector)
    return lambda: [*api.get("pods", namespace=watched.access.namespace, label_selector=selector)]


def _raw(found: object) -> Pod:
    return found.raw if isinstance(found, LoggedPod) else cast("Pod", found)


def _last_line(found: Iterable[object], speaker: Mapping[str, str]) -> str:
    """Return the last line of the speaker's log: the loader's, the compiler's or the copy's own progress."""
    for each in found:
        if isinstance(each, LoggedPod) and speaker.items() <= each.raw["metadata"]["labels"].items():
            # Before the container runs there is no log, which the API calls an error.
            with contextlib.suppress(Exception):
                return next(iter([*each.logs(tail_lines=1)][-1:]), "")[:_SAYING_CHARACTERS]
    return ""


def _missing(found: int, pods: int) -> list[str]:
    return [f"{found} of {pods} pods are there"] if found < pods else []


def _name(pod: Pod) -> str:
    return pod["metadata"]["name"]


def _phase(pod: Pod) -> str | None:
    return pod.get("status", {}).get("phase")


def _well(pod: Pod) -> bool:
    return _ready(pod) or _phase(pod) == "Succeeded"


def _ready(pod: Pod) -> bool:
    return _condition(pod, "Ready").get("status") == "True"


def _condition(pod: Pod, kind: str) -> Mapping[str, str]:
    conditions = pod.get("status", {}).get("conditions") or []
    return next((each for each in conditions if each["type"] == kind), {})


def _statuses(pod: Pod, key: str) -> list[Mapping[str, Any]]:
    return pod.get("status", {}).get(key) or []
