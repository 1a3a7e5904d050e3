"""The stand-in for Kubernetes under the real engine: previews, deployments, faults, secrets, order."""

import json
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from rehearsal.engine import Step
from rehearsal.fakes.values import mapping
from rehearsal.stack_file import PLACEHOLDER, Contents
from tests.engine.conftest import Rehearse, Rehearsed
from tests.rehearsal.kubernetes_objects import write_chart

pytestmark = pytest.mark.engine

# The engine decrypts the stack file's encrypted value to this, so it is the secret of the program.
_SENTINEL = PLACEHOLDER
_CREDENTIALS = {
    "AWS_SECRET_ACCESS_KEY": "sentinel-of-the-caller",
    "KUBECONFIG": "/sentinel-of-the-caller",
    "PULUMI_ACCESS_TOKEN": "sentinel-of-the-caller",
}

_LIFE = """
ns = k8s.core.v1.Namespace("ns", metadata={"name": "kimi"}, opts=there)
inside = {"namespace": ns.metadata.name}
key = k8s.core.v1.Secret("key", metadata=inside, string_data={"token": config.require_secret("token")}, opts=there)
settings = k8s.core.v1.ConfigMap("settings", metadata={**inside, "name": "s"}, data={"size": "SIZE"}, opts=there)
api = k8s.core.v1.Service(
    "api",
    metadata={**inside, "labels": {"size": "SIZE"}},
    spec={"type": "LoadBalancer", "ports": [{"port": 80}]},
    opts=Opts(provider=cluster, depends_on=[settings]),
)
api.status.apply(lambda status: pulumi.info("the status is known"))
api.metadata.apply(lambda metadata: pulumi.info(f"the name is {metadata.name}"))
pulumi.export("address", api.status.load_balancer.ingress[0].ip)
pulumi.export("key", key.string_data)
pulumi.export("environment", dict(os.environ))
"""


@dataclass
class Life:
    """Every step of one stack's life, run once and looked at by several tests."""

    stack: Rehearsed
    preview: Step
    created: Step
    outputs: Contents
    clear: Contents
    """The outputs with their secrets."""
    state: Contents
    account_file: str
    unchanged: Step
    refreshed: Step
    changed: Step
    journal_of_change: list[str]
    destroyed: Step


@pytest.fixture(scope="module")
def life(rehearse: Rehearse) -> Iterator[Life]:
    with pytest.MonkeyPatch.context() as caller:
        for name, value in _CREDENTIALS.items():
            caller.setenv(name, value)
        yield _live(rehearse(_LIFE.replace("SIZE", "8"), {"tiny:token": {"secure": "v1:not:ours"}}))


def _live(stack: Rehearsed) -> Life:
    engine = stack.engine
    preview, created = engine.preview(), engine.up()
    outputs, clear = engine.outputs(), engine.outputs(show_secrets=True)
    state, account_file = engine.export_state(), stack.account.path.read_text()
    unchanged, refreshed = engine.up(expect_no_changes=True), engine.refresh(expect_no_changes=True)
    before = len(stack.journal())
    stack.program(_LIFE.replace("SIZE", "9"))
    changed = engine.up()
    journal = stack.journal()[before:]
    destroyed = engine.destroy()
    return Life(
        stack=stack,
        preview=preview,
        created=created,
        outputs=outputs,
        clear=clear,
        state=state,
        account_file=account_file,
        unchanged=unchanged,
        refreshed=refreshed,
        changed=changed,
        journal_of_change=journal,
        destroyed=destroyed,
    )


@pytest.mark.parametrize("step", ["preview", "created", "unchanged", "refreshed", "changed", "destroyed"])
def test_each_step_goes_well(life: Life, step: str) -> None:
    got: Step = getattr(life, step)
    assert got.ok, got.text


def test_a_preview_leaves_what_is_computed_unknown(life: Life) -> None:
    assert "the status is known" not in life.preview.text
    assert "the name is api-" in life.preview.text
    assert "the status is known" in life.created.text
    assert "+ 6 to create" in life.preview.text


def test_a_load_balancer_has_an_address_afterwards(life: Life) -> None:
    assert str(life.outputs["address"]).startswith("192.0.2.")


def test_things_are_made_in_the_order_of_their_dependencies(life: Life) -> None:
    made = life.stack.journal("create")
    assert made[0] == "create ns"
    assert made.index("create settings") < made.index("create api")


def test_a_changed_input_updates_in_place_or_replaces(life: Life) -> None:
    # A ConfigMap is immutable for the provider, and this one's name is taken: the old one goes first.
    assert life.journal_of_change == ["delete settings", "create settings", "update api"]


def test_destroy_leaves_an_empty_account_and_the_namespace_goes_last(life: Life) -> None:
    assert life.stack.existing() == []
    assert life.stack.journal("delete")[-1] == "delete ns"


