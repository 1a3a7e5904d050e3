"""What the stand-in of an Azure subscription refuses, each beside what it accepts; and what goes along with what."""

from pathlib import Path
from typing import Any

import pytest

from rehearsal.fakes.account import Rate, Thing
from rehearsal.fakes.azure_native import references as ref
from rehearsal.fakes.azure_native.access import CONTRIBUTOR
from rehearsal.fakes.rules import RefusedError, UnreadyError
from rehearsal.fakes.weights import OBJECTS
from tests.rehearsal.azure_subscription import (
    CONTAINER,
    GB300,
    IN_GROUP,
    SUBNET,
    SUBSCRIPTION,
    THEIRS,
    AzureSubscription,
    contribute,
    subscription,
    write,
)

Changes = dict[str, Any]
H200 = "Standard_ND96isr_H200_v5"
LABEL = {"azure.workload.identity/use": "true"}


@pytest.fixture
def ready(tmp_path: Path) -> AzureSubscription:
    """A subscription with a cluster and a storage account."""
    return subscription(tmp_path, with_cluster=True)


def refusal(found: AzureSubscription, kind: str, **changes: Any) -> str:
    """Return what Azure says to a thing."""
    with pytest.raises(RefusedError) as caught:
        found.make(kind, **changes)
    return str(caught.value)


# A pool's change that is accepted, the one that is refused, and what is said then.
POOLS: list[tuple[str, Changes, Changes, str]] = [
    ("the name", {"agentPoolName": "a" * 12}, {"agentPoolName": "gpu-pool"}, "1 to 12 lower-case letters"),
    ("the driver", {}, {"gpuProfile": {"driver": "Install"}}, "GPU driver installation is not supported"),
    ("no driver named", {}, {"gpuProfile": None}, "GPU driver installation is not supported"),
    ("an enumeration", {}, {"gpuProfile": {"driver": "Skip"}}, "none of GPUDriver"),
    ("surge", {"upgradeSettings": None}, {"upgradeSettings": {"maxSurge": "0"}}, "cannot both be 0"),
    ("a count", {}, {"count": None}, "agentPoolProfile.count is missing"),
    ("labels", {"nodeLabels": {"kimi-k3/pool": "gpu"}}, {"nodeLabels": {"kubernetes.io/x": "y"}}, "is reserved"),
    ("a size", {}, {"vmSize": "Standard_ND999"}, "is not allowed in your subscription"),
    ("the subnet", {}, {"vnetSubnetID": f"{SUBNET}2"}, "InvalidResourceReference"),
    ("the cluster", {}, {"resourceName": "other"}, "ParentResourceNotFound"),
    ("the resource group", {}, {"resourceGroupName": "other"}, "Resource group 'other' could not be found"),
    ("a newer API's field", {}, {"interconnectBlockProfile": {}}, "unknown property"),
]


@pytest.mark.parametrize(("accepted", "refused", "telling"), [pytest.param(*case, id=name) for name, *case in POOLS])
def test_an_agent_pool(ready: AzureSubscription, accepted: Changes, refused: Changes, telling: str) -> None:
    assert telling in refusal(ready, ref.POOL, **refused)
    ready.make(ref.POOL, **accepted)
    # Two beside the cluster's own.
    assert len(ready.things(ref.MACHINE)) == 4
    if "agentPoolName" not in accepted:
        assert "cannot create already existing resource" in refusal(ready, ref.POOL)


