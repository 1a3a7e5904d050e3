"""Whoever knows one cloud's folder knows them all: the same files, classes, types and steps, and nothing copied."""

import ast
from itertools import combinations
from pathlib import Path

import pytest

from components.stack_file import CLOUDS
from tests.clouds import source
from tests.clouds.clouds import ANSWERS, folder
from tests.stacks import PROJECT

PIECES = ("CapacityReservation", "Network", "Cluster", "WeightBucket", "GpuDrivers", "GpuNodePool", "PodIdentity")
"""Components of every cloud, each in a file of its name."""
STEPS = ("preflight", "CapacityReservation", "Network", "Cluster", "WeightBucket", "GpuDrivers", "GpuNodePool")
"""What `inference_cluster` makes, dearest last."""
LONGEST_RUN = 9
PAIRS = list(combinations(CLOUDS, 2))


def snake(name: str) -> str:
    """Return a class's file."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).strip("_")


def components(cloud: str) -> list[ast.ClassDef]:
    """Return all components of a cloud."""
    files = sorted(folder(cloud).glob("*.py"))
    return [node for path in files for node in source.classes(path).values() if source.is_component(node)]


def test_every_cloud_of_the_stack_file_is_in_this_suite() -> None:
    assert set(ANSWERS) == set(CLOUDS) - {"existing"}


@pytest.mark.parametrize("cloud", ANSWERS)
def test_a_cloud_has_each_piece_and_its_arguments_in_a_file_of_its_name(cloud: str) -> None:
    for piece in PIECES:
        found = source.classes(folder(cloud) / f"{snake(piece)}.py")
        assert source.is_component(found[piece]), piece
        # A reservation is looked up, and what was found is its argument.
        assert ("Reservation" if piece == "CapacityReservation" else f"{piece}Args") in found, piece


@pytest.mark.parametrize("cloud", ANSWERS)
def test_a_cloud_has_its_settings_provider_preflight_and_table_of_contents(cloud: str) -> None:
    assert f"{cloud.title()}Settings" in source.classes(folder(cloud) / "settings.py")
    for name in ("provider", "preflight", "inference_cluster"):
        assert name in source.functions(folder(cloud) / f"{name}.py"), name


@pytest.mark.parametrize("cloud", ANSWERS)
def test_a_components_type_is_its_cloud_and_its_class(cloud: str) -> None:
    found = components(cloud)
    assert len(found) >= len(PIECES)
    assert [(node.name, source.type_token(node)) for node in found] == [
        (node.name, f"kimi:{cloud}:{node.name}") for node in found
    ]


@pytest.mark.parametrize("cloud", ANSWERS)
def test_a_component_takes_its_name_its_arguments_and_options(cloud: str) -> None:
    for node in components(cloud):
        (constructor,) = [each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"]
        names = [each.arg for each in constructor.args.args]
        assert names[:3] == ["self", "name", "args"], node.name
        assert names[-1] == "opts", node.name


@pytest.mark.parametrize("cloud", ANSWERS)
def test_arguments_are_frozen_named_and_few(cloud: str) -> None:
    for path in sorted(folder(cloud).glob("*.py")):
        for name, node in source.classes(path).items():
            if not name.endswith("Args"):
                continue
            decorators = [ast.unparse(each) for each in node.decorator_list]
            assert decorators == ["dataclass(frozen=True, kw_only=True)"], name
            assert len(source.fields(node)) <= 8, name


@pytest.mark.parametrize("cloud", ANSWERS)
def test_the_steps_are_the_same_and_the_dearest_is_the_last(cloud: str) -> None:
    steps = source.called(source.functions(folder(cloud) / "inference_cluster.py")["inference_cluster"])
    assert [step for step in steps if step in STEPS] == list(STEPS)
    arguments = source.functions(folder(cloud) / "inference_cluster.py")["inference_cluster"].args.args
    assert [each.arg for each in arguments] == ["settings", "secrets", "plan"]


def test_a_field_that_two_clouds_have_has_one_type() -> None:
    types: dict[tuple[str, str], dict[str, str]] = {}
    for cloud in ANSWERS:
        for piece in PIECES:
            node = source.classes(folder(cloud) / f"{snake(piece)}.py")[piece]
            for name, annotation in source.fields(node).items():
                types.setdefault((piece, name), {})[cloud] = annotation
    assert {key: found for key, found in types.items() if len(set(found.values())) > 1} == {}
    assert {"access", "ready"} <= {name for piece, name in types if piece == "Cluster"}


@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_no_ten_lines_are_the_same_in_two_clouds(left: str, right: str) -> None:
    others = sorted(folder(right).glob("*.py"))
    found = [
        run
        for path in sorted(folder(left).glob("*.py"))
        for other in others
        for run in source.identical_runs(path, other, LONGEST_RUN + 1)
    ]
    assert found == [], "what both need moves up to components/"


def test_the_check_finds_a_copied_run_and_no_shorter_one(tmp_path: Path) -> None:
    body = [f"value_{number} = {number}" for number in range(10)]
    for name, lines in {"one": body, "ten": ["import os", *body[:5], "", *body[5:]], "nine": body[:9]}.items():
        (tmp_path / f"{name}.py").write_text("\n".join(lines))
    assert len(list(source.identical_runs(tmp_path / "one.py", tmp_path / "ten.py", 10))) == 1
    assert list(source.identical_runs(tmp_path / "one.py", tmp_path / "nine.py", 10)) == []


def test_every_cloud_has_a_stack_file() -> None:
    for cloud in CLOUDS:
        assert (PROJECT / f"Pulumi.{cloud}.yaml").is_file(), cloud
