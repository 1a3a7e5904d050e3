"""Workload identity: what one service account of the cluster may do with one bucket, without any key."""

from dataclasses import dataclass

import pulumi
import pulumi_gcp as gcp

from components.gcp.cluster import Cluster
from components.gcp.provider import Place


@dataclass(frozen=True, kw_only=True)
class PodIdentityArgs:
    """Who may do what."""

    cluster: Cluster
    place: Place
    service_account: str
    bucket: pulumi.Input[str]
    role: str


class PodIdentity(pulumi.ComponentResource):
    """A role on a bucket for a service account of Kubernetes itself; no account of Google's stands between."""

    def __init__(self, name: str, args: PodIdentityArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        namespace = args.cluster.access.namespace
        props = {"namespace": namespace, "serviceAccount": args.service_account}
        super().__init__("kimi:gcp:PodIdentity", name, props, opts)
        role = gcp.storage.BucketIAMMember(
            f"{name}-role",
            bucket=args.bucket,
            role=args.role,
            member=principal(args.place, namespace, args.service_account),
            # The project's pool of identities comes with its first cluster. Not after the CPU nodes, which take
            # minutes: by the time that a pod runs on them, Google knows of the role everywhere.
            opts=pulumi.ResourceOptions(parent=self, depends_on=[args.cluster.control_plane]),
        )
        self.ready: list[pulumi.Resource] = [role]
        """What a pod's rights need to be there."""
        self.register_outputs({})


def principal(place: Place, namespace: str, service_account: str) -> str:
    """Return Google's name of a service account of a cluster of the project: by the number first, then by the id."""
    pool = f"projects/{place.number}/locations/global/workloadIdentityPools/{place.project}.svc.id.goog"
    return f"principal://iam.googleapis.com/{pool}/subject/ns/{namespace}/sa/{service_account}"
