"""The rules, each a pure function of one planned resource: it returns what is wrong, and nothing where all is well.

A value that isn't known before `up` can't be judged. Where a rule asks for a value to be there, an unknown one counts
as missing only if the program itself always knows it (ranges, versions, labels).
"""

import ipaddress
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from planned import Planned, at, containers, items, pod_specs

Rule = Callable[[Planned], list[str]]

LABELS: Final = frozenset({"project", "stack", "owner"})
_PROVIDER_TAGS: Final = {"pulumi:providers:aws": "defaultTags", "pulumi:providers:gcp": "defaultLabels"}
"""Clouds whose provider labels everything; the others need it on each resource that bills."""
_TAGGED: Final = frozenset(
    {
        "alicloud:cs/managedKubernetes:ManagedKubernetes",
        "alicloud:cs/nodePool:NodePool",
        "alicloud:oss/bucket:Bucket",
        "azure-native:containerservice:AgentPool",
        "azure-native:containerservice:ManagedCluster",
        "azure-native:resources:ResourceGroup",
        "azure-native:storage:StorageAccount",
        "eks:index:Cluster",
    }
)

_ANNOTATION: Final = "service.beta.kubernetes.io/"
_INTERNAL: Final = {
    f"{_ANNOTATION}aws-load-balancer-scheme": "internal",
    f"{_ANNOTATION}azure-load-balancer-internal": "true",
    f"{_ANNOTATION}alibaba-cloud-loadbalancer-address-type": "intranet",
    "networking.gke.io/load-balancer-type": "Internal",
}
_ALB_SCHEME: Final = "alb.ingress.kubernetes.io/scheme"
_ALB_RANGES: Final = "alb.ingress.kubernetes.io/inbound-cidrs"

# A name that begins like this has GPUs: p6-b300, g6; Standard_ND, Standard_NC; a4x, g2; ecs.ebmgn8v, ecs.gn8v.
_GPU_MACHINE: Final = re.compile(r"p\d|g\d+[a-z]*[.-]|Standard_N[CDGV]|a[234][x-]|ecs\.(ebm)?s?gn\d")

_PURCHASE_GATES: Final = {
    "aws:ec2/capacityBlockReservation:CapacityBlockReservation": "kimi:aws:CapacityBlock",
    "gcp:compute/futureReservation:FutureReservation": "kimi:gcp:FutureReservation",
}
"""What can't be given back, and the component that asks for `acceptNonRefundable` first."""
_NEVER_BOUGHT: Final = frozenset(
    {
        "alicloud:ecs/elasticityAssurance:ElasticityAssurance",
        "aws:savingsplans/plan:Plan",
        "gcp:compute/regionCommitment:RegionCommitment",
    }
)

_PREPARES_NODES: Final = frozenset({"asapd-lite", "node-disks"})
"""Names of the DaemonSets that load a node's drivers and join its disks."""
_NODES_OWN: Final = ("/boot", "/dev", "/etc", "/proc", "/root", "/run", "/sys", "/usr", "/var")
_EXACT_VERSION: Final = re.compile(r"v?\d+\.\d+\.\d+([-+][0-9A-Za-z.+-]+)?")


def closed_exposure(planned: Planned) -> list[str]:
    """A public address has closed ranges, and the engine asks for a key."""
    annotations = at(planned.props, "metadata", "annotations") or {}
    if planned.kind == "Service" and at(planned.props, "spec", "type") == "LoadBalancer":
        internal = any(annotations.get(key) == value for key, value in _INTERNAL.items())
        ranges = items(at(planned.props, "spec", "loadBalancerSourceRanges"))
        return [] if internal else _open_ranges("spec.loadBalancerSourceRanges", ranges)
    if planned.kind == "Service" and at(planned.props, "spec", "type") == "NodePort":
        return ["spec.type is NodePort: it has no ranges of its own. Use ClusterIP or LoadBalancer"]
    if planned.kind == "Ingress" and annotations.get(_ALB_SCHEME) != "internal":
        ranges = [each.strip() for each in str(annotations.get(_ALB_RANGES, "")).split(",") if each.strip()]
        return _open_ranges(_ALB_RANGES, ranges)
    if planned.kind == "LeaderWorkerSet":
        leader = at(planned.props, "spec", "leaderWorkerTemplate", "leaderTemplate", "spec") or {}
        environment = [each for one in items(leader.get("containers")) for each in items(at(one, "env"))]
        keyed = any(
            each.get("name") == "VLLM_API_KEY" and at(each, "valueFrom", "secretKeyRef") for each in environment
        )
        return [] if keyed else ["the leader has no VLLM_API_KEY from a Secret: it answers everybody"]
    return []


def expected_capacity(planned: Planned) -> list[str]:
    """GPU machines come from a reservation or are a number that somebody has written down, and never from spot."""
    judge = _CAPACITY.get(planned.type)
    return judge(planned.props) if judge else []


