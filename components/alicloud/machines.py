"""Which machines of Alibaba Cloud serve the model and which don't, and why: the names mislead.

Sources: help.aliyun.com, "GPU-accelerated compute-optimized instance families", and for the card series field reports;
read in 2026.
"""

from collections.abc import Mapping
from typing import Final

from components.plan.hardware import CATALOGUE

ECS: Final = "ecs."
"""What the names of ECS types begin with; Lingjun's card series have names of their own."""
DEFAULT: Final = "ecs.ebmgn8v.48xlarge"

_SMALL: Final = "has fewer than eight GPUs, and tensor parallelism fills a node of eight"
_REFUSED: Final[Mapping[str, str]] = {
    "ecs.gn8v-2x": _SMALL,
    "ecs.gn8v-4x": _SMALL,
    "ecs.gn8v-tee": "is a confidential machine; those with eight GPUs are ecs.gn8v-tee-8x.16xlarge and .48xlarge",
    "ecs.gn8v-8x": "is a family; its sizes are ecs.gn8v-8x.16xlarge and ecs.gn8v-8x.48xlarge",
    "ecs.gn8v": _SMALL,
    "ecs.ebmgn8v": "is a family; its size is ecs.ebmgn8v.48xlarge",
    "ecs.ebmgn9ge": "has 8 x 72 GB on PCIe without NVLink, by invitation, and nobody has served the model on it",
    "ecs.ebmgn9gc": "has 8 x 72 GB on PCIe without NVLink, by invitation, and nobody has served the model on it",
    "ecs.ebmgn9g": "has 8 x 48 GB = 384 GB a node, without NVLink",
    "ecs.ebmgn9t": "has about 8 x 31 GB = 248 GB a node: a newer number, and less memory",
    "ecs.ebmgn8te": "has about 8 x 47 GB = 380 GB a node",
    "GU120": "is a name of PAI for 8 x 96 GB; on ACK these are ecs.ebmgn8v.48xlarge and ecs.gn8v-8x",
    "ZW810E": "isn't CUDA, which every image of vLLM for this model is",
    "P16EN": "isn't CUDA, which every image of vLLM for this model is",
    "efg3.GN9A.ch72": "is sold as a subscription alone, which this program never makes",
}
"""Why a machine isn't in the catalogue, by the beginning of its name; a longer beginning comes first."""


def refusal(machine: str | None) -> str | None:
    """Return why a machine outside the catalogue can't serve the model, or None where nothing is known of it."""
    if machine is None or machine in CATALOGUE:
        return None
    return next((why for start, why in _REFUSED.items() if machine == start or machine.startswith(f"{start}.")), None)


def lingjun(machine: str) -> bool:
    """Return whether a machine is one of Lingjun's, which come as nodes that exist and not as ECS instances."""
    return not machine.startswith(ECS)
