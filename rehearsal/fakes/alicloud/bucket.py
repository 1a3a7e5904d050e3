"""OSS buckets: names, what keeps a bucket from going, and the parts that a broken copy leaves."""

from typing import Final

from rehearsal.fakes.account import Ledger, Rate, Thing
from rehearsal.fakes.alicloud import references as ref
from rehearsal.fakes.paths import number_at, text_at
from rehearsal.fakes.resource_kind import ResourceKind, named
from rehearsal.fakes.rules import Resource
from rehearsal.fakes.values import Properties
from rehearsal.fakes.weights import objects_in

PARTS: Final = "rehearsal:alicloud:UploadParts"
"""Parts of uploads that nobody finished: invisible among the objects, and billed like them."""
_PARTS_RATE: Final = Rate(usd_per_hour=0.002)
_TAKEN: Final = ("kimi", "kimi-k3", "models", "weights")
"""Names that somebody in the world has for sure; the account's setting `taken_buckets` adds others."""
_DAY_SECONDS: Final = 86_400.0


def refuse_taken_name(resource: Resource, ledger: Ledger) -> None:
    """Names are taken in the whole world (OSS, `BucketAlreadyExists`)."""
    name, others = text_at(resource.inputs, "bucket"), ledger.settings.get("taken_buckets")
    if ledger.find(ref.BUCKET, name) or name in _TAKEN or (isinstance(others, list) and name in others):
        message = "The requested bucket name is not available. The bucket namespace is shared by all users of the "
        raise ref.refused(resource.name, "BucketAlreadyExists", f"{message}system.")


def refuse_contents(thing: Thing, ledger: Ledger) -> None:
    """A bucket with objects stays unless `forceDestroy` was in the state before; one with parts stays in any case.

    OSS, `BucketNotEmpty`; the provider's own loop lists versions and never parts (alibaba/terraform-provider #775).
    """
    objects, parts = objects_in(thing.id, ledger), ledger.find(PARTS, thing.id)
    if objects is not None and thing.inputs.get("forceDestroy") is not True:
        raise ref.refused(thing.name, "BucketNotEmpty", "The bucket you tried to delete is not empty.")
    if objects is not None:
        ledger.remove(objects, f"went with Bucket {thing.id}")
    if parts is not None:
        raise ref.refused(thing.name, "BucketNotEmpty", "The bucket has parts of multipart uploads in it.")


def leave_parts(bucket: str, ledger: Ledger) -> None:
    """Let a copy be killed in the middle of an upload."""
    ledger.add(Thing(PARTS, bucket, f"parts in {bucket}", {}, {}, rate=_PARTS_RATE))


def abort_old_uploads(ledger: Ledger) -> None:
    """Do what a bucket's own rule says of broken uploads, once a day is over."""
    for parts in ledger.of_type(PARTS):
        bucket = ledger.find(ref.BUCKET, parts.id)
        days = number_at(bucket.inputs, "lifecycleRules.abortMultipartUploads.days") if bucket else 0
        if days and ledger.clock.now - parts.since >= days * _DAY_SECONDS:
            ledger.remove(parts, "the bucket's rule aborted the uploads")


def facts(name: str, ledger: Ledger) -> Properties:
    """What OSS says of a bucket."""
    region = ledger.settings.get("region") or "ap-southeast-1"
    return {
        "location": f"oss-{region}",
        "intranetEndpoint": f"oss-{region}-internal.aliyuncs.com",
        "extranetEndpoint": f"oss-{region}.aliyuncs.com",
        "owner": ref.ACCOUNT,
        "bucket": name,
    }


def _computed(resource: Resource, identity: str, ledger: Ledger) -> Properties:
    del resource
    return facts(identity, ledger)


KIND: Final = ResourceKind(
    type=ref.BUCKET,
    identity=named("bucket"),
    checks=(
        ref.fits("bucket", r"[a-z0-9][a-z0-9-]{1,61}[a-z0-9]", "3 to 63 lower-case letters, digits and -"),
        ref.one_of("storageClass", "Standard", "IA", "Archive", "ColdArchive", "DeepColdArchive"),
        ref.one_of("redundancyType", "LRS", "ZRS"),
    ),
    replaced_by=("bucket", "storageClass", "redundancyType"),
    admissions=(refuse_taken_name,),
    computed=_computed,
    gone=refuse_contents,
)
CLOSED: Final = ResourceKind(
    type="alicloud:oss/bucketPublicAccessBlock:BucketPublicAccessBlock",
    identity=named("bucket"),
    replaced_by=("bucket",),
    admissions=(ref.exists("bucket", ref.BUCKET, "NoSuchBucket"),),
)
