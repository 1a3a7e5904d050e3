"""What the API server and the controllers say of an object once it exists and is ready."""

import hashlib
from typing import Final

from rehearsal.fakes.kubernetes.kinds import Kind, cluster_wide, namespace_of
from rehearsal.fakes.values import Properties, mapping

# Addresses for documentation (RFC 5737), so that nobody mistakes them for a real load balancer's.
_LOAD_BALANCER: Final = "192.0.2"
_SERVICE_NETWORK: Final = "10.96.0"
_ADDRESSES: Final = 254


def computed(kind: Kind, inputs: Properties, stamp: str) -> Properties:
    """The inputs with what the cluster adds: namespace, uid, time of creation, addresses, status.

    Args:
        kind: The object's kind.
        inputs: Its manifest, complete.
        stamp: The time, as Kubernetes writes it.
    """
    metadata = dict(mapping(inputs.get("metadata")))
    if not cluster_wide(kind):
        metadata.setdefault("namespace", namespace_of(inputs))
    identity = f"{kind.token}/{metadata.get('namespace')}/{metadata.get('name')}/{stamp}"
    digest = hashlib.sha256(identity.encode()).hexdigest()
    uid = f"{digest[:8]}-{digest[8:12]}-4{digest[12:15]}-8{digest[15:18]}-{digest[18:30]}"
    metadata |= {"uid": uid, "creationTimestamp": stamp, "generation": 1}
    number = int(digest, 16) % _ADDRESSES + 1
    return {**inputs, "metadata": metadata, **_of_kind(kind, inputs, number)}


def _of_kind(kind: Kind, inputs: Properties, number: int) -> Properties:
    spec = mapping(inputs.get("spec"))
    replicas = spec.get("replicas", 1)
    if kind.name == "Service":
        return _service(spec, number)
    ready = {"replicas": replicas, "readyReplicas": replicas}
    statuses: dict[str, Properties] = {
        "Deployment": ready,
        "StatefulSet": ready,
        "LeaderWorkerSet": {**ready, "conditions": [_true("Available")]},
        "Job": {"succeeded": spec.get("completions", 1), "conditions": [_true("Complete")]},
        "Namespace": {"phase": "Active"},
        "PersistentVolumeClaim": {"phase": "Bound"},
    }
    return {"status": statuses[kind.name]} if kind.name in statuses else {}


def _service(spec: Properties, number: int) -> Properties:
    address = f"{_SERVICE_NETWORK}.{number}"
    complete = {"type": "ClusterIP", "clusterIP": address, "clusterIPs": [address], **spec}
    if complete["type"] != "LoadBalancer":
        return {"spec": complete, "status": {"loadBalancer": {}}}
    ingress = [{"ip": f"{_LOAD_BALANCER}.{number}"}]
    return {"spec": complete, "status": {"loadBalancer": {"ingress": ingress}}}


def _true(condition: str) -> Properties:
    return {"type": condition, "status": "True"}
