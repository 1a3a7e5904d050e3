"""The LeaderWorkerSet and its pods: the traps that others fell into, and the schema that the API server holds us to."""

import json
from collections.abc import Mapping
from typing import Any

import kubernetes_validate
import pytest

from tests.conftest import Mocks, Registered, run_program
from tests.stacks import values

LWS_NAME = "leaderworkerset.sigs.k8s.io/name"
WORKER_INDEX = "leaderworkerset.sigs.k8s.io/worker-index"
TWO_TRAYS: dict[str, object] = {"machine": "4xGB300", "cluster": {"nodes": 2}}
TWO_H200: dict[str, object] = {"machine": "p5en.48xlarge", "cluster": {"nodes": 2}}


def workload(**changes: object) -> Mapping[str, Any]:
    """Return the spec of the LeaderWorkerSet of a stack."""
    return group(run_program(values(**changes))).inputs["spec"]


def group(mocks: Mocks) -> Registered:
    """Return the one LeaderWorkerSet."""
    (found,) = mocks.of("LeaderWorkerSet")
    return found


def pods(**changes: object) -> list[Mapping[str, Any]]:
    """Return the pod specs of leader and worker."""
    template = workload(**changes)["leaderWorkerTemplate"]
    return [template["leaderTemplate"]["spec"], template["workerTemplate"]["spec"]]


