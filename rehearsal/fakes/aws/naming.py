"""How AWS names things: accounts, regions and ARNs."""

from collections.abc import Callable
from typing import Final

from rehearsal.fakes.account import Ledger

DEFAULT_REGION: Final = "us-west-2"
_ACCOUNT: Final = "123456789012"
"""AWS' own example of an account."""


def region(ledger: Ledger) -> str:
    """The region of the rehearsed account; it has one."""
    return str(ledger.settings.get("region") or DEFAULT_REGION)


def account_id(ledger: Ledger) -> str:
    """The account's number."""
    return str(ledger.settings.get("account_id") or _ACCOUNT)


def arn(service: str, resource: str, ledger: Ledger) -> str:
    """The ARN of something in the region."""
    return f"arn:aws:{service}:{region(ledger)}:{account_id(ledger)}:{resource}"


def global_arn(service: str, resource: str, ledger: Ledger) -> str:
    """The ARN of something that belongs to no region."""
    return f"arn:aws:{service}::{account_id(ledger)}:{resource}"


def arn_of(service: str, prefix: str) -> Callable[[str, Ledger], str]:
    """A function that makes the ARN of an id: `vpc/vpc-0123`."""
    return lambda identity, ledger: arn(service, f"{prefix}/{identity}", ledger)
