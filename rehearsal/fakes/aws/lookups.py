"""The functions of the provider: what a program asks of the account before it makes anything."""

import json
from collections.abc import Iterable, Mapping
from typing import Final

from rehearsal.fakes.account import Ledger, Thing
from rehearsal.fakes.aws import bucket, capacity_block
from rehearsal.fakes.aws import references as ref
from rehearsal.fakes.aws.instance_type import instance_type
from rehearsal.fakes.aws.naming import account_id, arn, region
from rehearsal.fakes.aws.reservation import reservation
from rehearsal.fakes.aws.route import routes_of
from rehearsal.fakes.aws.zone import zone_id, zones
from rehearsal.fakes.cloud import Lookup
from rehearsal.fakes.paths import text_at, texts_at
from rehearsal.fakes.rules import RefusedError
from rehearsal.fakes.values import Properties, mapping, sequence

_QUOTAS: Final[Mapping[str, float]] = {"L-417A185B": 1152.0}
"""vCPUs of Running On-Demand P instances; the account's setting `quotas` says otherwise."""
_ADDON_VERSION: Final = "v1.20.0-eksbuild.1"
_RESERVATION: Final = "AWS::EC2::CapacityReservation"


def _caller(arguments: Properties, ledger: Ledger) -> Properties:
    del arguments
    account = account_id(ledger)
    person = f"arn:aws:iam::{account}:user/rehearsal"
    return {"accountId": account, "arn": person, "userId": "AIDAREHEARSAL0000000", "id": account}


def _region(arguments: Properties, ledger: Ledger) -> Properties:
    name = text_at(arguments, "region") or text_at(arguments, "name") or region(ledger)
    described = {"endpoint": f"ec2.{name}.amazonaws.com", "description": name}
    return {"region": name, "name": name, "id": name, **described}


def _partition(arguments: Properties, ledger: Ledger) -> Properties:
    del arguments, ledger
    return {"partition": "aws", "dnsSuffix": "amazonaws.com", "reverseDnsPrefix": "com.amazonaws", "id": "aws"}


def _zones(arguments: Properties, ledger: Ledger) -> Properties:
    names, ids = texts_at(arguments, "excludeNames"), texts_at(arguments, "excludeZoneIds")
    found = [zone for zone in zones(ledger) if zone not in names and zone_id(zone) not in ids]
    return {
        "names": found,
        "zoneIds": [zone_id(zone) for zone in found],
        "groupNames": [region(ledger)],
        "id": region(ledger),
        "state": arguments.get("state"),
    }


def _block(arguments: Properties, ledger: Ledger) -> Properties:
    """The SDK looks up Capacity Blocks alone; before its start EC2 doesn't say how many instances one has."""
    identity = text_at(arguments, "id") or _filtered(arguments, "capacity-reservation-id")
    block = capacity_block.found_block(identity, ledger)
    started = block.state == "active"
    return {
        "id": block.id,
        "arn": arn("ec2", f"capacity-reservation/{block.id}", ledger),
        "state": block.state,
        "availabilityZone": block.zone,
        "availabilityZoneId": zone_id(block.zone),
        "availableInstanceCount": block.available if started else 0,
        "instanceCount": block.total if started else 0,
        "instanceType": block.instance_type,
        "startDate": block.start,
        "endDate": block.end,
        "endDateType": "limited",
        "instanceMatchCriteria": "targeted",
        "instancePlatform": "Linux/UNIX",
        "ownerId": account_id(ledger),
        "region": region(ledger),
        "reservationType": "capacity-block",
        "tenancy": "default",
    }