CLUSTERS: list[tuple[Changes, str]] = [
    ({"resourceName": "kimi.k3"}, "1 to 63 letters"),
    ({"dnsPrefix": "a" * 55}, "1 to 54 letters"),
    ({"nodeResourceGroup": "a" * 81}, "1 to 80"),
    ({"kubernetesVersion": "1.29"}, "K8sVersionNotSupported"),
    # The SDK's own default stands in the other range.
    ({"networkProfile__dnsServiceIP": "10.0.0.10"}, "DnsServiceIpOutOfServiceCidr"),
    ({"networkProfile__podCidr": "172.30.0.0/17"}, "PodCidrOverlap"),
    (
        {"networkProfile__serviceCidr": "10.20.0.0/20", "networkProfile__dnsServiceIP": "10.20.0.10"},
        "ServiceCidrOverlapExistingSubnetsCidr",
    ),
    ({"agentPoolProfiles": []}, "at least one system agent pool"),
    ({"identity__userAssignedIdentities": []}, "Only one user-assigned identity"),
    ({"identity__userAssignedIdentities": ["/subscriptions/x"]}, "ResourceNotFound"),
    (
        {"apiServerAccessProfile": {"enablePrivateCluster": True, "authorizedIPRanges": ["203.0.113.0/24"]}},
        "cannot be used with a private cluster",
    ),
    ({"networkProfile__networkDataplane": "ebpf"}, "none of NetworkDataplane"),
]


@pytest.mark.parametrize(("refused", "telling"), CLUSTERS)
def test_a_cluster(ready: AzureSubscription, refused: Changes, telling: str) -> None:
    ready.delete(ready.only(ref.CLUSTER))
    assert telling in refusal(ready, ref.CLUSTER, **refused)
    ready.make(ref.CLUSTER)
    assert "cannot create already existing resource" in refusal(ready, ref.CLUSTER)


@pytest.mark.parametrize(
    ("kind", "refused", "telling"),
    [
        (ref.GROUP, {"resourceGroupName": "kimi."}, "1 to 90 letters"),
        (ref.GROUP, {}, "cannot create already existing resource"),
        (
            ref.NETWORK,
            {"virtualNetworkName": "b", "subnets": [{"addressPrefix": "10.9.0.0/24"}]},
            "NetcfgInvalidSubnet",
        ),
        (ref.IDENTITY, {"resourceName": "ab"}, "3 to 128 letters"),
        (ref.ACCOUNT, {"accountName": "kimi-k3"}, "3 to 24 lower-case letters"),
        (ref.ACCOUNT, {"accountName": "models"}, "The storage account named models is already taken"),
        (ref.CONTAINER, {"containerName": "My"}, "3 to 63 lower-case letters"),
        (ref.CONTAINER, {"containerName": "other", "publicAccess": "Blob"}, "PublicAccessNotPermitted"),
        (ref.CONTAINER, {"accountName": "other"}, "ParentResourceNotFound"),
    ],
)
def test_everything_else(ready: AzureSubscription, kind: str, refused: Changes, telling: str) -> None:
    # What is accepted: the fixture has made one of each.
    assert ready.things(kind)
    assert telling in refusal(ready, kind, **refused)


def test_an_image_before_ubuntu_24_04_does_not_start_a_rack(ready: AzureSubscription) -> None:
    ready.delete(ready.only(ref.CLUSTER))
    ready.make(ref.CLUSTER, kubernetesVersion="1.34")
    assert "its disk controller type is NVMe" in refusal(ready, ref.POOL)
    ready.delete(ready.only(ref.CLUSTER))
    ready.make(ref.CLUSTER)
    ready.make(ref.POOL)


@pytest.mark.parametrize(("size", "wanted"), [(GB300, False), (H200, True)])
def test_the_infiniband_feature_is_as_the_size_wants_it(ready: AzureSubscription, size: str, wanted: bool) -> None:
    ready.account.configure(infiniband=not wanted)
    assert "AKSInfinibandSupport is" in refusal(ready, ref.POOL, vmSize=size)
    ready.account.configure(infiniband=wanted)
    ready.make(ref.POOL, vmSize=size)


def test_quota_is_counted_in_vcpus_of_the_family(ready: AzureSubscription) -> None:
    ready.account.configure(quota_vcpus=255)
    assert "Insufficient vcpu quota requested 256, remaining 255" in refusal(ready, ref.POOL)
    ready.account.configure(quota_vcpus=256)
    ready.make(ref.POOL)


