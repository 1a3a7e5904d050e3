"""The functions of the provider: what a program asks of the account before it makes anything."""

import json
from collections.abc import Mapping
from typing import Final

from rehearsal.fakes.account import Ledger
from rehearsal.fakes.alicloud import references as ref
from rehearsal.fakes.alicloud.cluster import VERSIONS
from rehearsal.fakes.alicloud.machine import machine_type
from rehearsal.fakes.alicloud.reservation import Pool, pool, sold_out
from rehearsal.fakes.cloud import Lookup
from rehearsal.fakes.paths import text_at, texts_at
from rehearsal.fakes.rules import RefusedError
from rehearsal.fakes.values import Properties, sequence

_LETTERS: Final = "abc"
_NOWHERE: Final = "https://127.0.0.1:1"
"""Nothing listens on port 1: a program that asks a cluster past the stand-in is refused at once."""


def kubeconfig(ledger: Ledger) -> str:
    """The cluster's kubeconfig, which is YAML and so may be JSON; the account's settings say where it leads."""
    there = {key: str(ledger.settings.get(key) or "") for key in ("server", "authority", "token")}
    cluster = {"server": there["server"] or _NOWHERE}
    if there["authority"]:
        cluster["certificate-authority-data"] = there["authority"]
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "kubernetes", "cluster": cluster}],
            "users": [{"name": "kubernetes-admin", "user": {"token": there["token"] or "rehearsal"}}],
            "contexts": [
                {"name": "kubernetes-admin", "context": {"cluster": "kubernetes", "user": "kubernetes-admin"}}
            ],
            "current-context": "kubernetes-admin",
        }
    )


def zones(ledger: Ledger) -> list[str]:
    """The zones of the region that have network load balancers, or those of the setting `balancer_zones`."""
    region = str(ledger.settings.get("region") or "ap-southeast-1")
    between = "-" if region.startswith("cn-") else ""
    given = [str(zone) for zone in sequence(ledger.settings.get("balancer_zones"))]
    return given or [f"{region}{between}{letter}" for letter in _LETTERS]


def _pools(arguments: Properties, token: str, ledger: Ledger) -> list[Pool]:
    found = [pool(identity, ledger) for identity in texts_at(arguments, "ids")]
    return [each for each in found if each is not None and each.thing.type == token]


def _reservations(arguments: Properties, ledger: Ledger) -> Properties:
    described = [
        {
            "id": each.thing.id,
            "capacityReservationId": each.thing.id,
            "capacityReservationName": text_at(each.thing.inputs, "capacityReservationName"),
            "instanceType": each.machine,
            "instanceAmount": str(each.total),
            "zoneIds": [each.zone],
            "matchCriteria": each.criteria,
            "status": each.status,
            "endTime": text_at(each.thing.inputs, "endTime"),
        }
        for each in _pools(arguments, ref.RESERVATION, ledger)
    ]
    return {**arguments, "id": "reservations", "reservations": described}


def _assurances(arguments: Properties, ledger: Ledger) -> Properties:
    described = [
        {
            "id": each.thing.id,
            "allocatedResources": [
                {
                    "instanceType": each.machine,
                    "totalAmount": each.total,
                    "usedAmount": each.used,
                    "zoneId": each.zone,
                }
            ],
            "privatePoolOptionsMatchCriteria": each.criteria,
            "status": each.status,
            "endTime": text_at(each.thing.inputs, "endTime"),
        }
        for each in _pools(arguments, ref.ASSURANCE, ledger)
    ]
    return {**arguments, "id": "assurances", "assurances": described}


def _instance_types(arguments: Properties, ledger: Ledger) -> Properties:
    wanted = text_at(arguments, "instanceType")
    there = machine_type(wanted) is not None and not sold_out(wanted, 1, ledger)
    return {**arguments, "id": "types", "ids": [wanted] if there else [], "instanceTypes": []}


def _versions(arguments: Properties, ledger: Ledger) -> Properties:
    del ledger
    return {**arguments, "id": "versions", "metadatas": [{"version": each, "runtimes": []} for each in VERSIONS]}


def _zones(arguments: Properties, ledger: Ledger) -> Properties:
    described = [{"id": zone, "zoneId": zone, "localName": zone} for zone in zones(ledger)]
    return {**arguments, "id": "zones", "ids": zones(ledger), "zones": described}


def _switches(arguments: Properties, ledger: Ledger) -> Properties:
    wanted = texts_at(arguments, "ids")
    described = [
        {"id": each.id, "zoneId": text_at(each.inputs, "zoneId"), "vpcId": text_at(each.inputs, "vpcId")}
        for each in ledger.of_type(ref.SWITCH)
        if each.id in wanted
    ]
    return {**arguments, "id": "switches", "names": [], "vswitches": described}


def _account(arguments: Properties, ledger: Ledger) -> Properties:
    del arguments, ledger
    return {"id": ref.ACCOUNT}


def _credential(arguments: Properties, ledger: Ledger) -> Properties:
    cluster = text_at(arguments, "clusterId")
    if ledger.find(ref.CLUSTER, cluster) is None:
        raise RefusedError(f"[ERROR] SDKError: Code: ErrorClusterNotFound Message: cluster {cluster} not found")
    certificates = {"clientCert": "", "clientKey": "", "clusterCert": ""}
    return {
        **arguments,
        "id": cluster,
        "clusterName": cluster,
        "kubeConfig": kubeconfig(ledger),
        "certificateAuthority": certificates,
        "expiration": "",
    }


LOOKUPS: Final[Mapping[str, Lookup]] = {
    "alicloud:cs/getClusterCredential:getClusterCredential": _credential,
    "alicloud:cs/getKubernetesVersion:getKubernetesVersion": _versions,
    "alicloud:ecs/getCapacityReservations:getCapacityReservations": _reservations,
    "alicloud:ecs/getElasticityAssurances:getElasticityAssurances": _assurances,
    "alicloud:ecs/getInstanceTypes:getInstanceTypes": _instance_types,
    "alicloud:index/getAccount:getAccount": _account,
    "alicloud:nlb/getZones:getZones": _zones,
    "alicloud:vpc/getSwitches:getSwitches": _switches,
}
