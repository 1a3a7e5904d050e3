"""AKS clusters: what they are made of, their own CPU nodes, and all that goes with them."""

import ipaddress
import re
from collections.abc import Iterator
from typing import Final

from rehearsal.fakes.account import Ledger, Rate, Thing
from rehearsal.fakes.azure_native import nodes
from rehearsal.fakes.azure_native import references as ref
from rehearsal.fakes.azure_native.access import CONTRIBUTOR, NETWORK_CONTRIBUTOR, given, may
from rehearsal.fakes.azure_native.machine import size
from rehearsal.fakes.paths import number_at, text_at, texts_at
from rehearsal.fakes.resource_kind import ResourceKind, by_the_hour, fits
from rehearsal.fakes.rules import Failure, Resource
from rehearsal.fakes.values import Properties, mapping, sequence

NOWHERE: Final = "https://127.0.0.1:1"
"""Nothing listens on port 1: a program that asks a cluster past the stand-in is refused at once."""
CLUSTER_PATH: Final = "Microsoft.ContainerService/managedClusters/{resourceName}"
_IDENTITY: Final = ref.path_of(CLUSTER_PATH)
_VERSIONS: Final = ("1.34", "1.35", "1.36")
"""What AKS offers beside long-term support (Azure/AKS releases, 2026-07)."""
_USD_HOUR: Final = 0.10


def version_failures(inputs: Properties) -> Iterator[Failure]:
    """A version that AKS has (AKS, `K8sVersionNotSupported`)."""
    version = text_at(inputs, "kubernetesVersion")
    if version and ".".join(version.split(".")[:2]) not in _VERSIONS:
        text = f"Managed cluster is on version {version}, which is not supported in this region."
        yield Failure("kubernetesVersion", f'Status=400 Code="K8sVersionNotSupported" Message="{text}"')


def range_failures(inputs: Properties) -> Iterator[Failure]:
    """The DNS service is in the range of the Services, and that isn't the pods' (AKS, configure-azure-cni-overlay)."""
    profile = mapping(inputs.get("networkProfile"))
    services, pods = text_at(profile, "serviceCidr") or "10.0.0.0/16", text_at(profile, "podCidr")
    dns, range_ = text_at(profile, "dnsServiceIP") or "10.0.0.10", ipaddress.IPv4Network(services)
    if ipaddress.IPv4Address(dns) not in range_:
        text = f"DNS service IP {dns} is not within the service CIDR {services}."
        yield Failure("networkProfile.dnsServiceIP", f'Status=400 Code="DnsServiceIpOutOfServiceCidr" Message="{text}"')
    if pods and ipaddress.IPv4Network(pods).overlaps(range_):
        text = f"The pod CIDR {pods} overlaps the service CIDR {services}."
        yield Failure("networkProfile.podCidr", f'Status=400 Code="PodCidrOverlap" Message="{text}"')


def pool_failures(inputs: Properties) -> Iterator[Failure]:
    """A cluster has a system pool from the start (AKS, use-system-pools)."""
    if not any(text_at(mapping(each), "mode") == "System" for each in sequence(inputs.get("agentPoolProfiles"))):
        text = "There must be at least one system agent pool."
        yield Failure("agentPoolProfiles", f'Status=400 Code="InvalidParameter" Message="{text}"')


def identity_failures(inputs: Properties) -> Iterator[Failure]:
    """An identity of its own is one (AKS, use-managed-identity)."""
    named = inputs.get("identity")
    given = sequence(mapping(named).get("userAssignedIdentities")) if isinstance(named, dict) else []
    if text_at(inputs, "identity.type") == "UserAssigned" and len(given) != 1:
        text = "Only one user-assigned identity is allowed for the control plane."
        yield Failure("identity", f'Status=400 Code="BadRequest" Message="{text}"')


def private_failures(inputs: Properties) -> Iterator[Failure]:
    """A private API server has no public ranges (AKS, api-server-authorized-ip-ranges)."""
    profile = mapping(inputs.get("apiServerAccessProfile"))
    if profile.get("enablePrivateCluster") is True and profile.get("authorizedIPRanges"):
        text = "Authorized IP ranges cannot be used with a private cluster."
        yield Failure("apiServerAccessProfile", f'Status=400 Code="BadRequest" Message="{text}"')


def refuse_unreachable_subnet(resource: Resource, ledger: Ledger) -> None:
    """The subnet doesn't overlap the cluster's own ranges (AKS, `ServiceCidrOverlapExistingSubnetsCidr`)."""
    services = ipaddress.IPv4Network(text_at(resource.inputs, "networkProfile.serviceCidr") or "10.0.0.0/16")
    for identity in texts_at(resource.inputs, "agentPoolProfiles.vnetSubnetID"):
        prefix = text_at(ref.subnet(identity, ledger) or {}, "addressPrefix")
        if prefix and ipaddress.IPv4Network(prefix).overlaps(services):
            text = f"The specified service CIDR {services} is conflicted with an existing subnet CIDR {prefix}."
            raise ref.refused(resource.name, 400, "ServiceCidrOverlapExistingSubnetsCidr", text)


def refuse_without_right(resource: Resource, ledger: Ledger) -> None:
    """Nodes come into a subnet with the cluster's identity (AKS, `CustomRouteTableMissingPermission` and the like).

    AKS waits for a right that was given a moment ago, so its age doesn't count.
    """
    identity = ledger.find(ref.IDENTITY, text_at(resource.inputs, "identity.userAssignedIdentities"))
    principal = text_at(identity.outputs, "principalId") if identity else ""
    for subnet in texts_at(resource.inputs, "agentPoolProfiles.vnetSubnetID"):
        if not any(given(principal, role, subnet, ledger) for role in (CONTRIBUTOR, NETWORK_CONTRIBUTOR)):
            text = f"Managed identity lacks the permission Microsoft.Network/virtualNetworks/subnets/join on {subnet}."
            raise ref.refused(resource.name, 403, "LinkedAuthorizationFailed", text)


