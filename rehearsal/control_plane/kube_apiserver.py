"""kube-apiserver: what the program under rehearsal talks to."""

from rehearsal.control_plane import etcd
from rehearsal.control_plane.layout import Layout
from rehearsal.control_plane.process import Process


def url(port: int) -> str:
    """Returns the URL that a kubeconfig names."""
    return f"https://127.0.0.1:{port}"


def start(layout: Layout) -> Process:
    """Starts the API server with RBAC; clients show a certificate or the administrator's token."""
    pki = layout.pki
    return layout.start(
        "kube-apiserver",
        f"--etcd-servers={etcd.url(layout)}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        f"--secure-port={layout.ports.kube_apiserver}",
        # It would publish its own address as endpoint of the Service `kubernetes`, where loopback is not allowed.
        "--endpoint-reconciler-type=none",
        f"--tls-cert-file={pki.serving / 'tls.crt'}",
        f"--tls-private-key-file={pki.serving / 'tls.key'}",
        f"--client-ca-file={pki.authority}",
        f"--token-auth-file={pki.tokens}",
        "--authorization-mode=RBAC",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={pki.service_account_public_key}",
        f"--service-account-signing-key-file={pki.service_account_key}",
        "--service-cluster-ip-range=10.96.0.0/16",
        f"--kubelet-client-certificate={pki.kubelet_client / 'tls.crt'}",
        f"--kubelet-client-key={pki.kubelet_client / 'tls.key'}",
        "--allow-privileged=true",
        healthy=lambda: layout.answers(f"{url(layout.ports.kube_apiserver)}/readyz"),
    )
