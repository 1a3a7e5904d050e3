"""What a preview asks Azure before anything is made; every fault of every check comes out at once."""

from dataclasses import dataclass, replace
from typing import Final

import pulumi
import pulumi_azure_native as azure

from components.azure.capacity_reservation import Reservation, look_up, parts, reservation_faults, zone_of
from components.azure.network import STORAGE_ENDPOINT
from components.azure.settings import AzureSettings
from components.faults import Fault, Faulty
from components.plan.planner import Plan
from components.questions import Questions

_INFINIBAND: Final = "AKSInfinibandSupport"
"""A feature of the whole subscription, read when a node is made: H100 and H200 need it, GB200 and GB300 don't start
with it (Azure/ai-infrastructure-on-azure, 2026-04)."""


@dataclass(frozen=True, kw_only=True)
class Preflight:
    """What Azure said."""

    reservation: Reservation
    subscription: str


def preflight(settings: AzureSettings, plan: Plan, opts: pulumi.InvokeOptions) -> Preflight:
    """Ask Azure what the stack stands on.

    Raises:
        pulumi.RunError: With every fault, one line each.
    """
    asked = _Checks(settings, plan, opts)
    faults = [*asked.reservation(), *asked.infiniband(), *asked.subnet()]
    if faults:
        raise pulumi.RunError(str(Faulty(faults)))
    subscription = settings.subscription or azure.authorization.get_client_config(opts=opts).subscription_id
    found = asked.found
    return Preflight(reservation=replace(found, zone=zone_of(found, plan.machine.name)), subscription=subscription)


class _Checks:
    """The checks; each returns the faults that it found."""

    def __init__(self, settings: AzureSettings, plan: Plan, opts: pulumi.InvokeOptions) -> None:
        self._settings = settings
        self._plan = plan
        self._opts = opts
        self._questions = Questions("Azure", settings.preflight.skip)
        capacity = settings.capacity
        self.found = Reservation(zone=capacity.zone, id=capacity.id, made=capacity.mode == "targeted")
        """Unchecked, until it was looked up."""

    def reservation(self) -> list[Fault]:
        """Size, zone, count and region, as Azure knows them."""
        capacity, plan = self._settings.capacity, self._plan

        def ask() -> list[Fault]:
            self.found = look_up(capacity, self._opts)
            return reservation_faults(
                self.found, machine=plan.machine.name, nodes=plan.gpu_nodes, region=self._settings.region
            )

        return self._questions.ask("reservation", "capacity.id", capacity.id, ask)

    def infiniband(self) -> list[Fault]:
        """Whether the subscription's nodes get the InfiniBand that this machine starts with."""
        machine = self._plan.machine
        wanted = not machine.multi_node_nvlink

        def ask() -> list[Fault]:
            if self._registered() == wanted:
                return []
            verb, is_now = ("register", "isn't") if wanted else ("unregister", "is")
            command = f"az feature {verb} --namespace Microsoft.ContainerService --name {_INFINIBAND}"
            allowed = (
                f"the feature {_INFINIBAND} {is_now} registered, and AKS' nodes of this size need it the other way"
            )
            return [Fault(key="machine", given=machine.name, allowed=allowed, instead=f"`{command}`, and wait for it")]

        if not self._plan.gpu_nodes or machine.fabric != "infiniband":
            return []
        return self._questions.ask("infiniband", "machine", machine.name, ask)

    def subnet(self) -> list[Fault]:
        """Whether a subnet that is there has the way to the weights' account."""
        subnet = self._settings.network.subnet_id
        if subnet is None or self._settings.weights.account_id is not None:
            return []
        place = parts(subnet)

        def ask() -> list[Fault]:
            found = azure.network.get_subnet(
                resource_group_name=place["group"],
                virtual_network_name=place["name"],
                subnet_name=place["member"],
                opts=self._opts,
            )
            if STORAGE_ENDPOINT in {endpoint.service for endpoint in found.service_endpoints or ()}:
                return []
            allowed = f"has no service endpoint {STORAGE_ENDPOINT}: the account would not let its nodes in"
            instead = f"`az network vnet subnet update --ids {subnet} --service-endpoints {STORAGE_ENDPOINT}`"
            return [Fault(key="network.subnetId", given=place["member"], allowed=allowed, instead=instead)]

        return self._questions.ask("subnet", "network.subnetId", subnet, ask)

    def _registered(self) -> bool:
        """Return whether the feature is registered; one that never was isn't found."""
        try:
            found = azure.features.get_subscription_feature_registration(
                provider_namespace="Microsoft.ContainerService", feature_name=_INFINIBAND, opts=self._opts
            )
        except Exception as error:
            if "NotFound" in str(error):
                return False
            raise
        return found.properties.state == "Registered"
