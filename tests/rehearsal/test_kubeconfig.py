"""The arguments of the explicit Kubernetes provider."""

from pathlib import Path

import pytest
import yaml

from rehearsal.fakes.kubernetes.kubeconfig import config_failures, moves_cluster
from rehearsal.fakes.values import UNKNOWN, Properties, Secret


def _kubeconfig(server: str = "https://a", current: str = "one") -> str:
    return yaml.safe_dump(
        {
            "clusters": [{"name": "c", "cluster": {"server": server}}, {"name": "d", "cluster": {"server": "d"}}],
            "contexts": [
                {"name": "one", "context": {"cluster": "c"}},
                {"name": "two", "context": {"cluster": "d"}},
            ],
            "current-context": current,
        }
    )


@pytest.mark.parametrize(
    ("config", "want"),
    [
        ({"kubeconfig": _kubeconfig()}, []),
        ({"kubeconfig": Secret(_kubeconfig()), "context": "two"}, []),
        ({"kubeconfig": _kubeconfig(), "context": UNKNOWN}, []),
        ({"kubeconfig": UNKNOWN, "context": "any"}, []),
        ({"kubeconfig": "{file}", "context": "one"}, []),
        ({}, ["kubeconfig: none given"]),
        ({"kubeconfig": ""}, ["kubeconfig: none given"]),
        ({"kubeconfig": "/nowhere/config"}, ["kubeconfig: neither a file"]),
        ({"kubeconfig": "a: b: c"}, ["kubeconfig: neither a file"]),
        (
            {"kubeconfig": _kubeconfig(), "context": "thre"},
            ['context: context "thre" does not exist in the kubeconfig; there are: one, two'],
        ),
        ({"kubeconfig": _kubeconfig(current="")}, ['context: context "" does not exist']),
    ],
)
def test_what_a_provider_needs(config: Properties, want: list[str], tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text(_kubeconfig())
    if config.get("kubeconfig") == "{file}":
        config = {**config, "kubeconfig": str(file)}
    got = [f"{failure.property}: {failure.reason}" for failure in config_failures(config)]
    assert len(got) == len(want)
    assert all(text.startswith(start) for text, start in zip(got, want, strict=True))


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        ({"kubeconfig": _kubeconfig()}, {"kubeconfig": _kubeconfig()}, []),
        ({"kubeconfig": _kubeconfig()}, {"kubeconfig": _kubeconfig("https://b")}, ["kubeconfig"]),
        ({"kubeconfig": _kubeconfig()}, {"kubeconfig": _kubeconfig(), "context": "two"}, ["context"]),
        ({"kubeconfig": _kubeconfig()}, {"kubeconfig": UNKNOWN}, ["kubeconfig"]),
        (
            {"kubeconfig": _kubeconfig(), "clusterIdentifier": "a"},
            {"kubeconfig": UNKNOWN, "clusterIdentifier": "a"},
            [],
        ),
        (
            {"kubeconfig": _kubeconfig(), "clusterIdentifier": "a"},
            {"kubeconfig": _kubeconfig(), "clusterIdentifier": "b"},
            ["clusterIdentifier"],
        ),
        ({"kubeconfig": _kubeconfig()}, {"kubeconfig": _kubeconfig(), "clusterIdentifier": "b"}, []),
    ],
)
def test_what_means_another_cluster(old: Properties, new: Properties, want: list[str]) -> None:
    assert moves_cluster(old, new) == want