def container(pod: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the engine's container."""
    (found,) = pod["containers"]
    return found


def test_a_single_node_is_a_group_of_one() -> None:
    spec = workload()
    assert spec["leaderWorkerTemplate"]["size"] == 1
    assert spec["replicas"] == 1


def test_the_group_starts_and_restarts_as_the_engine_needs() -> None:
    spec = workload(**TWO_TRAYS)
    assert spec["leaderWorkerTemplate"]["size"] == 2
    assert spec["startupPolicy"] == "LeaderCreated"
    assert spec["leaderWorkerTemplate"]["restartPolicy"] == "RecreateGroupAfterStart"


def test_a_rollout_never_needs_a_spare_node() -> None:
    rollout = workload()["rolloutStrategy"]
    assert rollout["type"] == "RollingUpdate"
    assert rollout["rollingUpdateConfiguration"] == {"maxUnavailable": 1, "maxSurge": 0}


def test_the_leader_has_two_hours_to_start_and_no_port_is_opened_on_workers() -> None:
    leader, worker = map(container, pods(**TWO_TRAYS))
    probe = leader["startupProbe"]
    assert probe["httpGet"]["path"] == "/health"
    assert probe["periodSeconds"] * probe["failureThreshold"] >= 2 * 60 * 60
    assert leader["livenessProbe"]["periodSeconds"] * leader["livenessProbe"]["failureThreshold"] >= 300
    assert leader["readinessProbe"]["httpGet"]["path"] == "/health"
    assert "ports" not in worker
    assert not [name for name, entry in worker.items() if name.endswith("Probe") and "httpGet" in entry]


def test_a_worker_notices_that_rank_zero_is_gone() -> None:
    worker = container(pods(**TWO_TRAYS)[1])
    command = worker["livenessProbe"]["exec"]["command"]
    assert "LWS_LEADER_ADDRESS" in command[-1]
    assert "29501" in command[-1]
    compile(command[-1], "probe", "exec")


@pytest.mark.parametrize("changes", [{}, {"serving": {"shutdown": {"drainSeconds": 600, "graceSeconds": 700}}}])
def test_grace_periods_outlast_the_drain(changes: dict[str, object]) -> None:
    for pod in pods(**changes):
        pre_stop = int(container(pod)["lifecycle"]["preStop"]["exec"]["command"][1])
        assert pod["terminationGracePeriodSeconds"] > pre_stop
    leader, worker = pods(**changes)
    drain = int(container(leader)["args"][container(leader)["args"].index("--shutdown-timeout") + 1])
    before = [int(container(pod)["lifecycle"]["preStop"]["exec"]["command"][1]) for pod in (leader, worker)]
    assert leader["terminationGracePeriodSeconds"] > before[0] + drain
    # A worker ends at once on SIGTERM, so it has to wait for the leader's drain.
    assert before[1] >= before[0] + drain


def test_no_service_links_no_token_and_no_eviction() -> None:
    template = workload(**TWO_TRAYS)["leaderWorkerTemplate"]
    for role in ("leaderTemplate", "workerTemplate"):
        assert template[role]["spec"]["enableServiceLinks"] is False
        assert template[role]["spec"]["automountServiceAccountToken"] is False
        annotations = template[role]["metadata"]["annotations"]
        assert annotations["cluster-autoscaler.kubernetes.io/safe-to-evict"] == "false"
        assert annotations["karpenter.sh/do-not-disrupt"] == "true"


def test_eviction_protection_can_be_switched_off() -> None:
    template = workload(serving={"evictionProtection": False})["leaderWorkerTemplate"]
    assert "karpenter.sh/do-not-disrupt" not in template["leaderTemplate"]["metadata"]["annotations"]


def test_one_pod_to_a_node() -> None:
    for pod in pods(**TWO_TRAYS):
        (term,) = pod["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        assert term == {
            "labelSelector": {"matchLabels": {LWS_NAME: "kimi-k3"}},
            "topologyKey": "kubernetes.io/hostname",
        }


def test_a_group_over_nvlink_stays_in_one_domain_and_claims_its_channel() -> None:
    mocks = run_program(values(**TWO_TRAYS))
    (domain,) = mocks.of("ComputeDomain")
    assert domain.inputs["spec"]["numNodes"] == 0
    claim = domain.inputs["spec"]["channel"]["resourceClaimTemplate"]["name"]
    template = group(mocks).inputs["spec"]["leaderWorkerTemplate"]
    for role in ("leaderTemplate", "workerTemplate"):
        pod = template[role]["spec"]
        (term,) = pod["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        assert term["topologyKey"] == "nvidia.com/gpu.clique"
        assert term["matchLabelKeys"] == ["leaderworkerset.sigs.k8s.io/group-index"]
        (away,) = pod["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
        assert away["podAffinityTerm"]["mismatchLabelKeys"] == ["leaderworkerset.sigs.k8s.io/group-index"]
        assert away["podAffinityTerm"]["topologyKey"] == "nvidia.com/gpu.clique"
        assert pod["resourceClaims"] == [{"name": "imex", "resourceClaimTemplateName": claim}]
        assert container(pod)["resources"]["claims"] == [{"name": "imex"}]


def test_without_nvlink_between_nodes_nothing_is_claimed() -> None:
    mocks = run_program(values(**TWO_H200))
    assert mocks.of("ComputeDomain") == []
    assert all("resourceClaims" not in pod for pod in pods(**TWO_H200))


def test_memory_is_pinned_only_for_rdma() -> None:
    assert container(pods(**TWO_H200)[0])["securityContext"]["capabilities"] == {"drop": ["ALL"], "add": ["IPC_LOCK"]}
    assert container(pods()[0])["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_the_pod_asks_for_the_whole_node() -> None:
    resources = container(pods()[0])["resources"]
    assert resources["limits"]["nvidia.com/gpu"] == resources["requests"]["nvidia.com/gpu"] == "8"
    assert resources["requests"]["ephemeral-storage"] == "100Gi"
    # 8 ranks x (16 + 16) GiB and 64 GiB of shared memory.
    assert resources["requests"]["memory"] == "320Gi"
    assert "cpu" not in resources["limits"]


def test_shared_memory_and_caches_have_room() -> None:
    volumes = {volume["name"]: volume for volume in pods()[0]["volumes"]}
    assert volumes["shared-memory"]["emptyDir"] == {"medium": "Memory", "sizeLimit": "64Gi"}
    mounts = {mount["mountPath"]: mount["name"] for mount in container(pods()[0])["volumeMounts"]}
    assert mounts["/dev/shm"] == "shared-memory"  # noqa: S108
    assert mounts["/root/.cache"] == "cache"


def test_the_architecture_is_part_of_the_selector() -> None:
    assert pods(**TWO_TRAYS)[0]["nodeSelector"]["kubernetes.io/arch"] == "arm64"
    assert pods()[0]["nodeSelector"] == {"kubernetes.io/arch": "amd64", "nvidia.com/gpu.present": "true"}


def test_amd_gpus_are_asked_for_by_their_own_name() -> None:
    assert container(pods(machine="8xMI355X")[0])["resources"]["limits"] == {"amd.com/gpu": "8"}


def test_the_runtime_class_is_on_both_or_on_none() -> None:
    named = pods(**{**TWO_TRAYS, "cluster": {"nodes": 2, "runtimeClass": "nvidia"}})
    assert [pod["runtimeClassName"] for pod in named] == ["nvidia", "nvidia"]
    assert all("runtimeClassName" not in pod for pod in pods(**TWO_TRAYS))


def test_the_hosts_network_brings_its_dns_policy() -> None:
    serving = {"hostNetwork": True, "socketInterface": "bond0"}
    for pod in pods(**TWO_H200, serving=serving):
        assert (pod["hostNetwork"], pod["dnsPolicy"]) == (True, "ClusterFirstWithHostNet")
        names = {entry["name"]: entry.get("value") for entry in container(pod)["env"]}
        assert names["GLOO_SOCKET_IFNAME"] == names["NCCL_SOCKET_IFNAME"] == "bond0"


def test_weights_of_a_path_are_mounted_read_only_and_must_be_there() -> None:
    pod = pods()[0]
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    assert volumes["weights"]["hostPath"] == {"path": "/models", "type": "Directory"}
    (mount,) = [mount for mount in container(pod)["volumeMounts"] if mount["name"] == "weights"]
    assert mount["readOnly"] is True
    assert container(pod)["args"][0].endswith("/9f62e4e9fffbd0a83ddd60e1c209d828994b3569")


def test_weights_of_a_claim() -> None:
    changes = {"weights": {"path": None, "claim": {"name": "models"}}, "cluster": {"createNamespace": False}}
    volumes = {volume["name"]: volume for volume in pods(**changes)[0]["volumes"]}
    assert volumes["weights"]["persistentVolumeClaim"] == {"claimName": "models", "readOnly": True}


def test_weights_of_a_bucket_are_read_with_keys_by_reference() -> None:
    bucket = {"name": "models", "endpoint": "https://s3.example.com", "pathStyle": True}
    changes = values(weights={"path": None, "delivery": "stream", "bucket": bucket})
    keys = {"bucketAccessKeyId": "an-id", "bucketSecretAccessKey": "a-secret"}
    mocks = run_program(changes, secrets=keys)
    for role in ("leaderTemplate", "workerTemplate"):
        pod = group(mocks).inputs["spec"]["leaderWorkerTemplate"][role]["spec"]
        names = {entry["name"]: entry for entry in container(pod)["env"]}
        assert names["AWS_ENDPOINT_URL"]["value"] == "https://s3.example.com"
        assert names["RUNAI_STREAMER_S3_USE_VIRTUAL_ADDRESSING"]["value"] == "0"
        reference = {"name": "bucket-credentials", "key": "AWS_SECRET_ACCESS_KEY"}
        assert names["AWS_SECRET_ACCESS_KEY"]["valueFrom"] == {"secretKeyRef": reference}
    assert "a-secret" not in json.dumps(group(mocks).inputs)


def test_up_waits_until_every_group_is_up_to_date_and_ready() -> None:
    annotations = group(run_program(values())).inputs["metadata"]["annotations"]
    assert json.loads(annotations["pulumi.com/waitFor"]) == [
        "jsonpath={.status.updatedReplicas}=1",
        "jsonpath={.status.readyReplicas}=1",
        "condition=Available",
    ]
    # Weights on a network file system, 95 minutes at worst: tests/plan/test_timing.py has the arithmetic.
    assert annotations["pulumi.com/timeoutSeconds"] == "13800"


def test_up_can_return_at_once() -> None:
    mocks = run_program(values(serving={"wait": False}))
    for found in (group(mocks), *mocks.of("Service")):
        assert found.inputs["metadata"]["annotations"]["pulumi.com/skipAwait"] == "true"
        assert "pulumi.com/waitFor" not in found.inputs["metadata"]["annotations"]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        TWO_TRAYS,
        TWO_H200,
        {"machine": "8xMI355X"},
        {
            "exposure": {"mode": "public", "allowedRanges": ["203.0.113.0/24"], "certificateSecret": "tls"},
            "cluster": {"createNamespace": False},
        },
        {"serving": {"hostNetwork": True, "socketInterface": "bond0"}},
    ],
)
def test_pods_pass_the_kubernetes_schema(changes: dict[str, object]) -> None:
    template = workload(**changes)["leaderWorkerTemplate"]
    for role in ("leaderTemplate", "workerTemplate"):
        pod = {"apiVersion": "v1", "kind": "Pod", **template[role]}
        pod["metadata"] = {**pod["metadata"], "name": "kimi-k3-0"}
        kubernetes_validate.validate(whole_numbers(pod), "1.35", strict=True)


def whole_numbers(entry: Any) -> Any:
    """Return a manifest with the integers that the mocks' protocol turned into floats."""
    if isinstance(entry, Mapping):
        return {key: whole_numbers(value) for key, value in entry.items()}
    if isinstance(entry, list):
        return [whole_numbers(value) for value in entry]
    return int(entry) if isinstance(entry, float) and entry.is_integer() else entry
