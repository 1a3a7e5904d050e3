"""Asking for a reservation in calendar mode: a stack of its own, so that destroying what serves can't touch it.

Google charges an approved request from its start to its end, whether it is used or not. Three things keep it from
happening by itself. The stack file names start, length and `acceptNonRefundable`. The request has a name of the
person's own, which Google takes once, so that it can't be made twice. And no change of the stack file changes or
replaces it; `destroy` only forgets it, and says so.
"""

from dataclasses import dataclass
from typing import Final

import pulumi
import pulumi_gcp as gcp

from components.gcp.machine_type import TYPES
from components.gcp.provider import provider
from components.gcp.settings import Capacity, GcpSettings
from components.plan.planner import Plan

_KEPT: Final = [
    "autoDeleteAutoCreatedReservations",
    "deletionPolicy",
    "deploymentType",
    "name",
    "planningStatus",
    "reservationMode",
    "reservationName",
    "specificReservationRequired",
    "specificSkuProperties",
    "timeWindow",
    "zone",
]
_DAY_SECONDS: Final = 86_400


@dataclass(frozen=True, kw_only=True)
class FutureReservationArgs:
    """What is asked for."""

    capacity: Capacity
    """With mode future, checked."""
    machine: str
    nodes: int


class FutureReservation(pulumi.ComponentResource):
    """A request for machines in a window of time."""

    def __init__(self, name: str, args: FutureReservationArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        capacity = args.capacity
        props = {"machine": args.machine, "nodes": args.nodes, "start": capacity.start, "days": capacity.days}
        super().__init__("kimi:gcp:FutureReservation", name, props, opts)
        self.request = gcp.compute.FutureReservation(
            f"{name}-request",
            request_args(args),
            opts=pulumi.ResourceOptions(parent=self, retain_on_delete=True, ignore_changes=_KEPT),
        )
        self.register_outputs({"reservation": capacity.reservation})


def request_args(args: FutureReservationArgs) -> gcp.compute.FutureReservationArgs:
    """Return the request: machines close together, used by name alone, their nodes ended with the window."""
    capacity = args.capacity
    return gcp.compute.FutureReservationArgs(
        name=capacity.reservation,
        zone=capacity.zone,
        reservation_name=capacity.reservation,
        reservation_mode="CALENDAR",
        planning_status="SUBMITTED",
        deployment_type="DENSE",
        specific_reservation_required=True,
        auto_delete_auto_created_reservations=True,
        specific_sku_properties=gcp.compute.FutureReservationSpecificSkuPropertiesArgs(
            total_count=str(args.nodes),
            instance_properties=gcp.compute.FutureReservationSpecificSkuPropertiesInstancePropertiesArgs(
                machine_type=args.machine
            ),
        ),
        time_window=gcp.compute.FutureReservationTimeWindowArgs(
            start_time=capacity.start or "",
            duration=gcp.compute.FutureReservationTimeWindowDurationArgs(
                seconds=str((capacity.days or 0) * _DAY_SECONDS)
            ),
        ),
        # In the state from the start, for `destroy` doesn't run the program.
        deletion_policy="ABANDON",
    )


def capacity_purchase(settings: GcpSettings, plan: Plan) -> dict[str, pulumi.Input[object]]:
    """Ask for what the stack file names, and return what the serving stack needs of it."""
    assert TYPES[plan.machine.name].flex_start  # noqa: S101 - the settings' checks refuse the others
    args = FutureReservationArgs(
        capacity=settings.capacity, machine=plan.machine.name, nodes=plan.layout.nodes * settings.replicas
    )
    pulumi.warn(
        f"the future reservation {settings.capacity.reservation} is charged from its start to its end once Google has "
        "approved it; `destroy` only forgets it. To stop it, cancel it before its lock time: "
        f"gcloud compute future-reservations cancel {settings.capacity.reservation} --zone {settings.capacity.zone}"
    )
    FutureReservation("capacity", args, pulumi.ResourceOptions(providers=[provider(settings)]))
    return {"capacityReservation": settings.capacity.reservation or ""}
