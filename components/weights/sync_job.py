"""The Job that fills the weights' bucket before any GPU exists."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import pulumi
import pulumi_kubernetes as kubernetes

from components.inference_cluster import ClusterAccess, Manifest
from components.plan.model import Repository
from components.pod_watch import Watched, watch_while_waiting
from components.weights import program
from components.weights.program import Program

FINAL_EXIT_CODES: Final = (2, 42)
"""The program's exit codes that no further try mends: wrong usage; a token, a revision, a right, a full bucket."""

_GBIT_PER_POD: Final = 1.0
"""What one pod does at least on a slow day; measured single clients do 8 to 13 (ModelExpress, 2026-07)."""
_SLOWEST_HOURS: Final = 6
_GRACE_SECONDS: Final = 120
_MARGIN_SECONDS: Final = 600
"""By which the engine waits longer than the Job may take: the Job's own end says why."""
_JOB_NAME: Final = "batch.kubernetes.io/job-name"
_JOB_INDEX: Final = "batch.kubernetes.io/job-completion-index"


@dataclass(frozen=True, kw_only=True)
class CopyPods:
    """The pods of a copy; they run on CPU nodes."""

    environment: Sequence[Manifest]
    """What the bucket is written with: credentials by reference, endpoint and region."""
    after: Sequence[pulumi.Resource]
    """What they need to be there: the namespace, credentials, the right to write."""
    node_selector: Mapping[str, str] = field(default_factory=dict)
    service_account: str | None = None
    """The identity that may write the bucket; None where keys come by environment."""


@dataclass(frozen=True, kw_only=True)
class SyncJobArgs:
    """What a copy takes."""

    access: ClusterAccess
    repository: Repository
    """The model and its commit."""
    gigabytes: float
    """Its size, for the time limits; decimal GB."""
    arguments: Sequence[str]
    """Where from and where to, as the program takes them."""
    workers: int
    """How many pods share the files."""
    program: Program
    pods: CopyPods
    labels: Mapping[str, str]
    """Labels of everything."""


class SyncJob(pulumi.ComponentResource):
    """A copy of one model repository into a bucket: an Indexed Job whose pods share the files."""

    def __init__(self, name: str, args: SyncJobArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        props = {"repository": args.repository.name, "revision": args.repository.revision}
        super().__init__("kimi:weights:SyncJob", name, props, opts)
        # The revision is part of the name: another one is another Job, and the same one never runs twice.
        job = f"{name}-{args.repository.revision[:12]}"
        seconds = deadline_seconds(args) + _MARGIN_SECONDS
        watched = Watched(
            access=args.access,
            selector={_JOB_NAME: job},
            speaker={_JOB_INDEX: "0"},
            pods=args.workers,
            budget_seconds=seconds,
        )
        self.job = kubernetes.apiextensions.CustomResource(
            f"{name}-job",
            api_version="batch/v1",
            kind="Job",
            metadata=kubernetes.meta.v1.ObjectMetaArgs(
                name=job,
                namespace=args.access.namespace,
                labels=args.labels,
                # One that failed, or that an `up` left half way, is made anew and goes on where the bucket stands.
                annotations={"pulumi.com/replaceUnready": "true"},
            ),
            spec=job_spec(args),
            opts=pulumi.ResourceOptions(
                parent=self,
                provider=args.access.provider,
                depends_on=list(args.pods.after),
                custom_timeouts=pulumi.CustomTimeouts(create=f"{seconds}s", update=f"{seconds}s"),
                hooks=watch_while_waiting(name, watched),
            ),
        )
        self.register_outputs({"revision": args.repository.revision})


def deadline_seconds(args: SyncJobArgs) -> int:
    """Return how long the Job may take: four times a slow day's copy, and at least six hours."""
    expected = args.gigabytes * 8 / (_GBIT_PER_POD * args.workers)
    return max(int(4 * expected), _SLOWEST_HOURS * 3600)


def job_spec(args: SyncJobArgs) -> dict[str, object]:
    """Return the Job's spec: no time to live, since a Job that vanished would be made and run again.

    A refusal that no further try mends is the one failure that counts, and it ends the Job with the one reason
    (BackoffLimitExceeded) that the engine takes for an end (pulumi/cloud-ready-checks, job.go); FailIndex or FailJob
    would let `pulumi up` wait for hours. Whatever else ends a pod is tried again until the deadline, with the cluster's
    growing pauses: a limit of tries would forget that each try gets further.
    """
    return {
        "completionMode": "Indexed",
        "completions": args.workers,
        "parallelism": args.workers,
        "backoffLimit": 0,
        "activeDeadlineSeconds": deadline_seconds(args),
        "podFailurePolicy": {
            "rules": [
                {"action": "Count", "onExitCodes": {"operator": "In", "values": list(FINAL_EXIT_CODES)}},
                {"action": "Ignore", "onExitCodes": {"operator": "NotIn", "values": list(FINAL_EXIT_CODES)}},
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
    workers = {"name": "WEIGHT_SYNC_WORKERS", "value": str(args.workers)}
    container = program.container(
        "sync", args.program, "components.weights.sync", args.arguments, [workers, *args.pods.environment]
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
        "volumes": program.volumes(args.program),
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
