"""Compiled kernels around the engine: when they are used, for what they fit, and that they can never cost a start."""

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from components.inference_cluster import Weights
from components.serving.kernel_cache import key, secret
from components.settings import Mirror
from components.weights.program import Ending, Program, container
from tests.conftest import run_program
from tests.stacks import loaded, values

WEIGHTS = Weights(location="/models/k3", draft_location="/models/draft")
AWS: dict[str, Any] = {"machine": "p6-b200.48xlarge", "serving": {"image": "registry.example.com/vllm-efa:0.33.0"}}


def cache_key(machine: str = "8xB300", **changes: Any) -> str:
    settings, plan = loaded(machine, **changes)
    return key(plan, settings.serving, WEIGHTS)


@pytest.mark.parametrize(
    ("machine", "changes"),
    [
        pytest.param("8xB300", {"serving": {"image": "vllm/vllm-openai:v0.33.1"}}, id="image"),
        pytest.param("8xB200", {}, id="GPU and layout"),
        pytest.param("8xB300", {"serving": {"extraArgs": ["--max-num-seqs", "64"]}}, id="flag"),
        pytest.param("8xB300", {"serving": {"extraEnv": {"VLLM_USE_FLASHINFER_MOE_FP4": "1"}}}, id="variable"),
        pytest.param("8xB300", {"topology": {"pipelineParallel": 2}}, id="layout"),
    ],
)
def test_whatever_changes_kernels_changes_their_key(machine: str, changes: dict[str, object]) -> None:
    assert cache_key(machine, **changes) != cache_key()
    assert cache_key() == cache_key(owner="somebody-else@example.com")


def test_the_signature_gives_nothing_of_the_api_key_away() -> None:
    assert "hunter2" not in secret("hunter2")
    assert secret("hunter2") != secret("hunter3")


def pods(stack: str = "aws", /, **changes: object) -> list[dict[str, Any]]:
    """Return the pod specs of leader and worker on AWS."""
    from tests.aws.answers import AwsAnswers  # noqa: PLC0415 - the other stacks need no account

    answers = AwsAnswers(block={"instanceType": "p6-b200.48xlarge", "instanceCount": 2})
    (group,) = run_program(values(stack, **{**AWS, **changes}), cloud=answers).of("LeaderWorkerSet")
    template = group.inputs["spec"]["leaderWorkerTemplate"]
    return [template["leaderTemplate"]["spec"], template["workerTemplate"]["spec"]]


def test_kernels_are_restored_first_and_saved_beside_the_engine() -> None:
    for spec, rank in zip(pods(), ("0", "$(LWS_WORKER_INDEX)"), strict=True):
        restore, save, *rest = spec["initContainers"]
        assert [each["name"] for each in rest] == ["fetch-model"]
        assert "restartPolicy" not in restore
        # A sidecar, or the engine would wait for an answer of itself.
        assert save["restartPolicy"] == "Always"
        for each in (restore, save):
            assert each["args"][each["args"].index("--rank") + 1] == rank
            mounted = {mount["mountPath"]: mount["name"] for mount in each["volumeMounts"]}
            (engine,) = spec["containers"]
            assert {"name": mounted["/root/.cache"], "mountPath": "/root/.cache"} in engine["volumeMounts"]
        names = [volume["name"] for volume in spec["volumes"]]
        assert len(names) == len(set(names))
        assert {mount["name"] for each in (restore, save) for mount in each["volumeMounts"]} <= set(names)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"serving": {**AWS["serving"], "kernelCache": False}}, id="switched off"),
        pytest.param({"weights": {"bucket": "a-bucket-of-mine"}}, id="a bucket that others may write"),
    ],
)
def test_without_a_place_of_its_own_nothing_is_restored(changes: dict[str, object]) -> None:
    for spec in pods(**changes):
        assert [each["name"] for each in spec["initContainers"]] == ["fetch-model"]


def script(tmp_path: Path, ending: Ending, status: int) -> tuple[list[str], dict[str, str]]:
    """Return a container's command with a Python that ends with this status."""
    (tmp_path / "python").write_text(f"#!/bin/sh\nexit {status}\n")
    (tmp_path / "python").chmod(0o755)
    program = Program(config_map="program", mirror=Mirror(), image="an-image")
    command = container("kernels", program, "components.weights.kernel_cache", [], [], ending=ending)["command"]
    assert isinstance(command, list)
    return command, {"PATH": f"{tmp_path}:{os.environ['PATH']}"}


@pytest.mark.parametrize(("ending", "want"), [("tell", 3), ("forgive", 0)])
def test_a_cache_that_fails_costs_no_group(tmp_path: Path, ending: Ending, want: int) -> None:
    command, environment = script(tmp_path, ending, 3)
    assert subprocess.run(command, env=environment, check=False).returncode == want  # noqa: S603


@pytest.mark.parametrize("status", [0, 3])
def test_a_sidecar_stays_until_it_is_told_to_end(tmp_path: Path, status: int) -> None:
    command, environment = script(tmp_path, "stay", status)
    process = subprocess.Popen(command, env=environment)  # noqa: S603
    time.sleep(0.5)
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=5) == 0
