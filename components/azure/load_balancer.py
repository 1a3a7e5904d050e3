"""How Azure's own load balancer is asked for: AKS has the controller."""

from typing import Final

from components.inference_cluster import LoadBalancer
from components.settings import Exposure

_PREFIX: Final = "service.beta.kubernetes.io/azure"
IDLE_MINUTES: Final = 30
"""The longest that AKS' documentation promises; the default of 4 cuts a request that thinks before its first word."""


def load_balancer(exposure: Exposure) -> LoadBalancer:
    """Return the annotations of the Service.

    The probe stays Azure's own for a Service that keeps the callers' addresses; one over HTTP would ask for "/", which
    the engine doesn't have.

    Args:
        exposure: Who can reach the API.
    """
    annotations = {f"{_PREFIX}-load-balancer-tcp-idle-timeout": str(IDLE_MINUTES)}
    if exposure.mode == "internal":
        annotations[f"{_PREFIX}-load-balancer-internal"] = "true"
    return LoadBalancer(annotations=annotations)
