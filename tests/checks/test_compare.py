"""The stacks side by side: figures that a reader can check by hand."""

from pathlib import Path

import pytest
import yaml

from checks.compare import column, main, stacks, table
from tests.stacks import PROJECT, values


def written(folder: Path, **changes: object) -> Path:
    """Write a stack file like that of AWS."""
    file = folder / "Pulumi.test.yaml"
    file.write_text(
        yaml.safe_dump({"config": {f"kimi-k3:{key}": value for key, value in values("aws", **changes).items()}})
    )
    return file


def test_every_stack_that_serves_is_a_column() -> None:
    assert {"existing", "aws"} <= set(stacks())
    assert not [name for name in stacks() if "capacity" in name]


def test_tokens_cost_what_a_busy_node_makes_of_an_hour() -> None:
    """112.32 USD / (1,395 tokens/s x 8 x 3,600 s) = 2.80 USD a million, at AWS's price of a Capacity Block."""
    found = column(PROJECT / "Pulumi.aws.yaml")
    assert found["USD a million tokens"].startswith("2.80 to ")
    assert found["machines"] == "1 x p6-b300.48xlarge"
    assert found["longest context"] == "1,048,576"


def test_what_nobody_measured_is_said_so(tmp_path: Path) -> None:
    image = {"image": "registry.example.com/vllm-efa:0.33.0"}
    assert column(written(tmp_path, machine="p5en.48xlarge", serving=image))["USD a million tokens"] == "not measured"


def test_a_file_with_faults_is_a_column_that_names_the_first(tmp_path: Path) -> None:
    assert column(written(tmp_path, owner="")) == {"machines": "refused: owner"}


def test_columns_stand_below_each_other() -> None:
    lines = table({"a": {"x": "1", "long": "2"}, "bb": {"x": "333"}}).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert lines[0].split("|")[1:4] == ["      ", " a ", " bb  "]
    assert lines[3].split("|")[2:4] == [" 2 ", "     "]


def test_the_command_prints_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main() == 0
    out = capsys.readouterr().out
    assert "minutes to the first token" in out
    assert "p6-b300.48xlarge" in out
