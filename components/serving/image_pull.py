"""The engine's image on each GPU node while the weights are still being copied there.

The kubelet pulls a pod's image only after its init containers, so 10 GB of image would follow 1.56 TB of weights while
all GPUs bill. A pod of the same image that needs nothing else pulls it beside them.
"""

from collections.abc import Mapping
from typing import Final

from components.inference_cluster import Placement

_SLEEP: Final = ("sh", "-c", "trap 'exit 0' TERM INT; sleep infinity & wait")
"""The shell is process 1, which no signal ends unless it is caught."""


def daemon_set_spec(
    image: str, architecture: str, placement: Placement, labels: Mapping[str, str]
) -> dict[str, object]:
    """Return the spec of a DaemonSet that has the image on every node of the pool.

    Args:
        image: As the engine's pods name it, mirror included.
        architecture: Of the nodes: `amd64` or `arm64`.
        placement: The nodes.
        labels: Of the pods; their name must be no label of the engine's.
    """
    container = {
        "name": "image",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": list(_SLEEP),
        "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    return {
        "selector": {"matchLabels": {"app.kubernetes.io/name": labels["app.kubernetes.io/name"]}},
        "template": {
            "metadata": {"labels": dict(labels)},
            "spec": {
                "automountServiceAccountToken": False,
                "enableServiceLinks": False,
                "terminationGracePeriodSeconds": 1,
                "nodeSelector": {"kubernetes.io/arch": architecture, **placement.node_selector},
                "tolerations": list(placement.tolerations),
                "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
                "containers": [container],
            },
        },
    }
