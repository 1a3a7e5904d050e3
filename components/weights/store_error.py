"""What a bucket's refusal means and what to do about it, in one line."""

import re
from dataclasses import dataclass
from typing import Final


class StoreError(Exception):
    """A bucket's failure; the message is one line."""

    def __init__(self, message: str, *, final: bool = False) -> None:
        super().__init__(message)
        self.final = final
        """Whether trying again can't mend it."""


@dataclass(frozen=True)
class _Meaning:
    pattern: re.Pattern[str]
    what: str
    instead: str
    final: bool = True


# Error codes as S3, Azure, GCS, OSS and common S3-compatible stores write them; the first that fits counts.
_MEANINGS: Final = (
    _Meaning(
        re.compile(r"NoSuchBucket|ContainerNotFound|The specified bucket does not exist"),
        "there is no such bucket",
        "create it, or correct its name, region or endpoint",
    ),
    _Meaning(
        re.compile(r"QuotaExceeded|quota|AccountLimitExceeded", re.IGNORECASE),
        "the bucket's quota is used up",
        "raise the quota or make room",
    ),
    _Meaning(
        re.compile(r"StorageFull|InsufficientStorage|status code: 507|NotEnoughSpace|No space left", re.IGNORECASE),
        "the store is full",
        "make room or add capacity",
    ),
    _Meaning(
        re.compile(r"SignatureDoesNotMatch|InvalidAccessKeyId|AuthenticationFailed|InvalidToken|ExpiredToken"),
        "the bucket doesn't know these credentials",
        "correct the keys or the workload identity",
    ),
    _Meaning(
        re.compile(r"169\.254\.169\.254|169\.254\.170\.|metadata\.google\.internal|missing credentials", re.IGNORECASE),
        "there are no credentials for the bucket",
        "give the pod its workload identity, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or your cloud's",
        # EKS Pod Identity and metadata servers may answer only some seconds after the node has started.
        final=False,
    ),
    _Meaning(re.compile(r"RequestTimeTooSkewed"), "the machine's clock is wrong", "set the clock"),
    _Meaning(
        re.compile(
            r"40[13] (Forbidden|Unauthorized)|AccessDenied|AuthorizationFailure|AuthorizationPermissionMismatch"
        ),
        "the identity may not do that",
        "let it list, read, write and delete objects in this bucket",
    ),
    _Meaning(
        re.compile(r"PermanentRedirect|AuthorizationHeaderMalformed|301 Moved"),
        "the bucket is in another region",
        "set AWS_REGION to the bucket's region",
    ),
    _Meaning(
        re.compile(r"timed out|TimedOut|operation timed out", re.IGNORECASE),
        "the store doesn't answer",
        "check the endpoint and the network's way to it",
        final=False,
    ),
    _Meaning(
        re.compile(r"Connection refused|dns error|ConnectError|Connect,|error sending request", re.IGNORECASE),
        "the store can't be reached",
        "check the endpoint and the network's way to it",
        final=False,
    ),
)
# The request's own words say nothing about the answer: a key may be called "quota", a port may end in 507. Only the
# address of a cloud's metadata server does.
_DETAILS: Final = re.compile(r"\n+Debug source:.*", re.DOTALL)
_REQUEST: Final = re.compile(
    r"https?://(?!169\.254\.|metadata\.)\S+|Object at .* not found: |<(?:Key|Resource|BucketName)>[^<]*<"
)


def store_error(error: BaseException, doing: str, bucket: object) -> StoreError:
    """Return one line for an exception of obstore.

    Args:
        error: The exception, whose text holds the store's answer.
        doing: Such as `write models/a.safetensors`.
        bucket: Where.
    """
    answer = _REQUEST.sub("", _DETAILS.sub("", str(error)))
    for meaning in _MEANINGS:
        if meaning.pattern.search(answer):
            return StoreError(f"{bucket}: can't {doing}: {meaning.what}; {meaning.instead}", final=meaning.final)
    return StoreError(f"{bucket}: can't {doing}: {' '.join(answer.split())[:300]}")
