"""What a preview asks Alibaba Cloud before anything is made; every fault of every check comes out at once."""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import pulumi
import pulumi_alicloud as alicloud

from components.alicloud import capacity_reservation
from components.alicloud.capacity_reservation import Reservation
from components.alicloud.network import load_balancer_zones
from components.alicloud.settings import AlicloudSettings
from components.config import Secrets
from components.faults import Fault, Faulty
from components.plan.planner import Plan
from components.questions import Questions

_CLUSTER_TYPE: Final = "ManagedKubernetes"


@dataclass(frozen=True, kw_only=True)
class Preflight:
    """What Alibaba Cloud said."""

    reservation: Reservation
    account: str
    """The account's number."""
    second_zone: str
    """Beside that of the GPU nodes."""
    switch_zones: Mapping[str, str]
    """Zone of each vSwitch that was there before."""


def preflight(settings: AlicloudSettings, secrets: Secrets, plan: Plan, opts: pulumi.InvokeOptions) -> Preflight:
    """Ask Alibaba Cloud what the stack stands on.

    Raises:
        pulumi.RunError: With every fault, one line each.
    """
    asked = _Checks(settings, plan, opts)
    questions = Questions("Alibaba Cloud", settings.preflight.skip)
    capacity, network = settings.capacity, settings.network
    found = [
        *_key_faults(settings, secrets),
        *questions.ask("reservation", "capacity.ids", list(capacity.ids), asked.reserved),
        *questions.ask("instance-type", "machine", plan.machine.name, asked.instance_type),
        *questions.ask("kubernetes-version", "cluster.version", settings.cluster.version, asked.version),
        *questions.ask("", "network.vswitchIds", list(network.vswitch_ids), asked.switches),
        *questions.ask("", "network.secondZone", network.second_zone, asked.zones),
        *questions.ask("", "profile", settings.profile, asked.identity),
    ]
    if found:
        raise pulumi.RunError(str(Faulty(found)))
    return Preflight(
        reservation=asked.reservation,
        account=asked.account,
        second_zone=asked.second_zone,
        switch_zones=asked.switch_zones,
    )


def _key_faults(settings: AlicloudSettings, secrets: Secrets) -> list[Fault]:
    """Streaming reads OSS as S3, and Alibaba's short-lived tokens mean nothing to S3's clients."""
    if settings.weights.delivery != "stream":
        return []
    given = {
        "bucketAccessKeyId": secrets.bucket_access_key_id,
        "bucketSecretAccessKey": secrets.bucket_secret_access_key,
    }
    allowed = "delivery stream reads OSS through its S3 interface, with the keys of a RAM user that may read the bucket"
    return [
        Fault(key=key, given=None, allowed=allowed, instead=f"pulumi config set --secret kimi-k3:{key}")
        for key, value in given.items()
        if value is None
    ]


