"""The real control plane: what it decides over simulated nodes, and that nothing of it is left behind."""

import json
import signal
import socket
import ssl
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from rehearsal.control_plane import kwok, nodes
from rehearsal.control_plane.api import Api, ApiError, Json
from rehearsal.control_plane.control_plane import ControlPlane
from rehearsal.control_plane.ports import Ports
from tests.cluster.test_process import is_gone

pytestmark = pytest.mark.cluster

NAMESPACE = "/api/v1/namespaces/default"
GROUPS = "/apis/leaderworkerset.x-k8s.io/v1/namespaces/default/leaderworkersets"
MACHINE = nodes.Machine(
    architecture="arm64",
    cpu=144,
    memory_gb=900,
    ephemeral_storage_gb=12_000,
    taints=[nodes.Taint(key="nvidia.com/gpu", value="present")],
)
TOLERATIONS = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]


@pytest.fixture
def api(empty_plane: ControlPlane) -> Api:
    """The API of a plane with two machines of 4 GPUs."""
    empty_plane.add_nodes([nodes.gpu_node(f"gb300-{index}", MACHINE, gpus=4) for index in range(2)])
    return empty_plane.api


def pod_template(gpus: int, **spec: object) -> Json:
    limits = {"nvidia.com/gpu": str(gpus)}
    container = {"name": "vllm", "image": "vllm", "resources": {"limits": limits}}
    return {"spec": {"containers": [container], "tolerations": TOLERATIONS, **spec}}


def group(size: int, template: Json) -> Json:
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "kimi-k3"},
        "spec": {"replicas": 1, "leaderWorkerTemplate": {"size": size, "workerTemplate": template}},
    }


def pod(name: str, template: Json, **metadata: object) -> Json:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata}, **template}


def is_running(found: Json) -> bool:
    return found["status"]["phase"] == "Running"


def is_refused_by_the_scheduler(found: Json) -> bool:
    return any(c["type"] == "PodScheduled" and c["status"] == "False" for c in conditions(found))


def conditions(found: Json) -> list[Json]:
    return found["status"].get("conditions", [])


def scheduler_says(api: Api, name: str) -> str:
    found = api.wait_for(f"{NAMESPACE}/pods/{name}", is_refused_by_the_scheduler)
    return next(c["message"] for c in conditions(found) if c["type"] == "PodScheduled")


def test_a_group_of_two_runs_on_two_nodes(api: Api) -> None:
    api.create(GROUPS, group(2, pod_template(gpus=4)))
    leader = api.wait_for(f"{NAMESPACE}/pods/kimi-k3-0", is_running)
    worker = api.wait_for(f"{NAMESPACE}/pods/kimi-k3-0-1", is_running)
    assert {leader["spec"]["nodeName"], worker["spec"]["nodeName"]} == {"gb300-0", "gb300-1"}


def test_a_group_becomes_available(api: Api) -> None:
    api.create(GROUPS, group(2, pod_template(gpus=4)))
    api.wait_for(
        f"{GROUPS}/kimi-k3",
        lambda found: any(
            c["type"] == "Available" and c["status"] == "True" for c in found.get("status", {}).get("conditions", [])
        ),
    )


@pytest.mark.parametrize(("name", "index"), [("kimi-k3-0", "0"), ("kimi-k3-0-1", "1")])
def test_the_real_controller_tells_each_pod_its_place(api: Api, name: str, index: str) -> None:
    api.create(GROUPS, group(2, pod_template(gpus=4)))
    found = api.wait_for(f"{NAMESPACE}/pods/{name}", is_running)
    variables = {v["name"]: v.get("value") for v in found["spec"]["containers"][0]["env"]}
    assert variables["LWS_LEADER_ADDRESS"] == "kimi-k3-0.kimi-k3.default"
    assert variables["LWS_GROUP_SIZE"] == "2"
    assert variables["LWS_WORKER_INDEX"] == index


def test_the_scheduler_says_why_a_group_is_too_big(api: Api) -> None:
    api.create(GROUPS, group(1, pod_template(gpus=8)))
    assert "2 Insufficient nvidia.com/gpu" in scheduler_says(api, "kimi-k3-0")


def test_the_scheduler_keeps_pods_without_a_toleration_off_the_gpus(api: Api) -> None:
    api.create(f"{NAMESPACE}/pods", pod("stray", pod_template(gpus=4, tolerations=[])))
    assert "2 node(s) had untolerated taint(s)" in scheduler_says(api, "stray")


def test_the_webhook_refuses_a_group_of_nobody(api: Api) -> None:
    with pytest.raises(ApiError, match=r'admission webhook "vleaderworkerset\.kb\.io" denied the request'):
        api.create(GROUPS, group(0, pod_template(gpus=4)))


def test_a_held_pod_stays_pending_until_it_is_let_go(api: Api) -> None:
    held = pod("held", pod_template(gpus=4), annotations={kwok.HOLD_ANNOTATION: "true"})
    api.create(f"{NAMESPACE}/pods", held)
    api.create(f"{NAMESPACE}/pods", pod("free", pod_template(gpus=4)))
    api.wait_for(f"{NAMESPACE}/pods/free", is_running)
    got = api.get(f"{NAMESPACE}/pods/held")
    assert (got["status"]["phase"], bool(got["spec"]["nodeName"])) == ("Pending", True)
    api.patch(f"{NAMESPACE}/pods/held", {"metadata": {"annotations": {kwok.HOLD_ANNOTATION: None}}})
    api.wait_for(f"{NAMESPACE}/pods/held", is_running)


