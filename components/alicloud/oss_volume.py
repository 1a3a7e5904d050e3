"""The two ways in which the engine itself reads OSS: mounted as a file system, or through OSS' S3 interface."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import pulumi
import pulumi_kubernetes as kubernetes

from components import access_keys
from components.alicloud.provider import physical_name
from components.inference_cluster import ClusterAccess, Manifest
from components.weights import delivery

CLAIM: Final = "weights"
KEYS: Final = "bucket-credentials"
"""Secret with the keys that a streaming engine reads the bucket with."""
_CLIENT: Final = "oss-client"
_CLIENT_FOLDER: Final = "/etc/oss-client"
_DRIVER: Final = "ossplugin.csi.alibabacloud.com"
_SIZE: Final = "2Ti"
"""A claim has to say one; nothing keeps to it."""

CLIENT_VOLUME: Final[Manifest] = {"name": _CLIENT, "configMap": {"name": _CLIENT}}
CLIENT_MOUNT: Final[Manifest] = {"name": _CLIENT, "mountPath": _CLIENT_FOLDER, "readOnly": True}
_CLIENT_SETTINGS: Final = "[default]\ns3 =\n    addressing_style = virtual\n"
"""With an endpoint of its own boto3 puts the bucket into the path, which OSS refuses (SecondLevelDomainForbidden)."""


@dataclass(frozen=True, kw_only=True)
class OssVolumeArgs:
    """Which bucket, and who mounts it."""

    access: ClusterAccess
    bucket: str
    region: str
    role: str
    """Name of the RAM role that the mounting pods take: theirs, and not the one of the pods that read."""
    labels: Mapping[str, str]


def endpoint(region: str) -> str:
    """Return the host of OSS inside a region: no traffic is billed there, and no gateway is in between."""
    return f"oss-{region}-internal.aliyuncs.com"


def oss_claim(name: str, args: OssVolumeArgs, opts: pulumi.ResourceOptions) -> list[pulumi.Resource]:
    """Make the volume and the claim.

    Args:
        name: In the names of the Pulumi resources.
        args: Which bucket.
        opts: Parent, provider and what must be there first.
    """
    volume_name = physical_name("-weights")
    core, metadata = kubernetes.core.v1, kubernetes.meta.v1.ObjectMetaArgs
    volume = core.PersistentVolume(
        f"{name}-volume",
        metadata=metadata(name=volume_name, labels=args.labels),
        spec=volume_spec(volume_name, args),
        opts=opts,
    )
    claim = core.PersistentVolumeClaim(
        f"{name}-claim",
        metadata=metadata(name=CLAIM, namespace=args.access.namespace, labels=args.labels),
        spec=core.PersistentVolumeClaimSpecArgs(
            access_modes=["ReadOnlyMany"],
            # Empty: this very volume, and no other that a class would make.
            storage_class_name="",
            volume_name=volume_name,
            resources=core.VolumeResourceRequirementsArgs(requests={"storage": _SIZE}),
        ),
        opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=[volume])),
    )
    return [volume, claim]


def volume_spec(name: str, args: OssVolumeArgs) -> kubernetes.core.v1.PersistentVolumeSpecArgs:
    """Return the volume: the whole bucket, read-only, by ossfs 2 (ACK, "Use an ossfs 2.0 statically provisioned PV").

    Args:
        name: Of the volume, which is its handle too.
        args: Which bucket.
    """
    attributes = {
        "bucket": args.bucket,
        # The root is always there; a folder has to exist before it is mounted.
        "path": "/",
        "url": f"https://{endpoint(args.region)}",
        "fuseType": "ossfs2",
        "authType": "rrsa",
        "roleName": args.role,
        "otherOpts": "-o close_to_open=false",
    }
    return kubernetes.core.v1.PersistentVolumeSpecArgs(
        capacity={"storage": _SIZE},
        access_modes=["ReadOnlyMany"],
        persistent_volume_reclaim_policy="Retain",
        storage_class_name="",
        csi=kubernetes.core.v1.CSIPersistentVolumeSourceArgs(
            driver=_DRIVER, volume_handle=name, read_only=True, volume_attributes=attributes
        ),
    )


def mounted() -> Manifest:
    """Return the pod's volume."""
    return {"name": delivery.VOLUME, "persistentVolumeClaim": {"claimName": CLAIM, "readOnly": True}}


def client_settings(
    name: str, access: ClusterAccess, labels: Mapping[str, str], opts: pulumi.ResourceOptions
) -> kubernetes.core.v1.ConfigMap:
    """Make the file that tells S3's clients to put the bucket into the host's name.

    Args:
        name: Of the Pulumi resource.
        access: The cluster.
        labels: Its labels.
        opts: Parent, provider and what must be there first.
    """
    return kubernetes.core.v1.ConfigMap(
        name,
        metadata=kubernetes.meta.v1.ObjectMetaArgs(name=_CLIENT, namespace=access.namespace, labels=labels),
        data={"config": _CLIENT_SETTINGS},
        opts=opts,
    )


def client_environment(region: str) -> list[Manifest]:
    """Return what the streaming loader and its clients of S3 need to read OSS.

    Alibaba's short-lived tokens mean nothing to them, so the keys are a RAM user's. Not tried with a real bucket.
    """
    url = f"https://{endpoint(region)}"
    values = {
        "AWS_ENDPOINT_URL": url,
        "RUNAI_STREAMER_S3_ENDPOINT": url,
        "RUNAI_STREAMER_S3_USE_VIRTUAL_ADDRESSING": "1",
        "AWS_CONFIG_FILE": f"{_CLIENT_FOLDER}/config",
        "AWS_DEFAULT_REGION": f"oss-{region}",
        # OSS has no checksums of S3's newer kinds.
        "AWS_REQUEST_CHECKSUM_CALCULATION": "when_required",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    return [*({"name": name, "value": value} for name, value in values.items()), *access_keys.references(KEYS)]