def _cloud_control(arguments: Properties, ledger: Ledger) -> Properties:
    """Read what the SDK has no look-up for; here only reservations (CloudFormation, AWS::EC2::CapacityReservation)."""
    kind, identity = text_at(arguments, "typeName"), text_at(arguments, "identifier")
    found = reservation(identity, ledger)
    if kind != _RESERVATION:
        raise RefusedError(f"the stand-in for aws doesn't read {kind} through Cloud Control")
    if found is None:
        raise RefusedError(
            f"reading Cloud Control API ({kind}) Resource ({identity}): couldn't find resource: "
            "ResourceNotFoundException"
        )
    properties: Properties = {
        "Id": identity,
        "InstanceType": found.instance_type,
        "AvailabilityZone": found.zone,
        "TotalInstanceCount": found.total,
        "AvailableInstanceCount": found.available,
        "State": found.state,
        "StartDate": found.start,
        "EndDate": found.end or None,
        "EndDateType": "limited" if found.end else "unlimited",
        "InstancePlatform": "Linux/UNIX",
        "ReservationType": "capacity-block" if found.block else "default",
    }
    text = json.dumps({key: value for key, value in properties.items() if value is not None})
    return {"id": identity, "identifier": identity, "typeName": kind, "properties": text}


def _instance_types(arguments: Properties, ledger: Ledger) -> Properties:
    """GPU types are offered where the account's setting `gpu_zones` says, by default everywhere."""
    by_zone = text_at(arguments, "locationType").startswith("availability-zone")
    wanted_types, places = _filter(arguments, "instance-type"), _filter(arguments, "location")
    gpu_zones = [str(zone) for zone in sequence(ledger.settings.get("gpu_zones"))] or zones(ledger)
    found: list[tuple[str, str]] = []
    for name in filter(instance_type, wanted_types):
        type_ = instance_type(name)
        there = gpu_zones if type_ and type_.gpus else zones(ledger)
        here = there if by_zone else [region(ledger)]
        found += [(name, place) for place in here if not places or place in places]
    return {
        "id": region(ledger),
        "instanceTypes": [name for name, _ in found],
        "locations": [place for _, place in found],
        "locationTypes": [arguments.get("locationType") or "region" for _ in found],
    }


def _quota(arguments: Properties, ledger: Ledger) -> Properties:
    code = text_at(arguments, "quotaCode")
    value = mapping(ledger.settings.get("quotas")).get(code, _QUOTAS.get(code))
    if value is None:
        raise RefusedError(
            f"reading Service Quotas Service Quota ({code}): api error NoSuchResourceException: The request failed "
            "because the specified service quota does not exist."
        )
    service = text_at(arguments, "serviceCode")
    return {"id": f"{service}/{code}", "quotaCode": code, "serviceCode": service, "value": value, "adjustable": True}


def _subnet(arguments: Properties, ledger: Ledger) -> Properties:
    found = _one(ref.SUBNET, text_at(arguments, "id"), "EC2 Subnet", ledger)
    zone = text_at(found.outputs, "availabilityZone")
    return {**found.outputs, "id": found.id, "availabilityZoneId": zone_id(zone), "state": "available"}


def _subnets(arguments: Properties, ledger: Ledger) -> Properties:
    vpcs = _filter(arguments, "vpc-id")
    found = [each.id for each in ledger.of_type(ref.SUBNET) if not vpcs or text_at(each.inputs, "vpcId") in vpcs]
    return {"id": region(ledger), "ids": found}


def _vpc(arguments: Properties, ledger: Ledger) -> Properties:
    found = _one(ref.VPC, text_at(arguments, "id"), "EC2 VPC", ledger)
    return {**found.outputs, "id": found.id, "state": "available"}


def _route_table(arguments: Properties, ledger: Ledger) -> Properties:
    tables = _tables(arguments, ledger)
    if len(tables) != 1:
        raise RefusedError(f"reading EC2 Route Table: {_too_few_or_many(len(tables))}")
    (table,) = tables
    shown = {"id": table.id, "routeTableId": table.id, "associations": _associations(table.id, ledger)}
    return {**table.outputs, **shown, "routes": routes_of(table.id, ledger)}


def _route_tables(arguments: Properties, ledger: Ledger) -> Properties:
    return {"id": region(ledger), "ids": [each.id for each in _tables(arguments, ledger)]}


