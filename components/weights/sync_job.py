"""The Job that fills the weights' bucket before any GPU exists."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pulumi
import pulumi_kubernetes as kubernetes

from components.inference_cluster import Manifest
from components.plan.model import Repository
from components.weights import program
from components.weights.program import Program

FINAL_EXIT_CODES: Final = (2, 42)
"""The program's exit codes that no further try mends: wrong usage; a token, a revision, a right, a full bucket."""

_GBIT_PER_POD: Final = 1.0
"""What one pod does at least on a slow day; measured single clients do 8 to 13 (ModelExpress, 2026-07)."""
_SLOWEST_HOURS: Final = 6
_GRACE_SECONDS: Final = 120


@dataclass(frozen=True, kw_only=True)
class SyncJobArgs:
    """What a copy takes."""

    provider: kubernetes.Provider
    namespace: str
    """Where the Job runs."""
    repository: Repository
    """The model and its commit."""
    gigabytes: float
    """Its size, for the time limits; decimal GB."""
    arguments: Sequence[str]
    """Where from and where to, as the program takes them."""
    environment: Sequence[Manifest]
    """Credentials by reference, endpoint and region."""
    pods: "SyncPods"
    """How many pods, and what they are like."""
    labels: Mapping[str, str]
    """Labels of everything."""


@dataclass(frozen=True, kw_only=True)
class SyncPods:
    """The pods of a copy; they run on CPU nodes."""

    workers: int
    program: Program
    node_selector: Mapping[str, str]
    after: Sequence[pulumi.Resource]
    """What they need to be there: namespace, program, credentials."""
    service_account: str | None = None
    """The identity that may write the bucket; None where keys come by environment."""


class SyncJob(pulumi.ComponentResource):
    """A copy of one model repository into a bucket: an Indexed Job whose pods share the files."""

    def __init__(self, name: str, args: SyncJobArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        props = {"repository": args.repository.name, "revision": args.repository.revision}
        super().__init__("kimi:weights:SyncJob", name, props, opts)
        child = pulumi.ResourceOptions(parent=self, provider=args.provider, depends_on=list(args.pods.after))
        budget = pulumi.CustomTimeouts(create=f"{deadline_seconds(args) // 60 + 10}m")
        self.job = kubernetes.apiextensions.CustomResource(
            f"{name}-job",
            api_version="batch/v1",
            kind="Job",
            metadata=kubernetes.meta.v1.ObjectMetaArgs(
                # The revision is part of the name: another one is another Job, and the same one never runs twice.
                name=f"{name}-{args.repository.revision[:12]}",
                namespace=args.namespace,
                labels=args.labels,
            ),
            spec=job_spec(args),
            opts=pulumi.ResourceOptions.merge(child, pulumi.ResourceOptions(custom_timeouts=budget)),
        )
        self.register_outputs({"revision": args.repository.revision})


def deadline_seconds(args: SyncJobArgs) -> int:
    """Return how long the Job may take: four times a slow day's copy, and at least six hours."""
    expected = args.gigabytes * 8 / (_GBIT_PER_POD * args.pods.workers)
    return max(int(4 * expected), _SLOWEST_HOURS * 3600)


def job_spec(args: SyncJobArgs) -> dict[str, object]:
    """Return the Job's spec: no time to live, since a Job that vanished would be made and run again."""
    return {
        "completionMode": "Indexed",
        "completions": args.pods.workers,
        "parallelism": args.pods.workers,
        "backoffLimitPerIndex": 6,
        "activeDeadlineSeconds": deadline_seconds(args),
        "podFailurePolicy": {
            "rules": [
                {"action": "FailIndex", "onExitCodes": {"operator": "In", "values": list(FINAL_EXIT_CODES)}},
                {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
            ]
        },
        "template": {
            "metadata": {
                "labels": dict(args.labels),
                "annotations": {
                    "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
                    "karpenter.sh/do-not-disrupt": "true",
                },
            },
            "spec": _pod_spec(args),
        },
    }


def _pod_spec(args: SyncJobArgs) -> dict[str, object]:
    workers = {"name": "WEIGHT_SYNC_WORKERS", "value": str(args.pods.workers)}
    container = program.container(
        "sync", args.pods.program, "components.weights.sync", args.arguments, [workers, *args.environment]
    )
    spec: dict[str, object] = {
        "restartPolicy": "Never",
        "enableServiceLinks": False,
        "automountServiceAccountToken": args.pods.service_account is not None,
        "terminationGracePeriodSeconds": _GRACE_SECONDS,
        "nodeSelector": dict(args.pods.node_selector),
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 65532,
            "fsGroup": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        # No memory limit: the page cache of what passes through would count against it.
        "containers": [{**container, "resources": {"requests": {"cpu": "2", "memory": "1Gi"}}}],
        "volumes": program.volumes(args.pods.program),
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": dict(args.labels)},
            }
        ],
    }
    return spec if args.pods.service_account is None else {**spec, "serviceAccountName": args.pods.service_account}