def test_a_secret_is_nowhere_in_clear(life: Life) -> None:
    steps = [life.preview, life.created, life.unchanged, life.refreshed, life.changed, life.destroyed]
    texts = [json.dumps(life.state), json.dumps(life.outputs), life.account_file, *(step.text for step in steps)]
    written = list(life.stack.engine.workspace.root.rglob("*"))
    texts += [file.read_text(errors="replace") for file in written if file.is_file() and not file.is_symlink()]
    assert len(texts) > 20
    assert not [text for text in texts if _SENTINEL in text]


def test_the_program_got_the_secret_all_the_same(life: Life) -> None:
    assert life.clear["key"] == {"token": _SENTINEL}
    assert life.outputs["key"] == "[secret]"


def test_nothing_of_the_caller_reaches_the_program(life: Life) -> None:
    environment = mapping(life.outputs["environment"])
    assert "sentinel-of-the-caller" not in environment.values()
    assert environment["HOME"] == str(life.stack.engine.workspace.home)


def test_the_projects_folder_is_only_read(life: Life) -> None:
    assert sorted(path.name for path in life.stack.project.iterdir()) == [
        "Pulumi.dev.yaml",
        "Pulumi.yaml",
        "__main__.py",
    ]
    assert "encryptionsalt" not in (life.stack.project / "Pulumi.dev.yaml").read_text()


@pytest.mark.parametrize(
    ("body", "want"),
    [
        (
            'k8s.core.v1.Service("bad", metadata={"name": "a"}, spec={"prots": []}, opts=there)',
            "unknown field 'prots': did you mean 'ports'?",
        ),
        (
            'k8s.core.v1.ConfigMap("bad", data={"a": f"{cluster.urn}"}, opts=there)',
            "holds the text of an Output instead of its value",
        ),
        (
            'k8s.helm.v3.Release("bad", chart="/nowhere/lws", version="0.9.0", opts=there)',
            'path "/nowhere/lws" not found',
        ),
        (
            'k8s.Provider("bad", kubeconfig=cluster.kubeconfig, context="gpus")',
            'context "gpus" does not exist in the kubeconfig; there are: gpu',
        ),
    ],
    ids=["manifest", "formatted output", "chart", "context"],
)
def test_a_mistake_is_refused_at_preview_in_one_line(rehearse: Rehearse, body: str, want: str) -> None:
    stack = rehearse(body)
    preview = stack.engine.preview()
    assert not preview.ok
    assert len([line for line in preview.diagnostics.splitlines() if want in line]) == 1, preview.text
    assert stack.journal() == []


def test_a_custom_object_before_its_controller_is_refused_and_what_was_made_goes_again(
    rehearse: Rehearse, tmp_path: Path
) -> None:
    chart = write_chart(tmp_path / "lws")
    release = f'lws = k8s.helm.v3.Release("lws", chart={str(chart)!r}, version="0.9.0", name="lws", opts=there)'
    group = """
    k8s.apiextensions.CustomResource(
        "group", "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", metadata={"name": "kimi"},
        spec={"leaderWorkerTemplate": {"size": 2, "workerTemplate": {"spec": {"containers": [
            {"name": "vllm", "image": "vllm:1"}]}}}},
        opts=Opts(provider=cluster, DEPENDS),
    )
    """
    stack = rehearse(group.replace("DEPENDS", "parent=None"))
    refused = stack.engine.up()
    assert not refused.ok
    assert 'no matches for kind "LeaderWorkerSet" in version "leaderworkerset.x-k8s.io/v1"' in refused.text
    stack.program(f"{release}\n{textwrap.dedent(group.replace('DEPENDS', 'depends_on=[lws]'))}")
    assert stack.engine.up().ok
    assert stack.journal("create")[-1] == "create group"
    assert stack.engine.destroy().ok
    assert all(thing.left_because for thing in stack.account.ledger().things)


def test_what_is_late_is_known_to_the_engine_and_destroyed(rehearse: Rehearse) -> None:
    stack = rehearse("""
    k8s.core.v1.Service("api", metadata={"name": "api"}, spec={"ports": [{"port": 80}]}, opts=there)
    """)
    stack.account.slow("kubernetes:core/v1:Service", 3600)
    late = stack.engine.up()
    assert not late.ok
    assert "timed out after 600 s" in late.text
    assert stack.existing() == ["api"]
    assert stack.engine.destroy().ok
    assert stack.existing() == []


def test_drift_is_seen_by_refresh_and_mended_by_up(rehearse: Rehearse) -> None:
    stack = rehearse("""
    k8s.apps.v1.Deployment("web", metadata={"name": "web"}, spec={"replicas": 2, "selector": {"matchLabels":
        {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c",
        "image": "i"}]}}}, opts=there)
    """)
    assert stack.engine.up().ok
    with stack.account.open() as ledger:
        mapping(ledger.things[0].inputs["spec"])["replicas"] = 5
    assert not stack.engine.refresh(expect_no_changes=True).ok
    assert stack.engine.up().ok
    assert mapping(stack.account.ledger().things[0].inputs["spec"])["replicas"] == 2