def labelled(planned: Planned) -> list[str]:
    """Everything that bills says project, stack and owner."""
    if planned.type in _PROVIDER_TAGS:
        key = _PROVIDER_TAGS[planned.type]
        given = _decoded(planned.props.get(key))
        return _missing_labels(key, at(given, "tags") if key == "defaultTags" else given)
    if planned.type in _TAGGED:
        return _missing_labels("tags", planned.props.get("tags"))
    return []


def private_bucket(planned: Planned) -> list[str]:
    """The bucket is private, and keeps no old versions: a second copy of the weights bills 36 USD a month."""
    judge = _BUCKETS.get(planned.type)
    return [] if judge is None else [text for wrong, text in judge(planned.props) if wrong]


def gated_purchase(planned: Planned) -> list[str]:
    """What can't be given back is bought behind the gate alone."""
    gate = _PURCHASE_GATES.get(planned.type)
    if gate and gate not in planned.parents:
        return [f"a purchase outside {gate}, which asks for acceptNonRefundable first"]
    if planned.type in _NEVER_BOUGHT:
        return ["a commitment that this project has no gate for"]
    if planned.props.get("instanceChargeType") == "PrePaid":
        return ["instanceChargeType is PrePaid: paid to the end of its term. Use PostPaid"]
    return []


def pinned(planned: Planned) -> list[str]:
    """Images have a tag or a digest, and charts an exact version."""
    found = [
        f"image {image!r} isn't pinned"
        for spec in pod_specs(planned.props)
        for image in (at(each, "image") for each in containers(spec))
        if isinstance(image, str) and not _is_pinned(image)
    ]
    if planned.type.startswith("kubernetes:helm.sh/"):
        version = planned.props.get("version")
        if not (isinstance(version, str) and _EXACT_VERSION.fullmatch(version)):
            found.append(f"chart {planned.props.get('chart')!r} has version {version!r}, not an exact one")
    return found


def unprivileged(planned: Planned) -> list[str]:
    """No pod has rights on its node beyond what preparing the node needs."""
    if planned.kind == "DaemonSet" and at(planned.props, "metadata", "name") in _PREPARES_NODES:
        return []
    return [text for spec in pod_specs(planned.props) for text in _privileges(spec)]


def _privileges(spec: Mapping[str, Any]) -> list[str]:
    found = [f"{key} is true" for key in ("hostNetwork", "hostPID", "hostIPC") if spec.get(key)]
    for volume in items(spec.get("volumes")):
        path = at(volume, "hostPath", "path")
        if isinstance(path, str) and (path == "/" or any(f"{path}/".startswith(f"{own}/") for own in _NODES_OWN)):
            found.append(f"hostPath {path} is the node's own")
    for each in containers(spec):
        security = at(each, "securityContext")
        found += [f"container {at(each, 'name')} is privileged"] if at(security, "privileged") else []
        found += [f"container {at(each, 'name')} may escalate"] if at(security, "allowPrivilegeEscalation") else []
        added = items(at(security, "capabilities", "add"))
        found += [f"container {at(each, 'name')} adds {', '.join(map(str, added))}"] if added else []
    return found


def _open_ranges(key: str, ranges: list[Any]) -> list[str]:
    if not ranges:
        return [f"{key} is empty: open to everybody"]
    return [f"{key} has {each}: open to everybody" for each in ranges if _is_everybody(each)]


def _is_everybody(text: object) -> bool:
    # Fewer than 8 bits aren't anybody's own network: 0.0.0.0/1 and 128.0.0.0/1 are everybody in two halves.
    try:
        return ipaddress.ip_network(str(text)).prefixlen < 8
    except ValueError:
        return True


def _is_pinned(image: str) -> bool:
    if re.search(r"@sha256:[0-9a-f]{64}$", image):
        return True
    tag = image.rpartition("/")[2].partition(":")[2]
    return tag not in {"", "latest", "nightly", "main", "stable"}


def _missing_labels(key: str, given: object) -> list[str]:
    missing = sorted(each for each in LABELS if not at(given, each))
    return [f"{key} lacks {', '.join(missing)}"] if missing else []


def _decoded(value: object) -> object:
    """Return a provider's object, which the engine hands on as JSON."""
    return json.loads(value) if isinstance(value, str) and value.startswith("{") else value


def _is_gpu(machine: object) -> bool:
    return isinstance(machine, str) and bool(_GPU_MACHINE.match(machine))


def _aws_template(props: Mapping[str, Any]) -> list[str]:
    if not _is_gpu(props.get("instanceType")):
        return []
    preference = at(props, "capacityReservationSpecification", "capacityReservationPreference")
    market = at(props, "instanceMarketOptions", "marketType")
    found = [] if preference == "capacity-reservations-only" else ["GPU machines may start outside a reservation"]
    return found + (["GPU machines of the spot market"] if market == "spot" else [])


