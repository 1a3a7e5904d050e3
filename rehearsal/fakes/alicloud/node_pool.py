"""ACK node pools: what ACK checks, what becomes of the nodes, and what follows when they end."""

from collections.abc import Iterator
from typing import Final

from rehearsal.fakes.account import Ledger, Rate, Thing
from rehearsal.fakes.alicloud import nodes
from rehearsal.fakes.alicloud import references as ref
from rehearsal.fakes.alicloud.machine import MachineType, machine_type
from rehearsal.fakes.alicloud.network import reaches_out
from rehearsal.fakes.alicloud.reservation import Pool, pool, sold_out
from rehearsal.fakes.paths import number_at, text_at, texts_at
from rehearsal.fakes.resource_kind import ResourceKind, digest
from rehearsal.fakes.rules import Failure, Resource, UnreadyError
from rehearsal.fakes.values import Properties, mapping, sequence

_START_SECONDS: Final = 300.0
_DRAIN_SECONDS: Final = 120.0
_GIVES_UP_SECONDS: Final = 1_800.0
_PL3_GIB: Final = 1_261
_PERFORMANCE: Final = ("PL0", "PL1", "PL2", "PL3")
_IMAGES: Final = ("AliyunLinux3ContainerOptimized", "AliyunLinux4ContainerOptimized", "ContainerOS", "Ubuntu")
"""Those with cgroup v2, which current versions of ACK want (public deployment of August 2026)."""


def size_failures(inputs: Properties) -> Iterator[Failure]:
    """A size that is set by hand excludes others; a subscription is none of ours to rehearse (provider, node pool)."""
    chosen = [key for key in ("desiredSize", "nodeCount", "instances") if inputs.get(key) is not None]
    if len(chosen) > 1:
        yield Failure(chosen[0], f"conflicts with {', '.join(chosen[1:])}")
    for size in texts_at(inputs, "desiredSize"):
        if not size.isdecimal():
            yield Failure("desiredSize", f"'{size}' is no number")
    names = [key for key in ("name", "nodePoolName") if inputs.get(key)]
    if len(names) != 1:
        yield Failure("nodePoolName", "one of `name,node_pool_name` must be specified")


def pool_failures(inputs: Properties) -> Iterator[Failure]:
    """Two ways of naming private pools exclude each other; one by its id has an id (ECS, resource_pool_options)."""
    if inputs.get("resourcePoolOptions") and inputs.get("privatePoolOptions"):
        yield Failure("resourcePoolOptions", "cannot be set together with private_pool_options")
    strategy, ids = (
        text_at(inputs, "resourcePoolOptions.strategy"),
        texts_at(inputs, "resourcePoolOptions.privatePoolIds"),
    )
    if strategy == "PrivatePoolOnly" and not ids and inputs.get("resourcePoolOptions") == {"strategy": strategy}:
        yield Failure("resourcePoolOptions", "PrivatePoolOnly needs private_pool_ids")
    if len(ids) > 20:
        yield Failure("resourcePoolOptions.privatePoolIds", f"{len(ids)} pools, at most 20")


def disk_failures(inputs: Properties) -> Iterator[Failure]:
    """A disk of level PL3 has 1,261 GiB or more (pulumi_alicloud 4.0.0, system_disk_size)."""
    for disk in map(mapping, sequence(inputs.get("dataDisks"))):
        size = number_at(disk, "size", _PL3_GIB)
        if text_at(disk, "performanceLevel") == "PL3" and size < _PL3_GIB:
            yield Failure("dataDisks.size", f"PL3 with {size} GiB, at least {_PL3_GIB}")


def refuse_lingjun_without_group(resource: Resource, ledger: Ledger) -> None:
    """A pool of Lingjun's belongs to a group, in a Pro cluster (ACK, Lingjun node pools)."""
    if text_at(resource.inputs, "type") != "lingjun":
        return
    cluster = ledger.find(ref.CLUSTER, text_at(resource.inputs, "clusterId"))
    if not text_at(resource.inputs, "efloNodeGroup.groupId"):
        raise ref.refused(resource.name, "", "eflo_node_group.group_id is required")
    if cluster and not text_at(cluster.inputs, "clusterSpec").startswith("ack.pro"):
        raise ref.refused(resource.name, "", "Lingjun node pools need a Pro cluster")


def refuse_bad_pool(resource: Resource, ledger: Ledger) -> None:
    """Private pools are there, in mode Target (ECS, resource_pool_options)."""
    for identity in texts_at(resource.inputs, "resourcePoolOptions.privatePoolIds"):
        found = pool(identity, ledger)
        if found is None:
            raise ref.refused(resource.name, "", f"{identity} does not exist")
        if found.criteria != "Target":
            message = f"{identity} is in mode {found.criteria}; only pools of mode Target can be named"
            raise ref.refused(resource.name, "", message)


def start(thing: Thing, ledger: Ledger) -> None:
    """Launch the nodes of a new pool.

    Raises:
        UnreadyError: None was launched, or none got ready; the pool exists, and ACK says no more than "task failed".
    """
    if text_at(thing.inputs, "type") == "lingjun":
        nodes.join_lingjun(thing, ledger)
        return
    if reason := _launch(thing, desired(thing.inputs), ledger):
        raise UnreadyError(f"[ERROR] WaitForState: node pool {thing.id}: task failed (here: {reason})", thing)


def scale(thing: Thing, ledger: Ledger) -> None:
    """Launch or end nodes until there are as many as the pool says."""
    running, count = instances_of(thing, ledger), desired(thing.inputs)
    if len(running) > count:
        _end(running[count:], ledger, f"scaled down to {count}")
    elif reason := _launch(thing, count - len(running), ledger):
        ledger.note("refuse", thing, reason)


def stop(thing: Thing, ledger: Ledger) -> None:
    """End all nodes with their pool; they bill until ACK has drained them."""
    if text_at(thing.inputs, "type") == "lingjun":
        nodes.leave_lingjun(thing, ledger)
    ledger.clock.advance(_DRAIN_SECONDS)
    _end(instances_of(thing, ledger), ledger, f"went with NodePool {thing.name}")


def instances_of(thing: Thing, ledger: Ledger) -> list[Thing]:
    """The instances of a pool, oldest first."""
    return [each for each in ledger.of_type(ref.INSTANCE) if text_at(each.inputs, "nodePool") == thing.id]


def desired(inputs: Properties) -> int:
    """How many nodes a pool wants."""
    return int(text_at(inputs, "desiredSize") or 0)


def _launch(thing: Thing, count: int, ledger: Ledger) -> str:
    """Launch so many instances; returns why not, or an empty text."""
    if count <= 0:
        return ""
    name = text_at(thing.inputs, "instanceTypes")
    type_, switch = machine_type(name), text_at(thing.inputs, "vswitchIds")
    held = [pool(each, ledger) for each in texts_at(thing.inputs, "resourcePoolOptions.privatePoolIds")]
    pools = [each for each in held if each is not None]
    reason = _refusal(name, count, switch, pools, ledger) if type_ else f"InvalidInstanceType.NotFound: {name}"
    if reason or type_ is None:
        ledger.clock.advance(_GIVES_UP_SECONDS)
        return reason
    launched = [_instance(thing, type_, index, pools, ledger) for index in range(count)]
    ledger.clock.advance(_START_SECONDS)
    nodes.join(thing, type_, launched, ledger)
    return ""


def _refusal(name: str, count: int, switch: str, pools: list[Pool], ledger: Ledger) -> str:
    if not reaches_out(switch, ledger):
        # terraform-provider-alicloud #3255.
        return f"nodes stay in Initializing: {switch} has no way out, neither a NAT gateway's rule nor another one"
    if not pools:
        return f"InstanceTypeNoStock: {name} is out of stock" if sold_out(name, count, ledger) else ""
    found = ledger.find(ref.SWITCH, switch)
    zone = text_at(found.inputs, "zoneId") if found else ""
    fitting = [each for each in pools if (each.machine, each.zone) == (name, zone)]
    free = sum(each.free for each in fitting)
    if free < count:
        return f"the private pools have {free} free instances of {name} in {zone}, {count} are wanted"
    return ""