def take_along(thing: Thing, ledger: Ledger) -> None:
    """All pools, machines and load balancers go with a cluster, and what Helm left in it (AKS, delete-cluster)."""
    why = f"went with ManagedCluster {ref.last(thing.id)}"
    machines = [each for each in ledger.of_type(ref.MACHINE) if text_at(each.inputs, "pool").startswith(thing.id)]
    nodes.leave(machines)
    pools = [each for each in ledger.of_type(ref.POOL) if each.id.startswith(f"{thing.id}/")]
    left = [each for each in ledger.of_type("kubernetes:*") if each.left_because]
    for each in [*machines, *pools, *ledger.of_type(ref.LOAD_BALANCER), *left]:
        ledger.remove(each, why)


def identity_of(cluster: Thing, ledger: Ledger) -> Thing | None:
    """The identity that a cluster has been given."""
    return ledger.find(ref.IDENTITY, text_at(cluster.inputs, "identity.userAssignedIdentities"))


def version_of(cluster: Thing) -> tuple[int, ...]:
    """Major and minor version of a cluster."""
    version = text_at(cluster.inputs, "kubernetesVersion") or _VERSIONS[1]
    return tuple(int(each) for each in re.findall(r"[0-9]+", version)[:2])


def may_make_load_balancers(cluster: Thing, subnet: str, ledger: Ledger) -> bool:
    """Whether the cluster's identity can put an internal load balancer into a subnet."""
    identity = identity_of(cluster, ledger)
    return identity is not None and may(text_at(identity.outputs, "principalId"), NETWORK_CONTRIBUTOR, subnet, ledger)


def issuer_of(cluster: Thing) -> str:
    """Who signs the tokens of a cluster's service accounts; empty without one."""
    return text_at(cluster.outputs, "oidcIssuerProfile.issuerURL")


def _computed(resource: Resource, identity: str, ledger: Ledger) -> Properties:
    inputs = resource.inputs
    enabled = mapping(inputs.get("oidcIssuerProfile")).get("enabled") is True
    url = f"https://{ref.region(ledger)}.oic.prod-aks.azure.com/{ref.made_up_uuid(identity)}/"
    identities = {each: {} for each in texts_at(inputs, "identity.userAssignedIdentities")}
    return {
        "identity": {"type": text_at(inputs, "identity.type"), "userAssignedIdentities": identities},
        "oidcIssuerProfile": {"enabled": enabled, **({"issuerURL": url} if enabled else {})},
        "currentKubernetesVersion": text_at(inputs, "kubernetesVersion"),
        "provisioningState": "Succeeded",
    }


def _made(thing: Thing, ledger: Ledger) -> None:
    for profile in map(mapping, sequence(thing.inputs.get("agentPoolProfiles"))):
        found = size(text_at(profile, "vmSize"))
        if found is None:
            continue
        pool = f"{thing.id}/agentPools/{profile.get('name')}"
        rate = Rate(usd_per_hour=found.usd_per_hour, gpus=found.gpus)
        launched = [
            ledger.add(
                Thing(
                    ref.MACHINE,
                    f"aks-{profile.get('name')}-{ref.made_up_uuid(pool)[:8]}-vmss{index:06}",
                    f"{thing.name} ({found.name})",
                    {"vmSize": found.name, "pool": pool, "index": index},
                    {},
                    rate=rate,
                )
            )
            for index in range(number_at(profile, "count"))
        ]
        nodes.join({**profile, "agentPoolName": profile.get("name")}, found, launched, ledger)


KIND: Final = ResourceKind(
    type=ref.CLUSTER,
    identity=_IDENTITY,
    # pulumi-azure-native, replacement.go.
    replaced_by=(
        "resourceGroupName",
        "resourceName",
        "diskEncryptionSetID",
        "dnsPrefix",
        "fqdnSubdomain",
        "linuxProfile",
        "location",
        "nodeResourceGroup",
        "windowsProfile",
        "networkProfile.dnsServiceIP",
        "networkProfile.networkDataplane",
        "networkProfile.networkPlugin",
        "networkProfile.networkPluginMode",
        "networkProfile.networkPolicy",
        "networkProfile.outboundType",
        "networkProfile.podCidr",
        "networkProfile.serviceCidr",
    ),
    checks=(
        # azure-mgmt-containerservice 40.1.0.
        fits("resourceName", r"[a-zA-Z0-9]([-_a-zA-Z0-9]{0,61}[a-zA-Z0-9])?", "1 to 63 letters, digits, - and _"),
        fits("dnsPrefix", r"[a-zA-Z0-9]([a-zA-Z0-9-]{0,52}[a-zA-Z0-9])?", "1 to 54 letters, digits and -"),
        fits("nodeResourceGroup", r"[-\w._()]{1,80}", "1 to 80 characters"),
        version_failures,
        range_failures,
        pool_failures,
        identity_failures,
        private_failures,
    ),
    admissions=(
        ref.group_exists,
        ref.not_taken(_IDENTITY),
        ref.exists("identity.userAssignedIdentities", ref.IDENTITY),
        ref.subnet_exists("agentPoolProfiles.vnetSubnetID"),
        refuse_unreachable_subnet,
        refuse_without_right,
    ),
    computed=_computed,
    fills=True,
    made=_made,
    gone=take_along,
    rate=by_the_hour(_USD_HOUR),
    seconds=420.0,
    patience=3600.0,
)