def _bucket(arguments: Properties, ledger: Ledger) -> Properties:
    name = text_at(arguments, "bucket")
    if ledger.find(ref.BUCKET, name) is None:
        raise RefusedError(f"reading S3 Bucket ({name}): couldn't find resource")
    return {**bucket.facts(name, ledger), "bucket": name, "id": name}


def _addon_version(arguments: Properties, ledger: Ledger) -> Properties:
    del ledger
    return {**arguments, "version": _ADDON_VERSION, "id": arguments.get("addonName")}


def _associations(table: str, ledger: Ledger) -> list[Properties]:
    return [
        {
            "routeTableAssociationId": each.id,
            "routeTableId": table,
            "subnetId": each.inputs.get("subnetId"),
            "main": False,
        }
        for each in ledger.of_type(ref.ROUTE_TABLE_ASSOCIATION)
        if text_at(each.inputs, "routeTableId") == table
    ]


def _tables(arguments: Properties, ledger: Ledger) -> list[Thing]:
    vpcs = [*texts_at(arguments, "vpcId"), *_filter(arguments, "vpc-id")]
    subnets = [*texts_at(arguments, "subnetId"), *_filter(arguments, "association.subnet-id")]
    ids = texts_at(arguments, "routeTableId")

    def wanted(table: Thing) -> bool:
        associated = [text_at(each, "subnetId") for each in _associations(table.id, ledger)]
        return (
            (not vpcs or text_at(table.inputs, "vpcId") in vpcs)
            and (not subnets or any(subnet in subnets for subnet in associated))
            and (not ids or table.id in ids)
        )

    return [table for table in ledger.of_type(ref.ROUTE_TABLE) if wanted(table)]


def _one(token: str, identity: str, what: str, ledger: Ledger) -> Thing:
    found = ledger.find(token, identity)
    if found is None:
        raise RefusedError(f"reading {what}: {_too_few_or_many(0)}")
    return found


def _too_few_or_many(count: int) -> str:
    # hashicorp/terraform-provider-aws, internal/tfresource: SingularDataSourceFindError.
    if count:
        return "multiple results matched; use additional constraints to reduce matches to a single result"
    return "no matching results found"


def _filter(arguments: Properties, name: str) -> list[str]:
    """The values of a filter, as EC2's look-ups take them."""
    found: Iterable[object] = sequence(arguments.get("filters"))
    return [text for each in found for text in texts_at(mapping(each), "values") if mapping(each).get("name") == name]


def _filtered(arguments: Properties, name: str) -> str:
    return next(iter(_filter(arguments, name)), "")


LOOKUPS: Final[Mapping[str, Lookup]] = {
    "aws:cloudcontrol/getResource:getResource": _cloud_control,
    "aws:ec2/getCapacityBlockOffering:getCapacityBlockOffering": capacity_block.offering,
    "aws:ec2/getCapacityBlockReservation:getCapacityBlockReservation": _block,
    "aws:ec2/getInstanceTypeOfferings:getInstanceTypeOfferings": _instance_types,
    "aws:ec2/getRouteTable:getRouteTable": _route_table,
    "aws:ec2/getRouteTables:getRouteTables": _route_tables,
    "aws:ec2/getSubnet:getSubnet": _subnet,
    "aws:ec2/getSubnets:getSubnets": _subnets,
    "aws:ec2/getVpc:getVpc": _vpc,
    "aws:eks/getAddonVersion:getAddonVersion": _addon_version,
    "aws:index/getAvailabilityZones:getAvailabilityZones": _zones,
    "aws:index/getCallerIdentity:getCallerIdentity": _caller,
    "aws:index/getPartition:getPartition": _partition,
    "aws:index/getRegion:getRegion": _region,
    "aws:s3/getBucket:getBucket": _bucket,
    "aws:servicequotas/getServiceQuota:getServiceQuota": _quota,
}
