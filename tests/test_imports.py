"""Data goes one way: the import rules of CONTRIBUTING.md, read from the source."""

import ast
from pathlib import Path

import pytest

from tests.stacks import PROJECT

CLOUDS = ("aws", "azure", "gcp", "alicloud", "existing")
SDKS = (
    "pulumi",
    "pulumi_kubernetes",
    "pulumi_aws",
    "pulumi_eks",
    "pulumi_azure_native",
    "pulumi_gcp",
    "pulumi_alicloud",
)
SOURCES = sorted(
    [*(PROJECT / "components").rglob("*.py"), *(PROJECT / "rehearsal").rglob("*.py"), PROJECT / "__main__.py"]
)


def imports(path: Path) -> set[str]:
    """Return the dotted names that a file imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def module(path: Path) -> str:
    """Return the dotted name of a file."""
    return ".".join(path.relative_to(PROJECT).with_suffix("").parts).removesuffix(".__init__")


def within(name: str, *packages: str) -> bool:
    """Return whether a name is one of the packages or inside one."""
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def forbidden(name: str) -> tuple[str, ...]:
    """Return the packages that a module may not import."""
    others = tuple(f"components.{cloud}" for cloud in CLOUDS)
    rules: list[tuple[bool, tuple[str, ...]]] = [
        (within(name, "components", "__main__"), ("rehearsal", "tests")),
        (within(name, "components.plan"), (*SDKS, "components.serving", *others)),
        (name in ("components.settings", "components.stack_file", "components.overrides", "components.faults"), SDKS),
        (name.startswith("components.") and name.endswith(".settings"), SDKS),
        (within(name, "components.serving"), others),
        (within(name, *others), ("components.serving",)),
    ]
    own = {cloud: tuple(other for other in others if other != f"components.{cloud}") for cloud in CLOUDS}
    rules += [(within(name, f"components.{cloud}"), own[cloud]) for cloud in CLOUDS]
    return tuple(package for holds, packages in rules if holds for package in packages)


@pytest.mark.parametrize("path", SOURCES, ids=module)
def test_imports_follow_the_rules(path: Path) -> None:
    name = module(path)
    assert [entry for entry in imports(path) if within(entry, *forbidden(name))] == []


def test_only_one_module_reads_the_configuration() -> None:
    readers = [module(path) for path in SOURCES if "pulumi.Config(" in path.read_text()]
    assert readers == ["components.config"]


def test_the_program_loads_a_cloud_inside_its_branch() -> None:
    tree = ast.parse((PROJECT / "__main__.py").read_text())
    top = [node.module or "" for node in tree.body if isinstance(node, ast.ImportFrom)]
    assert not [name for name in top if within(name, *(f"components.{cloud}" for cloud in CLOUDS))]
