"""The real program on a real API server, scheduler and LeaderWorkerSet controller: what a user would see."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rehearsal import stack_file
from rehearsal.clouds.existing import gpu_nodes
from rehearsal.control_plane import nodes
from rehearsal.control_plane.control_plane import ControlPlane
from rehearsal.engine import Engine, Step
from rehearsal.full_depth import stage_on
from tests.stacks import PROJECT, loaded, values
from toolchain import kubernetes_provider

pytestmark = pytest.mark.cluster

PODS = "/api/v1/namespaces/kimi-k3/pods"
LWS = "/apis/leaderworkerset.x-k8s.io/v1/namespaces/kimi-k3/leaderworkersets/kimi-k3"
WORKER_INDEX = "leaderworkerset.sigs.k8s.io/worker-index"
ONE_B300: dict[str, object] = {"machine": "8xB300", "cluster": {"nodes": 1}}
TWO_GB300: dict[str, object] = {"machine": "4xGB300", "cluster": {"nodes": 2}}
TWO_H200: dict[str, object] = {"machine": "p5en.48xlarge", "cluster": {"nodes": 2}}


@dataclass
class Deployment:
    """One stack on the shared control plane."""

    plane: ControlPlane
    folder: Path
    provider: Path
    engine: Engine | None = None

    def up(self, **changes: object) -> Step:
        """Run `pulumi up` with the committed stack file and these changes."""
        return self.configure(**changes).up()

    def configure(self, **changes: object) -> Engine:
        """Return the engine with the committed stack file and these changes."""
        serving = {"readyTimeoutMinutes": 3, **stack_file.as_contents(changes.pop("serving", {}))}
        given = values(**changes, serving=serving)
        config: stack_file.Contents = {f"kimi-k3:{key}": value for key, value in given.items()}
        config["pulumi:disable-default-providers"] = ["*"]
        stage = stage_on(self.plane, self.provider, config, self.folder / "kubeconfig")
        contents: stack_file.Contents = {"config": stack_file.merged(config, stage.overrides)}
        if self.engine is None:
            workspace = self.folder / "workspace"
            self.engine = Engine(PROJECT, workspace, "existing", contents=contents, plugins=stage.plugins, timeout=300)
        else:
            self.engine.reconfigure(contents)
        return self.engine

    def destroy(self) -> Step:
        """Run `pulumi destroy`."""
        assert self.engine is not None
        return self.engine.destroy()

    def add_nodes(self, count: int, **changes: object) -> list[str]:
        """Add nodes shaped like the machine of the stack, and return their names."""
        settings, plan = loaded(**changes)  # pyright: ignore[reportArgumentType]
        machines = gpu_nodes(settings, plan, count)
        self.plane.add_nodes(machines)
        return [machine["metadata"]["name"] for machine in machines]

    def pods(self) -> dict[str, dict[str, Any]]:
        """Return the engine's pods by name."""
        return {pod["metadata"]["name"]: pod for pod in self.plane.api.items(PODS)}


@pytest.fixture
def deployment(empty_plane: ControlPlane, tmp_path: Path) -> Iterator[Deployment]:
    """A control plane with one CPU node, and a stack that is destroyed when the test is over."""
    empty_plane.add_nodes([nodes.cpu_node("system")])
    deployment = Deployment(empty_plane, tmp_path, kubernetes_provider.ensure())
    yield deployment
    if deployment.engine is not None:
        deployment.destroy()


def environment(pod: dict[str, Any]) -> dict[str, str]:
    """Return the literal variables of the engine's container."""
    return {entry["name"]: entry.get("value", "") for entry in pod["spec"]["containers"][0]["env"]}


