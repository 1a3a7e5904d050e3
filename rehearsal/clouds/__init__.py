"""What differs between the clouds of a rehearsal: who plays them, and what is there before the program comes."""

from collections.abc import Mapping
from typing import Final

from rehearsal.clouds.alicloud import Alicloud
from rehearsal.clouds.aws import Aws
from rehearsal.clouds.azure import Azure
from rehearsal.clouds.cloud import Cloud
from rehearsal.clouds.existing import Existing
from rehearsal.clouds.gcp import Gcp
from rehearsal.stack_file import Contents

CLOUDS: Final[Mapping[str, Cloud]] = {
    "existing": Existing(),
    "aws": Aws(),
    "azure": Azure(),
    "gcp": Gcp(),
    "alicloud": Alicloud(),
}


def cloud_of(config: Contents) -> Cloud:
    """Return the cloud that a stack file names; a name that nobody knows is the program's to refuse."""
    return CLOUDS.get(str(config.get("kimi-k3:cloud")), CLOUDS["existing"])
