"""Ways in on AWS: an internal network load balancer, or a public one that forwards the API and nothing else."""

import fnmatch
import json
from collections.abc import Mapping
from typing import Any

from components.aws.load_balancer_controller import statements
from tests.aws.answers import AwsAnswers
from tests.aws.stack import CERTIFICATE, EXISTING_NETWORK, PUBLIC, SUBNETS, Changes, only, program
from tests.conftest import Mocks

INTERNAL: Changes = {"exposure": {"mode": "internal"}}
PREFIX = "service.beta.kubernetes.io/aws-load-balancer"
ALB = "alb.ingress.kubernetes.io"
OURS = "elbv2.k8s.aws/cluster"


def annotations(mocks: Mocks, kind: str) -> Mapping[str, str]:
    """Return the annotations of the one object of a kind."""
    return only(mocks.of(kind)).inputs["metadata"]["annotations"]


def api_callers(mocks: Mocks) -> list[str]:
    """Return the ranges that the API's policy lets in."""
    first = only(mocks.of("NetworkPolicy"), "kimi-k3-api").inputs["spec"]["ingress"][0]
    return [peer["ipBlock"]["cidr"] for peer in first["from"] if "ipBlock" in peer]


def test_by_default_nothing_is_exposed_and_no_controller_is_there() -> None:
    mocks = program()
    assert mocks.of("LoadBalancerController") == []
    service = only(mocks.of("Service")).inputs
    assert service["spec"]["type"] == "ClusterIP"
    assert "loadBalancerClass" not in service["spec"]
    assert PREFIX not in json.dumps(service)


def test_an_internal_balancer_is_the_controllers_and_is_in_the_vpc() -> None:
    mocks = program(INTERNAL)
    spec = only(mocks.of("Service")).inputs["spec"]
    # Without the class EKS' in-tree controller makes a public Classic load balancer that cuts streams after 60 s.
    assert (spec["type"], spec["loadBalancerClass"]) == ("LoadBalancer", "service.k8s.aws/nlb")
    assert annotations(mocks, "Service")[f"{PREFIX}-scheme"] == "internal"


def test_a_stream_that_thinks_is_not_cut() -> None:
    # The longest that each kind takes (Elastic Load Balancing user guides): 6,000 s and 4,000 s.
    internal = annotations(program(INTERNAL), "Service")
    assert internal[f"{PREFIX}-listener-attributes.TCP-8000"] == "tcp.idle_timeout.seconds=6000"
    public = annotations(program(PUBLIC), "Ingress")
    assert public[f"{ALB}/load-balancer-attributes"] == "idle_timeout.timeout_seconds=4000"


def test_the_balancers_reach_leaders_by_address_and_ask_for_their_health() -> None:
    internal, public = annotations(program(INTERNAL), "Service"), annotations(program(PUBLIC), "Ingress")
    assert (internal[f"{PREFIX}-nlb-target-type"], public[f"{ALB}/target-type"]) == ("ip", "ip")
    assert (internal[f"{PREFIX}-healthcheck-path"], public[f"{ALB}/healthcheck-path"]) == ("/health", "/health")


def test_a_public_route_forwards_the_api_and_its_health_and_nothing_else() -> None:
    # vLLM answers /invocations, /tokenize and /metrics without the key (vllm-project/vllm #58144).
    mocks = program(PUBLIC)
    (rule,) = only(mocks.of("Ingress")).inputs["spec"]["rules"]
    paths = rule["http"]["paths"]
    assert {(each["path"], each["pathType"]) for each in paths} == {("/v1", "Prefix"), ("/health", "Exact")}
    assert {each["backend"]["service"]["name"] for each in paths} == {"kimi-k3-api"}
    assert "defaultBackend" not in only(mocks.of("Ingress")).inputs["spec"]


def test_a_public_route_has_its_ranges_and_speaks_tls_alone() -> None:
    mocks = program(PUBLIC)
    given = annotations(mocks, "Ingress")
    assert only(mocks.of("Ingress")).inputs["spec"]["ingressClassName"] == "alb"
    assert given[f"{ALB}/scheme"] == "internet-facing"
    assert given[f"{ALB}/inbound-cidrs"] == "203.0.113.0/24,198.51.100.7/32"
    assert given[f"{ALB}/certificate-arn"] == CERTIFICATE
    assert json.loads(given[f"{ALB}/listen-ports"]) == [{"HTTPS": 443}]


def test_beside_a_public_route_the_service_has_no_address_of_its_own() -> None:
    service = only(program(PUBLIC).of("Service")).inputs
    assert service["spec"]["type"] == "ClusterIP"
    assert "internet-facing" not in json.dumps(service)


