"""etcd: the store behind the API server."""

from rehearsal.control_plane.layout import Layout
from rehearsal.control_plane.process import Process


def url(layout: Layout) -> str:
    """Returns the URL for clients; plain HTTP, since it listens on 127.0.0.1 only."""
    return f"http://127.0.0.1:{layout.ports.etcd}"


def start(layout: Layout) -> Process:
    """Starts a member that forms a cluster of one."""
    peers = f"http://127.0.0.1:{layout.ports.etcd_peer}"
    return layout.start(
        "etcd",
        "--name=rehearsal",
        f"--data-dir={layout.folder / 'etcd'}",
        # The store doesn't outlive the rehearsal, so nothing is lost if the disk's cache is.
        "--unsafe-no-fsync",
        "--log-level=warn",
        f"--listen-client-urls={url(layout)}",
        f"--advertise-client-urls={url(layout)}",
        f"--listen-peer-urls={peers}",
        f"--initial-advertise-peer-urls={peers}",
        f"--initial-cluster=rehearsal={peers}",
        healthy=lambda: layout.answers(f"{url(layout)}/health"),
    )
