"""The weights in a bucket: they are there once a Job that copies them has completed.

The program's Jobs say where they copy to as a URL. The objects are a thing of the account, so that the journal tells
what happened before and after, and the meter what the storage costs.
"""

from collections.abc import Iterable
from typing import Final

from components.plan.model import KIMI_K3
from rehearsal.fakes.account import Ledger, Rate, Thing
from rehearsal.fakes.control_plane import completed_copies

OBJECTS: Final = "rehearsal:weights:Objects"
"""The contents of a bucket, by the bucket's name."""
_HOURS_PER_MONTH: Final = 730
_USD_PER_GB_MONTH: Final = 0.023
"""S3 Standard, AWS price page, read 2026-08; the other clouds' are near."""


def objects_in(bucket: str, ledger: Ledger) -> Thing | None:
    """The objects of a bucket; None for an empty one."""
    return ledger.find(OBJECTS, bucket)


def fill(arguments: Iterable[str], scheme: str, bucket_type: str, ledger: Ledger) -> None:
    """Put the weights where a completed Job copied them.

    Args:
        arguments: Of the Job's containers.
        scheme: That the cloud's bucket URLs begin with, such as `s3://`.
        bucket_type: Type of the cloud's buckets; one that isn't in the account stays without.
        ledger: The account.
    """
    for bucket in {text.removeprefix(scheme).split("/")[0] for text in arguments if text.startswith(scheme)}:
        # Where ids are paths, they end in the name.
        there = any(each.id.rpartition("/")[2] == bucket for each in ledger.of_type(bucket_type))
        if there and objects_in(bucket, ledger) is None:
            ledger.add(Thing(OBJECTS, bucket, f"weights in {bucket}", {}, {}, rate=_rate()))


def fill_from_control_plane(scheme: str, bucket_type: str, ledger: Ledger) -> None:
    """The same for the Jobs that have completed in the control plane of a full rehearsal."""
    for arguments in completed_copies():
        fill(arguments, scheme, bucket_type, ledger)


def _rate() -> Rate:
    return Rate(usd_per_hour=KIMI_K3.weight_bytes / 1e9 * _USD_PER_GB_MONTH / _HOURS_PER_MONTH)