def _aws_group(props: Mapping[str, Any]) -> list[str]:
    bare = any(map(_is_gpu, items(props.get("instanceTypes"))))
    found = ["GPU machines without a launch template's reservation"] if bare else []
    return found + (["capacityType is SPOT"] if props.get("capacityType") == "SPOT" else [])


def _azure_pool(props: Mapping[str, Any]) -> list[str]:
    if not _is_gpu(props.get("vmSize")):
        return []
    found = ["scaleSetPriority is Spot"] if props.get("scaleSetPriority") == "Spot" else []
    counted = props.get("count") is not None and not props.get("enableAutoScaling")
    reserved = props.get("capacityReservationGroupID") is not None
    return found + ([] if counted or reserved else ["GPU machines without a reservation or a number"])


def _gcp_pool(props: Mapping[str, Any]) -> list[str]:
    node = at(props, "nodeConfig") or {}
    if not (_is_gpu(node.get("machineType")) or node.get("guestAccelerators")):
        return []
    found = [f"{key} is true" for key in ("spot", "preemptible") if node.get(key)]
    specific = at(node, "reservationAffinity", "consumeReservationType") == "SPECIFIC_RESERVATION"
    return found + ([] if specific or node.get("flexStart") else ["GPU machines without a reservation or flex-start"])


def _alicloud_pool(props: Mapping[str, Any]) -> list[str]:
    if not any(map(_is_gpu, items(props.get("instanceTypes")))):
        return []
    found = ["spotStrategy is set"] if props.get("spotStrategy") not in {None, "NoSpot"} else []
    private = at(props, "resourcePoolOptions", "strategy") == "PrivatePoolOnly"
    return found + ([] if private else ["GPU machines may start outside a private pool"])


_CAPACITY: Final[Mapping[str, Callable[[Mapping[str, Any]], list[str]]]] = {
    "alicloud:cs/nodePool:NodePool": _alicloud_pool,
    "aws:ec2/launchTemplate:LaunchTemplate": _aws_template,
    "aws:eks/nodeGroup:NodeGroup": _aws_group,
    "azure-native:containerservice:AgentPool": _azure_pool,
    "gcp:container/nodePool:NodePool": _gcp_pool,
}

_AWS_BLOCKS: Final = ("blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets")


def _versions(status: object) -> tuple[bool, str]:
    return status in {True, "Enabled"}, "old versions of files are kept"


_BUCKETS: Final[Mapping[str, Callable[[Mapping[str, Any]], list[tuple[bool, str]]]]] = {
    "alicloud:oss/bucket:Bucket": lambda props: [
        (str(props.get("acl", "private")) != "private", "acl isn't private"),
        _versions(at(props, "versioning", "status")),
    ],
    "alicloud:oss/bucketAcl:BucketAcl": lambda props: [(props.get("acl") != "private", "acl isn't private")],
    "alicloud:oss/bucketPublicAccessBlock:BucketPublicAccessBlock": lambda props: [
        (props.get("blockPublicAccess") is not True, "blockPublicAccess isn't true")
    ],
    "aws:s3/bucket:Bucket": lambda props: [
        (str(props.get("acl", "private")) != "private", "acl isn't private"),
        _versions(at(props, "versioning", "enabled")),
    ],
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": lambda props: [
        (props.get(key) is not True, f"{key} isn't true") for key in _AWS_BLOCKS
    ],
    "aws:s3/bucketVersioning:BucketVersioning": lambda props: [
        _versions(at(props, "versioningConfiguration", "status"))
    ],
    "azure-native:storage:BlobContainer": lambda props: [
        (props.get("publicAccess") != "None", "publicAccess isn't None")
    ],
    "azure-native:storage:BlobServiceProperties": lambda props: [_versions(props.get("isVersioningEnabled"))],
    "azure-native:storage:StorageAccount": lambda props: [
        (props.get("allowBlobPublicAccess") is not False, "allowBlobPublicAccess isn't false"),
        (props.get("allowSharedKeyAccess") is not False, "allowSharedKeyAccess isn't false"),
    ],
    "gcp:storage/bucket:Bucket": lambda props: [
        (props.get("publicAccessPrevention") != "enforced", "publicAccessPrevention isn't enforced"),
        (props.get("uniformBucketLevelAccess") is not True, "uniformBucketLevelAccess isn't true"),
        _versions(at(props, "versioning", "enabled")),
    ],
    "gcp:storage/bucketIAMMember:BucketIAMMember": lambda props: [
        (props.get("member") in {"allUsers", "allAuthenticatedUsers"}, "everybody is a member")
    ],
}

RULES: Final[Mapping[str, Rule]] = {
    "closed-exposure": closed_exposure,
    "expected-capacity": expected_capacity,
    "gated-purchase": gated_purchase,
    "labelled": labelled,
    "pinned": pinned,
    "private-bucket": private_bucket,
    "unprivileged": unprivileged,
}
"""By the name under which the engine reports a violation."""
