"""The project's own program on the real engine: what the state and the logs hold, and what a bad file prints."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from rehearsal import stack_file
from rehearsal.depths import Light
from rehearsal.engine import Engine
from rehearsal.workspace import Workspace
from tests.stacks import PROJECT, values

pytestmark = pytest.mark.engine

BUCKET: dict[str, object] = {"path": None, "delivery": "stream", "bucket": {"name": "models"}}


class Stack:
    """The program with changes of the committed stack file, in a workspace of its own."""

    def __init__(self, folder: Path, exits: ExitStack, changes: dict[str, object], secret_keys: list[str]) -> None:
        config: stack_file.Contents = {f"kimi-k3:{key}": value for key, value in values(**changes).items()}
        config |= {f"kimi-k3:{key}": {"secure": "the user's cipher text"} for key in secret_keys}
        self.workspace = Workspace(folder)
        self.workspace.create()
        stage = exits.enter_context(Light().stage(config, self.workspace))
        contents: stack_file.Contents = {"config": stack_file.merged(config, stage.overrides)}
        self.lines: list[str] = []
        self.engine = Engine(
            PROJECT, folder, "existing", contents=contents, plugins=stage.plugins, on_line=self.lines.append
        )


@pytest.fixture
def exits() -> Iterator[ExitStack]:
    """Closes what a test has opened."""
    with ExitStack() as stack:
        yield stack


def test_no_secret_is_in_the_state_the_logs_or_the_manifests(tmp_path: Path, exits: ExitStack) -> None:
    stack = Stack(tmp_path, exits, {"weights": BUCKET}, ["bucketAccessKeyId", "bucketSecretAccessKey"])
    assert stack.engine.up().ok, stack.lines
    # Rehearsals put this text in place of the user's encrypted values; the API's key is generated.
    sentinels = [stack_file.PLACEHOLDER, str(stack.engine.outputs(show_secrets=True)["apiKey"])]
    state = stack.engine.export_state()
    written = "\n".join([json.dumps(state), *stack.lines, json.dumps(stack.engine.outputs())])
    assert [sentinel for sentinel in sentinels if sentinel in written] == []
    manifests = json.dumps([each for each in state_resources(state) if str(each["type"]).endswith("LeaderWorkerSet")])
    assert "secretKeyRef" in manifests


def test_a_stack_with_an_encrypted_kubeconfig_is_rehearsed_too(tmp_path: Path, exits: ExitStack) -> None:
    step = Stack(tmp_path, exits, {}, ["kubeconfig"]).engine.preview()
    assert step.ok, step.text


def state_resources(state: stack_file.Contents) -> list[stack_file.Contents]:
    """Return the resources of an exported state."""
    deployment = stack_file.as_contents(state["deployment"])
    resources = deployment["resources"]
    assert isinstance(resources, list)
    return [stack_file.as_contents(each) for each in resources]


def test_everything_in_the_cluster_depends_on_its_provider_and_ends_before_it(tmp_path: Path, exits: ExitStack) -> None:
    stack = Stack(tmp_path, exits, {}, [])
    assert stack.engine.up().ok, stack.lines
    ours = [
        each for each in state_resources(stack.engine.export_state()) if str(each["type"]).startswith("kubernetes:")
    ]
    assert len(ours) == 8
    assert all("pulumi:providers:kubernetes::cluster" in str(each["provider"]) for each in ours)
    stack.lines.clear()
    assert stack.engine.destroy().ok
    gone = [line.split()[2] for line in stack.lines if line.strip().startswith("-") and " deleted " in line]
    # The way in ends first, then the workload; the namespaces and the provider are last.
    assert gone[:2] == ["kimi-k3-service", "kimi-k3-group"]
    assert gone[-2:] == ["cluster", "kimi-k3-existing"]


def test_five_mistakes_are_printed_together_without_a_traceback(tmp_path: Path, exits: ExitStack) -> None:
    changes: dict[str, object] = {
        "machine": "8xB30",
        "owner": "",
        "wieghts": {},
        "weights": {"revision": "main"},
        "exposure": {"mode": "open"},
    }
    step = Stack(tmp_path, exits, changes, []).engine.preview()
    assert step.exit_code != 0
    for key in ("machine", "owner", "wieghts", "weights.revision", "exposure.mode"):
        assert step.text.count(f"- kimi-k3:{key} is ") >= 1, step.text
    assert "5 faults in the stack's configuration; nothing was created" in step.text
    assert "Traceback" not in step.text


def test_a_machine_that_is_too_small_is_refused_with_the_arithmetic(tmp_path: Path, exits: ExitStack) -> None:
    step = Stack(tmp_path, exits, {"machine": "p6-b200.48xlarge"}, []).engine.preview()
    assert step.exit_code != 0
    assert "1 x 8 x 192.27 GB = 1,538 GB of GPU memory, and the model needs 1,680 GB" in step.text
    assert "Traceback" not in step.text


def test_a_secret_in_plain_text_is_refused_and_not_printed(tmp_path: Path, exits: ExitStack) -> None:
    step = Stack(tmp_path, exits, {"apiKey": "sentinel-of-the-test"}, []).engine.preview()
    assert step.exit_code != 0
    assert "pulumi config set --secret kimi-k3:apiKey" in step.text
    assert "sentinel-of-the-test" not in step.text
