"""The Jobs that fill a bucket and the containers that copy it to a node: manifests, order, names and time limits."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import kubernetes_validate
import pulumi
import pytest

from components.settings import Mirror
from components.weights import command_line, fetch_options, program
from tests.conftest import Mocks, run_program
from tests.serving.test_workload import group, whole_numbers
from tests.stacks import values

BUCKET = {"name": "models", "endpoint": "https://s3.example.com", "pathStyle": True}
KEYS = {"bucketAccessKeyId": "an-id", "bucketSecretAccessKey": "a-secret", "hubToken": "a-token"}
REVISION = "9f62e4e9fffbd0a83ddd60e1c209d828994b3569"


def stack(*, delivery: str = "stream", **changes: object) -> dict[str, object]:
    """Return the values of a stack whose weights are in a bucket."""
    path = "/mnt/nvme" if delivery == "nvme" else None
    weights = {"path": path, "delivery": delivery, "bucket": BUCKET, **_mapping(changes.pop("weights", {}))}
    return values(weights=weights, **changes)


def _mapping(value: object) -> dict[str, object]:
    assert isinstance(value, dict)
    return value


def jobs(mocks: Mocks) -> dict[str, Mapping[str, Any]]:
    """Return the Jobs' inputs by name."""
    return {found.inputs["metadata"]["name"]: found.inputs for found in mocks.of("Job")}


def job(mocks: Mocks) -> Mapping[str, Any]:
    """Return the spec of the only Job."""
    (found,) = jobs(mocks).values()
    return found["spec"]


def sync(mocks: Mocks) -> Mapping[str, Any]:
    """Return the only container of the only Job."""
    (found,) = job(mocks)["template"]["spec"]["containers"]
    return found


def test_the_revision_is_in_the_jobs_name_the_bucket_and_the_engines_path() -> None:
    mocks = run_program(stack())
    (name,) = jobs(mocks)
    assert name == f"weights-model-{REVISION[:12]}"
    arguments = sync(mocks)["args"]
    assert arguments[arguments.index("--revision") + 1] == REVISION
    location = arguments[arguments.index("--to") + 1]
    assert location == f"s3://models/moonshotai/Kimi-K3/{REVISION}"
    leader = group(mocks).inputs["spec"]["leaderWorkerTemplate"]["leaderTemplate"]["spec"]["containers"][0]
    assert leader["args"][0] == location


def test_the_pods_share_the_files_and_a_refusal_is_not_tried_again() -> None:
    spec = job(run_program(stack(weights={"workers": 6})))
    assert (spec["completionMode"], spec["completions"], spec["parallelism"]) == ("Indexed", 6, 6)
    # Only what no further try mends counts, and one of it ends the Job; all else is tried until the deadline.
    assert spec["backoffLimit"] == 0
    assert "backoffLimitPerIndex" not in spec
    assert [(rule["action"], rule.get("onExitCodes")) for rule in spec["podFailurePolicy"]["rules"]] == [
        ("Count", {"operator": "In", "values": [2, 42]}),
        ("Ignore", {"operator": "NotIn", "values": [2, 42]}),
        ("Ignore", None),
    ]
    assert spec["podFailurePolicy"]["rules"][2]["onPodConditions"][0]["type"] == "DisruptionTarget"
    assert "ttlSecondsAfterFinished" not in spec


def test_the_time_limit_comes_from_the_size_and_the_pods() -> None:
    # 1561 GB at 1 Gbit/s a pod are 12,488 pod-seconds: four times that for one pod, six hours at least for four.
    assert job(run_program(stack(weights={"workers": 1})))["activeDeadlineSeconds"] == int(4 * 1560.99899883 * 8)
    assert job(run_program(stack(weights={"workers": 4})))["activeDeadlineSeconds"] == 6 * 3600


def test_no_memory_limit_and_no_eviction_may_stop_a_copy() -> None:
    mocks = run_program(stack())
    assert "limits" not in sync(mocks)["resources"]
    annotations = job(mocks)["template"]["metadata"]["annotations"]
    assert annotations["cluster-autoscaler.kubernetes.io/safe-to-evict"] == "false"
    assert annotations["karpenter.sh/do-not-disrupt"] == "true"