@pytest.mark.parametrize(
    ("stack", "size"),
    [(ONE_B300, 1), (TWO_GB300, 2), (TWO_H200, 2)],
    ids=["one node of 8 B300", "two arm64 trays of 4 GB300", "two nodes of 8 H200"],
)
def test_a_stack_from_up_to_destroy(deployment: Deployment, stack: dict[str, object], size: int) -> None:
    names = deployment.add_nodes(size, **stack)
    step = deployment.up(**stack)
    assert step.ok, step.text

    pods = deployment.pods()
    assert set(pods) == {"kimi-k3-0", *(f"kimi-k3-0-{index}" for index in range(1, size))}
    assert sorted(pod["spec"]["nodeName"] for pod in pods.values()) == sorted(names)
    for pod in pods.values():
        found = environment(pod)
        assert found["LWS_GROUP_SIZE"] == str(size)
        assert found["LWS_WORKER_INDEX"] == pod["metadata"]["labels"][WORKER_INDEX]
        assert found["LWS_LEADER_ADDRESS"] == "kimi-k3-0.kimi-k3.kimi-k3"

    slices = deployment.plane.api.items(
        "/apis/discovery.k8s.io/v1/namespaces/kimi-k3/endpointslices", "kubernetes.io/service-name=kimi-k3-api"
    )
    assert [endpoint["targetRef"]["name"] for each in slices for endpoint in each["endpoints"]] == ["kimi-k3-0"]

    assert deployment.engine is not None
    again = deployment.engine.up(expect_no_changes=True)
    assert again.ok, again.text
    assert deployment.engine.outputs()["endpoint"] == "http://kimi-k3-api.kimi-k3.svc:8000/v1"

    destroyed = deployment.destroy()
    assert destroyed.ok, destroyed.text
    assert deployment.plane.api.find("/api/v1/namespaces/kimi-k3") is None
    assert deployment.plane.api.find("/api/v1/namespaces/lws-system") is None


def test_each_group_stays_in_one_nvlink_domain(deployment: Deployment) -> None:
    settings, plan = loaded(**TWO_GB300)  # pyright: ignore[reportArgumentType]
    machines = gpu_nodes(settings, plan, 4)
    domains = {f"gpu-{index}": domain for index, domain in enumerate("abab")}
    for machine in machines:
        machine["metadata"]["labels"]["nvidia.com/gpu.clique"] = domains[machine["metadata"]["name"]]
    deployment.plane.add_nodes(machines)
    step = deployment.up(machine="4xGB300", cluster={"nodes": 4}, replicas=2)
    assert step.ok, step.text
    where = {name: domains[pod["spec"]["nodeName"]] for name, pod in deployment.pods().items()}
    assert where["kimi-k3-0"] == where["kimi-k3-0-1"] != where["kimi-k3-1"] == where["kimi-k3-1-1"]
    claims = deployment.plane.api.items("/apis/resource.k8s.io/v1/namespaces/kimi-k3/resourceclaims")
    assert len(claims) == 4
    assert all(claim["status"]["reservedFor"] for claim in claims)


def test_a_lost_worker_takes_its_group_along_and_it_comes_back(deployment: Deployment) -> None:
    deployment.add_nodes(2, **TWO_H200)
    step = deployment.up(**TWO_H200)
    assert step.ok, step.text
    before = {name: pod["metadata"]["uid"] for name, pod in deployment.pods().items()}
    status = deployment.pods()["kimi-k3-0-1"]["status"]
    status["containerStatuses"][0]["restartCount"] = 1
    deployment.plane.api.patch(
        f"{PODS}/kimi-k3-0-1/status", {"status": {"containerStatuses": status["containerStatuses"]}}
    )
    deployment.plane.api.wait_for(PODS, new_and_running(before), seconds=60)


def new_and_running(before: dict[str, str]) -> Callable[[dict[str, Any]], bool]:
    """Return whether every pod is another one than before, and runs."""

    def check(found: dict[str, Any]) -> bool:
        pods = {pod["metadata"]["name"]: pod for pod in found["items"]}
        return set(pods) == set(before) and all(
            pod["metadata"]["uid"] != before[name] and pod["status"].get("phase") == "Running"
            for name, pod in pods.items()
        )

    return check


