"""What the clouds have in common whose cluster the program makes: nothing is in it before, and nothing after."""

import json
from collections.abc import Mapping, Sequence

from rehearsal.clouds.cloud import ApiServer, Scene
from rehearsal.control_plane.api import Json
from rehearsal.fakes.account import Account
from rehearsal.remains import Remains, listed
from rehearsal.stack_file import Contents


class OwnCluster:
    """A cloud of which a stand-in plays the whole account; its own class says which, and furnishes it."""

    cluster: str
    """Type of its Kubernetes clusters, such as `aws:eks/cluster:Cluster`."""
    parts: Sequence[str] = ()
    """Patterns of types that are mere parts of something else, so that nobody counts them as left."""

    def overrides(self, scene: Scene) -> Contents:
        """Nothing: the account plays everything that the stack file names."""
        del scene
        return {}

    def commands(self, scene: Scene) -> Mapping[str, str]:
        """None: the kubeconfig holds a token or a certificate."""
        del scene
        return {}

    def served(self, config: Contents) -> Sequence[str]:
        """None: the program installs what it needs."""
        del config
        return []

    def nodes(self, config: Contents) -> Sequence[Json]:
        """None: node groups bring them."""
        del config
        return []

    def has_cluster(self, account: Account) -> bool:
        """While the account has one."""
        return bool(account.ledger().of_type(self.cluster))

    def remains(self, account: Account) -> list[Remains]:
        """What is in the account."""
        return listed(account, self.parts)


def exec_credential(server: ApiServer) -> str:
    """What a command that a kubeconfig runs prints (client.authentication.k8s.io)."""
    return json.dumps(
        {
            "apiVersion": "client.authentication.k8s.io/v1beta1",
            "kind": "ExecCredential",
            "status": {"token": server.token},
        }
    )
