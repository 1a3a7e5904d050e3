"""The functions of the provider: what a program asks of the project before it makes anything."""

from collections.abc import Mapping
from typing import Final

from rehearsal.fakes.account import Ledger, Thing
from rehearsal.fakes.cloud import Lookup
from rehearsal.fakes.gcp import references as ref
from rehearsal.fakes.gcp.cluster import NEWEST, version_of
from rehearsal.fakes.gcp.machine import machine_type
from rehearsal.fakes.gcp.naming import NUMBER, last, link, project, region
from rehearsal.fakes.gcp.node_pool import instances_of
from rehearsal.fakes.gcp.reservation import Part, part, reserved
from rehearsal.fakes.paths import text_at
from rehearsal.fakes.rules import RefusedError
from rehearsal.fakes.values import Properties, sequence


def _reservation(arguments: Properties, ledger: Ledger) -> Properties:
    found = _reserved(arguments, ledger)
    whole = _part(found, "", ledger)
    shape = [{"machineType": found.outputs.get("machine")}]
    return {
        **arguments,
        "id": found.id,
        "status": found.outputs.get("status"),
        "specificReservationRequired": found.outputs.get("specific"),
        "specificReservations": [{"count": whole.total, "inUseCount": whole.used, "instanceProperties": shape}],
        "blockNames": [found.outputs.get("block")],
    }


def _block(arguments: Properties, ledger: Ledger) -> Properties:
    found = _part(_reserved(arguments, ledger, "reservation"), f"/reservationBlocks/{arguments.get('name')}", ledger)
    return {**arguments, "id": found.thing.id, "blockCount": found.total, "inUseCount": found.used}


def _sub_block(arguments: Properties, ledger: Ledger) -> Properties:
    below = f"/reservationBlocks/{arguments.get('reservationBlock')}/reservationSubBlocks/{arguments.get('name')}"
    found = _part(_reserved(arguments, ledger, "reservation"), below, ledger)
    health = {"healthyHostCount": found.healthy, "degradedHostCount": found.total - found.healthy}
    counts = {"subBlockCount": found.total, "inUseCount": found.used}
    return {**arguments, "id": found.thing.id, **counts, "healthInfos": [{**health, "healthStatus": "HEALTHY"}]}


def _cluster(arguments: Properties, ledger: Ledger) -> Properties:
    found = ref.found(ref.CLUSTER, text_at(arguments, "name"), ledger)
    if found is None:
        path = f"projects/{project(ledger)}/locations/{arguments.get('location')}/clusters/{arguments.get('name')}"
        raise _not_found(path)
    pools = [each for each in ledger.of_type(ref.NODE_POOL) if text_at(each.inputs, "cluster") == found.id]
    counted = [{"name": last(each.id), "nodeCount": len(instances_of(each, ledger))} for each in pools]
    return {**found.outputs, "id": found.id, "nodePools": counted}


def _machine_types(arguments: Properties, ledger: Ledger) -> Properties:
    """GPU types are offered where the account's setting `gpu_zones` says, by default everywhere."""
    wanted = text_at(arguments, "filter").rpartition("= ")[2].strip('"')
    zones = [str(zone) for zone in sequence(ledger.settings.get("gpu_zones"))]
    found = machine_type(wanted)
    there = found is not None and (not found.gpus or not zones or text_at(arguments, "zone") in zones)
    return {**arguments, "id": wanted, "machineTypes": [{"name": wanted}] if there else []}


def _versions(arguments: Properties, ledger: Ledger) -> Properties:
    del ledger
    wanted = version_of(text_at(arguments, "versionPrefix"))
    channels = {"REGULAR": NEWEST[35]}
    return {
        **arguments,
        "id": "versions",
        "validMasterVersions": [wanted] if wanted else [],
        "releaseChannelDefaultVersion": channels,
    }


def _subnetwork(arguments: Properties, ledger: Ledger) -> Properties:
    found = ref.found(ref.SUBNETWORK, text_at(arguments, "name"), ledger)
    if found is None:
        raise _not_found(f"projects/{project(ledger)}/regions/{region(ledger)}/subnetworks/{arguments.get('name')}")
    network = ref.found(ref.NETWORK, text_at(found.inputs, "network"), ledger)
    return {**found.outputs, "id": found.id, "network": link(network.id if network else "")}


def _project(arguments: Properties, ledger: Ledger) -> Properties:
    wanted = text_at(arguments, "projectId") or project(ledger)
    if wanted != project(ledger):
        raise RefusedError(f"googleapi: Error 403: The caller does not have permission on {wanted}, forbidden")
    return {"id": f"projects/{wanted}", "projectId": wanted, "number": NUMBER, "name": wanted}


def _client(arguments: Properties, ledger: Ledger) -> Properties:
    del arguments
    place = {"project": project(ledger), "region": region(ledger), "zone": ""}
    return {"id": "client", "accessToken": "ya29.rehearsal", **place}


def _reserved(arguments: Properties, ledger: Ledger, key: str = "name") -> Thing:
    name, owner = text_at(arguments, key), text_at(arguments, "project")
    found = reserved(name, owner, ledger)
    if found is None or text_at(arguments, "zone") != text_at(found.outputs, "zone"):
        raise _not_found(f"projects/{owner or project(ledger)}/zones/{arguments.get('zone')}/reservations/{name}")
    return found


def _part(thing: Thing, below: str, ledger: Ledger) -> Part:
    path = f"projects/{thing.outputs.get('owner')}/reservations/{thing.outputs.get('name')}{below}"
    found = part(path, ledger)
    if found is None:
        raise _not_found(path)
    return found


def _not_found(path: str) -> RefusedError:
    return RefusedError(f"googleapi: Error 404: The resource '{path}' was not found, notFound")


LOOKUPS: Final[Mapping[str, Lookup]] = {
    "gcp:compute/getMachineTypes:getMachineTypes": _machine_types,
    "gcp:compute/getReservation:getReservation": _reservation,
    "gcp:compute/getReservationBlock:getReservationBlock": _block,
    "gcp:compute/getReservationSubBlock:getReservationSubBlock": _sub_block,
    "gcp:compute/getSubnetwork:getSubnetwork": _subnetwork,
    "gcp:container/getCluster:getCluster": _cluster,
    "gcp:container/getEngineVersions:getEngineVersions": _versions,
    "gcp:organizations/getClientConfig:getClientConfig": _client,
    "gcp:organizations/getProject:getProject": _project,
}
