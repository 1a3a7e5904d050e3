"""kube-scheduler: decides whether a Pod fits on a node, and says why not."""

from rehearsal.control_plane.layout import Layout
from rehearsal.control_plane.process import Process


def start(layout: Layout) -> Process:
    """Starts the default scheduler."""
    pki, port = layout.pki, layout.ports.kube_scheduler
    kubeconfig = pki.kubeconfig("kube-scheduler")
    return layout.start(
        "kube-scheduler",
        f"--kubeconfig={kubeconfig}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--tls-cert-file={pki.serving / 'tls.crt'}",
        f"--tls-private-key-file={pki.serving / 'tls.key'}",
        "--leader-elect=false",
        healthy=lambda: layout.answers(f"https://127.0.0.1:{port}/healthz"),
    )
