"""Network interfaces of a launch template: which card, which device, which kind.

p6-b300 has 17 cards of which the first knows no EFA (aws/aws-parallelcluster #7143). The words are ours where no
public thread shows EC2's own.
"""

from collections.abc import Iterator
from typing import Final

from rehearsal.fakes.aws.instance_type import NETWORK_CARDS, ONE_CARD
from rehearsal.fakes.paths import number_at, text_at, texts_at
from rehearsal.fakes.rules import Failure
from rehearsal.fakes.values import Properties, mapping, sequence

_KINDS: Final = ("interface", "efa", "efa-only")
"""botocore, NetworkInterfaceType of CreateLaunchTemplate."""
_EFA: Final = ("efa", "efa-only")


def interfaces(template: Properties) -> list[Properties]:
    """The interfaces that a template names."""
    return [mapping(item) for item in sequence(template.get("networkInterfaces"))]


def efa_count(template: Properties) -> int:
    """How many of a template's interfaces speak EFA."""
    return sum(_kind(each) in _EFA for each in interfaces(template))


def interface_failures(template: Properties) -> Iterator[Failure]:
    """Cards that exist, a kind that the card knows, one interface a device."""
    cards = NETWORK_CARDS.get(text_at(template, "instanceType"), ONE_CARD)
    places: set[tuple[int, int]] = set()
    for index, interface in enumerate(interfaces(template)):
        path = f"networkInterfaces[{index}]"
        card, device, kind = (
            number_at(interface, "networkCardIndex"),
            number_at(interface, "deviceIndex"),
            _kind(interface),
        )
        if kind not in _KINDS:
            yield Failure(f"{path}.interfaceType", f"'{kind}': {', '.join(_KINDS)}")
        if card >= cards.count:
            yield Failure(
                f"{path}.networkCardIndex", f"InvalidNetworkCardIndex: there are cards 0 to {cards.count - 1}"
            )
        elif kind in _EFA and card < cards.first_efa:
            yield Failure(
                f"{path}.interfaceType",
                f"network card {card} of {text_at(template, 'instanceType')} does not support EFA",
            )
        if (card, device) in places:
            yield Failure(f"{path}.deviceIndex", f"InvalidParameter: device {device} of card {card} is taken")
        places.add((card, device))
    if places and (0, 0) not in places:
        yield Failure("networkInterfaces", "InvalidParameterCombination: device 0 of card 0 is the primary interface")


def group_failures(template: Properties) -> Iterator[Failure]:
    """Groups stand at the interfaces or at the instance, and the subnet is the node group's to choose.

    EC2's own text for the first (`InvalidParameterCombination`); EKS user guide, launch-templates, for the second.
    """
    if interfaces(template) and texts_at(template, "vpcSecurityGroupIds"):
        yield Failure(
            "vpcSecurityGroupIds",
            "InvalidParameterCombination: Network interfaces and an instance-level security groups may not be "
            "specified on the same request",
        )


def keeps_node_out(template: Properties, cluster_group: str) -> str:
    """Why a node with these interfaces never joins its cluster; empty if it does.

    Args:
        template: The launch template's inputs.
        cluster_group: The security group that EKS made for the cluster.
    """
    named = texts_at(template, "networkInterfaces.securityGroups") + texts_at(template, "vpcSecurityGroupIds")
    # EKS user guide, launch-templates: with groups in the template EKS doesn't add the cluster's own.
    if named and cluster_group not in named:
        return f"its security groups lack {cluster_group}, the cluster's own"
    # awslabs/amazon-eks-ami #2423: `efa` has an address of its own, which nodeadm then tries to manage.
    if any(_kind(each) == "efa" and number_at(each, "networkCardIndex") > 0 for each in interfaces(template)):
        return "an interface of type efa on a further card; efa-only is what joins"
    return ""


def _kind(interface: Properties) -> str:
    return text_at(interface, "interfaceType") or "interface"
