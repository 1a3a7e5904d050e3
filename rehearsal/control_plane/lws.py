"""The LeaderWorkerSet controller with its webhooks: makes the groups of Pods that serve one model together."""

import base64
import functools
from pathlib import Path

import yaml

from rehearsal.control_plane.api import Api, Json
from rehearsal.control_plane.layout import Layout
from rehearsal.control_plane.process import Process
from toolchain import control_plane_binaries

_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_ADMISSION = "/apis/admissionregistration.k8s.io/v1"
_PLURALS = {
    "MutatingWebhookConfiguration": "mutatingwebhookconfigurations",
    "ValidatingWebhookConfiguration": "validatingwebhookconfigurations",
}

_OWN_PODS = {"matchExpressions": [{"key": "leaderworkerset.sigs.k8s.io/name", "operator": "Exists"}]}
"""Upstream's kustomization adds this selector to the webhooks for Pods; without it they'd judge every Pod."""


def create_crds(api: Api) -> None:
    """Creates the CustomResourceDefinitions and waits until they are served.

    All of the release's are needed: the manager doesn't start without that of DisaggregatedSet.

    Raises:
        TimeoutError: One was not established within 60 s.
    """
    files = sorted(control_plane_binaries.lws_crds().glob("*.yaml"))
    for file in files:
        # As bytes: parsing 3 MB of YAML in Python takes many seconds.
        api.create(_CRDS, file.read_bytes())
    for file in files:
        group, plural = file.stem.split("_")
        api.wait_for(f"{_CRDS}/{plural}.{group}", _is_established, seconds=60)


def start(layout: Layout) -> Process:
    """Starts the manager as administrator."""
    # Its health port answers before the webhooks are served, so the question goes to a webhook.
    webhook = f"{_webhooks_url(layout)}/mutate--v1-pod"
    return layout.start(
        "lws-manager",
        f"--config={_write_configuration(layout)}",
        "--zap-log-level=info",
        healthy=functools.partial(layout.answers, webhook, b"{}"),
        KUBECONFIG=str(layout.pki.kubeconfig()),
    )


def register_webhooks(api: Api, layout: Layout) -> None:
    """Tells the API server to ask the manager, by URL since there is no cluster network for a Service."""
    authority = base64.b64encode(layout.pki.authority.read_bytes()).decode()
    for configuration in yaml.safe_load_all(control_plane_binaries.lws_webhooks().read_text()):
        name = f"lws-{configuration['metadata']['name']}"
        for webhook in configuration["webhooks"]:
            _retarget(webhook, _webhooks_url(layout), authority)
        path = f"{_ADMISSION}/{_PLURALS[configuration['kind']]}/{name}"
        api.apply(path, {**configuration, "metadata": {"name": name}})


def _webhooks_url(layout: Layout) -> str:
    return f"https://127.0.0.1:{layout.ports.lws_webhooks}"


def _retarget(webhook: Json, server: str, authority: str) -> None:
    path = webhook["clientConfig"]["service"]["path"]
    webhook["clientConfig"] = {"url": f"{server}{path}", "caBundle": authority}
    if any("pods" in rule["resources"] for rule in webhook["rules"]):
        webhook["objectSelector"] = _OWN_PODS


def _is_established(crd: Json) -> bool:
    # The conditions of a new definition can be null.
    conditions = crd.get("status", {}).get("conditions") or []
    return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)


def _write_configuration(layout: Layout) -> Path:
    ports = layout.ports
    configuration = {
        "apiVersion": "config.lws.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "webhook": {"host": "127.0.0.1", "port": ports.lws_webhooks, "certDir": str(layout.pki.serving)},
        "health": {"healthProbeBindAddress": f"127.0.0.1:{ports.lws_health}"},
        "metrics": {"bindAddress": "0"},
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
    }
    path = layout.folder / "lws.yaml"
    path.write_text(yaml.safe_dump(configuration))
    return path
