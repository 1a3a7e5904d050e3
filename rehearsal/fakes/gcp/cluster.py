"""GKE clusters: what they are made of, and when they can go."""

import re
from collections.abc import Iterator
from typing import Final

from rehearsal.fakes.account import Ledger, Thing
from rehearsal.fakes.gcp import references as ref
from rehearsal.fakes.gcp.naming import fits, last, project
from rehearsal.fakes.paths import text_at, texts_at
from rehearsal.fakes.resource_kind import ResourceKind, by_the_hour
from rehearsal.fakes.rules import Failure, RefusedError, Resource
from rehearsal.fakes.values import Properties

NOWHERE: Final = "127.0.0.1:1"
"""Nothing listens on port 1: a program that asks a cluster past the stand-in is refused at once."""
IDENTITY_POOL: Final = "identity_pool"
"""The account's setting that the project has its pool of workload identities, from its first cluster on."""
NEWEST: Final = {33: "1.33.9-gke.1000000", 34: "1.34.5-gke.1000000", 35: "1.35.3-gke.1000000", 36: "1.36.0-gke.4447000"}
"""What GKE offers, by minor version: made up, in GKE's form."""
_USD_HOUR: Final = 0.10
_GKE_NAME: Final = r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?"


def version_of(wanted: str) -> str:
    """The version that a minor version stands for; empty if GKE has none of it."""
    numbers = re.findall(r"[0-9]+", wanted)
    if len(numbers) > 2:
        return wanted
    return NEWEST.get(int(numbers[1]), "") if len(numbers) == 2 else NEWEST[35]


def version_failures(inputs: Properties) -> Iterator[Failure]:
    """A version that GKE has (container.v1, `Unsupported master version`)."""
    wanted = text_at(inputs, "minMasterVersion")
    if wanted and not version_of(wanted):
        yield Failure("minMasterVersion", f'Error 400: Master version "{wanted}" is unsupported., badRequest')


def maintenance_failures(inputs: Properties) -> Iterator[Failure]:
    """Exclusions need a window (provider, `maintenance_policy`: one window is required)."""
    policy = inputs.get("maintenancePolicy")
    windows = ("dailyMaintenanceWindow", "recurringWindow", "recurringMaintenanceWindow")
    if isinstance(policy, dict) and not any(policy.get(window) for window in windows):
        yield Failure("maintenancePolicy", "one of `daily_maintenance_window,recurring_window` must be specified")


def refuse_missing_ranges(resource: Resource, ledger: Ledger) -> None:
    """The subnet has the secondary ranges of pods and Services (container.v1)."""
    subnet = ref.found(ref.SUBNETWORK, text_at(resource.inputs, "subnetwork"), ledger)
    there = texts_at(subnet.inputs, "secondaryIpRanges.rangeName") if subnet else []
    for key in ("clusterSecondaryRangeName", "servicesSecondaryRangeName"):
        wanted = text_at(resource.inputs, f"ipAllocationPolicy.{key}")
        if wanted and wanted not in there:
            text = f'Error 400: Secondary range "{wanted}" does not exist in subnetwork "{subnet.id if subnet else ""}"'
            raise ref.refused(resource.name, f"{text}., badRequest")


def refuse_unknown_account(resource: Resource, ledger: Ledger) -> None:
    """Nodes run as a service account that is there (container.v1)."""
    for email in texts_at(resource.inputs, "nodeConfig.serviceAccount"):
        ours = [text_at(each.outputs, "email") for each in ledger.of_type(ref.SERVICE_ACCOUNT)]
        if email not in ours:
            raise ref.refused(resource.name, f'Error 400: Service account "{email}" does not exist., badRequest')


def refuse_taken_name(resource: Resource, ledger: Ledger) -> None:
    """A name is taken once in a location (container.v1, `alreadyExists`)."""
    ref.not_taken(resource, _identity(resource, ledger), ledger)


def refuse_protected(thing: Thing, ledger: Ledger) -> None:
    """The provider refuses what the state protects, whatever the program says by now (pulumi-gcp #1394, #1253)."""
    if thing.inputs.get("deletionProtection", True) is not False:
        raise RefusedError(
            "Cannot destroy cluster because deletion_protection is set to true. Set it to false to proceed with "
            "cluster deletion."
        )
    if pools := [each for each in ledger.of_type(ref.NODE_POOL) if text_at(each.inputs, "cluster") == thing.id]:
        # Not so on Google's side, which takes them along; here a stack that forgot them would be a stack at fault.
        raise RefusedError(f"deleting {thing.name}: node pools are still in the state: {last(pools[0].id)}")
    for each in [each for each in ledger.of_type("kubernetes:*") if each.left_because]:
        ledger.remove(each, f"went with Cluster {last(thing.id)}")


def _identity(resource: Resource, ledger: Ledger) -> str:
    place = resource.inputs.get("location")
    return f"projects/{project(ledger)}/locations/{place}/clusters/{resource.inputs.get('name')}"


def _computed(resource: Resource, identity: str, ledger: Ledger) -> Properties:
    del identity
    server = str(ledger.settings.get("server") or NOWHERE).removeprefix("https://")
    return {
        "endpoint": server,
        "masterAuth": {"clusterCaCertificate": str(ledger.settings.get("authority") or "")},
        "masterVersion": version_of(text_at(resource.inputs, "minMasterVersion")),
    }


def _made(thing: Thing, ledger: Ledger) -> None:
    del thing
    ledger.settings[IDENTITY_POOL] = True


KIND: Final = ResourceKind(
    type=ref.CLUSTER,
    identity=_identity,
    name="name",
    # provider, resource_container_cluster.go: ForceNew.
    replaced_by=("datapathProvider", "location", "network", "networkingMode", "subnetwork", "ipAllocationPolicy"),
    checks=(
        fits("name", _GKE_NAME, "1 to 40 lower-case letters, digits and -"),
        version_failures,
        maintenance_failures,
    ),
    admissions=(
        refuse_taken_name,
        ref.exists("network", ref.NETWORK),
        ref.exists("subnetwork", ref.SUBNETWORK),
        refuse_missing_ranges,
        refuse_unknown_account,
    ),
    computed=_computed,
    made=_made,
    gone=refuse_protected,
    rate=by_the_hour(_USD_HOUR),
    seconds=480.0,
    patience=5400.0,
)
