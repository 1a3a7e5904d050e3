"""The parts of the benchmark that measure nothing: statistics, table, the bare program, the order of the runs."""

import ast

import pytest

from benchmarks import bare_program, figures, preview, process_tree
from benchmarks.bare_program import Registration
from benchmarks.preview import Took


def compared(bare: list[float], ours: list[float], title: str = "wall (s)") -> figures.Comparison:
    return figures.Comparison(title=title, decimals=2, bare=bare, ours=ours)


@pytest.mark.parametrize(
    ("values", "want"),
    [([], None), ([2.0], (2.0, 2.0, 2.0)), ([3.0, 1.0, 2.0], (1.0, 2.0, 3.0)), ([4.0, 1.0], (1.0, 2.5, 4.0))],
)
def test_a_spread_is_least_median_and_greatest(values: list[float], want: tuple[float, float, float] | None) -> None:
    assert figures.spread(values) == want


@pytest.mark.parametrize(
    ("bare", "ours", "want"),
    [([1.0, 2.0, 9.0], [2.2, 2.0, 9.0], 1.1), ([], [1.0], None), ([1.0], [], None), ([0.0], [1.0], None)],
)
def test_the_ratio_is_that_of_the_medians(bare: list[float], ours: list[float], want: float | None) -> None:
    got = compared(bare, ours).ratio
    assert got == (None if want is None else pytest.approx(want))


@pytest.mark.parametrize(
    ("ratio", "want"),
    [(1.0, "It is 1.00 x: met."), (1.154, "It is 1.15 x: met."), (1.156, "It is 1.16 x: NOT met."), (None, "measured")],
)
def test_the_verdict_agrees_with_the_printed_ratio(ratio: float | None, want: str) -> None:
    assert want in figures.verdict(ratio, 1.15)


def test_the_table_is_aligned() -> None:
    comparisons = [compared([1.0, 2.0], [1234.5]), compared([], [1.0], "a longer title, memory (MiB)")]
    assert figures.table(comparisons) == [
        "                                      bare                      ours            ratio of",
        "                               min  median   max       min    median       max   medians",
        "wall (s)                      1.00    1.50  2.00  1,234.50  1,234.50  1,234.50    823.00",
        "a longer title, memory (MiB)     -       -     -      1.00      1.00      1.00         -",
    ]


def test_runs_alternate_and_the_first_is_not_counted(capsys: pytest.CaptureFixture[str]) -> None:
    called: list[str] = []

    def program(name: str) -> preview.Run:
        def run() -> Took:
            called.append(name)
            return Took(wall=float(len(called)), cpu=0, program_mib=0)

        return run

    took = preview.measured("preview", {"bare": program("bare"), "ours": program("ours")}, 2)
    assert "".join(name[0] for name in called) == "obboob"
    assert {name: [each.wall for each in found] for name, found in took.items()} == {"bare": [3, 6], "ours": [4, 5]}
    assert capsys.readouterr().out.splitlines()[0] == "preview, not counted: bare 2.00 s, ours 1.00 s"


def test_encrypted_values_are_kept_apart_and_replaced() -> None:
    config: dict[str, object] = {"kimi-k3:owner": "me", "kimi-k3:replicas": 2, "kimi-k3:apiKey": {"secure": "cipher"}}
    got = preview.as_mocked({"config": config})
    assert got["plain"] == {"kimi-k3:owner": "me", "kimi-k3:replicas": "2"}
    assert list(got["secret"]) == ["kimi-k3:apiKey"]
    assert "cipher" not in str(got)


def test_children_of_children_are_descendants() -> None:
    assert sorted(process_tree.descendants({2: 1, 3: 1, 4: 3, 5: 4, 6: 7, 7: 6, 1: 0}, 1)) == [2, 3, 4, 5]


_SECRET = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "value": {"key": "k"}}
_PROVIDER = Registration("pulumi:providers:kubernetes", "cluster", {"clusterIdentifier": "gpu"})


@pytest.mark.parametrize(
    ("type_", "inputs", "want"),
    [
        ("kubernetes:core/v1:Secret", {"data": _SECRET}, "kubernetes.core.v1.Secret('a', **{'data': {'key': 'k'}}"),
        ("kubernetes:networking.k8s.io/v1:NetworkPolicy", {}, "kubernetes.networking.v1.NetworkPolicy('a', **{}"),
        (
            "kubernetes:helm.sh/v3:Release",
            {"skipAwait": False},
            "kubernetes.helm.v3.Release('a', **{'skip_await': False}",
        ),
        (
            "kubernetes:leaderworkerset.x-k8s.io/v1:LeaderWorkerSet",
            {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "spec": [1]},
            "CustomResource('a', api_version='leaderworkerset.x-k8s.io/v1', kind='LeaderWorkerSet', **{'spec': [1]}",
        ),
        ("kimi:serving:VllmServing", {"a": 1}, "pulumi.ComponentResource('kimi:serving:VllmServing', 'a', {'a': 1})"),
    ],
    ids=["class", "group with dots", "release", "custom object", "component"],
)
def test_the_bare_program_makes_one_call_a_resource(type_: str, inputs: dict[str, object], want: str) -> None:
    text = bare_program.source([Registration(type_, "a", inputs), _PROVIDER])
    assert want in text
    assert "kubernetes.Provider('cluster', **{'cluster_identifier': 'gpu'" in text
    assert len([node for node in ast.parse(text).body if not isinstance(node, ast.Import)]) == 2