def test_libraries_come_with_hashes_or_with_the_image() -> None:
    public = sync(run_program(stack()))
    assert "--require-hashes" in public["command"][2]
    assert public["image"] == "python:3.12.11-slim-bookworm"
    derived = sync(run_program(stack(weights={"image": "registry.example.com/weights:1"})))
    assert "pip" not in derived["command"][2]
    locked = (Path(program.__file__).parent / "requirements.txt").read_text()
    pins = [line for line in locked.splitlines() if "==" in line]
    assert len(pins) == 3
    assert locked.count("--hash=sha256:") >= len(pins)


def test_a_closed_network_has_its_own_images_and_index() -> None:
    mirror = {"images": "registry.example.com/mirror", "pythonIndex": "https://pypi.example.com/simple"}
    container = sync(run_program(stack(mirror=mirror)))
    assert container["image"].startswith("registry.example.com/mirror/")
    assert {"name": "PIP_INDEX_URL", "value": "https://pypi.example.com/simple"} in container["env"]


def test_the_shell_gives_way_to_the_program_so_that_it_can_end_well() -> None:
    assert (
        sync(run_program(stack()))["command"][2].splitlines()[-1].startswith("exec python -m components.weights.sync")
    )


def test_keys_and_tokens_come_by_reference() -> None:
    mocks = run_program(stack(), secrets=KEYS)
    variables = {entry["name"]: entry for entry in sync(mocks)["env"]}
    for name, secret in (
        ("AWS_ACCESS_KEY_ID", "bucket-credentials"),
        ("AWS_SECRET_ACCESS_KEY", "bucket-credentials"),
        ("HF_TOKEN", "hub-token"),
    ):
        assert variables[name]["valueFrom"]["secretKeyRef"]["name"] == secret
    manifests = json.dumps([found.inputs for found in (*mocks.of("Job"), *mocks.of("LeaderWorkerSet"))])
    assert [text for text in KEYS.values() if text in manifests] == []


def test_the_draft_model_is_a_second_job() -> None:
    mocks = run_program(stack(serving={"speculativeDecoding": True}))
    assert len(jobs(mocks)) == 2
    assert "weights-draft-46264ceaf6e0" in jobs(mocks)


def test_a_bucket_that_is_full_is_not_filled() -> None:
    assert jobs(run_program(stack(weights={"fill": False}))) == {}


def test_the_program_takes_the_jobs_arguments_and_variables() -> None:
    container = sync(run_program(stack(weights={"workers": 6, "digest": "d" * 64})))
    variables = {entry["name"]: entry.get("value", "") for entry in container["env"]}
    options = command_line.parse(container["args"], {**variables, "JOB_COMPLETION_INDEX": "5"})
    assert (options.index, options.of) == (5, 6)
    assert (options.revision, options.digest) == (REVISION, "d" * 64)
    assert (options.bucket.endpoint, options.bucket.path_style) == ("https://s3.example.com", True)
    assert options.folder.prefix == f"moonshotai/Kimi-K3/{REVISION}"


def test_the_fetch_takes_the_containers_arguments() -> None:
    mocks = run_program(stack(delivery="nvme", machine="p6-b300.48xlarge"))
    pod = group(mocks).inputs["spec"]["leaderWorkerTemplate"]["leaderTemplate"]["spec"]
    options = fetch_options.parse(pod["initContainers"][0]["args"])
    assert options.revision == REVISION
    # 300 Gbit/s of Ethernet on card 0; the EFA cards carry no storage traffic.
    assert options.link_gbps == 300
    assert str(options.to) == f"/models/moonshotai/Kimi-K3/{REVISION}"


def test_modelscope_has_its_own_names_and_its_own_pin() -> None:
    weights = {"source": "modelscope", "digest": "d" * 64}
    container = sync(run_program(stack(weights=weights, mirror={"hub": "https://hub.example.com"}), secrets=KEYS))
    names = {entry["name"]: entry for entry in container["env"]}
    assert names["MODELSCOPE_ENDPOINT"]["value"] == "https://hub.example.com"
    assert names["MODELSCOPE_API_TOKEN"]["valueFrom"]["secretKeyRef"]["key"] == "token"
    assert not {"HF_TOKEN", "HF_ENDPOINT"} & set(names)
    assert command_line.parse(container["args"], {}).hub.kind == "modelscope"


