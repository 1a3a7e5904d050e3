"""Cloud Storage: buckets, who may use them, and what deleted objects go on costing."""

import re
from typing import Final

from rehearsal.fakes.account import Ledger, Thing
from rehearsal.fakes.gcp import references as ref
from rehearsal.fakes.gcp.cluster import IDENTITY_POOL
from rehearsal.fakes.gcp.naming import NUMBER, fits, project
from rehearsal.fakes.paths import number_at, text_at
from rehearsal.fakes.resource_kind import ResourceKind, named
from rehearsal.fakes.rules import RefusedError, Resource
from rehearsal.fakes.values import Properties, mapping
from rehearsal.fakes.weights import objects_in

SOFT_DELETED: Final = "rehearsal:gcp:SoftDeletedObjects"
"""Objects of a bucket that is gone, which bill until their time is over."""
_DEFAULT_SECONDS: Final = 604_800
"""Google keeps deleted objects for seven days unless it is told otherwise (Cloud Storage, soft delete)."""
_TAKEN: Final = ("kimi", "kimi-k3", "models", "weights")
"""Names that somebody in the world has for sure; the account's setting `taken_buckets` adds others."""
_PRINCIPAL: Final = re.compile(
    r"principal://iam\.googleapis\.com/projects/(?P<number>[0-9]+)/locations/global/workloadIdentityPools/"
    r"(?P<project>[^/]+)\.svc\.id\.goog/subject/ns/[^/]+/sa/[^/]+"
)


def refuse_taken_name(resource: Resource, ledger: Ledger) -> None:
    """Names are taken in the whole world (Cloud Storage, `conflict`)."""
    name, others = text_at(resource.inputs, "name"), ledger.settings.get("taken_buckets")
    if ledger.find(ref.BUCKET, name):
        raise ref.refused(
            resource.name,
            "Error 409: Your previous request to create the named bucket succeeded and you already own it., conflict",
        )
    if name in _TAKEN or (isinstance(others, list) and name in others):
        raise ref.refused(
            resource.name,
            "Error 409: The requested bucket name is not available. The bucket namespace is shared by all users of the "
            "system. Please select a different name and try again., conflict",
        )


def refuse_objects(thing: Thing, ledger: Ledger) -> None:
    """A bucket with objects stays unless `forceDestroy` was in the state before (provider, `resource_storage_bucket`).

    What is deleted with it is kept, and billed, as long as its soft-delete policy said.
    """
    objects = objects_in(thing.id, ledger)
    if objects is None:
        return
    if thing.inputs.get("forceDestroy") is not True:
        raise RefusedError(
            f"Error trying to delete bucket {thing.id} containing objects without `force_destroy` set to true"
        )
    ledger.remove(objects, f"went with Bucket {thing.id}")
    kept = number_at(mapping(thing.inputs.get("softDeletePolicy")), "retentionDurationSeconds", _DEFAULT_SECONDS)
    if kept:
        because = f"soft delete: its objects bill for {kept // 86_400} more days, and nobody can make them go"
        ledger.add(Thing(SOFT_DELETED, thing.id, thing.name, {}, {}, left_because=because, rate=objects.rate))


def refuse_unknown_principal(resource: Resource, ledger: Ledger) -> None:
    """A workload identity belongs to a pool that is there, named by number and id (IAM, `badRequest`)."""
    member = text_at(resource.inputs, "member")
    if not member.startswith("principal://"):
        return
    match = _PRINCIPAL.fullmatch(member)
    if match is None or (match["number"], match["project"]) != (NUMBER, project(ledger)):
        raise ref.refused(resource.name, f"Error 400: Principal {member} is of an unknown type., invalid")
    if ledger.settings.get(IDENTITY_POOL) is not True:
        pool = f"{project(ledger)}.svc.id.goog"
        raise ref.refused(resource.name, f"Error 400: Identity Pool does not exist ({pool})., invalid")


def facts(name: str) -> Properties:
    """What Cloud Storage says of a bucket."""
    return {"url": f"gs://{name}", "selfLink": f"https://www.googleapis.com/storage/v1/b/{name}"}


def _computed(resource: Resource, identity: str, ledger: Ledger) -> Properties:
    del resource, ledger
    return facts(identity)


KIND: Final = ResourceKind(
    type=ref.BUCKET,
    identity=named("name"),
    name="name",
    replaced_by=("location", "hierarchicalNamespace"),
    checks=(fits("name", r"[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]", "3 to 63 lower-case letters, digits, -, _ and ."),),
    admissions=(refuse_taken_name,),
    computed=_computed,
    gone=refuse_objects,
)
MEMBER: Final = ResourceKind(
    type="gcp:storage/bucketIAMMember:BucketIAMMember",
    identity=named("bucket", "role", "member", separator="/"),
    replaced_by=("bucket", "role", "member"),
    admissions=(ref.exists("bucket", ref.BUCKET), refuse_unknown_principal),
)
