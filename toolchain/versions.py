"""The one place where the version of each tool is pinned.

The `go.mod` files and the `package.json` beside the tools name the same versions, since Go and npm want them there: a
test compares both.
"""

from importlib import metadata

PULUMI = "3.274.1"
"""The Pulumi CLI, https://github.com/pulumi/pulumi/releases."""

KUBERNETES = "1.37.2"
"""kube-apiserver, kube-controller-manager and kube-scheduler."""

ETCD = "3.7.3"
"""Not Debian's 3.4: without progress notifications the clients' streaming lists end tens of seconds late."""

LWS = "0.9.0"
"""LeaderWorkerSet. The Go module proxy lists 0.10.0 but refuses its source (tried 2026-12-01)."""

KWOK = "0.8.0"
"""The simulator that plays the nodes."""

VERSITYGW = "1.8.0"
"""The S3 server of the weights' tests."""

AZURITE = "3.37.0"
"""The Azure Blob server of the weights' tests."""


def pulumi_sdk() -> str:
    """Returns the version of the installed Python SDK `pulumi`, which the CLI must not be older than."""
    return metadata.version("pulumi")


def kubernetes_provider() -> str:
    """Returns the version of the installed Python SDK `pulumi_kubernetes`, which the plugin must have."""
    return metadata.version("pulumi_kubernetes")
