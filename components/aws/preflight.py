"""What a preview asks AWS before anything is made; every fault of every check comes out at once."""

import datetime
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import pulumi
import pulumi_aws as aws

from components.aws.capacity_reservation import Reservation, look_up, reservation_faults
from components.aws.settings import AwsSettings
from components.faults import Fault, Faulty
from components.plan.planner import Plan
from components.questions import Questions

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
    asked = _Checks(settings, plan, opts)
    questions = Questions("AWS", settings.preflight.skip)
    capacity, machine = settings.capacity, plan.machine.name
    found = [
        *questions.ask("aws-command", "preflight", None, asked.command),
        *questions.ask("reservation", "capacity.id", capacity.id, asked.reserved),
        *questions.ask("instance-type", "machine", machine, asked.instance_type),
        *questions.ask("quota", "machine", machine, asked.quota),
        *asked.subnets(questions),
    ]
    if found:
        raise pulumi.RunError(str(Faulty(found)))
    account = aws.get_caller_identity(opts=opts).account_id
    return Preflight(reservation=asked.reservation, subnet_zones=asked.subnet_zones, account=account)


class _Checks:
    """The questions, in the order in which each stands on the answers before it."""

    def __init__(self, settings: AwsSettings, plan: Plan, opts: pulumi.InvokeOptions) -> None:
        self._settings = settings
        self._plan = plan
        self._opts = opts
        capacity = settings.capacity
        self.reservation = Reservation(
            zone=capacity.zone or "", id=capacity.id, block=capacity.id is not None and capacity.kind == "block"
        )
        """As the stack file says, until EC2 was asked."""
        self.subnet_zones: dict[str, str] = {}

    def command(self) -> list[Fault]:
        """The EKS component and the kubeconfig both run it, in a preview too."""
        if shutil.which("aws"):
            return []
        allowed = "the EKS component and the kubeconfig run it, in a preview too"
        return [Fault(key="preflight", given="no `aws` command", allowed=allowed, instead="the AWS CLI v2 on PATH")]

    def reserved(self) -> list[Fault]:
        """Type, zone, count, state and end, as EC2 knows them."""
        capacity = self._settings.capacity
        self.reservation = look_up(capacity, self._opts)
        now = datetime.datetime.now(datetime.UTC)
        nodes, machine = self._plan.gpu_nodes, self._plan.machine.name
        return reservation_faults(self.reservation, capacity, machine=machine, nodes=nodes, now=now)

    def instance_type(self) -> list[Fault]:
        """Whether the zone has the type at all."""
        machine, zone = self._plan.machine.name, self.reservation.zone
        if not zone:
            return []
        filters = [
            aws.ec2.GetInstanceTypeOfferingsFilterArgs(name="instance-type", values=[machine]),
            aws.ec2.GetInstanceTypeOfferingsFilterArgs(name="location", values=[zone]),
        ]
        offered = aws.ec2.get_instance_type_offerings(
            location_type="availability-zone", filters=filters, opts=self._opts
        )
        if offered.instance_types:
            return []
        return [Fault(key="machine", given=machine, allowed=f"isn't offered in {zone}", instead="another zone")]

    def quota(self) -> list[Fault]:
        """On-demand nodes count against a quota of vCPUs; those of a Capacity Block don't."""
        needed = self._plan.gpu_nodes * self._plan.machine.vcpus
        if self.reservation.block or not needed:
            return []
        quota = aws.servicequotas.get_service_quota(service_code="ec2", quota_code=_ON_DEMAND_P, opts=self._opts)
        if quota.value >= needed:
            return []
        has = f"the quota {_ON_DEMAND_P} (on-demand P instances) is {quota.value:.0f} vCPUs"
        allowed = f"{has}, the nodes have {needed}"
        return [Fault(key="machine", given=self._plan.machine.name, allowed=allowed, instead="a higher quota first")]

    def subnets(self, questions: Questions) -> list[Fault]:
        """The zones of private subnets that were there before: one must be the reservation's."""
        network, zone = self._settings.network, self.reservation.zone
        if network.vpc_id is None:
            return []
        given = list(network.private_subnet_ids)
        found = [
            fault
            for subnet in given
            for fault in questions.ask("", "network.privateSubnetIds", subnet, partial(self._subnet, subnet))
        ]
        if found or zone in self.subnet_zones.values():
            return found
        allowed = f"none is in {zone}, where the GPU nodes must be"
        return [Fault(key="network.privateSubnetIds", given=given, allowed=allowed, instead="a subnet there")]

    def _subnet(self, subnet: str) -> list[Fault]:
        vpc = self._settings.network.vpc_id
        found = aws.ec2.get_subnet(id=subnet, opts=self._opts)
        self.subnet_zones[subnet] = found.availability_zone
        if found.vpc_id == vpc:
            return []
        allowed = f"belongs to {found.vpc_id}, not to network.vpcId {vpc}"
        return [Fault(key="network.privateSubnetIds", given=subnet, allowed=allowed, instead="a subnet of that VPC")]