def test_quota_is_no_capacity(ready: AzureSubscription) -> None:
    ready.account.configure(quota_vcpus=10_000, free_machines=1)
    assert "AllocationFailed" in refusal(ready, ref.POOL)
    ready.account.configure(free_machines=2)
    ready.make(ref.POOL)


def test_a_right_is_known_some_time_after_it_was_given(ready: AzureSubscription) -> None:
    ready.reserve()
    assert "LinkedAuthorizationFailed" in refusal(ready, ref.POOL, capacityReservationGroupID=THEIRS)
    contribute(ready, f"{SUBSCRIPTION}/resourceGroups/shared")
    assert "If access was recently granted" in refusal(ready, ref.POOL, capacityReservationGroupID=THEIRS)
    ready.later(300)
    ready.make(ref.POOL, capacityReservationGroupID=THEIRS)


def test_a_cluster_without_an_identity_of_its_own_uses_no_reservation(ready: AzureSubscription) -> None:
    ready.reserve()
    ready.delete(ready.only(ref.CLUSTER))
    contribute(ready, f"{SUBSCRIPTION}/resourceGroups/shared")
    pools = [{"name": "system", "mode": "System", "count": 2, "vmSize": "Standard_D8s_v5"}]
    ready.make(ref.CLUSTER, identity={"type": "SystemAssigned"}, agentPoolProfiles=pools)
    ready.later(3600)
    assert "user-assigned managed identity" in refusal(ready, ref.POOL, capacityReservationGroupID=THEIRS)
    ready.make(ref.POOL)


def test_a_cluster_may_join_its_subnet(ready: AzureSubscription) -> None:
    ready.delete(ready.only(ref.CLUSTER))
    right = ready.only(ref.ROLE)
    ready.delete(right)
    assert "LinkedAuthorizationFailed" in refusal(ready, ref.CLUSTER)
    contribute(ready, SUBNET.partition("/subnets/")[0])
    ready.make(ref.CLUSTER)


def associated(found: AzureSubscription) -> int:
    """How many machines stand on somebody's reservation."""
    return len([each for each in found.things(ref.MACHINE) if each.inputs.get("reservation")])


@pytest.mark.parametrize(
    ("held", "wanted"),
    [
        ({}, 2),
        ({"machine": H200}, 0),
        ({"zone": "2"}, 0),
        # Machines beyond the reserved ones are made all the same.
        ({"count": 1}, 1),
    ],
)
def test_a_group_that_does_not_fit_is_forgotten_without_an_error(
    ready: AzureSubscription, held: Changes, wanted: int
) -> None:
    ready.reserve(**held)
    contribute(ready, f"{SUBSCRIPTION}/resourceGroups/shared")
    ready.later(300)
    pool = ready.make(ref.POOL, capacityReservationGroupID=THEIRS)
    assert (len(ready.things(ref.MACHINE)), associated(ready)) == (4, wanted)
    warned = [each.text for each in ready.account.ledger().events if each.text.startswith("warning")]
    # The association is gone, and only the journal says so.
    assert ("capacityReservationGroupID" in pool.outputs) == bool(wanted)
    assert len(warned) == (0 if wanted else 1)


def ours(found: AzureSubscription) -> Thing:
    """Make a group, its reservation and a pool that stands on it."""
    found.account.configure(nd_reservations=True)
    group = found.make(ref.RESERVATION_GROUP)
    found.make(ref.RESERVATION)
    contribute(found, f"{SUBSCRIPTION}/resourceGroups/kimi")
    found.later(300)
    return found.make(ref.POOL, capacityReservationGroupID=group.id)


def test_a_reservation_goes_after_its_machines_and_its_group_after_it(ready: AzureSubscription) -> None:
    pool = ours(ready)
    reservation, group = ready.only(ref.RESERVATION), ready.only(ref.RESERVATION_GROUP)
    for thing, telling in ((reservation, "it has associated virtual machines"), (group, "it holds Capacity Res")):
        with pytest.raises(RefusedError, match=telling):
            ready.delete(thing)
    for thing in (pool, reservation, group):
        ready.delete(thing)
    assert ready.things("azure-native:compute:*")[2:] == []


