"""The authority that signs the certificates of one control plane."""

import datetime
import ipaddress
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

CLUSTER_IP = "10.96.0.1"
"""The address of the Service `kubernetes`: the first one of the range that kube-apiserver is given."""

_LIFETIME = datetime.timedelta(days=30)
_SERVED_NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A certificate and its private key, both PEM."""

    certificate: bytes
    key: bytes


class Authority:
    """The one authority of a control plane; its private key is never written."""

    def __init__(self, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
        self._certificate = certificate
        self._key = key
        self.certificate_pem: bytes = certificate.public_bytes(serialization.Encoding.PEM)

    @classmethod
    def create(cls) -> "Authority":
        """Returns a new authority that signed itself."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = _name("rehearsal-ca")
        certificate = (
            _builder(name, name, key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(_key_usage(signs_certificates=True), critical=True)
            .sign(key, hashes.SHA256())
        )
        return cls(certificate, key)

    def issue(self, name: str, *, group: str = "", serves: bool = False) -> Pair:
        """Returns a certificate for a client of that user name and group, or for a server on this machine."""
        key = ec.generate_private_key(ec.SECP256R1())
        purpose = ExtendedKeyUsageOID.SERVER_AUTH if serves else ExtendedKeyUsageOID.CLIENT_AUTH
        builder = (
            _builder(_name(name, group), self._certificate.subject, key.public_key())
            .add_extension(_key_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
        )
        if serves:
            addresses = [x509.IPAddress(ipaddress.ip_address(ip)) for ip in ("127.0.0.1", CLUSTER_IP)]
            names = [x509.DNSName(served) for served in _SERVED_NAMES]
            builder = builder.add_extension(x509.SubjectAlternativeName([*addresses, *names]), critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
        return Pair(certificate=certificate.public_bytes(serialization.Encoding.PEM), key=private_pem(key))


def private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Returns a private key as every component of Kubernetes reads it."""
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + _LIFETIME)
    )


def _name(common_name: str, group: str = "") -> x509.Name:
    """The user and the group as Kubernetes reads them from a client's certificate."""
    organization = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group)] if group else []
    return x509.Name([*organization, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )
