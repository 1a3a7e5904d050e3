"""What a machine's GPU network, and the way that it is sold, forbid."""

from components.faults import Fault
from components.gcp.machine_type import RACK_NODES, TYPES, uses_rdma
from components.plan.model import KIMI_K3
from components.plan.planner import Plan


def sale_faults(plan: Plan, mode: str) -> list[Fault]:
    """Refuse a way to machines in which they aren't sold.

    Args:
        plan: With a Google machine.
        mode: Of the capacity.
    """
    name = plan.machine.name
    if TYPES[name].flex_start or mode == "existing":
        return []
    allowed = f"{name} comes by a reservation of your account team alone"
    return [Fault(key="capacity.mode", given=mode, allowed=allowed, instead="existing")]


def rack_faults(plan: Plan, nodes: int, sub_block: str | None) -> list[Fault]:
    """Refuse nodes of one rack that aren't in one, and those that must do without NVLink in one.

    Args:
        plan: With a Google machine, of a reservation.
        nodes: All of its GPU nodes, parked or not.
        sub_block: The reservation's, which is one rack.
    """
    if TYPES[plan.machine.name].rack_topology is None:
        return []
    if uses_rdma(plan.layout):
        return _spread_faults(plan, sub_block)
    found: list[Fault] = []
    if sub_block is None:
        allowed = "NVLink joins the nodes of one rack, which is one sub-block"
        instead = "the rack's, such as kimi-k3-block-0001-subblock-0001"
        found.append(Fault(key="capacity.subBlock", given=None, allowed=allowed, instead=instead))
    if nodes > RACK_NODES:
        each = plan.layout.nodes
        allowed = f"{nodes} nodes, and a rack has {RACK_NODES}"
        found.append(Fault(key="replicas", given=nodes // each, allowed=allowed, instead=f"{RACK_NODES // each}"))
    return found


def _spread_faults(plan: Plan, sub_block: str | None) -> list[Fault]:
    found: list[Fault] = []
    if sub_block is not None:
        allowed = "NCCL hangs at its start within one rack when NVLink between nodes is off"
        instead = "mnnvl, or a reservation without subBlock"
        found.append(Fault(key="topology.interconnect", given="rdma", allowed=allowed, instead=instead))
    if plan.image.rpartition(":")[0] == KIMI_K3.image.rpartition(":")[0]:
        allowed = f"has no doca-ofed-userspace, without which no pod can use the RDMA devices of {plan.machine.name}"
        instead = "an image made from it with that, or topology: {interconnect: mnnvl}"
        found.append(Fault(key="serving.image", given=plan.image, allowed=allowed, instead=instead))
    return found