def test_a_reservation_bills_like_its_machines_and_these_are_then_free(ready: AzureSubscription) -> None:
    ours(ready)
    # 2 machines x 4 GPUs at 27 USD, made up for want of a public price.
    assert ready.only(ref.RESERVATION).rate == Rate(usd_per_hour=216.0, gpus=8)
    reserved = [each for each in ready.things(ref.MACHINE) if each.inputs.get("reservation")]
    assert [each.rate for each in reserved] == [Rate(), Rate()]


def test_nd_sizes_are_reserved_only_where_azure_has_opened_it(ready: AzureSubscription) -> None:
    ready.make(ref.RESERVATION_GROUP)
    assert "not supported for Capacity Reservation" in refusal(ready, ref.RESERVATION)
    # Other sizes are.
    ready.make(ref.RESERVATION, capacityReservationName="cpu", sku={"name": "Standard_D8s_v5", "capacity": 1})
    ready.account.configure(nd_reservations=True)
    ready.make(ref.RESERVATION)


def test_a_reservation_is_all_or_nothing_in_its_groups_zones(ready: AzureSubscription) -> None:
    ready.account.configure(nd_reservations=True, free_machines=1)
    assert "ParentResourceNotFound" in refusal(ready, ref.RESERVATION)
    ready.make(ref.RESERVATION_GROUP, zones=["1"])
    assert "AllocationFailed" in refusal(ready, ref.RESERVATION, zones=["1"])
    ready.account.configure(free_machines=2)
    assert "aren't those of the capacity reservation group" in refusal(ready, ref.RESERVATION, zones=["2"])
    ready.make(ref.RESERVATION, zones=["1"])


def test_entra_finds_a_new_identity_only_by_its_type(ready: AzureSubscription) -> None:
    identity = ready.make(ref.IDENTITY, resourceName="new")
    scope = f"{SUBSCRIPTION}/resourceGroups/kimi"
    # The SDK's default.
    with pytest.raises(RefusedError, match="PrincipalNotFound"):
        ready.allow(identity, CONTRIBUTOR, scope, principalType="User")
    ready.allow(identity, CONTRIBUTOR, scope)
    with pytest.raises(RefusedError, match="RoleAssignmentExists"):
        ready.allow(identity, CONTRIBUTOR, scope)
    with pytest.raises(RefusedError, match="RoleDefinitionDoesNotExist"):
        ready.allow(identity, "00000000-0000-0000-0000-000000000000", scope)


def test_an_identity_trusts_at_most_twenty(ready: AzureSubscription) -> None:
    for index in range(20):
        ready.ask(ref.TRUST, trust("aks", f"trust-{index}"))
    with pytest.raises(RefusedError, match="Too many Federated Identity Credentials"):
        ready.ask(ref.TRUST, trust("aks", "trust-20"))
    with pytest.raises(RefusedError, match="ParentResourceNotFound"):
        ready.ask(ref.TRUST, trust("nobody", "trust"))


def trust(identity: str, name: str) -> dict[str, object]:
    """Return a credential's inputs."""
    return {
        "resourceGroupName": "kimi",
        "resourceName": identity,
        "federatedIdentityCredentialResourceName": name,
        "issuer": "https://issuer.example.com/",
        "subject": f"system:serviceaccount:default:{name}",
        "audiences": ["api://AzureADTokenExchange"],
    }


def issuer(found: AzureSubscription) -> object:
    """Who signs the cluster's tokens."""
    profile = found.only(ref.CLUSTER).outputs["oidcIssuerProfile"]
    assert isinstance(profile, dict)
    return profile["issuerURL"]


def test_a_copy_with_label_identity_trust_role_and_way_in_fills_the_container(ready: AzureSubscription) -> None:
    writer = ready.writer(issuer(ready))
    write(ready, writer)
    ready.copy(labels=LABEL, client=writer.outputs["clientId"])
    assert ready.only(OBJECTS).id == "models"


