"""What GPU nodes need beside ACK's own: nothing over TCP, and an add-on for each kind of RDMA.

ACK installs NVIDIA's driver and runs a device plugin of its own; a second one would fight it. eRDMA has an order: CPU
nodes, its controller, a filter that keeps Terway off the controller's interfaces, and only then GPU nodes.
"""

import json
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pulumi
import pulumi_alicloud as alicloud
import pulumi_kubernetes as kubernetes

from components.alicloud.cluster import Cluster, addon_options
from components.plan.hardware import Fabric
from components.settings import Mirror
from components.weights import program

ADDONS: Final[Mapping[Fabric, str]] = {"erdma": "ack-erdma-controller", "roce": "ack-rdma-device-plugin"}
"""By network: that of ECS, and that of Lingjun."""
RESOURCES: Final[Mapping[Fabric, str]] = {"erdma": "aliyun/erdma", "roce": "rdma/hca"}
"""What a pod asks for to get the interfaces."""
_CONFIG: Final = json.dumps({"agent": {"preferDriver": "ofed", "allocateAllDevices": True}})
"""The driver that NCCL's verbs speak with, and every interface of a machine (public deployment of August 2026)."""
_NAMESPACE: Final = "kube-system"
_FILTER: Final = "terway-filter"
_TERWAY_SETTINGS: Final = "eni-config"
_TERWAY: Final = "terway-eniip"

SCRIPT: Final = textwrap.dedent("""\
    import datetime, json, os, pathlib, ssl, urllib.request
    folder = "/var/run/secrets/kubernetes.io/serviceaccount"
    token = pathlib.Path(f"{folder}/token").read_text()
    context = ssl.create_default_context(cafile=f"{folder}/ca.crt")
    def call(method, path, body=None):
        host = f"https://{os.environ['KUBERNETES_SERVICE_HOST']}:{os.environ['KUBERNETES_SERVICE_PORT']}"
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/strategic-merge-patch+json"}
        data = json.dumps(body).encode() if body else None
        request = urllib.request.Request(host + path, data, headers, method=method)
        return json.load(urllib.request.urlopen(request, context=context, timeout=30))
    settings = "/api/v1/namespaces/kube-system/configmaps/eni-config"
    conf = json.loads(call("GET", settings)["data"]["eni_conf"])
    if conf.get("eni_tag_filter") == {"creator": "terway"}:
        print("Terway keeps to its own interfaces already")
    else:
        conf["eni_tag_filter"] = {"creator": "terway"}
        call("PATCH", settings, {"data": {"eni_conf": json.dumps(conf, indent=2)}})
        stamp = {"kubectl.kubernetes.io/restartedAt": datetime.datetime.now(datetime.timezone.utc).isoformat()}
        restart = {"spec": {"template": {"metadata": {"annotations": stamp}}}}
        call("PATCH", "/apis/apps/v1/namespaces/kube-system/daemonsets/terway-eniip", restart)
        print("Terway keeps to its own interfaces from now on")
    """)
"""Merges one key into Terway's settings and restarts it (ACK, "Configure a whitelist for ENIs")."""


@dataclass(frozen=True, kw_only=True)
class GpuDriversArgs:
    """What the drivers take."""

    cluster: Cluster
    mirror: Mirror
    """Where images come from on a closed network."""
    labels: Mapping[str, str]
    """Labels of what is in the cluster."""
    versions: Mapping[str, str]
    """Of add-ons that are pinned; ACK's own otherwise."""
    fabric: Fabric
    """What nodes talk to each other over, if it isn't TCP; else none."""


