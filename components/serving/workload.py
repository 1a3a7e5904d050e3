"""The LeaderWorkerSet manifest: one workload kind everywhere, a group of one pod on a single node."""

from typing import Final

from components.serving.pod import PodInputs, pod_template
from components.settings import Rollout

API_VERSION: Final = "leaderworkerset.x-k8s.io/v1"
COMPUTE_DOMAIN_API_VERSION: Final = "resource.nvidia.com/v1beta1"


def leader_worker_set_spec(inputs: PodInputs) -> dict[str, object]:
    """Return the spec of the LeaderWorkerSet."""
    return {
        "replicas": inputs.plan.replicas,
        # LeaderReady would never end: the leader isn't ready before its workers have joined.
        "startupPolicy": "LeaderCreated",
        "rolloutStrategy": rollout_strategy(inputs.serving.rollout),
        "networkConfig": {"subdomainPolicy": "Shared"},
        "leaderWorkerTemplate": {
            "size": inputs.plan.layout.nodes,
            # A rank that ends takes the group with it, but pods that are still coming up don't count as a loss.
            "restartPolicy": "RecreateGroupAfterStart",
            "leaderTemplate": pod_template(inputs, "leader"),
            "workerTemplate": pod_template(inputs, "worker"),
        },
    }


def rollout_strategy(rollout: Rollout) -> dict[str, object]:
    """Return the rollout: no surge by default, for there is no spare node in a reservation."""
    configuration = {"maxUnavailable": rollout.max_unavailable, "maxSurge": rollout.max_surge}
    return {"type": "RollingUpdate", "rollingUpdateConfiguration": configuration}


def compute_domain_spec(name: str) -> dict[str, object]:
    """Return the spec of the ComputeDomain whose channel lets pods share memory over NVLink between nodes.

    NVIDIA's DRA driver makes the claim template of this name; numNodes is deprecated and 0 means as many as claim.
    """
    template = {"name": f"{name}-imex"}
    return {"numNodes": 0, "channel": {"allocationMode": "Single", "resourceClaimTemplate": template}}
