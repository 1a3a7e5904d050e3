"""The rules of the `eks` provider: one component, and no resource of its own."""

from collections.abc import Mapping
from types import MappingProxyType

from rehearsal.fakes.cloud import CloudRules
from rehearsal.fakes.construction import Component
from rehearsal.fakes.eks.cluster import TYPE, cluster


class EksRules(CloudRules):
    """What the provider knows."""

    package = "eks"
    sdk = "pulumi_eks"
    components: Mapping[str, Component] = MappingProxyType({TYPE: cluster})

    def __init__(self) -> None:
        super().__init__({}, {})