def test_a_changed_argument_rolls_the_group(deployment: Deployment) -> None:
    deployment.add_nodes(2, **TWO_GB300)
    assert deployment.up(**TWO_GB300).ok
    before = {name: pod["metadata"]["uid"] for name, pod in deployment.pods().items()}
    step = deployment.up(**TWO_GB300, serving={"extraArgs": ["--max-num-seqs", "64"]})
    assert step.ok, step.text
    # `up` ends when the new group is ready, not when the change was taken.
    pods = deployment.pods()
    assert new_and_running(before)({"items": list(pods.values())})
    assert all(pod["spec"]["containers"][0]["args"][-2:] == ["--max-num-seqs", "64"] for pod in pods.values())


def test_a_group_that_is_too_big_ends_with_the_schedulers_reason(deployment: Deployment) -> None:
    deployment.add_nodes(1, **TWO_H200)
    step = deployment.up(**TWO_H200, serving={"readyTimeoutMinutes": 1})
    assert not step.ok
    assert "Insufficient nvidia.com/gpu" in step.text
    assert "Traceback" not in step.text


def test_with_three_of_four_nodes_at_least_one_group_serves(deployment: Deployment) -> None:
    deployment.add_nodes(3, **TWO_GB300)
    step = deployment.up(machine="4xGB300", cluster={"nodes": 4}, replicas=2, serving={"wait": False})
    assert step.ok, step.text
    found = deployment.plane.api.wait_for(LWS, lambda each: each.get("status", {}).get("readyReplicas") == 1)
    assert found["spec"]["replicas"] == 2


def test_without_waiting_up_returns_before_the_pods_are_ready(deployment: Deployment) -> None:
    stack = {**ONE_B300, "serving": {"wait": False}}
    step = deployment.up(**stack)
    assert step.ok, step.text
    (pod,) = deployment.plane.api.wait_for(PODS, lambda found: bool(found["items"]))["items"]
    assert pod["status"]["phase"] == "Pending"


def test_parking_and_serving_again_leaves_nothing_between(deployment: Deployment) -> None:
    deployment.add_nodes(1, **ONE_B300)
    assert deployment.up(**ONE_B300).ok
    parked = deployment.up(**ONE_B300, serve=False)
    assert parked.ok, parked.text
    assert deployment.plane.api.find("/api/v1/namespaces/lws-system") is None
    assert deployment.pods() == {}
    served = deployment.up(**ONE_B300)
    assert served.ok, served.text
    assert set(deployment.pods()) == {"kimi-k3-0"}


def test_an_unreachable_cluster_is_one_clear_message(deployment: Deployment) -> None:
    deployment.add_nodes(1, **ONE_B300)
    assert deployment.up(**ONE_B300).ok
    assert deployment.engine is not None
    kubeconfig = deployment.folder / "kubeconfig"
    good = kubeconfig.read_text()
    deployment.configure(**ONE_B300, serving={"extraArgs": ["--max-num-seqs", "64"]})
    kubeconfig.write_text(good.replace(deployment.plane.server, "https://127.0.0.1:1"))
    preview, up = deployment.engine.preview(), deployment.engine.up()
    kubeconfig.write_text(good)
    # A preview needs no cluster; an update says what it couldn't reach.
    assert preview.ok, preview.text
    assert not up.ok
    assert "configured Kubernetes cluster is unreachable" in up.text, up.text
    assert "Traceback" not in up.text


