"""What the light rehearsal sets up."""

from pathlib import Path

import pytest
import yaml

from rehearsal import depths
from rehearsal.clouds.cloud import ApiServer
from rehearsal.depths import Light, opened, overrides
from rehearsal.fakes.account import Account, Thing
from rehearsal.fakes.kubernetes.kubeconfig import config_failures
from rehearsal.remains import Remains
from rehearsal.stack_file import Contents, as_contents
from rehearsal.workspace import Workspace

_CLUSTER: Contents = {"context": "gpu-cluster", "kubeconfig": "~/.kube/config", "nodes": 1}
_REAL_KEYS_OF_THE_CHART = Path(depths.__file__).parent / "charts" / "lws" / "values.yaml"


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setattr(depths.control_plane_binaries, "lws_crds", lambda: tmp_path / "crds")
    made = Workspace(tmp_path)
    made.create()
    return made


def test_the_cluster_leads_nowhere_but_has_the_context(workspace: Workspace) -> None:
    with Light().stage({"kimi-k3:cluster": _CLUSTER}, workspace) as stage:
        file = Path(str(as_contents(stage.overrides["kimi-k3:cluster"])["kubeconfig"]))
        assert config_failures({"kubeconfig": str(file), "context": "gpu-cluster"}) == []
        assert yaml.safe_load(file.read_text())["clusters"][0]["cluster"]["server"] == "https://127.0.0.1:1"


@pytest.mark.parametrize(("setting", "want"), [("present", True), ("install", False), (None, False)])
def test_a_cluster_that_has_the_controller_serves_its_kinds(
    workspace: Workspace, setting: str | None, want: bool
) -> None:
    cluster = {**_CLUSTER, "leaderWorkerSet": setting}
    with Light().stage({"kimi-k3:cluster": cluster}, workspace):
        served = Account(workspace.account).ledger().settings["served"]
    assert isinstance(served, list)
    assert ("leaderworkersets.leaderworkerset.x-k8s.io" in served) is want
    # NVIDIA's DRA driver is the cluster's own business: nothing of ours installs it.
    assert "computedomains.resource.nvidia.com" in served


def test_without_definitions_the_report_says_so(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> Path:
        raise depths.tool.ToolMissingError("no Go\nand more")

    monkeypatch.setattr(depths.control_plane_binaries, "lws_crds", missing)
    with Light().stage({}, workspace) as stage:
        (note,) = stage.notes
    assert note.endswith("only its pods: no Go")


@pytest.mark.parametrize(("config", "emptied"), [({}, False), ({"kimi-k3:kubeconfig": {"secure": "x"}}, True)])
def test_a_kubeconfig_in_the_stack_file_gives_way_to_the_path(
    workspace: Workspace, config: Contents, emptied: bool
) -> None:
    laid_over = overrides(opened(config, workspace, ApiServer()))
    # As plain text beside the path the program would refuse it: a secret in clear.
    assert (laid_over.get("kimi-k3:kubeconfig") == "") is emptied
    assert as_contents(laid_over["kimi-k3:cluster"])["kubeconfig"] == str(workspace.root / "kubeconfig")


def test_what_exists_is_listed_by_kind_namespace_and_name(workspace: Workspace) -> None:
    with Light().stage({}, workspace) as stage:
        with Account(workspace.account).open() as ledger:
            ledger.add(Thing("kubernetes:core/v1:Service", "kimi/api", "api", {}, {}))
            ledger.add(Thing("kubernetes:core/v1:Namespace", "kimi", "ns", {}, {}, left_because="why"))
        assert stage.existing() == [Remains("Namespace", "", "kimi", "why"), Remains("Service", "kimi", "api")]


def test_the_stand_in_chart_says_what_it_is() -> None:
    chart = yaml.safe_load(_REAL_KEYS_OF_THE_CHART.with_name("Chart.yaml").read_text())
    assert (chart["name"], chart["version"]) == ("lws", "0.9.0")
    assert "stand-in" in chart["description"]


@pytest.mark.parametrize(("mode", "given"), [("purchase", True), ("existing", False)])
def test_the_word_for_a_purchase_is_given_since_nothing_is_bought(workspace: Workspace, mode: str, given: bool) -> None:
    config: Contents = {"kimi-k3:cloud": "aws", "kimi-k3:capacity": {"mode": mode, "acceptNonRefundable": False}}
    laid_over = as_contents(overrides(opened(config, workspace, ApiServer())).get("kimi-k3:capacity"))
    assert (laid_over.get("acceptNonRefundable") is True) is given
