"""What a preview asks Google before anything is made; every fault of every check comes out at once."""

import shutil
from dataclasses import dataclass
from typing import Final

import pulumi
import pulumi_gcp as gcp

from components.faults import Fault, Faulty
from components.gcp import capacity_reservation
from components.gcp.capacity_reservation import Reservation
from components.gcp.cluster import GPU_POOL, cluster_name
from components.gcp.settings import GcpSettings
from components.plan.planner import Plan
from components.questions import Questions

_PLUGIN: Final = "gke-gcloud-auth-plugin"


@dataclass(frozen=True, kw_only=True)
class Preflight:
    """What Google said."""

    reservation: Reservation
    project_number: str
    """By which workload identities are named; the project's id doesn't do."""


def preflight(settings: GcpSettings, plan: Plan, opts: pulumi.InvokeOptions) -> Preflight:
    """Ask Google what the stack stands on.

    Raises:
        pulumi.RunError: With every fault, one line each.
    """
    asked = _Checks(settings, plan, opts)
    questions = Questions("Google", settings.preflight.skip)
    capacity, cluster, network = settings.capacity, settings.cluster, settings.network
    found = [
        *questions.ask("auth-plugin", "cluster.kubeconfig", cluster.kubeconfig, asked.auth_plugin),
        *questions.ask("reservation", "capacity.reservation", capacity.reservation, asked.reserved),
        *questions.ask("machine-type", "machine", plan.machine.name, asked.machine_type),
        *questions.ask("version", "cluster.version", cluster.version, asked.version),
        *questions.ask("subnet", "network.subnet", network.subnet, asked.subnet),
        *questions.ask("", "project", settings.project, asked.project),
    ]
    if found:
        raise pulumi.RunError(str(Faulty(found)))
    return Preflight(reservation=asked.reservation, project_number=asked.project_number)


class _Checks:
    """The checks; each returns the faults that it found."""

    def __init__(self, settings: GcpSettings, plan: Plan, opts: pulumi.InvokeOptions) -> None:
        self._settings = settings
        self._plan = plan
        self._opts = opts
        capacity = settings.capacity
        self.reservation = Reservation(
            zone=capacity.zone, path=capacity_reservation.path(capacity, settings.project), machine=plan.machine.name
        )
        self.project_number = ""

    def auth_plugin(self) -> list[Fault]:
        """The kubeconfig runs it wherever Pulumi runs, in a preview too (pulumi-kubernetes #3369)."""
        if self._settings.cluster.kubeconfig == "token" or shutil.which(_PLUGIN):
            return []
        allowed = f"plugin needs {_PLUGIN} on PATH, in a preview too"
        instead = f"gcloud components install {_PLUGIN}, or kubeconfig: token for runs of less than an hour"
        return [Fault(key="cluster.kubeconfig", given="plugin", allowed=allowed, instead=instead)]

    def reserved(self) -> list[Fault]:
        """Type, sharing, state and free hosts of the reservation, as Compute Engine knows them."""
        settings, nodes = self._settings, self._plan.gpu_nodes
        found = capacity_reservation.look_up(settings.capacity, settings.project, self._opts)
        self.reservation = found
        short = found.healthy is not None and found.healthy - found.used < nodes
        ours = self._running() if short and found.used else 0
        return capacity_reservation.reservation_faults(found, machine=self._plan.machine.name, nodes=nodes, ours=ours)

    def _running(self) -> int:
        """Return the GPU nodes that this stack has already: they are among those in use."""
        settings = self._settings
        try:
            found = gcp.container.get_cluster(
                name=cluster_name(), location=settings.region, project=settings.project, opts=self._opts
            )
        except Exception as error:  # a cluster that isn't there yet has no nodes; any other trouble is told above
            if "not found" in str(error).lower():
                return 0
            raise
        return sum(pool.node_count for pool in found.node_pools if pool.name == GPU_POOL)

    def machine_type(self) -> list[Fault]:
        """Whether the zone has the type at all."""
        machine, zone = self._plan.machine.name, self.reservation.zone
        offered = gcp.compute.get_machine_types(
            filter=f'name = "{machine}"', project=self._settings.project, zone=zone, opts=self._opts
        )
        if offered.machine_types:
            return []
        return [Fault(key="machine", given=machine, allowed=f"isn't offered in {zone}", instead="another zone")]

    def version(self) -> list[Fault]:
        """Whether GKE makes control planes of the version in the region."""
        version, settings = self._settings.cluster.version, self._settings
        found = gcp.container.get_engine_versions(
            location=settings.region, project=settings.project, version_prefix=f"{version}", opts=self._opts
        )
        if found.valid_master_versions:
            return []
        newest = found.release_channel_default_version.get("REGULAR", "a newer one")
        allowed = f"isn't among the versions that GKE offers in {settings.region} now"
        return [Fault(key="cluster.version", given=version, allowed=allowed, instead=newest)]

    def subnet(self) -> list[Fault]:
        """Whether a subnet that is there belongs to the VPC, has both ranges and the free way to Cloud Storage."""
        network = self._settings.network
        if network.name is None:
            return []
        found = gcp.compute.get_subnetwork(
            name=network.subnet, project=self._settings.project, region=self._settings.region, opts=self._opts
        )
        ranges = [each.range_name for each in found.secondary_ip_ranges]
        has = f"the subnet has {', '.join(ranges) or 'none'}"
        vpc = found.network.rpartition("/")[2]
        rules = [
            (
                vpc == network.name,
                (
                    "subnet",
                    network.subnet,
                    f"belongs to {vpc}",
                    "a subnet of network.name",
                ),
            ),
            (
                found.private_ip_google_access,
                (
                    "subnet",
                    network.subnet,
                    "has no Private Google Access: private nodes can't reach Cloud Storage",
                    "gcloud compute networks subnets update --enable-private-ip-google-access",
                ),
            ),
            (
                network.pods_range in ranges,
                ("podsRange", network.pods_range, has, "one of these"),
            ),
            (
                network.services_range in ranges,
                (
                    "servicesRange",
                    network.services_range,
                    has,
                    "one of these",
                ),
            ),
        ]
        return [
            Fault(key=f"network.{key}", given=given, allowed=allowed, instead=instead)
            for holds, (key, given, allowed, instead) in rules
            if not holds
        ]

    def project(self) -> list[Fault]:
        """The project's number."""
        self.project_number = gcp.organizations.get_project(project_id=self._settings.project, opts=self._opts).number
        return []
