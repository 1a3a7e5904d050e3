"""Ids of nothing, and things that something else still needs: the two reasons that most refusals have."""

import re
from collections.abc import Iterator
from typing import Final

from rehearsal.fakes.account import Ledger, Thing
from rehearsal.fakes.paths import texts_at
from rehearsal.fakes.resource_kind import Admission, Check, Consequence
from rehearsal.fakes.rules import Failure, RefusedError, Resource
from rehearsal.fakes.values import Properties

ACCOUNT: Final = "1234567890123456"
"""The account's number."""

VPC: Final = "alicloud:vpc/network:Network"
SWITCH: Final = "alicloud:vpc/switch:Switch"
NAT: Final = "alicloud:vpc/natGateway:NatGateway"
SNAT: Final = "alicloud:vpc/snatEntry:SnatEntry"
ADDRESS: Final = "alicloud:ecs/eipAddress:EipAddress"
BINDING: Final = "alicloud:ecs/eipAssociation:EipAssociation"
GROUP: Final = "alicloud:ecs/securityGroup:SecurityGroup"
GROUP_RULE: Final = "alicloud:ecs/securityGroupRule:SecurityGroupRule"
RESERVATION: Final = "alicloud:ecs/capacityReservation:CapacityReservation"
ASSURANCE: Final = "alicloud:ecs/elasticityAssurance:ElasticityAssurance"
CLUSTER: Final = "alicloud:cs/managedKubernetes:ManagedKubernetes"
ADDON: Final = "alicloud:cs/kubernetesAddon:KubernetesAddon"
NODE_POOL: Final = "alicloud:cs/nodePool:NodePool"
ROLE: Final = "alicloud:ram/role:Role"
POLICY: Final = "alicloud:ram/policy:Policy"
ATTACHMENT: Final = "alicloud:ram/rolePolicyAttachment:RolePolicyAttachment"
BUCKET: Final = "alicloud:oss/bucket:Bucket"
INSTANCE: Final = "alicloud:ecs/instance:Instance"
INTERFACE: Final = "alicloud:ecs/networkInterface:NetworkInterface"
BALANCER: Final = "alicloud:nlb/loadBalancer:LoadBalancer"
FILE_SYSTEM: Final = "alicloud:nas/fileSystem:FileSystem"


def exists(path: str, token: str, code: str) -> Admission:
    """An admission that refuses ids of nothing.

    Args:
        path: Where they stand in the inputs; none there is fine.
        token: The type of what they must be.
        code: The API's own, such as `InvalidVpcId.NotFound`.
    """

    def admit(resource: Resource, ledger: Ledger) -> None:
        for identity in texts_at(resource.inputs, path):
            if ledger.find(token, identity) is None:
                raise refused(resource.name, code, f"The specified {path} {identity} does not exist.")

    return admit


def refuse_while_used(code: str, *users: tuple[str, str]) -> Consequence:
    """A consequence of a deletion: it is refused while something else names the id.

    Args:
        code: The API's own, such as `DependencyViolation.VSwitch`.
        users: Types, each with the path at which it names the thing.
    """

    def refuse(thing: Thing, ledger: Ledger) -> None:
        for token, path in users:
            for other in ledger.of_type(token):
                if thing.id in texts_at(other.inputs, path):
                    raise refused(thing.name, code, f"{thing.id} is still in use by {other.id}.")

    return refuse


def fits(path: str, pattern: str, rule: str) -> Check:
    """A check that a name fits a pattern.

    Args:
        path: The property with the name.
        pattern: A regular expression for the whole name, from the API's model.
        rule: The same in words.
    """

    def check(inputs: Properties) -> Iterator[Failure]:
        for name in texts_at(inputs, path):
            if not re.fullmatch(pattern, name):
                yield Failure(path, f'"{name}" ({len(name)} characters) is no valid name: {rule}')

    return check


def one_of(path: str, *allowed: str) -> Check:
    """A check that a word is one of a few (the provider's own validation, `expected … to be one of`)."""

    def check(inputs: Properties) -> Iterator[Failure]:
        for value in texts_at(inputs, path):
            if value not in allowed:
                yield Failure(path, f"expected {path} to be one of {list(allowed)}, got {value}")

    return check


def refused(name: str, code: str, message: str) -> RefusedError:
    """A refusal as the provider prints it; without a code the words are our own."""
    said = f"Code: {code} Message: {message}" if code else f"(here: {message})"
    return RefusedError(f"[ERROR] Resource {name} Failed!!! SDKError: {said}")
