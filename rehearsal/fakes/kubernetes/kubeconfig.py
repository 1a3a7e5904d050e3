"""The explicit provider's arguments: a kubeconfig, by path or by contents, and a context in it."""

from pathlib import Path
from typing import Final

import yaml

from rehearsal.fakes.rules import Failure
from rehearsal.fakes.values import UNKNOWN, Properties, mapping, plain, sequence

_ARGUMENTS_THAT_NAME_A_CLUSTER: Final = ("kubeconfig", "context", "cluster")


def config_failures(config: Properties) -> list[Failure]:
    """What is wrong with the arguments of the provider.

    The real provider marks the cluster as unreachable instead, and every operation says so later; client-go's text
    for the context is `context "x" does not exist`. A kubeconfig that isn't known yet can't be wrong.
    """
    kubeconfig = plain(config.get("kubeconfig"))
    if kubeconfig is UNKNOWN:
        return []
    if not isinstance(kubeconfig, str) or not kubeconfig:
        return [Failure("kubeconfig", "none given: the program would deploy to whatever cluster is current")]
    contents = _contents(kubeconfig)
    if contents is None:
        return [Failure("kubeconfig", "neither a file that exists nor the contents of a kubeconfig")]
    return _context_failures(config.get("context"), contents)


def moves_cluster(old: Properties, new: Properties) -> list[str]:
    """Arguments whose change makes the provider replace everything that it made.

    Like `DiffConfig` of pulumi-kubernetes (provider.go): with a cluster identifier only a change of that counts;
    without one, an unknown kubeconfig or another active cluster does.
    """
    identifier = new.get("clusterIdentifier")
    if identifier is not None and old.get("clusterIdentifier") == identifier:
        return []
    moved = [key for key in _ARGUMENTS_THAT_NAME_A_CLUSTER if new.get(key) is UNKNOWN]
    if not moved and _active_cluster(old) != _active_cluster(new):
        moved = [key for key in _ARGUMENTS_THAT_NAME_A_CLUSTER if old.get(key) != new.get(key)]
    changed = identifier is not None and old.get("clusterIdentifier") is not None
    return [*moved, "clusterIdentifier"] if changed else moved


def contexts(kubeconfig: Properties) -> dict[str, Properties]:
    """The contexts of a kubeconfig, by name."""
    entries = map(mapping, sequence(kubeconfig.get("contexts")))
    return {str(entry.get("name")): mapping(entry.get("context")) for entry in entries}


def _context_failures(context: object, contents: Properties) -> list[Failure]:
    known = contexts(contents)
    wanted = context or contents.get("current-context")
    if wanted is UNKNOWN or str(wanted) in known:
        return []
    there = ", ".join(sorted(known)) or "none"
    return [Failure("context", f'context "{wanted or ""}" does not exist in the kubeconfig; there are: {there}')]


def _contents(path_or_contents: str) -> Properties | None:
    try:
        path = Path(path_or_contents).expanduser()
        text = path.read_text() if path.is_file() else path_or_contents
    except OSError:  # contents are too long for a file's name
        text = path_or_contents
    try:
        return mapping(yaml.safe_load(text)) or None
    except yaml.YAMLError:
        return None


def _active_cluster(config: Properties) -> object:
    contents = _contents(str(plain(config.get("kubeconfig")))) or {}
    context = str(config.get("context") or contents.get("current-context"))
    wanted = config.get("cluster") or contexts(contents).get(context, {}).get("cluster")
    clusters = {entry.get("name"): entry.get("cluster") for entry in map(mapping, sequence(contents.get("clusters")))}
    return clusters.get(wanted)