def _instance(thing: Thing, type_: MachineType, index: int, pools: list[Pool], ledger: Ledger) -> Thing:
    """Launch one instance into the first private pool with room, with an interface for pods."""
    name = f"i-{digest(thing.id, index, len(ledger.events), length=20)}"
    taken = next((fresh for each in pools if (fresh := pool(each.thing.id, ledger)) and fresh.free), None)
    inputs: Properties = {
        "instanceType": type_.name,
        "nodePool": thing.id,
        "pool": taken.thing.id if taken else "",
        "vswitchId": text_at(thing.inputs, "vswitchIds"),
    }
    paid = taken is not None and taken.billed
    rate = Rate() if paid else Rate(usd_per_hour=type_.usd_per_hour, gpus=type_.gpus)
    added = ledger.add(Thing(ref.INSTANCE, name, f"{thing.name} ({type_.name})", inputs, {}, rate=rate))
    cluster = ledger.find(ref.CLUSTER, text_at(thing.inputs, "clusterId"))
    pods: Properties = {"vswitchId": text_at(cluster.inputs, "podVswitchIds") if cluster else "", "instance": name}
    ledger.add(Thing(ref.INTERFACE, f"eni-{digest(name, length=20)}", f"interface of {name}", pods, {}))
    return added


def _end(ended: list[Thing], ledger: Ledger, why: str) -> None:
    nodes.leave(ended)
    names = {each.id for each in ended}
    for interface in ledger.of_type(ref.INTERFACE):
        if text_at(interface.inputs, "instance") in names:
            ledger.remove(interface, why)
    for each in ended:
        ledger.remove(each, why)


def _identity(resource: Resource, ledger: Ledger) -> str:
    return f"{resource.inputs.get('clusterId')}:np{digest(resource.urn, len(ledger.events), length=32)}"


def _computed(resource: Resource, identity: str, ledger: Ledger) -> Properties:
    del resource, ledger
    return {"nodePoolId": identity.partition(":")[2], "scalingGroupId": f"asg-{digest(identity)}"}


KIND: Final = ResourceKind(
    type=ref.NODE_POOL,
    identity=_identity,
    checks=(
        ref.fits("nodePoolName", r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}", "1 to 63 letters, digits, - and _"),
        ref.one_of("type", "ess", "lingjun"),
        ref.one_of("imageType", *_IMAGES),
        ref.one_of("instanceChargeType", "PostPaid", "PrePaid"),
        ref.one_of("systemDiskCategory", "cloud_auto", "cloud_efficiency", "cloud_essd", "cloud_ssd"),
        ref.one_of("dataDisks.performanceLevel", *_PERFORMANCE),
        ref.one_of("resourcePoolOptions.strategy", "PrivatePoolFirst", "PrivatePoolOnly", "None"),
        ref.one_of("taints.effect", "NoSchedule", "NoExecute", "PreferNoSchedule"),
        size_failures,
        pool_failures,
        disk_failures,
    ),
    # provider, resource_alicloud_cs_kubernetes_node_pool.go: ForceNew.
    replaced_by=("clusterId", "type", "efloNodeGroup", "ramRoleName", "securityGroupIds", "deploymentSetId"),
    admissions=(
        ref.exists("clusterId", ref.CLUSTER, "ErrorClusterNotFound"),
        ref.exists("vswitchIds", ref.SWITCH, "InvalidVSwitchId.NotFound"),
        refuse_lingjun_without_group,
        refuse_bad_pool,
    ),
    computed=_computed,
    made=start,
    changed=scale,
    gone=stop,
    patience=5_400.0,
)
