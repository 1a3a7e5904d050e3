"""The local disks of GPU nodes on clouds that hand them over raw: one striped file system a node.

A pod of our own on each node does it, since no node of a managed cluster can be told to before it joins.
"""

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import pulumi
import pulumi_kubernetes as kubernetes

from components.inference_cluster import ClusterAccess, Placement
from components.settings import Mirror
from components.weights import program

NAME: Final = "node-disks"
_LABEL: Final = "kimi-k3-nvme"
"""Of the file system, at most 16 characters: after a restart of the machine it is found again by it."""


@dataclass(frozen=True, kw_only=True)
class NodeDisksArgs:
    """Which disks of which nodes, and where they go."""

    access: ClusterAccess
    model: str
    """Beginning of the model name that the local disks have, and no other disk has."""
    mount: str
    """Where the node sees the file system."""
    folder: str
    """A folder in it that is there once the disks are, and never before: pods wait for it."""
    placement: Placement
    """The nodes."""
    mirror: Mirror
    labels: Mapping[str, str]
    """Labels of everything."""


def node_disks(name: str, args: NodeDisksArgs, opts: pulumi.ResourceOptions) -> pulumi.Resource:
    """Put the disks of each node together.

    Args:
        name: Of the Pulumi resource.
        args: Which disks of which nodes.
        opts: Parent and what must be there first.
    """
    return kubernetes.apiextensions.CustomResource(
        name,
        api_version="apps/v1",
        kind="DaemonSet",
        metadata=kubernetes.meta.v1.ObjectMetaArgs(
            name=NAME,
            namespace=args.access.namespace,
            labels=args.labels,
            # Made before the nodes are: there is no pod to wait for.
            annotations={"pulumi.com/skipAwait": "true"},
        ),
        spec=daemon_set_spec(args),
        opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(provider=args.access.provider)),
    )


def daemon_set_spec(args: NodeDisksArgs) -> dict[str, object]:
    """Return the DaemonSet's spec: a privileged pod that works in the host's mount namespace, then sleeps."""
    match = {"app.kubernetes.io/name": args.labels["app.kubernetes.io/name"]}
    container = {
        "name": "disks",
        # Debian's image has nsenter; everything else is the host's own.
        "image": args.mirror.mirrored(program.IMAGE),
        "imagePullPolicy": "IfNotPresent",
        "command": ["sh", "-ec", script(args)],
        "securityContext": {"privileged": True},
        "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}},
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }
    return {
        "selector": {"matchLabels": match},
        "template": {
            "metadata": {"labels": dict(args.labels)},
            "spec": {
                "hostPID": True,
                "automountServiceAccountToken": False,
                "enableServiceLinks": False,
                "terminationGracePeriodSeconds": 1,
                "priorityClassName": "system-node-critical",
                "nodeSelector": dict(args.placement.node_selector),
                "tolerations": list(args.placement.tolerations),
                "containers": [container],
            },
        },
    }


def script(args: NodeDisksArgs) -> str:
    """Return the shell program: it touches disks of this model alone, and formats them only once.

    Model names: Azure/azure-vm-utils. A striped ext4 of the four disks of a GB300 is what Azure's own measurements use.
    """
    return textwrap.dedent(f"""\
        host() {{ nsenter --target 1 --mount -- "$@"; }}
        if ! host mountpoint -q {args.mount}; then
          if ! host blkid --label {_LABEL} > /dev/null; then
            disks=$(host lsblk --nodeps --noheadings --paths --output NAME,MODEL | awk '/{args.model}/ {{ print $1 }}')
            test -n "$disks" || {{ echo "this node has no disk called {args.model}"; exit 1; }}
            if ! host test -e /dev/md/{_LABEL}; then
              count=$(echo "$disks" | wc -l)
              host mdadm --create /dev/md/{_LABEL} --run --level 0 --force --raid-devices "$count" $disks
            fi
            host mkfs.ext4 -q -m 0 -L {_LABEL} /dev/md/{_LABEL}
          fi
          host mkdir -p {args.mount}
          host mount -o noatime LABEL={_LABEL} {args.mount}
        fi
        host mkdir -p {args.folder}
        echo "{args.folder} is ready"
        exec sleep infinity
        """)
