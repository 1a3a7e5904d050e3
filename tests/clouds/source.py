"""The clouds' folders as Python sees them: classes, steps, and lines that say something."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path


@cache
def tree(path: Path) -> ast.Module:
    """Return a file's syntax tree."""
    return ast.parse(path.read_text())


def classes(path: Path) -> dict[str, ast.ClassDef]:
    """Return a file's classes by name."""
    return {node.name: node for node in tree(path).body if isinstance(node, ast.ClassDef)}


def functions(path: Path) -> dict[str, ast.FunctionDef]:
    """Return a file's functions by name."""
    return {node.name: node for node in tree(path).body if isinstance(node, ast.FunctionDef)}


def fields(node: ast.ClassDef) -> dict[str, str]:
    """Return the annotated names of a class, and their types as they are written."""
    return {
        entry.target.id: ast.unparse(entry.annotation)
        for entry in node.body
        if isinstance(entry, ast.AnnAssign) and isinstance(entry.target, ast.Name)
    }


def is_component(node: ast.ClassDef) -> bool:
    """Return whether a class is a component of Pulumi's."""
    return any(ast.unparse(base).endswith("ComponentResource") for base in node.bases)


def type_token(node: ast.ClassDef) -> str:
    """Return the type that a component registers itself with."""
    calls = [each for each in ast.walk(node) if isinstance(each, ast.Call)]
    (found,) = [call for call in calls if ast.unparse(call.func) == "super().__init__"]
    token = found.args[0]
    assert isinstance(token, ast.Constant)
    return str(token.value)


def called(node: ast.FunctionDef) -> list[str]:
    """Return the names that a function calls, in the order of the source."""
    calls = [each for each in ast.walk(node) if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)]
    calls.sort(key=lambda call: (call.lineno, call.col_offset))
    return [call.func.id for call in calls if isinstance(call.func, ast.Name)]


@cache
def telling_lines(path: Path) -> list[str]:
    """Return a file's lines without imports and blank ones, and without the space at their ends."""
    imported = {
        line
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    lines = enumerate(path.read_text().splitlines(), start=1)
    return [line.strip() for number, line in lines if line.strip() and number not in imported]


def identical_runs(one: Path, other: Path, length: int) -> Iterator[str]:
    """Yield the first line of every run of so many lines that both files have."""
    known = {tuple(window) for window in _windows(telling_lines(other), length)}
    for window in _windows(telling_lines(one), length):
        if tuple(window) in known:
            yield f"{one.parent.name}/{one.name} and {other.parent.name}/{other.name}: {window[0]}"


def _windows(lines: list[str], length: int) -> Iterator[list[str]]:
    for start in range(len(lines) - length + 1):
        yield lines[start : start + length]
