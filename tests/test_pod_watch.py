"""What `pulumi up` says of the pods while it waits."""

from typing import Any

import pytest

from components.pod_watch import Look, describe, lines

NO_NODE = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."


def pod(name: str = "kimi-k3-0", *, ready: bool = False, **status: object) -> dict[str, Any]:
    """Return a pod with a status."""
    condition = {"type": "Ready", "status": "True" if ready else "False"}
    return {"metadata": {"name": name}, "status": {"conditions": [condition], **status}}


def container(state: dict[str, Any], **more: object) -> list[dict[str, Any]]:
    """Return the statuses of one container."""
    return [{"state": state, **more}]


@pytest.mark.parametrize(
    ("found", "want"),
    [
        (pod(ready=True), "kimi-k3-0 is ready"),
        (
            pod(conditions=[{"type": "PodScheduled", "status": "False", "message": f"{NO_NODE} preemption: no"}]),
            f"kimi-k3-0 waits for a node: {NO_NODE}",
        ),
        (pod(containerStatuses=container({"running": {}})), "kimi-k3-0 starts"),
        (pod(containerStatuses=container({"waiting": {"reason": "ContainerCreating"}})), "kimi-k3-0 starts"),
        (
            pod(containerStatuses=container({"waiting": {"reason": "ErrImagePull", "message": "not found"}})),
            "kimi-k3-0 waits: ErrImagePull not found",
        ),
        (
            pod(initContainerStatuses=container({"waiting": {"reason": "CrashLoopBackOff"}})),
            "kimi-k3-0 waits: CrashLoopBackOff",
        ),
        (
            pod(
                containerStatuses=container(
                    {"running": {}},
                    lastState={"terminated": {"reason": "OOMKilled", "exitCode": 137}},
                    restartCount=2,
                )
            ),
            "kimi-k3-0 starts again after OOMKilled, exit code 137 (2 restarts)",
        ),
        ({"metadata": {"name": "kimi-k3-0", "deletionTimestamp": "now"}}, "kimi-k3-0 ends"),
        (pod(phase="Succeeded"), "kimi-k3-0 is done"),
        (
            pod(phase="Failed", containerStatuses=container({"terminated": {"exitCode": 42, "message": "no token\n"}})),
            "kimi-k3-0 failed: exit code 42: no token",
        ),
        (
            pod(phase="Failed", containerStatuses=container({"terminated": {"exitCode": 137, "reason": "OOMKilled"}})),
            "kimi-k3-0 failed: exit code 137: OOMKilled",
        ),
        (
            pod(phase="Failed", message="The node was low on resource: memory."),
            "kimi-k3-0 failed: The node was low on resource: memory.",
        ),
        ({"metadata": {"name": "kimi-k3-0"}}, "kimi-k3-0 starts"),
    ],
)
def test_a_pod_in_words(found: dict[str, Any], want: str) -> None:
    assert describe(found) == want


def test_a_change_is_a_line_and_a_standstill_is_one_every_five_minutes() -> None:
    starting, leader, worker = pod(), pod(ready=True), pod("kimi-k3-0-1", ready=True)
    looks = [
        Look(seconds=3, pods=[]),
        Look(seconds=13, pods=[starting]),
        Look(seconds=23, pods=[starting]),
        Look(seconds=313, pods=[starting]),
        Look(seconds=323, pods=[worker, leader]),
    ]
    assert list(lines(looks, 2)) == [
        "0 min: 0 of 2 pods are there",
        "0 min: kimi-k3-0 starts; 1 of 2 pods are there",
        "5 min: kimi-k3-0 starts; 1 of 2 pods are there",
        "5 min: kimi-k3-0 is ready; kimi-k3-0-1 is ready",
    ]


def test_what_the_leader_says_is_shown_once_a_minute() -> None:
    shards = [Look(seconds=3 + 10 * n, pods=[pod()], says=f"loaded {n} of 96 shards") for n in range(13)]
    assert list(lines(shards, 1)) == [
        "0 min: kimi-k3-0 starts | loaded 0 of 96 shards",
        "1 min: kimi-k3-0 starts | loaded 6 of 96 shards",
        "2 min: kimi-k3-0 starts | loaded 12 of 96 shards",
    ]


def test_nothing_is_said_once_all_are_ready() -> None:
    looks = [Look(seconds=3, pods=[pod(ready=True)]), Look(seconds=400, pods=[pod()])]
    assert len(list(lines(looks, 1))) == 1


def test_a_copy_ends_the_watch_when_all_pods_are_done_whatever_failed_before() -> None:
    killed, done = pod("copy-0-a", phase="Failed"), pod("copy-0-b", phase="Succeeded")
    looks = [Look(seconds=3, pods=[killed]), Look(seconds=13, pods=[killed, done]), Look(seconds=900, pods=[])]
    assert list(lines(looks, 1)) == [
        "0 min: copy-0-a failed: for no stated reason",
        "0 min: copy-0-a failed: for no stated reason; copy-0-b is done",
    ]