@pytest.mark.parametrize(
    ("weights", "serving", "telling"),
    [
        ({"source": "modelscope"}, {}, "ModelScope's branches move"),
        ({"source": "s3://other/kimi"}, {"speculativeDecoding": True}, "copied from Hugging Face alone"),
        ({"source": "github"}, {}, "huggingface, modelscope, or the folder of another bucket"),
        ({"digest": "abc"}, {}, "as a finished copy prints it"),
    ],
)
def test_a_source_that_can_move_is_refused(
    weights: dict[str, object], serving: dict[str, object], telling: str
) -> None:
    with pytest.raises(pulumi.RunError) as caught:
        run_program(stack(weights=weights, serving=serving))
    assert telling in str(caught.value)


def test_weights_come_before_any_gpu_also_when_nothing_is_served() -> None:
    mocks = run_program(stack(serve=False))
    assert len(jobs(mocks)) == 1
    assert mocks.of("LeaderWorkerSet") == []


def test_a_path_or_a_claim_needs_no_job() -> None:
    mocks = run_program(values())
    assert mocks.of("Job") == []
    assert mocks.of("ConfigMap") == []


def test_the_program_in_the_pod_is_whole_and_small_enough() -> None:
    data = program.config_map_data()
    assert {"__init__.py", "sync.py", "fetch.py", "requirements.txt"} <= set(data)
    # A ConfigMap holds 1 MiB.
    assert sum(map(len, data.values())) < 900_000
    # What runs in the pod has two libraries and none of the rest of this project.
    foreign = [name for name, text in data.items() for word in ("import pulumi", "import pydantic") if word in text]
    assert foreign == []


@pytest.mark.parametrize("module", ["sync", "fetch"])
def test_the_files_of_the_config_map_run_without_the_rest_of_the_project(tmp_path: Path, module: str) -> None:
    # The pod's own layout, as the volume's items say.
    (volume, _) = program.volumes(program.Program(config_map="p", mirror=Mirror(), image=None))
    data = program.config_map_data()
    for item in _mapping(volume["configMap"])["items"]:  # pyright: ignore[reportGeneralTypeIssues]
        target = tmp_path / item["path"]
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(data[item["key"]])
    command = [sys.executable, "-m", f"components.weights.{module}", "--help"]
    done = subprocess.run(command, cwd=tmp_path, env={}, capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.startswith(f"usage: python -m components.weights.{module}")


def test_another_program_is_another_config_map() -> None:
    data = program.config_map_data()
    assert program.config_map_name("p", data) == program.config_map_name("p", dict(reversed([*data.items()])))
    assert program.config_map_name("p", data) != program.config_map_name("p", {**data, "sync.py": ""})


def test_with_nvme_each_pod_copies_before_the_engine_starts() -> None:
    mocks = run_program(
        stack(delivery="nvme", machine="4xGB300", cluster={"nodes": 2}, serving={"speculativeDecoding": True})
    )
    for role in ("leaderTemplate", "workerTemplate"):
        pod = group(mocks).inputs["spec"]["leaderWorkerTemplate"][role]["spec"]
        assert [each["name"] for each in pod["initContainers"]] == ["fetch-model", "fetch-draft"]
        fetch = pod["initContainers"][0]
        arguments = dict(zip(fetch["args"][::2], fetch["args"][1::2], strict=True))
        assert arguments["--from"] == f"s3://models/moonshotai/Kimi-K3/{REVISION}"
        assert arguments["--to"] == f"/models/moonshotai/Kimi-K3/{REVISION}"
        assert arguments["--revision"] == REVISION
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        # The node's folder, not the pod's: a group that starts again finds its weights.
        assert volumes["weights"]["hostPath"] == {"path": "/mnt/nvme", "type": "DirectoryOrCreate"}
        engine = pod["containers"][0]
        assert engine["args"][0] == arguments["--to"]
        assert next(each for each in engine["volumeMounts"] if each["name"] == "weights")["readOnly"] is True
        assert engine["args"][engine["args"].index("--load-format") + 1] == "fastsafetensors"


@pytest.mark.parametrize("delivery", ["stream", "nvme"])
def test_jobs_and_pods_pass_the_kubernetes_schema(delivery: str) -> None:
    mocks = run_program(stack(delivery=delivery), secrets=KEYS)
    for found in (*mocks.of("Job"), *mocks.of("ConfigMap")):
        kubernetes_validate.validate(whole_numbers(found.inputs), "1.35", strict=True)
    template = group(mocks).inputs["spec"]["leaderWorkerTemplate"]["leaderTemplate"]
    pod = {"apiVersion": "v1", "kind": "Pod", **template}
    kubernetes_validate.validate(whole_numbers(pod), "1.35", strict=True)
