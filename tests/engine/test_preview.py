"""`make preview`: exit codes, the arithmetic, and a project folder that stays as it was."""

from pathlib import Path

import pytest
import yaml

from tests.stacks import PROJECT, values
from toolchain import preview

pytestmark = pytest.mark.engine


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project in a folder of its own, with nobody logged in to a backend."""
    for name in ("__main__.py", "Pulumi.yaml", "components", ".venv"):
        (tmp_path / name).symlink_to(PROJECT / name)
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path.parent / "home"))
    monkeypatch.delenv("PULUMI_BACKEND_URL", raising=False)
    monkeypatch.delenv("PULUMI_ACCESS_TOKEN", raising=False)
    return tmp_path


def test_a_stack_without_a_file_names_those_that_there_are(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (project / "Pulumi.mine.yaml").write_text("config: {}\n")
    assert preview.main(["other"], project) == 2
    assert "There is no Pulumi.other.yaml. Stacks with a file: mine." in capfd.readouterr().out


def test_a_machine_that_is_too_small_ends_with_the_arithmetic(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    config = {f"kimi-k3:{key}": value for key, value in values(machine="p6-b200.48xlarge").items()}
    file = project / "Pulumi.small.yaml"
    file.write_text(yaml.safe_dump({"config": config}))
    before = file.read_text()
    assert preview.main(["small"], project) != 0
    shown = capfd.readouterr()
    assert "1 x 8 x 192.27 GB = 1,538 GB of GPU memory" in shown.out + shown.err
    assert "Traceback" not in shown.out + shown.err
    # `stack init` writes a salt into the stack file that it is given.
    assert file.read_text() == before