def test_a_load_balancer_gets_an_address(api: Api) -> None:
    spec = {"type": "LoadBalancer", "selector": {"app": "kimi"}, "ports": [{"port": 8000}]}
    api.create(f"{NAMESPACE}/services", {"metadata": {"name": "endpoint"}, "spec": spec})
    found = api.wait_for(f"{NAMESPACE}/services/endpoint", lambda it: "ingress" in it["status"]["loadBalancer"])
    assert found["status"]["loadBalancer"]["ingress"][0]["ip"] == "127.0.0.1"


def test_a_job_completes(api: Api) -> None:
    jobs = "/apis/batch/v1/namespaces/default/jobs"
    template = pod_template(gpus=0, restartPolicy="Never")
    api.create(jobs, {"metadata": {"name": "weights"}, "spec": {"template": template}})
    api.wait_for(f"{jobs}/weights", lambda found: found["status"].get("succeeded") == 1)


def test_a_claim_is_bound_when_a_pod_wants_it(api: Api) -> None:
    storage_class = {
        "metadata": {"name": "disk"},
        "provisioner": "disk.csi.example.com",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    api.apply(
        "/apis/storage.k8s.io/v1/storageclasses/disk",
        {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", **storage_class},
    )
    claim_spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "disk",
        "resources": {"requests": {"storage": "1Gi"}},
    }
    api.create(f"{NAMESPACE}/persistentvolumeclaims", {"metadata": {"name": "scratch"}, "spec": claim_spec})
    volume = {"name": "scratch", "persistentVolumeClaim": {"claimName": "scratch"}}
    api.create(f"{NAMESPACE}/pods", pod("user", pod_template(gpus=1, volumes=[volume])))
    api.wait_for(f"{NAMESPACE}/persistentvolumeclaims/scratch", lambda found: found["status"]["phase"] == "Bound")
    api.wait_for(f"{NAMESPACE}/pods/user", is_running)


def test_a_node_renews_its_lease(api: Api) -> None:
    """Without leases every node is taken for dead after 40 s, which a short test would not notice."""
    lease = api.wait_for("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/gb300-0", bool)
    assert lease["spec"]["leaseDurationSeconds"] == 40


def test_the_administrators_token_is_accepted(plane: ControlPlane) -> None:
    request = urllib.request.Request(  # noqa: S310 - https, ours
        f"{plane.server}/api/v1/namespaces", headers={"Authorization": f"Bearer {plane.token}"}
    )
    context = ssl.create_default_context(cadata=plane.authority)
    with urllib.request.urlopen(request, context=context) as response:  # noqa: S310 - https, ours
        assert response.status == 200


def test_two_planes_run_at_once_and_know_nothing_of_each_other(plane: ControlPlane, tmp_path: Path) -> None:
    with ControlPlane(tmp_path / "second") as second:
        pids = second.pids
        assert second.server != plane.server
        second.api.create("/api/v1/namespaces", {"metadata": {"name": "only-in-the-second"}})
        assert plane.api.find("/api/v1/namespaces/only-in-the-second") is None
    assert sorted(pids) == [
        "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok", "lws-manager"
    ]  # fmt: skip
    assert [name for name, pid in pids.items() if not is_gone(pid)] == []


def test_a_folder_holds_one_plane_at_a_time(plane: ControlPlane) -> None:
    folder = plane.kubeconfig.parent.parent
    with pytest.raises(BlockingIOError, match=f"Another control plane runs in {folder}"), ControlPlane(folder):
        pass


def test_a_taken_port_is_exchanged_for_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        free = Ports.free()
        answers = [Ports(**{**vars(free), "etcd": taken}), free]
        monkeypatch.setattr(Ports, "free", lambda: answers.pop(0))
        with ControlPlane(tmp_path, say=said.append) as plane:
            assert plane.api.get("/version")["gitVersion"].startswith("v1.")
    assert said[0] == "A port was taken in the meantime; starting again with others."


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda sent: sent.name)
def test_a_plane_whose_owner_is_ended_leaves_no_process(tmp_path: Path, sent: signal.Signals) -> None:
    program = (
        "import json, pathlib, signal, sys, time; from rehearsal.control_plane.control_plane import ControlPlane\n"
        # Whoever runs the tests in the background of a script has it ignored, and children inherit that.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "with ControlPlane(pathlib.Path(sys.argv[1])) as plane:\n"
        "    print(json.dumps(plane.pids), flush=True); time.sleep(600)"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    # Its standard error is dropped: Ctrl-C ends it with a traceback.
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as owner:  # noqa: S603
        assert owner.stdout is not None
        pids = json.loads(owner.stdout.readline())
        owner.send_signal(sent)
    assert len(pids) == 6
    assert [name for name, pid in pids.items() if not is_gone(pid)] == []
