"""A way to an endpoint that only the cluster can see: through the Kubernetes API, to a leader that is ready."""

import ipaddress
import os
import socket
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import kr8s
from kr8s.objects import Pod
from kr8s.portforward import PortForward

from components import labels

PROJECT: Final = "kimi-k3"
_KNOCK_SECONDS: Final = 3
_START_SECONDS: Final = 10
_DEFAULT_PORTS: Final[Mapping[str, int]] = {"http": 80, "https": 443}


class NoLeaderError(Exception):
    """No leader can be forwarded to, and why."""


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Where the leaders are looked for: the kubeconfig that kubectl would use."""

    stack: str
    context: str | None = None
    """None: the kubeconfig's current one."""
    namespace: str | None = None
    """None: the endpoint's, or all of them."""


@dataclass(frozen=True, kw_only=True)
class Way:
    """How an endpoint is reached."""

    url: str
    says: str
    """For a person."""
    server_name: str | None = None
    """The name on the certificate, where it isn't the URL's."""
    public: bool = False
    """Whether the internet can come the same way."""


@contextmanager
def way(endpoint: str, cluster: Cluster, *, forced: bool = False) -> Iterator[Way]:
    """Reach an endpoint by its address, or through a forwarded port where that can't be.

    Args:
        endpoint: The stack's output.
        cluster: Where its leaders are.
        forced: Forward even so: /metrics of one replica, or a name that doesn't resolve here.

    Raises:
        NoLeaderError: It has to be forwarded, and there is nobody to forward to.
    """
    inside = in_cluster(endpoint)
    if not (forced or inside or closed_from_here(endpoint)):
        yield Way(url=endpoint, says="by its address", public=is_public(endpoint))
        return
    why = "asked for" if forced else "its name is the cluster's own" if inside else "its private address is closed"
    with _forwarded(endpoint, cluster) as (url, pod):
        host = urlsplit(endpoint).hostname
        yield Way(url=url, says=f"through the Kubernetes API to {pod} ({why})", server_name=host)


def in_cluster(endpoint: str) -> bool:
    """Whether a name means something inside the cluster alone."""
    return (urlsplit(endpoint).hostname or "").endswith((".svc", ".svc.cluster.local"))


def is_public(endpoint: str) -> bool:
    """Whether the endpoint's address is one of the internet."""
    return any(ipaddress.ip_address(address).is_global for address in _addresses(endpoint))


def closed_from_here(endpoint: str) -> bool:
    """Whether the address is private and nobody opens: another network, without a VPN into it."""
    found = _addresses(endpoint)
    if not found or is_public(endpoint):
        return False
    try:
        with socket.create_connection((found[0], _port(endpoint)), _KNOCK_SECONDS):
            return False
    except OSError:
        return True


def leader_selector(stack: str) -> dict[str, str]:
    """Return the labels of the stack's leaders."""
    return {"app.kubernetes.io/instance": labels.value(f"{PROJECT}-{stack}"), labels.LWS_WORKER_INDEX: "0"}


def _addresses(endpoint: str) -> list[str]:
    try:
        found = socket.getaddrinfo(urlsplit(endpoint).hostname, _port(endpoint), type=socket.SOCK_STREAM)
    except OSError:
        return []
    return [str(each[4][0]) for each in found]


def _port(endpoint: str) -> int:
    parts = urlsplit(endpoint)
    return parts.port or _DEFAULT_PORTS[parts.scheme]


@contextmanager
def _forwarded(endpoint: str, cluster: Cluster) -> Iterator[tuple[str, str]]:
    """Yield a URL on loopback and the pod that it leads to."""
    # Of each new Kubernetes version the client warns for a while; pods are what they were.
    warnings.filterwarnings("ignore", message="Kubernetes version", module="kr8s")
    pod = _leader(endpoint, cluster)
    probe = pod.raw["spec"]["containers"][0]["readinessProbe"]["httpGet"]
    forward = pod.portforward(remote_port=int(probe["port"]), local_port=_free_port())
    forward.start()
    try:
        yield f"{probe['scheme'].lower()}://127.0.0.1:{_opened(forward)}/v1", pod.name
    finally:
        forward.stop()


def _leader(endpoint: str, cluster: Cluster) -> Pod:
    """Return a leader that is ready."""
    host = (urlsplit(endpoint).hostname or "").split(".")
    namespace = cluster.namespace or (host[1] if in_cluster(endpoint) else kr8s.ALL)
    where = f"context {cluster.context or 'of the kubeconfig'}, namespace {namespace}"
    try:
        # The client remembers clusters by what it is given, so the variable that it would read is given.
        api = kr8s.api(kubeconfig=os.environ.get("KUBECONFIG"), context=cluster.context)
        listed = api.get("pods", namespace=namespace, label_selector=leader_selector(cluster.stack))
        found = [pod for pod in listed if isinstance(pod, Pod)]
    except Exception as error:
        raise NoLeaderError(f"the cluster can't be asked ({where}): {error}") from error
    ready = [pod for pod in found if _ready(pod.raw)]
    if not ready:
        raise NoLeaderError(
            f"{len(found)} leaders of the stack {cluster.stack!r} are there and none is ready ({where}): name another "
            "--kube-context or --namespace, or see `kubectl get pods`"
        )
    return ready[0]


def _ready(pod: Mapping[str, Any]) -> bool:
    conditions = pod.get("status", {}).get("conditions") or []
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _free_port() -> int:
    """Return a port of loopback that nobody has; the client's own choice may be one that can't be bound."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def _opened(forward: PortForward) -> int:
    """Return the port on loopback, once it takes connections."""
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        if forward.servers:
            return forward.local_port
        time.sleep(0.05)
    raise NoLeaderError("the port couldn't be forwarded")
