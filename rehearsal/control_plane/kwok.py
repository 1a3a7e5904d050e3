"""KWOK: plays the kubelets, and the cloud's controllers for volumes and load balancers.

What it does to which object stands in `kwok-stages.yaml` (https://kwok.sigs.k8s.io/docs/user/stages-configuration/).
"""

from pathlib import Path

import yaml

from rehearsal.control_plane.layout import Layout
from rehearsal.control_plane.process import Process

HOLD_ANNOTATION = "rehearsal.kimi-k3/hold"
"""A Pod with this annotation set to "true" stays Pending on its node, as if it were still starting."""

STAGES = Path(__file__).with_name("kwok-stages.yaml")

_POD_LOG = "2026-01-01T00:00:00.000000000Z stdout F INFO: Application startup complete.\n"
"""What `kubectl logs` shows of every container, in the log format of the container runtime interface."""


def start(layout: Layout) -> Process:
    """Starts it as administrator, in charge of all nodes."""
    port = layout.ports.kwok
    return layout.start(
        "kwok",
        f"--kubeconfig={layout.pki.kubeconfig()}",
        f"--config={_write_configuration(layout.folder)}",
        "--manage-all-nodes=true",
        "--node-ip=127.0.0.1",
        f"--node-port={port}",
        f"--server-address=127.0.0.1:{port}",
        "--cidr=10.244.0.0/16",
        # By default there are no leases, and after 40 s the controllers take every node for dead.
        "--node-lease-duration-seconds=40",
        healthy=lambda: layout.answers(f"http://127.0.0.1:{port}/healthz"),
    )


def _write_configuration(folder: Path) -> Path:
    pod_log = folder / "pod.log"
    pod_log.write_text(_POD_LOG)
    logs = {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "ClusterLogs",
        "metadata": {"name": "every-pod"},
        "spec": {"logs": [{"logsFile": str(pod_log)}]},
    }
    configuration = folder / "kwok.yaml"
    configuration.write_text(f"{STAGES.read_text()}---\n{yaml.safe_dump(logs)}")
    return configuration
