"""What a preview asks AWS before anything is made; every fault of every check comes out at once."""

import datetime
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import pulumi
import pulumi_aws as aws

from components.aws.capacity_reservation import Reservation, look_up, reservation_faults
from components.aws.settings import AwsSettings, Check
from components.faults import Fault, Faulty
from components.plan.planner import Plan

_ON_DEMAND_P: Final = "L-417A185B"
"""Service quota `Running On-Demand P instances`, in vCPUs."""


@dataclass(frozen=True, kw_only=True)
class Preflight:
    """What AWS said."""

    reservation: Reservation
    subnet_zones: Mapping[str, str] = field(default_factory=dict)
    """Zone of each private subnet that was there before."""
    account: str = ""
    """The account's number."""

    @property
    def gpu_subnets(self) -> list[str]:
        """The private subnets in the reservation's zone, of those that were there before."""
        return [subnet for subnet, zone in self.subnet_zones.items() if zone == self.reservation.zone]


def preflight(settings: AwsSettings, plan: Plan, opts: pulumi.InvokeOptions) -> Preflight:
    """Ask AWS what the stack stands on.

    Raises:
        pulumi.RunError: With every fault, one line each.
    """
    asked = _Questions(settings, plan, opts)
    reservation, faults = asked.reservation()
    for check in (asked.command, asked.instance_type, asked.quota, asked.subnets):
        faults += check(reservation)
    if faults:
        raise pulumi.RunError(str(Faulty(faults)))
    account = aws.get_caller_identity(opts=opts).account_id
    return Preflight(reservation=reservation, subnet_zones=asked.subnet_zones, account=account)


class _Questions:
    """The checks; each but the first takes the reservation, and returns the faults that it found."""

    def __init__(self, settings: AwsSettings, plan: Plan, opts: pulumi.InvokeOptions) -> None:
        self._settings = settings
        self._plan = plan
        self._opts = opts
        self.subnet_zones: dict[str, str] = {}

    def command(self, _: Reservation) -> list[Fault]:
        """The EKS component and the kubeconfig both run it, in a preview too."""
        if self._skips("aws-command") or shutil.which("aws"):
            return []
        allowed = "the EKS component and the kubeconfig run it, in a preview too"
        return [Fault(key="preflight", given="no `aws` command", allowed=allowed, instead="the AWS CLI v2 on PATH")]

    def reservation(self) -> tuple[Reservation, list[Fault]]:
        """Type, zone, count, state and end, as EC2 knows them."""
        capacity = self._settings.capacity
        unchecked = Reservation(
            zone=capacity.zone or "", id=capacity.id, block=capacity.id is not None and capacity.kind == "block"
        )
        if self._skips("reservation"):
            return unchecked, []
        try:
            found = look_up(capacity, self._opts)
        except Exception as error:  # noqa: BLE001 - whatever AWS or the network says, it is one line for the person
            return unchecked, [_unanswered("capacity.id", capacity.id, "reservation", error)]
        now = datetime.datetime.now(datetime.UTC)
        nodes, machine = self._plan.gpu_nodes, self._plan.machine.name
        return found, reservation_faults(found, capacity, machine=machine, nodes=nodes, now=now)

    def instance_type(self, known: Reservation) -> list[Fault]:
        """Whether the zone has the type at all."""
        machine = self._plan.machine.name
        if self._skips("instance-type") or not known.zone:
            return []
        filters = [
            aws.ec2.GetInstanceTypeOfferingsFilterArgs(name="instance-type", values=[machine]),
            aws.ec2.GetInstanceTypeOfferingsFilterArgs(name="location", values=[known.zone]),
        ]

        def ask() -> list[Fault]:
            offered = aws.ec2.get_instance_type_offerings(
                location_type="availability-zone", filters=filters, opts=self._opts
            )
            if offered.instance_types:
                return []
            return [
                Fault(key="machine", given=machine, allowed=f"isn't offered in {known.zone}", instead="another zone")
            ]

        return self._asked("machine", machine, "instance-type", ask)

    def quota(self, known: Reservation) -> list[Fault]:
        """On-demand nodes count against a quota of vCPUs; those of a Capacity Block don't."""
        needed = self._plan.gpu_nodes * self._plan.machine.vcpus
        if self._skips("quota") or known.block or not needed:
            return []

        def ask() -> list[Fault]:
            quota = aws.servicequotas.get_service_quota(service_code="ec2", quota_code=_ON_DEMAND_P, opts=self._opts)
            if quota.value >= needed:
                return []
            allowed = (
                f"the quota {_ON_DEMAND_P} (on-demand P instances) is {quota.value:.0f} vCPUs, the nodes have {needed}"
            )
            return [
                Fault(key="machine", given=self._plan.machine.name, allowed=allowed, instead="a higher quota first")
            ]

        return self._asked("machine", self._plan.machine.name, "quota", ask)

    def subnets(self, known: Reservation) -> list[Fault]:
        """The zones of private subnets that were there before: one must be the reservation's."""
        network = self._settings.network
        faults: list[Fault] = []
        for subnet in network.private_subnet_ids if network.vpc_id else ():
            try:
                found = aws.ec2.get_subnet(id=subnet, opts=self._opts)
            except Exception as error:  # noqa: BLE001 - as above
                faults.append(_unanswered("network.privateSubnetIds", subnet, None, error))
                continue
            self.subnet_zones[subnet] = found.availability_zone
            if found.vpc_id != network.vpc_id:
                allowed = f"belongs to {found.vpc_id}, not to network.vpcId {network.vpc_id}"
                faults.append(
                    Fault(key="network.privateSubnetIds", given=subnet, allowed=allowed, instead="a subnet of that VPC")
                )
        if network.vpc_id and not faults and known.zone not in self.subnet_zones.values():
            allowed = f"none is in {known.zone}, where the GPU nodes must be"
            given = list(network.private_subnet_ids)
            faults.append(Fault(key="network.privateSubnetIds", given=given, allowed=allowed, instead="a subnet there"))
        return faults

    def _skips(self, check: Check) -> bool:
        return check in self._settings.preflight.skip

    def _asked(self, key: str, given: object, check: Check, ask: Callable[[], list[Fault]]) -> list[Fault]:
        try:
            return ask()
        except Exception as error:  # noqa: BLE001 - as above
            return [_unanswered(key, given, check, error)]


def _unanswered(key: str, given: object, check: Check | None, error: Exception) -> Fault:
    reason = " ".join(str(error).split())[-300:]
    skip = (
        f"preflight: {{skip: [{check}]}}, or the right to ask" if check else "an id that exists, and the right to ask"
    )
    return Fault(key=key, given=given, allowed=f"AWS could not be asked: {reason}", instead=skip)
