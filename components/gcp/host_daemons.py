"""Google's two programs that must run on GPU nodes themselves: the one of bare-metal adapters, and NCCL's plugin.

Google hands both out as manifests on a branch that moves; these are our own, with the images pinned.
"""

import textwrap
from typing import Final

from components.inference_cluster import Manifest
from components.settings import Mirror

_ASAPD_IMAGE: Final = "us-docker.pkg.dev/gce-ai-infra/asapd-lite/asapd-lite:v0.0.8"
_ASAPD_PORT: Final = 19540
_GIB_VERSION: Final = "v1.1.2"
_GIB_IMAGE: Final = f"us-docker.pkg.dev/gce-ai-infra/gpudirect-gib/nccl-plugin-gib:{_GIB_VERSION}"
_BINARIES: Final = "/home/kubernetes/bin"
"""The one folder of a node of Container-Optimized OS that takes programs and isn't emptied by a restart."""
GIB_FOLDER: Final = f"{_BINARIES}/gib"

_ASAPD_FOLDERS: Final = {
    "/sys": "",
    "/proc": "",
    "/etc/udev/rules.d": "",
    "/run/udev": "",
    "/etc/systemd/system": "",
    "/run/systemd": "",
    "/run/asapd-lite": "DirectoryOrCreate",
    "/var/log/google/asapd-lite": "DirectoryOrCreate",
    "/var/lib/google/asapd-lite": "DirectoryOrCreate",
}
"""Folders of the node, by their hostPath type."""
_ASAPD_SCRIPT: Final = textwrap.dedent("""\
    /usr/local/bin/run_asapd_lite.sh
    sleep 15
    broken=0
    for nic in $(ip -o link show | awk -F': ' '$2 ~ /gpu/ { print $2 }'); do
      if ip -6 address show dev "$nic" | grep -q dadfailed; then
        ip link set dev "$nic" down
        ip link set dev "$nic" up
        broken=1
      fi
    done
    test "$broken" = 0 || exit 1
    wait
    """)
"""The program goes on in the background; an adapter whose address another one had is taken down and up once."""


def asapd_lite(machine: str, mirror: Mirror) -> Manifest:
    """Return the DaemonSet that brings up the adapters of bare-metal nodes: without it they have no GPU network.

    Mounts, memory, huge pages and health check are those of Google's own (container-engine-accelerators, 2026-06);
    without its further container, an unpinned image that only measures.

    Args:
        machine: Machine type of the nodes.
        mirror: Where the image comes from on a closed network.
    """
    health = {"httpGet": {"path": "/healthz", "port": _ASAPD_PORT}}
    names = {folder: folder.strip("/").replace("/", "-").replace(".", "-") for folder in _ASAPD_FOLDERS}
    mounts: list[Manifest] = [{"name": name, "mountPath": folder} for folder, name in names.items()]
    volumes: list[Manifest] = [
        {"name": name, "hostPath": {"path": folder, "type": _ASAPD_FOLDERS[folder]}} for folder, name in names.items()
    ]
    memory = {"hugepages-2Mi": "8192Mi", "memory": "1024Mi"}
    container = {
        "name": "asapd-lite",
        "image": mirror.mirrored(_ASAPD_IMAGE),
        "imagePullPolicy": "IfNotPresent",
        "command": ["bash", "-c", _ASAPD_SCRIPT],
        "env": [{"name": "LD_LIBRARY_PATH", "value": "/asapd-lite/controller"}],
        "livenessProbe": {**health, "initialDelaySeconds": 60},
        "readinessProbe": health,
        "resources": {"requests": memory, "limits": memory},
        "securityContext": {"privileged": True},
        "volumeMounts": [*mounts, {"name": "huge-pages", "mountPath": "/hugepages-2Mi"}],
    }
    volumes.append({"name": "huge-pages", "emptyDir": {"medium": "HugePages-2Mi"}})
    return _daemon("asapd-lite", {"node.kubernetes.io/instance-type": machine}, container, volumes)


def nccl_plugin(accelerator: str, mirror: Mirror) -> Manifest:
    """Return the DaemonSet that puts NCCL's plugin gIB onto each node; without it NCCL takes TCP and doesn't say so.

    The folder appears whole or not at all: the engine's pods wait until it is there.

    Args:
        accelerator: GKE's name of the nodes' GPU.
        mirror: Where the image comes from on a closed network.
    """
    script = textwrap.dedent(f"""\
        if ! test -e /node/gib/{_GIB_VERSION}; then
          /scripts/container_entry.sh install --install-nccl
          rm -rf /node/gib.new
          cp -r /var/lib/gib /node/gib.new
          touch /node/gib.new/{_GIB_VERSION}
          rm -rf /node/gib
          mv /node/gib.new /node/gib
        fi
        exec sleep infinity
        """)
    container = {
        "name": "nccl-plugin",
        "image": mirror.mirrored(_GIB_IMAGE),
        "imagePullPolicy": "IfNotPresent",
        "command": ["sh", "-ec", script],
        "resources": {"requests": {"cpu": "150m", "memory": "64Mi"}},
        "securityContext": {"privileged": True},
        "volumeMounts": [{"name": "binaries", "mountPath": "/node"}],
    }
    volumes: list[Manifest] = [{"name": "binaries", "hostPath": {"path": _BINARIES, "type": "Directory"}}]
    return _daemon("nccl-plugin", {"cloud.google.com/gke-accelerator": accelerator}, container, volumes)


def _daemon(name: str, nodes: Manifest, container: Manifest, volumes: list[Manifest]) -> Manifest:
    match = {"k8s-app": name}
    spec: Manifest = {
        "priorityClassName": "system-node-critical",
        "nodeSelector": nodes,
        # It makes the node ready for others: no taint keeps it away.
        "tolerations": [{"operator": "Exists"}],
        "hostNetwork": True,
        "hostPID": True,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 5,
        "containers": [container],
        "volumes": volumes,
    }
    template = {"metadata": {"labels": match}, "spec": spec}
    return {"name": name, "spec": {"selector": {"matchLabels": match}, "template": template}}