@pytest.mark.parametrize(
    ("missing", "telling"),
    [
        ("label", "DefaultAzureCredential failed to retrieve a token"),
        ("identity", "No matching federated identity record"),
        ("trust", "No matching federated identity record"),
        ("role", "AuthorizationPermissionMismatch"),
        ("way in", "AuthorizationFailure: "),
    ],
)
def test_a_copy_without_one_of_them_is_shut_out(ready: AzureSubscription, missing: str, telling: str) -> None:
    subject = "system:serviceaccount:default:" + ("other" if missing == "trust" else "weights")
    writer = ready.writer(issuer(ready), subject)
    if missing != "role":
        write(ready, writer)
    if missing == "way in":
        ready.delete(ready.only(ref.ACCOUNT))
        ready.make(ref.ACCOUNT, networkRuleSet={"defaultAction": "Deny"})
        ready.make(ref.CONTAINER)
    client = "nobody" if missing == "identity" else writer.outputs["clientId"]
    with pytest.raises(UnreadyError, match=telling):
        ready.copy(labels={} if missing == "label" else LABEL, client=client)
    assert ready.things(OBJECTS) == []


def test_a_pool_is_not_drained_while_a_budget_holds_its_pods(ready: AzureSubscription) -> None:
    pool = ready.make(ref.POOL)
    budget = ready.put(
        "kubernetes:policy/v1:PodDisruptionBudget",
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "model", "namespace": "default"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}},
        },
    )
    with pytest.raises(RefusedError, match=r"PodDrainFailure.*default/model"):
        ready.delete(pool)
    ready.delete(budget)
    ready.delete(pool)
    assert len(ready.things(ref.MACHINE)) == 2


def test_a_network_goes_after_the_cluster_in_it(ready: AzureSubscription) -> None:
    network = ready.only(ref.NETWORK)
    with pytest.raises(RefusedError, match="InUseSubnetCannotBeDeleted"):
        ready.delete(network)
    ready.delete(ready.only(ref.CLUSTER))
    ready.delete(network)


def test_a_cluster_takes_pools_machines_and_load_balancers_along(ready: AzureSubscription) -> None:
    ready.make(ref.POOL)
    ready.service(load_balancer_internal="true")
    ready.delete(ready.only(ref.CLUSTER))
    assert ready.things(ref.POOL) + ready.things(ref.MACHINE) + ready.things(ref.LOAD_BALANCER) == []


def test_a_resource_group_takes_everything_along_and_nothing_of_another_group(ready: AzureSubscription) -> None:
    other = ready.make(ref.GROUP, resourceGroupName="kimi-weights")
    kept = ready.make(ref.ACCOUNT, resourceGroupName="kimi-weights", accountName="kept1")
    with ready.account.open() as ledger:
        ledger.add(Thing(OBJECTS, "models", "weights", {}, {}))
    ready.delete(next(each for each in ready.things(ref.GROUP) if each.id.endswith("/kimi")))
    left = {each.id for each in ready.account.ledger().things}
    assert left & {other.id, kept.id} == {other.id, kept.id}
    assert [each for each in left if each.startswith(IN_GROUP)] == []
    # And the weights with their account, kept or not.
    assert ready.things(OBJECTS) == []


@pytest.mark.parametrize("kind", [ref.ACCOUNT, ref.CONTAINER])
def test_weights_are_no_reason_to_keep_an_account(ready: AzureSubscription, kind: str) -> None:
    with ready.account.open() as ledger:
        ledger.add(Thing(OBJECTS, "models", "weights", {}, {}, rate=Rate(usd_per_hour=0.05)))
    ready.delete(ready.only(kind))
    assert ready.things(OBJECTS) + ready.things(ref.CONTAINER) == []


