"""VPC endpoints: the private ways to AWS' own services."""

from collections.abc import Iterator
from typing import Final

from rehearsal.fakes.account import Ledger
from rehearsal.fakes.aws import references as ref
from rehearsal.fakes.aws.naming import account_id, arn, region
from rehearsal.fakes.paths import text_at, texts_at
from rehearsal.fakes.resource_kind import ResourceKind, generated
from rehearsal.fakes.rules import Failure, RefusedError, Resource
from rehearsal.fakes.values import Properties


def kind_failures(inputs: Properties) -> Iterator[Failure]:
    """A gateway goes by route tables, an interface by subnets (EC2, CreateVpcEndpoint)."""
    gateway = (text_at(inputs, "vpcEndpointType") or "Gateway") == "Gateway"
    if gateway and texts_at(inputs, "subnetIds"):
        yield Failure("subnetIds", "InvalidParameter: a Gateway endpoint takes route tables, not subnets")
    if not gateway and texts_at(inputs, "routeTableIds"):
        yield Failure("routeTableIds", "InvalidParameter: an Interface endpoint takes subnets, not route tables")


def refuse_foreign_service(resource: Resource, ledger: Ledger) -> None:
    """A service's name has the region in it (EC2, `InvalidServiceName`)."""
    name = text_at(resource.inputs, "serviceName")
    if not name.startswith((f"com.amazonaws.{region(ledger)}.", f"aws.api.{region(ledger)}.")):
        raise RefusedError(
            f"creating {resource.name}: api error InvalidServiceName: The Vpc Endpoint Service '{name}' does not exist"
        )


def _computed(resource: Resource, identity: str, ledger: Ledger) -> Properties:
    del resource
    endpoint = arn("ec2", f"vpc-endpoint/{identity}", ledger)
    return {"arn": endpoint, "ownerId": account_id(ledger), "state": "available", "prefixListId": "pl-68a54001"}


KIND: Final = ResourceKind(
    type=ref.ENDPOINT,
    identity=generated("vpce"),
    replaced_by=("vpcId", "serviceName", "vpcEndpointType"),
    checks=(kind_failures,),
    admissions=(
        ref.exists("vpcId", ref.VPC),
        ref.exists("routeTableIds", ref.ROUTE_TABLE),
        ref.exists("subnetIds", ref.SUBNET),
        ref.exists("securityGroupIds", ref.SECURITY_GROUP),
        refuse_foreign_service,
    ),
    computed=_computed,
)
