"""Helm releases: what a chart needs to be installed, and what it brings into the cluster."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import yaml

from rehearsal.fakes.account import Ledger, Thing
from rehearsal.fakes.kubernetes.definitions import definitions_in
from rehearsal.fakes.kubernetes.kinds import DEFINITION, NAMESPACE, RELEASE
from rehearsal.fakes.rules import Failure, RefusedError
from rehearsal.fakes.values import UNKNOWN, Properties, mapping

_EXACT_VERSION: Final = re.compile(r"v?\d+\.\d+\.\d+(-[\w.-]+)?(\+[\w.-]+)?")
CHART_DEFINITIONS: Final[Mapping[str, Sequence[str]]] = {
    "aws-load-balancer-controller": ("ingressclassparams.elbv2.k8s.aws", "targetgroupbindings.elbv2.k8s.aws"),
    "lws": ("disaggregatedsets.disaggregatedset.x-k8s.io", "leaderworkersets.leaderworkerset.x-k8s.io"),
}
"""What the `crds` folder of a known chart holds: a stand-in chart has none of the real one's files."""


def release_failures(inputs: Properties) -> list[Failure]:
    """What is wrong with a release before anything is installed.

    A version that isn't exact is refused here although Helm takes it: the same stack must install the same thing
    tomorrow. The text for a chart that isn't there ends like pulumi-kubernetes' own (helm_release.go, `Check`).
    """
    chart = inputs.get("chart")
    failures: list[Failure] = []
    if chart is not UNKNOWN:
        failures += _chart_failures(str(chart or ""))
    version = inputs.get("version")
    if version is not UNKNOWN and not _EXACT_VERSION.fullmatch(str(version or "")):
        failures.append(Failure("version", f"{version or 'none'} is not an exact version, so it moves"))
    return failures


def chart_facts(chart: str) -> Properties:
    """What a local chart says of itself in Chart.yaml; for a chart elsewhere, the name alone."""
    file = Path(chart).expanduser() / "Chart.yaml"
    if file.is_file():
        return mapping(yaml.safe_load(file.read_text()))
    return {"name": chart.rstrip("/").rsplit("/", 1)[-1]}


def admit_release(inputs: Properties, ledger: Ledger) -> None:
    """Refuse a release whose name is taken or whose namespace isn't there (Helm's own texts)."""
    namespace, name = release_id(inputs).split("/")
    if any(thing.outputs.get("name") == name for thing in _releases(ledger, namespace)):
        raise RefusedError("cannot re-use a name that is still in use")
    there = namespace in {"default", "kube-system"} or ledger.find(NAMESPACE, namespace)
    if not there and not inputs.get("createNamespace"):
        raise RefusedError(f'create: failed to create: namespaces "{namespace}" not found')


def release_id(inputs: Properties) -> str:
    """Namespace and name of the release."""
    return f"{inputs.get('namespace') or 'default'}/{inputs.get('name')}"


def release_outputs(inputs: Properties, *, installed: bool) -> Properties:
    """What the provider says of a release; its status only once it is installed."""
    facts = chart_facts(str(inputs.get("chart")))
    namespace, name = release_id(inputs).split("/")
    status: Properties = {
        "name": name,
        "namespace": namespace,
        "revision": 1,
        "status": "deployed",
        "chart": facts.get("name"),
        "version": facts.get("version") or inputs.get("version"),
        "appVersion": facts.get("appVersion"),
    }
    known = {**inputs, "name": name, "namespace": namespace}
    return {**known, "status": status} if installed else known


def install(thing: Thing, ledger: Ledger) -> None:
    """Bring what a release brings: its definitions, and its namespace if it may create it.

    Both stay when the release goes: https://helm.sh/docs/chart_best_practices/custom_resource_definitions/ for the
    definitions; `helm install --create-namespace` makes an object that the release doesn't own.
    """
    chart = str(thing.inputs.get("chart"))
    namespace = str(thing.outputs.get("namespace"))
    if thing.inputs.get("createNamespace") and not ledger.find(NAMESPACE, namespace):
        because = "Helm made it (createNamespace) and never deletes it"
        ledger.add(Thing(NAMESPACE, namespace, thing.name, {}, {}, left_because=because))
    if thing.inputs.get("skipCrds"):
        return
    shipped = {definition.name for definition in definitions_in([Path(chart) / "crds"]).values()}
    for name in sorted(shipped.union(CHART_DEFINITIONS.get(str(chart_facts(chart).get("name")), ()))):
        if not ledger.find(DEFINITION, name):
            because = "Helm never deletes the definitions that a chart brings in its crds folder"
            ledger.add(Thing(DEFINITION, name, thing.name, {}, {}, left_because=because))


def _releases(ledger: Ledger, namespace: str) -> list[Thing]:
    there = ledger.of_type(RELEASE)
    return [thing for thing in there if thing.outputs.get("namespace") == namespace]


def _chart_failures(chart: str) -> list[Failure]:
    hint = "check the chart name and repository configuration."
    if not chart:
        return [Failure("chart", f"chart is required; {hint}")]
    path = Path(chart).expanduser()
    if not (path.is_absolute() or chart.startswith(("./", "../", "~"))):
        return []  # in a repository or registry, which a rehearsal doesn't ask
    if not path.is_dir():
        return [Failure("chart", f'path "{chart}" not found; {hint}')]
    if not (path / "Chart.yaml").is_file():
        return [Failure("chart", f"Chart.yaml file is missing in {chart}; {hint}")]
    return []