def test_an_internal_load_balancer_is_in_the_subnet_and_goes_with_its_service(ready: AzureSubscription) -> None:
    service = ready.service(load_balancer_internal="true", load_balancer_tcp_idle_timeout="30")
    # An address of 10.20.0.0/17.
    assert "'ip': '10.20." in str(service.outputs["status"])
    assert ready.only(ref.LOAD_BALANCER).inputs["internal"] is True
    ready.delete(service)
    assert ready.things(ref.LOAD_BALANCER) == []


@pytest.mark.parametrize(
    ("annotations", "telling"),
    [
        ({"load_balancer_tcp_idle_timeout": "3"}, "not from 4 to 100 minutes"),
        ({"load_balancer_tcp_idle_timeout": "half an hour"}, "not from 4 to 100 minutes"),
        ({"allowed_ip_ranges": "203.0.113.0/24"}, "can't be used together"),
    ],
)
def test_a_load_balancer_that_azure_does_not_make(
    ready: AzureSubscription, annotations: dict[str, str], telling: str
) -> None:
    with pytest.raises(UnreadyError, match=telling):
        ready.service(**annotations)


def test_an_internal_load_balancer_needs_the_right_to_the_subnet(ready: AzureSubscription) -> None:
    ready.delete(ready.only(ref.ROLE))
    with pytest.raises(UnreadyError, match="the cluster's identity can't join"):
        ready.service(load_balancer_internal="true")


def test_nothing_answers_without_a_cluster(ready: AzureSubscription) -> None:
    ready.delete(ready.only(ref.CLUSTER))
    with pytest.raises(RefusedError, match="configured Kubernetes cluster is unreachable"):
        ready.service()


COMPUTE = "azure-native:compute:getCapacityReservation"


def test_the_look_ups_tell_what_a_group_holds(ready: AzureSubscription) -> None:
    ready.reserve(count=3, zone="2")
    where: dict[str, object] = {"resourceGroupName": "shared", "capacityReservationGroupName": "gpus"}
    group = ready.cloud.invoke(f"{COMPUTE}Group", where)
    assert group["capacityReservations"] == [{"id": f"{THEIRS}/capacityReservations/{GB300}"}]
    member = ready.cloud.invoke(COMPUTE, {**where, "capacityReservationName": GB300})
    assert (member["sku"], member["zones"]) == ({"name": GB300, "capacity": 3}, ["2"])


@pytest.mark.parametrize(
    ("token", "arguments", "telling"),
    [
        (f"{COMPUTE}Group", {"capacityReservationGroupName": "none"}, "capacityReservationGroups/none' was not found"),
        (
            "azure-native:network:getSubnet",
            {"virtualNetworkName": "net", "subnetName": "x"},
            "subnets/x' was not found",
        ),
        (
            "azure-native:containerservice:listManagedClusterAdminCredentials",
            {"resourceName": "none"},
            "managedClusters/none' was not found",
        ),
        (
            "azure-native:features:getSubscriptionFeatureRegistration",
            {"featureName": "AKSInfinibandSupport"},
            "FeatureRegistrationNotFound",
        ),
        ("azure-native:compute:getVirtualMachine", {}, "doesn't play the function"),
    ],
)
def test_a_look_up_of_nothing_is_refused(
    ready: AzureSubscription, token: str, arguments: dict[str, object], telling: str
) -> None:
    with pytest.raises(RefusedError, match=telling):
        ready.cloud.invoke(token, {"resourceGroupName": "kimi", **arguments})


def test_a_type_without_a_rule_gets_an_id_and_what_the_sdk_promises(ready: AzureSubscription) -> None:
    kind = "azure-native:network:PublicIPAddress"
    made = ready.ask(kind, {"resourceGroupName": "kimi", "location": "eastus2"})
    assert made.id.startswith(f"{IN_GROUP}/")
    assert made.outputs["name"] == "a"


def test_the_container_is_where_the_copy_says(ready: AzureSubscription) -> None:
    assert ready.only(ref.CONTAINER).id == CONTAINER
