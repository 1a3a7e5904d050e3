"""Where the GPU nodes come from, as a person says it: never a subscription, and nothing that bills without a word."""

import datetime
from collections.abc import Mapping
from typing import Annotated, Final, Literal

from pydantic import Field

from components.faults import Fault
from components.mode_keys import mode_key_faults
from components.settings import Block

ZONE: Final = r"^[a-z]{2}(-[a-z0-9]+)+$"
"""A zone: cn-hangzhou-k, ap-southeast-1a."""
_POOL: Final = r"^(crp|eap)-[0-9a-z]{8,32}$"
_TIME: Final = r"^20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:00Z$"


class Capacity(Block):
    """Where the GPU nodes come from."""

    mode: Literal["existing", "none", "reserve", "lingjun"] = Field(
        description="existing: private pools by their ids; none: by the hour while there is stock; reserve: a private "
        "pool that the stack makes and releases; lingjun: nodes of a Lingjun group",
        examples=["existing"],
    )
    ids: Annotated[tuple[Annotated[str, Field(pattern=_POOL)], ...], Field(strict=False, max_length=20)] = Field(
        default=(),
        description="existing: capacity reservations (crp-) or elasticity assurances (eap-), in target mode",
        examples=[["crp-bp67acfmxazb4ph0abcd"]],
    )
    zone: str | None = Field(
        default=None,
        pattern=ZONE,
        description="the zone of the nodes; existing: only where its lookup is skipped",
        examples=["ap-southeast-1a"],
    )
    end_time: str | None = Field(
        default=None,
        pattern=_TIME,
        description="reserve: when the private pool ends by itself, in UTC",
        examples=["2027-01-31T16:00:00Z"],
    )
    acknowledge_billing: bool = Field(
        default=False, description="reserve: it bills at the full price from its creation, used or not"
    )
    lingjun_cluster: str | None = Field(
        default=None, min_length=1, description="lingjun: the Lingjun cluster", examples=["i114444141733395242745"]
    )
    lingjun_group: str | None = Field(
        default=None, min_length=1, description="lingjun: id of its node group", examples=["i121824791737080429819"]
    )

    @property
    def ends(self) -> datetime.datetime | None:
        """When a private pool of this stack ends."""
        return datetime.datetime.fromisoformat(self.end_time) if self.end_time else None


_CAPACITY_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "existing": ("ids",),
    "none": ("zone",),
    "reserve": ("zone", "end_time"),
    "lingjun": ("zone", "lingjun_cluster", "lingjun_group"),
}
"""What each mode needs; it takes none of the others' keys, but for the zone where the pools aren't looked up."""


def capacity_faults(capacity: Capacity, region: str, *, looked_up: bool = True) -> list[Fault]:
    """Check that a mode has its own keys and no others, and that nothing bills by a half-filled form.

    Args:
        capacity: The block.
        region: The stack's.
        looked_up: Whether the zone of private pools comes from ECS.
    """
    existing = capacity.mode == "existing"
    needed = {**_CAPACITY_KEYS, "existing": ("ids",) if looked_up else ("ids", "zone")}
    found = mode_key_faults(
        "capacity", capacity, capacity.mode, needed, optional=("zone",) if existing and looked_up else ()
    )
    if not _is_time(capacity.end_time):
        found.append(
            Fault(
                key="capacity.endTime", given=capacity.end_time, allowed="no such day", instead="2027-01-31T16:00:00Z"
            )
        )
    if capacity.mode == "reserve" and not capacity.acknowledge_billing:
        allowed = "the private pool bills at the full price from its creation, used or not"
        found.append(
            Fault(key="capacity.acknowledgeBilling", given=False, allowed=allowed, instead="true, when you mean it")
        )
    return [*found, *zone_faults("capacity.zone", capacity.zone, region)]


def _is_time(text: str | None) -> bool:
    try:
        return text is None or bool(datetime.datetime.fromisoformat(text))
    except ValueError:
        return False


def zone_faults(key: str, zone: str | None, region: str) -> list[Fault]:
    """Refuse a zone of another region."""
    # cn-hangzhou-k, but ap-southeast-1a.
    if zone is None or zone[:-1] in (region, f"{region}-"):
        return []
    allowed = f"must be a zone of the region {region}"
    return [Fault(key=key, given=zone, allowed=allowed, instead="a zone that `aliyun ecs DescribeZones` lists")]