def test_an_internal_exposure_is_never_internet_facing() -> None:
    mocks = program(INTERNAL)
    assert mocks.of("Ingress") == []
    assert "internet-facing" not in json.dumps([each.inputs for each in mocks.resources if "kubernetes" in each.type])


def test_the_balancers_own_addresses_may_reach_the_pods() -> None:
    # With targets by address the pods see the balancer's own address, not the caller's.
    assert api_callers(program(INTERNAL)) == ["10.20.0.0/16"]
    assert api_callers(program(PUBLIC)) == ["10.20.0.0/16"]
    there = program({**INTERNAL, **EXISTING_NETWORK}, AwsAnswers(subnets=SUBNETS))
    assert api_callers(there) == ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"]


def test_the_controller_knows_its_cluster_and_stands_in_nobodys_way() -> None:
    release = only(program(INTERNAL).of("Release"), "load-balancers-release").inputs
    values = release["values"]
    assert (release["chart"], release["version"]) == ("aws-load-balancer-controller", "3.5.0")
    assert (values["clusterName"], values["region"]) == ("kimi-k3-existing", "us-west-2")
    # Without the VPC it asks the instance's metadata, which a pod may not reach.
    assert values["vpcId"] == "network-vpc-id"
    assert values["serviceAccount"] == {"create": True, "name": "aws-load-balancer-controller"}
    assert values["enableServiceMutatorWebhook"] is False


def test_the_charts_values_are_keys_that_the_real_chart_has() -> None:
    # The first level of eks-charts, stable/aws-load-balancer-controller 3.5.0, values.yaml; Helm takes any other too.
    known = {"clusterName", "region", "vpcId", "serviceAccount", "enableServiceMutatorWebhook", "replicaCount", "image"}
    mirror = {"images": "registry.example.com/mirror"}
    given = only(program({**INTERNAL, "mirror": mirror}).of("Release"), "load-balancers-release").inputs["values"]
    assert set(given) == known
    assert given["image"] == {
        "repository": "registry.example.com/mirror/public.ecr.aws/eks/aws-load-balancer-controller"
    }


def allowed(action: str) -> list[Mapping[str, Any]]:
    """Return the statements that allow an action."""
    found = []
    for statement in statements():
        actions = statement["Action"]
        listed = actions if isinstance(actions, list) else [actions]
        if any(fnmatch.fnmatchcase(action, str(pattern)) for pattern in listed):
            found.append(statement)
    return found


def test_the_controller_deletes_and_changes_nothing_that_it_did_not_make() -> None:
    for action in (
        "elasticloadbalancing:DeleteLoadBalancer",
        "elasticloadbalancing:DeleteTargetGroup",
        "elasticloadbalancing:ModifyLoadBalancerAttributes",
        "elasticloadbalancing:SetSecurityGroups",
        "ec2:DeleteSecurityGroup",
    ):
        (statement,) = allowed(action)
        assert statement["Condition"] == {"Null": {f"aws:ResourceTag/{OURS}": "false"}}, action


def test_the_controller_marks_what_it_makes() -> None:
    for action in ("elasticloadbalancing:CreateLoadBalancer", "elasticloadbalancing:CreateTargetGroup"):
        (statement,) = allowed(action)
        assert statement["Condition"] == {"Null": {f"aws:RequestTag/{OURS}": "false"}}, action


def test_the_mark_of_the_controller_can_not_be_put_on_what_is_there() -> None:
    # Or it would gain the power to delete any load balancer of the account.
    for action in ("elasticloadbalancing:AddTags", "ec2:CreateTags"):
        for statement in allowed(action):
            condition = statement.get("Condition", {})
            made = "StringEquals" in condition
            own = condition.get("Null", {}).get(f"aws:RequestTag/{OURS}") == "true"
            listeners = all(":listener" in str(resource) for resource in _list(statement["Resource"]))
            assert made or own or listeners, statement


def test_it_reads_what_a_balancer_needs() -> None:
    for action in (
        "ec2:DescribeAvailabilityZones",
        "ec2:DescribeSubnets",
        "ec2:DescribeSecurityGroups",
        "ec2:DescribeVpcs",
        "ec2:DescribeRouteTables",
        "ec2:GetSecurityGroupsForVpc",
        "elasticloadbalancing:DescribeLoadBalancers",
        "elasticloadbalancing:DescribeListenerAttributes",
        "acm:DescribeCertificate",
    ):
        assert allowed(action), action


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]
