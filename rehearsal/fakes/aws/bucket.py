"""S3 buckets, and the separate resources that say what a bucket is like."""

import json
from collections.abc import Callable, Iterator
from typing import Final

from rehearsal.fakes.account import Ledger, Thing
from rehearsal.fakes.aws import references as ref
from rehearsal.fakes.aws.naming import region
from rehearsal.fakes.paths import text_at, texts_at
from rehearsal.fakes.resource_kind import Check, ResourceKind, fits, named
from rehearsal.fakes.rules import Failure, RefusedError, Resource
from rehearsal.fakes.values import Properties
from rehearsal.fakes.weights import objects_in

_TAKEN: Final = ("kimi", "kimi-k3", "models", "weights", "llm-weights", "model-weights")
"""Names that somebody in the world has for sure; the account's setting `taken_buckets` adds others."""
_PUBLIC_ACCESS: Final = "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock"


def refuse_taken_name(resource: Resource, ledger: Ledger) -> None:
    """Names are taken in the whole world (S3, `BucketAlreadyExists`, `BucketAlreadyOwnedByYou`)."""
    name = text_at(resource.inputs, "bucket")
    others = ledger.settings.get("taken_buckets")
    if name in _TAKEN or (isinstance(others, list) and name in others):
        raise RefusedError(
            f"creating S3 Bucket ({name}): api error BucketAlreadyExists: The requested bucket name is not available. "
            "The bucket namespace is shared by all users of the system. Please select a different name and try again."
        )
    if ledger.find(ref.BUCKET, name):
        raise RefusedError(
            f"creating S3 Bucket ({name}): api error BucketAlreadyOwnedByYou: Your previous request to create the "
            "named bucket succeeded and you already own it."
        )


def refuse_objects(thing: Thing, ledger: Ledger) -> None:
    """A bucket with objects stays, unless `forceDestroy` was in the state before (S3, `BucketNotEmpty`)."""
    objects = objects_in(thing.id, ledger)
    if objects is None:
        return
    if thing.inputs.get("forceDestroy") is not True:
        raise RefusedError(
            f"deleting S3 Bucket ({thing.id}): api error BucketNotEmpty: The bucket you tried to delete is not empty"
        )
    ledger.remove(objects, f"went with Bucket {thing.id}")


def policy_failures(inputs: Properties) -> Iterator[Failure]:
    """A bucket policy is a document (S3, `MalformedPolicy`)."""
    policy = text_at(inputs, "policy")
    try:
        json.loads(policy or "{}")
    except ValueError:
        yield Failure("policy", "MalformedPolicy: Policies must be valid JSON and the first byte must be '{'")


def refuse_public_policy(resource: Resource, ledger: Ledger) -> None:
    """No public policy where the bucket blocks them (S3, `AccessDenied`)."""
    bucket = text_at(resource.inputs, "bucket")
    blocked = any(
        text_at(each.inputs, "bucket") == bucket and each.inputs.get("blockPublicPolicy") is True
        for each in ledger.of_type(_PUBLIC_ACCESS)
    )
    statements = json.loads(text_at(resource.inputs, "policy") or "{}").get("Statement", [])
    public = any(
        each.get("Principal") in ("*", {"AWS": "*"}) and each.get("Effect") == "Allow" and not each.get("Condition")
        for each in statements
    )
    if blocked and public:
        raise RefusedError(
            f"putting S3 Bucket Policy ({bucket}): api error AccessDenied: public policies are blocked by the "
            "BlockPublicPolicy block public access setting."
        )


def status_failures(path: str, *allowed: str) -> Check:
    """A check that a status is one of a few (botocore, S3)."""

    def check(inputs: Properties) -> Iterator[Failure]:
        for status in texts_at(inputs, path):
            if status not in allowed:
                yield Failure(path, f"'{status}': {', '.join(allowed)}")

    return check


def facts(name: str, ledger: Ledger) -> Properties:
    """What S3 says of a bucket."""
    place = region(ledger)
    return {
        "arn": f"arn:aws:s3:::{name}",
        "bucketDomainName": f"{name}.s3.amazonaws.com",
        "bucketRegionalDomainName": f"{name}.s3.{place}.amazonaws.com",
        "bucketRegion": place,
        "hostedZoneId": "Z3BJ6K6RIION7M",
        "region": place,
    }


def _computed(resource: Resource, identity: str, ledger: Ledger) -> Properties:
    del resource
    return facts(identity, ledger)


def _part(type_: str, *checks: Check, admissions: tuple[Callable[[Resource, Ledger], None], ...] = ()) -> ResourceKind:
    return ResourceKind(
        type=type_,
        identity=named("bucket"),
        replaced_by=("bucket",),
        checks=checks,
        admissions=(ref.exists("bucket", ref.BUCKET), *admissions),
    )


KIND: Final = ResourceKind(
    type=ref.BUCKET,
    identity=named("bucket"),
    name="bucket",
    replaced_by=("objectLockEnabled",),
    checks=(fits("bucket", r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", "3 to 63 lowercase letters, digits, - and ."),),
    admissions=(refuse_taken_name,),
    computed=_computed,
    gone=refuse_objects,
)
PARTS: Final = (
    _part(_PUBLIC_ACCESS),
    _part(
        "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration",
        status_failures("rules.status", "Enabled", "Disabled"),
    ),
    _part(
        "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration",
        status_failures("rules.applyServerSideEncryptionByDefault.sseAlgorithm", "AES256", "aws:kms", "aws:kms:dsse"),
    ),
    _part(
        "aws:s3/bucketPolicy:BucketPolicy",
        policy_failures,
        admissions=(refuse_public_policy,),
    ),
    _part(
        "aws:s3/bucketOwnershipControls:BucketOwnershipControls",
        status_failures("rule.objectOwnership", "BucketOwnerPreferred", "ObjectWriter", "BucketOwnerEnforced"),
    ),
    _part(
        "aws:s3/bucketVersioning:BucketVersioning",
        status_failures("versioningConfiguration.status", "Enabled", "Suspended", "Disabled"),
    ),
)
