"""kube-controller-manager: makes Pods of StatefulSets and Jobs, endpoints of Services, clears namespaces."""

from rehearsal.control_plane.layout import Layout
from rehearsal.control_plane.process import Process


def start(layout: Layout) -> Process:
    """Starts all the controllers that run by default."""
    pki, port = layout.pki, layout.ports.kube_controller_manager
    kubeconfig = pki.kubeconfig("kube-controller-manager")
    return layout.start(
        "kube-controller-manager",
        f"--kubeconfig={kubeconfig}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--tls-cert-file={pki.serving / 'tls.crt'}",
        f"--tls-private-key-file={pki.serving / 'tls.key'}",
        "--leader-elect=false",
        f"--root-ca-file={pki.authority}",
        f"--service-account-private-key-file={pki.service_account_key}",
        # Each controller then has the bootstrap role made for it, as on a real cluster.
        "--use-service-account-credentials=true",
        # At the default of 20 requests a second the controllers alone take 5 s to start.
        "--kube-api-qps=500",
        "--kube-api-burst=500",
        healthy=lambda: layout.answers(f"https://127.0.0.1:{port}/healthz"),
    )
