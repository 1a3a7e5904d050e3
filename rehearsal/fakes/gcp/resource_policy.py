"""Resource policies: how machines are placed."""

from collections.abc import Iterator
from typing import Final

from rehearsal.fakes.gcp import references as ref
from rehearsal.fakes.gcp.naming import RFC1035, fits, path_of
from rehearsal.fakes.paths import text_at
from rehearsal.fakes.resource_kind import ResourceKind
from rehearsal.fakes.rules import Failure
from rehearsal.fakes.values import Properties

_TYPES: Final = ("HIGH_AVAILABILITY", "HIGH_THROUGHPUT")
"""compute.v1, ResourcePolicyWorkloadPolicy."""


def workload_failures(inputs: Properties) -> Iterator[Failure]:
    """A topology goes with high throughput alone, and not with a distance (compute.v1)."""
    type_, shape = text_at(inputs, "workloadPolicy.type"), text_at(inputs, "workloadPolicy.acceleratorTopology")
    if type_ and type_ not in _TYPES:
        yield Failure("workloadPolicy.type", f"'{type_}': {', '.join(_TYPES)}")
    if shape and (type_ != "HIGH_THROUGHPUT" or text_at(inputs, "workloadPolicy.maxTopologyDistance")):
        yield Failure("workloadPolicy.acceleratorTopology", "only with HIGH_THROUGHPUT and without a distance")


KIND: Final = ResourceKind(
    type=ref.RESOURCE_POLICY,
    identity=path_of("regions/{}/resourcePolicies"),
    name="name",
    replaced_by=("region", "workloadPolicy", "groupPlacementPolicy"),
    checks=(fits("name", RFC1035, "1 to 63 lower-case letters, digits and -"), workload_failures),
    gone=ref.refuse_while_used("resource_policy", (ref.NODE_POOL, "placementPolicy.policyName")),
)