def test_a_bucket_is_filled_before_the_group_starts_and_again_only_for_another_revision(deployment: Deployment) -> None:
    stack: dict[str, object] = {
        **ONE_B300,
        "weights": {"path": None, "delivery": "stream", "bucket": {"name": "models"}},
    }
    deployment.add_nodes(1, **ONE_B300)
    first = deployment.up(**stack)
    assert first.ok, first.text
    jobs = "/apis/batch/v1/namespaces/kimi-k3/jobs"
    (done,) = deployment.plane.api.items(jobs)
    assert done["status"]["succeeded"] == 4
    leader = deployment.pods()["kimi-k3-0"]
    assert done["status"]["completionTime"] <= leader["metadata"]["creationTimestamp"]

    assert deployment.engine is not None
    again = deployment.engine.up(expect_no_changes=True)
    assert again.ok, again.text
    (same,) = deployment.plane.api.items(jobs)
    assert same["metadata"]["uid"] == done["metadata"]["uid"]

    weights = stack_file.as_contents(stack["weights"])
    changed = deployment.up(**{**stack, "weights": {**weights, "revision": "c5d1dd4c428bd1ce8b88c5044f3b6ccde9e3b721"}})
    assert changed.ok, changed.text
    (other,) = deployment.plane.api.items(jobs)
    assert other["metadata"]["name"] == "weights-model-c5d1dd4c428b"
    assert deployment.pods()["kimi-k3-0"]["spec"]["containers"][0]["args"][0].endswith(
        "/c5d1dd4c428bd1ce8b88c5044f3b6ccde9e3b721"
    )


def test_a_refused_copy_ends_up_at_once_with_its_last_words_and_the_next_up_copies_again(
    deployment: Deployment,
) -> None:
    cluster = {"nodes": 1, "leaderWorkerSet": "present"}
    weights = {"path": None, "delivery": "stream", "bucket": {"name": "models"}, "workers": 2}
    stack: dict[str, object] = {"machine": "8xB300", "cluster": cluster, "weights": weights, "serving": {"wait": False}}
    # No node takes the pods, so that the test alone decides how they end.
    deployment.plane.remove_nodes(["system"])
    refusals = threading.Thread(target=_end_pods, args=(deployment.plane,), daemon=True)
    refusals.start()
    started = time.monotonic()
    refused = deployment.up(**stack)
    assert not refused.ok
    assert "exit code 42: the hub refuses the token" in refused.text, refused.text
    assert "BackoffLimitExceeded" in refused.text, refused.text
    assert time.monotonic() - started < 120
    deployment.plane.add_nodes([nodes.cpu_node("system")])
    again = deployment.up(**stack)
    assert again.ok, again.text
    (job,) = deployment.plane.api.items("/apis/batch/v1/namespaces/kimi-k3/jobs")
    assert job["status"]["succeeded"] == 2


def _end_pods(plane: ControlPlane) -> None:
    """End the first pod as the kernel does for want of memory, and the one that takes its place as a refusal."""
    killed = _end_a_pod(plane, 137, "", after=set())
    _end_a_pod(plane, 42, "the hub refuses the token: set kimi-k3:hubToken", after=killed)


def _end_a_pod(plane: ControlPlane, code: int, said: str, *, after: set[str]) -> set[str]:
    """Let the first index's pod end, and return the names of all pods so far."""

    def first(found: dict[str, Any]) -> list[dict[str, Any]]:
        return [
            pod
            for pod in found["items"]
            if pod["metadata"]["labels"].get("batch.kubernetes.io/job-completion-index") == "0"
            and pod["metadata"]["name"] not in after
        ]

    found = plane.api.wait_for(PODS, lambda each: bool(first(each)), seconds=90)
    name = first(found)[0]["metadata"]["name"]
    ended = {"exitCode": code, "reason": "Error", "message": said}
    status = {
        "name": "sync",
        "ready": False,
        "restartCount": 0,
        "image": "",
        "imageID": "",
        "state": {"terminated": ended},
    }
    plane.api.patch(f"{PODS}/{name}/status", {"status": {"phase": "Failed", "containerStatuses": [status]}})
    return after | {pod["metadata"]["name"] for pod in found["items"]}