class _Checks:
    """The checks; each returns the faults that it found."""

    def __init__(self, settings: AlicloudSettings, plan: Plan, opts: pulumi.InvokeOptions) -> None:
        self._settings = settings
        self._plan = plan
        self._opts = opts
        self.reservation = Reservation(zone=settings.capacity.zone or "", ids=settings.capacity.ids)
        self.account = ""
        self.second_zone = settings.network.second_zone or ""
        self.switch_zones: dict[str, str] = {}

    def reserved(self) -> list[Fault]:
        """Type, zone, count, mode, state and end of the private pools, as ECS knows them."""
        capacity = self._settings.capacity
        self.reservation = capacity_reservation.look_up(capacity, self._opts)
        return capacity_reservation.reservation_faults(
            self.reservation,
            capacity,
            machine=self._plan.machine.name,
            nodes=self._plan.gpu_nodes,
            now=datetime.datetime.now(datetime.UTC),
        )

    def instance_type(self) -> list[Fault]:
        """Whether the zone sells the type by the hour; private pools and Lingjun have their machines already."""
        machine, zone = self._plan.machine.name, self.reservation.zone
        if self._settings.capacity.mode not in ("none", "reserve") or not self._plan.gpu_nodes:
            return []
        sold = alicloud.ecs.get_instance_types(
            availability_zone=zone, instance_type=machine, instance_charge_type="PostPaid", opts=self._opts
        )
        if machine in sold.ids:
            return []
        allowed = f"isn't sold by the hour in {zone} now"
        return [
            Fault(key="machine", given=machine, allowed=allowed, instead="another zone, or a private pool by its id")
        ]

    def version(self) -> list[Fault]:
        """Whether ACK still makes clusters of the version."""
        version = self._settings.cluster.version
        offered = alicloud.cs.get_kubernetes_version(cluster_type=_CLUSTER_TYPE, profile="Default", opts=self._opts)
        versions = sorted(each.version for each in offered.metadatas)
        if version in versions:
            return []
        allowed = f"isn't among the versions that ACK offers now: {', '.join(versions) or 'none'}"
        newest = versions[-1] if versions else "one that ACK offers"
        return [Fault(key="cluster.version", given=version, allowed=allowed, instead=newest)]

    def switches(self) -> list[Fault]:
        """The zones and the VPC of vSwitches that were there before: one zone must be that of the GPU nodes."""
        network, zone = self._settings.network, self.reservation.zone
        if network.vpc_id is None:
            return []
        wanted = {"vswitchIds": network.vswitch_ids, "podVswitchIds": network.pod_vswitch_ids}
        every = [identity for ids in wanted.values() for identity in ids]
        known = {each.id: each for each in alicloud.vpc.get_switches(ids=every, opts=self._opts).vswitches}
        found: list[Fault] = []
        for key, ids in wanted.items():
            for identity in ids:
                switch = known.get(identity)
                if switch is None or switch.vpc_id != network.vpc_id:
                    allowed = f"belongs to {switch.vpc_id if switch else 'no VPC of this region'}"
                    instead = f"a vSwitch of network.vpcId {network.vpc_id}"
                    found.append(Fault(key=f"network.{key}", given=identity, allowed=allowed, instead=instead))
            zones = {known[identity].zone_id for identity in ids if identity in known}
            if zone not in zones or len(zones) < 2:
                allowed = (
                    f"are in {', '.join(sorted(zones)) or 'no zone'}: one must be in {zone}, another one elsewhere"
                )
                found.append(Fault(key=f"network.{key}", given=list(ids), allowed=allowed, instead="two zones"))
        self.switch_zones = {identity: known[identity].zone_id for identity in network.vswitch_ids if identity in known}
        return found

    def zones(self) -> list[Fault]:
        """A second zone, and whether network load balancers stand in both where one is asked for."""
        zone, network, exposure = self.reservation.zone, self._settings.network, self._settings.exposure
        offered = load_balancer_zones(self._opts)
        standing = sorted(set(self.switch_zones.values())) if network.vpc_id else offered
        others = sorted((each for each in standing if each != zone), key=lambda each: each not in offered)
        self.second_zone = network.second_zone or next(iter(others), "")
        if self.second_zone in ("", zone) or (network.vpc_id and self.second_zone not in others):
            allowed = f"must be another zone than {zone}, with a vSwitch or a network load balancer"
            given, instead = network.second_zone, ", ".join(others) or "another region"
            return [Fault(key="network.secondZone", given=given, allowed=allowed, instead=instead)]
        lacking = [each for each in (zone, self.second_zone) if each not in offered]
        if exposure.mode == "none" or not lacking:
            return []
        allowed = f"a network load balancer stands in two zones, and has none in {', '.join(lacking)}; it has in "
        return [Fault(key="exposure.mode", given=exposure.mode, allowed=allowed + ", ".join(offered), instead="none")]

    def identity(self) -> list[Fault]:
        """The account's number, which makes the bucket's name unique in the world."""
        self.account = alicloud.get_account(opts=self._opts).id
        return []
