"""How Google's own passthrough load balancer is asked for: GKE has the controller."""

from typing import Final

from components.inference_cluster import LoadBalancer
from components.settings import Exposure

_CLASS: Final = {
    "internal": "networking.gke.io/l4-regional-internal",
    "public": "networking.gke.io/l4-regional-external",
}
"""By mode; without a class a Service gets a public address. GKE has both from 1.33.1 on."""


def load_balancer(exposure: Exposure) -> LoadBalancer:
    """Return the class of the Service's load balancer; it keeps the callers' addresses, and ends no TLS.

    It forgets a connection that is silent for ten minutes, which nothing can set: callers stream.

    Args:
        exposure: Who can reach the API.
    """
    return LoadBalancer(load_balancer_class=_CLASS.get(exposure.mode))
