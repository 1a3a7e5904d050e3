"""The control plane that the tests of this folder share."""

from collections.abc import Iterator

import pytest

from rehearsal.control_plane.api import Api
from rehearsal.control_plane.control_plane import NODES, ControlPlane

NAMESPACES = "/api/v1/namespaces"
BUILT_IN = {"default", "kube-node-lease", "kube-public", "kube-system"}
COLLECTIONS = (
    "/apis/leaderworkerset.x-k8s.io/v1/namespaces/default/leaderworkersets",
    "/apis/batch/v1/namespaces/default/jobs",
    "/apis/apps/v1/namespaces/default/deployments",
    "/api/v1/namespaces/default/pods",
    "/api/v1/namespaces/default/persistentvolumeclaims",
    "/api/v1/persistentvolumes",
)


@pytest.fixture(scope="session")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A running control plane without nodes; whoever adds something clears it away, or takes `empty_plane`."""
    with ControlPlane(tmp_path_factory.mktemp("plane"), say=print) as running:
        yield running


@pytest.fixture
def empty_plane(plane: ControlPlane) -> Iterator[ControlPlane]:
    """The shared control plane, cleared when the test is over.

    Workloads, Services and volumes of the namespace `default` go, then every other namespace (each takes
    5 s, the controller's own pause), then the nodes.
    """
    yield plane
    clear_default_namespace(plane.api)
    for name in {item["metadata"]["name"] for item in plane.api.items(NAMESPACES)} - BUILT_IN:
        plane.api.delete(f"{NAMESPACES}/{name}")
        plane.api.wait_until_gone(f"{NAMESPACES}/{name}", seconds=60)
    plane.remove_nodes([item["metadata"]["name"] for item in plane.api.items(NODES)])


def clear_default_namespace(api: Api) -> None:
    """Removes what tests make there, and waits until it is gone."""
    services = f"{NAMESPACES}/default/services"
    for item in api.items(services):
        if item["metadata"]["name"] != "kubernetes":
            api.delete(f"{services}/{item['metadata']['name']}")
    for collection in COLLECTIONS:
        api.delete(collection)
        api.wait_for(collection, lambda found: not found["items"])