class GpuDrivers(pulumi.ComponentResource):
    """The add-on of the RDMA network, with Terway's filter for eRDMA; or nothing."""

    ready: Sequence[pulumi.Resource]

    def __init__(self, name: str, args: GpuDriversArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("kimi:alicloud:GpuDrivers", name, {"fabric": args.fabric}, opts)
        addons = [self._addon(name, args)] if args.fabric in ADDONS else []
        self.ready = [*addons, *(self._filter(name, args, addons) if args.fabric == "erdma" else [])]
        self.register_outputs({})

    def _addon(self, name: str, args: GpuDriversArgs) -> pulumi.Resource:
        addon = ADDONS[args.fabric]
        return alicloud.cs.KubernetesAddon(
            f"{name}-{args.fabric}",
            cluster_id=args.cluster.id,
            name=addon,
            version=args.versions.get(addon),
            config=_CONFIG if args.fabric == "erdma" else None,
            opts=pulumi.ResourceOptions.merge(pulumi.ResourceOptions(parent=self), addon_options(*args.cluster.ready)),
        )

    def _filter(self, name: str, args: GpuDriversArgs, after: Sequence[pulumi.Resource]) -> list[pulumi.Resource]:
        inside = pulumi.ResourceOptions(
            parent=self, provider=args.cluster.access.provider, depends_on=[*args.cluster.ready]
        )
        rights = _rights(name, args, inside)
        job = kubernetes.batch.v1.Job(
            f"{name}-terway-filter",
            metadata=_metadata(args),
            spec=job_spec(args.mirror, args.labels),
            opts=pulumi.ResourceOptions.merge(inside, pulumi.ResourceOptions(depends_on=[*after, *rights])),
        )
        return [job]


def job_spec(mirror: Mirror, labels: Mapping[str, str]) -> kubernetes.batch.v1.JobSpecArgs:
    """Return the Job that tells Terway to leave other interfaces alone.

    Args:
        mirror: Where its image comes from.
        labels: Of its pod.
    """
    core = kubernetes.core.v1
    container = core.ContainerArgs(
        name="filter",
        image=mirror.mirrored(program.IMAGE),
        image_pull_policy="IfNotPresent",
        command=["python", "-c", SCRIPT],
        resources=core.ResourceRequirementsArgs(requests={"cpu": "50m", "memory": "64Mi"}),
        security_context=core.SecurityContextArgs(
            allow_privilege_escalation=False,
            read_only_root_filesystem=True,
            capabilities=core.CapabilitiesArgs(drop=["ALL"]),
        ),
        termination_message_policy="FallbackToLogsOnError",
    )
    pod = core.PodSpecArgs(
        restart_policy="Never",
        enable_service_links=False,
        service_account_name=_FILTER,
        security_context=core.PodSecurityContextArgs(
            run_as_non_root=True,
            run_as_user=65532,
            seccomp_profile=core.SeccompProfileArgs(type="RuntimeDefault"),
        ),
        containers=[container],
    )
    metadata = kubernetes.meta.v1.ObjectMetaArgs(labels=labels)
    return kubernetes.batch.v1.JobSpecArgs(
        backoff_limit=5, template=core.PodTemplateSpecArgs(metadata=metadata, spec=pod)
    )


def _metadata(args: GpuDriversArgs) -> kubernetes.meta.v1.ObjectMetaArgs:
    return kubernetes.meta.v1.ObjectMetaArgs(name=_FILTER, namespace=_NAMESPACE, labels=args.labels)


def _rights(name: str, args: GpuDriversArgs, opts: pulumi.ResourceOptions) -> list[pulumi.Resource]:
    """Return an identity that may change these two objects, and nothing else."""
    rbac = kubernetes.rbac.v1
    account = kubernetes.core.v1.ServiceAccount(f"{name}-terway-account", metadata=_metadata(args), opts=opts)
    verbs = ["get", "patch"]
    role = rbac.Role(
        f"{name}-terway-role",
        metadata=_metadata(args),
        rules=[
            rbac.PolicyRuleArgs(
                api_groups=[""], resources=["configmaps"], resource_names=[_TERWAY_SETTINGS], verbs=verbs
            ),
            rbac.PolicyRuleArgs(api_groups=["apps"], resources=["daemonsets"], resource_names=[_TERWAY], verbs=verbs),
        ],
        opts=opts,
    )
    binding = rbac.RoleBinding(
        f"{name}-terway-binding",
        metadata=_metadata(args),
        role_ref=rbac.RoleRefArgs(api_group="rbac.authorization.k8s.io", kind="Role", name=_FILTER),
        subjects=[rbac.SubjectArgs(kind="ServiceAccount", name=_FILTER, namespace=_NAMESPACE)],
        opts=opts,
    )
    return [account, role, binding]
