"""The certificates, keys, tokens and kubeconfigs of one control plane.

Names follow the bootstrap policy of Kubernetes: the group system:masters may do everything, the users
system:kube-controller-manager and system:kube-scheduler have roles waiting for them
(https://kubernetes.io/docs/setup/best-practices/certificates/).
"""

import base64
import secrets
from dataclasses import dataclass
from pathlib import Path

import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from rehearsal.control_plane.authority import Authority, Pair, private_pem


@dataclass(frozen=True, kw_only=True)
class Pki:
    """Paths of what `create` has written."""

    folder: Path
    token: str
    """Bearer token of an administrator, for kubeconfigs that get one from an exec plugin."""

    @property
    def authority(self) -> Path:
        """Certificate of the authority that signed all others."""
        return self.folder / "ca.crt"

    @property
    def serving(self) -> Path:
        """Folder with `tls.crt` and `tls.key`, with which every server on 127.0.0.1 serves."""
        return self.folder / "serving"

    @property
    def kubelet_client(self) -> Path:
        """Folder with `tls.crt` and `tls.key`, with which kube-apiserver calls kubelets."""
        return self.folder / "kubelet-client"

    @property
    def service_account_key(self) -> Path:
        """Private key that signs the tokens of service accounts."""
        return self.folder / "service-account.key"

    @property
    def service_account_public_key(self) -> Path:
        """Public key that checks the tokens of service accounts."""
        return self.folder / "service-account.pub"

    @property
    def tokens(self) -> Path:
        """The file for `--token-auth-file`."""
        return self.folder / "tokens.csv"

    def kubeconfig(self, user: str = "admin") -> Path:
        """The kubeconfig of `admin`, `kube-controller-manager` or `kube-scheduler`."""
        return self.folder / f"{user}.kubeconfig"


def create(folder: Path, server: str) -> Pki:
    """Writes everything anew into a folder that only its owner may read.

    Args:
        folder: Made if it isn't there.
        server: URL of the API server, for the kubeconfigs.
    """
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    pki = Pki(folder=folder, token=secrets.token_urlsafe(32))
    authority = Authority.create()
    pki.authority.write_bytes(authority.certificate_pem)
    _write_pair(pki.serving, authority.issue("control-plane", serves=True))
    _write_pair(pki.kubelet_client, authority.issue("kube-apiserver-kubelet-client", group="system:masters"))
    _write_service_account_keys(pki)
    pki.tokens.write_text(f'{pki.token},admin,admin,"system:masters"\n')
    clients = {
        "admin": authority.issue("admin", group="system:masters"),
        "kube-controller-manager": authority.issue("system:kube-controller-manager"),
        "kube-scheduler": authority.issue("system:kube-scheduler"),
    }
    for user, pair in clients.items():
        text = yaml.safe_dump(_kubeconfig(server, authority.certificate_pem, user, pair), sort_keys=False)
        pki.kubeconfig(user).write_text(text)
    return pki


def _write_pair(folder: Path, pair: Pair) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "tls.crt").write_bytes(pair.certificate)
    (folder / "tls.key").write_bytes(pair.key)


def _write_service_account_keys(pki: Pki) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    pki.service_account_key.write_bytes(private_pem(key))
    pki.service_account_public_key.write_bytes(
        key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )


def _kubeconfig(server: str, authority: bytes, user: str, pair: Pair) -> dict[str, object]:
    def encoded(pem: bytes) -> str:
        return base64.b64encode(pem).decode()

    cluster = {"server": server, "certificate-authority-data": encoded(authority)}
    client = {
        "client-certificate-data": encoded(pair.certificate),
        "client-key-data": encoded(pair.key),
    }
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "rehearsal", "cluster": cluster}],
        "users": [{"name": user, "user": client}],
        "contexts": [{"name": "rehearsal", "context": {"cluster": "rehearsal", "user": user}}],
        "current-context": "rehearsal",
    }
