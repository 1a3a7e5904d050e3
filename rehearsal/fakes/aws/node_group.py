"""EKS managed node groups: what EKS checks, what becomes of the nodes, and what follows when they end."""

from collections.abc import Iterator
from typing import Final

from rehearsal.fakes.account import Ledger, Thing
from rehearsal.fakes.aws import instance, nodes
from rehearsal.fakes.aws import references as ref
from rehearsal.fakes.aws.capacity_block import seconds_left
from rehearsal.fakes.aws.cluster import security_group_of
from rehearsal.fakes.aws.identity import role_exists, role_of
from rehearsal.fakes.aws.instance_type import instance_type
from rehearsal.fakes.aws.launch_template import template_of, user_data
from rehearsal.fakes.aws.naming import arn
from rehearsal.fakes.aws.network_interface import keeps_node_out
from rehearsal.fakes.aws.route import reaches_out
from rehearsal.fakes.aws.subnet import vpc_of
from rehearsal.fakes.paths import number_at, text_at, texts_at
from rehearsal.fakes.resource_kind import ResourceKind, digest, fits, named
from rehearsal.fakes.rules import Failure, RefusedError, Resource, UnreadyError
from rehearsal.fakes.values import Properties, mapping

_CAPACITY_TYPES: Final = ("ON_DEMAND", "SPOT", "CAPACITY_BLOCK")
_EFFECTS: Final = ("NO_SCHEDULE", "NO_EXECUTE", "PREFER_NO_SCHEDULE")
_STRATEGIES: Final = ("DEFAULT", "MINIMAL")
_IMAGES: Final = (
    "AL2023_ARM_64_NVIDIA",
    "AL2023_ARM_64_STANDARD",
    "AL2023_x86_64_NEURON",
    "AL2023_x86_64_NVIDIA",
    "AL2023_x86_64_STANDARD",
    "BOTTLEROCKET_ARM_64",
    "BOTTLEROCKET_ARM_64_NVIDIA",
    "BOTTLEROCKET_x86_64",
    "BOTTLEROCKET_x86_64_NVIDIA",
    "CUSTOM",
)
"""botocore's enumerations of CreateNodegroup; images for Windows and the ones of Amazon Linux 2 are left out."""
_START_SECONDS: Final = 180.0
_DRAIN_SECONDS: Final = 120.0
"""From launch to ready, and from the deletion to the end: of this order for groups of a few nodes."""
_JOIN_SECONDS: Final = 1500.0
"""How long EKS waits for nodes to join: 20 to 25 minutes in terraform-aws-modules/terraform-aws-eks #1910, #3074."""
_SCALE_DOWN_SECONDS: Final = 40 * 60.0
"""EKS takes the nodes of a Capacity Block away this long before its end (EKS user guide, capacity-blocks-mng)."""
_WORKER: Final = "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"


def size_failures(inputs: Properties) -> Iterator[Failure]:
    """0 <= min <= desired <= max, and max at least 1 (EKS, `InvalidParameterException`; botocore, maxSize)."""
    if "scalingConfig" not in inputs or not isinstance(inputs["scalingConfig"], dict):
        return
    low, wanted, high = (number_at(inputs, f"scalingConfig.{key}Size", -1) for key in ("min", "desired", "max"))
    prefix = "InvalidParameterException:"
    if 0 <= wanted < low:
        yield Failure("scalingConfig", f"{prefix} Minimum capacity {low} can't be greater than desired size {wanted}")
    if 0 <= high < wanted:
        yield Failure("scalingConfig", f"{prefix} desired capacity {wanted} can't be greater than max size {high}")
    if high == 0:
        yield Failure("scalingConfig.maxSize", f"{prefix} maxSize is 0, and must be at least 1")


def option_failures(inputs: Properties) -> Iterator[Failure]:
    """Options that EKS has (botocore)."""
    for path, allowed in (
        ("capacityType", _CAPACITY_TYPES),
        ("amiType", _IMAGES),
        ("taints.effect", _EFFECTS),
        ("updateConfig.updateStrategy", _STRATEGIES),
    ):
        for value in texts_at(inputs, path):
            if value not in allowed:
                yield Failure(path, f"'{value}': {', '.join(allowed)}")
    update = mapping(inputs.get("updateConfig"))
    if update.get("maxUnavailable") is not None and update.get("maxUnavailablePercentage") is not None:
        yield Failure("updateConfig", "InvalidParameterException: maxUnavailable or maxUnavailablePercentage, not both")


def label_failures(inputs: Properties) -> Iterator[Failure]:
    """A label's value has 1 to 63 characters (botocore, labelValue); a taint's value may be empty."""
    for key, value in mapping(inputs.get("labels")).items():
        if isinstance(value, str) and not 1 <= len(value) <= 63:
            yield Failure(
                f'labels["{key}"]', f"InvalidParameterException: '{value}' has {len(value)} characters, not 1 to 63"
            )


def template_failures(inputs: Properties) -> Iterator[Failure]:
    """A disk's size belongs to the template, which has an id or a name.

    crossplane-contrib/provider-upjet-aws #866.
    """
    if inputs.get("launchTemplate") is None:
        if text_at(inputs, "capacityType") == "CAPACITY_BLOCK":
            # EKS user guide, capacity-blocks-mng: a launch template is mandatory.
            yield Failure("launchTemplate", "InvalidParameterException: CAPACITY_BLOCK needs a launch template")
        return
    if inputs.get("diskSize") is not None:
        yield Failure("diskSize", "InvalidParameterException: Disk size must be specified within the launch template.")
    chosen = [key for key in ("id", "name") if mapping(inputs["launchTemplate"]).get(key) is not None]
    if isinstance(inputs["launchTemplate"], dict) and len(chosen) != 1:
        yield Failure("launchTemplate", "InvalidParameterException: a launch template by id or by name")


def refuse_taken_name(resource: Resource, ledger: Ledger) -> None:
    """A name is taken once in a cluster (EKS, `ResourceInUseException`)."""
    identity = f"{resource.inputs.get('clusterName')}:{resource.inputs.get('nodeGroupName')}"
    if ledger.find(ref.NODE_GROUP, identity):
        raise RefusedError(
            f"creating {resource.name}: api error ResourceInUseException: NodeGroup already exists with name "
            f"{resource.inputs.get('nodeGroupName')} and cluster name {resource.inputs.get('clusterName')}"
        )


def refuse_bad_template(resource: Resource, ledger: Ledger) -> None:
    """What EKS doesn't take in a launch template."""
    wanted = mapping(resource.inputs.get("launchTemplate"))
    if not wanted:
        return
    template = template_of(resource.inputs, ledger)
    if template is None:
        raise _refused(
            resource, f"InvalidRequestException: The specified launch template {wanted.get('id')} does not exist."
        )
    version, latest = text_at(wanted, "version"), number_at(template.outputs, "latestVersion")
    if version.isdecimal() and not 1 <= int(version) <= latest:
        raise _refused(
            resource,
            f"InvalidRequestException: Could not find the specified version {version} for the launch template with ID "
            f"{template.id}.",
        )
    if text_at(template.inputs, "instanceType") and texts_at(resource.inputs, "instanceTypes"):
        # terraform-aws-modules/terraform-aws-eks #1386.
        raise _refused(
            resource, "InvalidRequestException: Cannot specify instance types in launch template and API Request"
        )
    if texts_at(template.inputs, "networkInterfaces.subnetId") or texts_at(template.inputs, "iamInstanceProfile.name"):
        # EKS user guide, launch-templates: "must not be included".
        raise _refused(resource, "InvalidRequestException: the launch template names a subnet or an instance profile")
    data = user_data(template.inputs)
    custom = text_at(resource.inputs, "amiType") == "CUSTOM" or text_at(template.inputs, "imageId")
    if data and not custom and "MIME-Version:" not in data:
        raise _refused(
            resource,
            "InvalidRequestException: Ec2LaunchTemplateInvalidConfiguration: User data was not in the MIME multipart "
            "format.",
        )


def refuse_other_architecture(resource: Resource, ledger: Ledger) -> None:
    """An image fits the machine's processor and its GPUs (EKS, `InvalidParameterException`)."""
    image = text_at(resource.inputs, "amiType")
    template = template_of(resource.inputs, ledger)
    names = [text_at(template.inputs, "instanceType")] if template else []
    for name in filter(None, [*names, *texts_at(resource.inputs, "instanceTypes")]):
        found = instance_type(name)
        arm = "ARM_64" in image
        if image not in {"", "CUSTOM"} and found and (found.architecture == "arm64") != arm:
            raise _refused(
                resource,
                f"InvalidParameterException: [{name}] is not a valid instance type for requested amiType {image}",
            )


def refuse_foreign_subnets(resource: Resource, ledger: Ledger) -> None:
    """Nodes live in the cluster's VPC (EKS, `InvalidParameterException`)."""
    cluster = ledger.find(ref.CLUSTER, text_at(resource.inputs, "clusterName"))
    vpc = text_at(cluster.outputs, "vpcConfig.vpcId") if cluster else ""
    for subnet in texts_at(resource.inputs, "subnetIds"):
        if vpc_of(subnet, ledger) != vpc:
            raise _refused(resource, f"InvalidParameterException: Subnet {subnet} is not in the cluster's VPC {vpc}")


def start(group: Thing, ledger: Ledger) -> None:
    """Launch the nodes of a new group, and wait until they have joined.

    Raises:
        UnreadyError: None was launched, or none joined.
    """
    count = desired(group.inputs)
    if not count:
        return
    wanted = instance.launch_of(group, ledger)
    if reason := instance.refusal(wanted, count, ledger):
        ledger.clock.advance(_JOIN_SECONDS)
        raise _failed(
            group, f"{text_at(group.outputs, 'resources.autoscalingGroups.name')}: AsgInstanceLaunchFailures: {reason}"
        )
    launched = instance.launch(wanted, count, ledger)
    ledger.clock.advance(_START_SECONDS)
    if reason := _keeps_out(group, wanted, ledger):
        ledger.clock.advance(_JOIN_SECONDS)
        ids = ", ".join(each.id for each in launched)
        raise _failed(
            group, f"{ids}: NodeCreationFailure: Instances failed to join the kubernetes cluster (here: {reason})"
        )
    nodes.join(group, wanted, launched, ledger)


def scale(group: Thing, ledger: Ledger) -> None:
    """Launch or end nodes until there are as many as the group wants; what can't be launched stays away, as in EKS."""
    running, count = instance.instances_of(group, ledger), desired(group.inputs)
    if len(running) > count:
        _end(running[count:], ledger, f"scaled down to {count}")
    elif len(running) < count:
        wanted, missing = instance.launch_of(group, ledger), count - len(running)
        reason = instance.refusal(wanted, missing, ledger) or _keeps_out(group, wanted, ledger)
        if reason:
            ledger.note("refuse", group, reason)
            return
        nodes.join(group, wanted, instance.launch(wanted, missing, ledger), ledger)


def stop(group: Thing, ledger: Ledger) -> None:
    """End all nodes with their group; they bill until EKS has drained them."""
    ledger.clock.advance(_DRAIN_SECONDS)
    _end(instance.instances_of(group, ledger), ledger, f"went with NodeGroup {group.id}")


def desired(inputs: Properties) -> int:
    """How many nodes a group wants."""
    return number_at(inputs, "scalingConfig.desiredSize")


def resize(group: Thing, count: int, ledger: Ledger) -> None:
    """Change what a group wants from outside the program: the engine sees it when it reads."""
    for properties in (group.inputs, group.outputs):
        config = mapping(properties.get("scalingConfig"))
        low = min(number_at(config, "minSize"), count)
        properties["scalingConfig"] = {**config, "desiredSize": count, "minSize": low}
    scale(group, ledger)


def scale_down_before_end(ledger: Ledger) -> None:
    """Take the nodes of a Capacity Block away 40 minutes before its end, as EKS does."""
    for group in ledger.of_type(ref.NODE_GROUP):
        reserved = instance.launch_of(group, ledger).reservation
        ends = reserved is not None and reserved.block and seconds_left(reserved, ledger) <= _SCALE_DOWN_SECONDS
        if ends and desired(group.inputs):
            resize(group, 0, ledger)


def _keeps_out(group: Thing, wanted: instance.Launch, ledger: Ledger) -> str:
    cluster = ledger.find(ref.CLUSTER, text_at(group.inputs, "clusterName"))
    role = role_of(text_at(group.inputs, "nodeRoleArn"), ledger)
    attached = [
        text_at(each.inputs, "policyArn")
        for each in ledger.of_type("aws:iam/rolePolicyAttachment:*")
        if role and text_at(each.inputs, "role") == role.id
    ]
    if _WORKER not in [*attached, *(texts_at(role.inputs, "managedPolicyArns") if role else [])]:
        return f"its role lacks {_WORKER}"
    if not reaches_out(wanted.subnet, ledger):
        return f"{wanted.subnet} has no way out: neither a NAT gateway nor an internet gateway in its routes"
    return keeps_node_out(wanted.template, security_group_of(cluster) if cluster else "")


def _end(ended: list[Thing], ledger: Ledger, why: str) -> None:
    nodes.leave(ended, ledger)
    for each in ended:
        ledger.remove(each, why)


def _failed(group: Thing, reason: str) -> UnreadyError:
    group.outputs["status"] = "CREATE_FAILED"
    return UnreadyError(
        f"waiting for EKS Node Group ({group.id}) create: unexpected state 'CREATE_FAILED', wanted target 'ACTIVE'. "
        f"last error: {reason}",
        group,
    )


def _refused(resource: Resource, text: str) -> RefusedError:
    return RefusedError(f"creating {resource.name}: api error {text}")


def _computed(resource: Resource, identity: str, ledger: Ledger) -> Properties:
    cluster, name = identity.split(":", 1)
    number = digest(identity, length=32)
    uid = f"{number[:8]}-{number[8:12]}-{number[12:16]}-{number[16:20]}-{number[20:]}"
    found = ledger.find(ref.CLUSTER, cluster)
    return {
        "arn": arn("eks", f"nodegroup/{cluster}/{name}/{uid}", ledger),
        "status": "ACTIVE",
        "capacityType": text_at(resource.inputs, "capacityType") or "ON_DEMAND",
        "version": text_at(resource.inputs, "version") or (text_at(found.outputs, "version") if found else ""),
        "resources": [{"autoscalingGroups": [{"name": f"eks-{name}-{uid}"}]}],
    }


KIND: Final = ResourceKind(
    type=ref.NODE_GROUP,
    identity=named("clusterName", "nodeGroupName"),
    name="nodeGroupName",
    # CFN's createOnlyProperties of AWS::EKS::Nodegroup agree.
    replaced_by=(
        "amiType",
        "capacityType",
        "clusterName",
        "diskSize",
        "instanceTypes",
        "launchTemplate.id",
        "launchTemplate.name",
        "nodeRoleArn",
        "remoteAccess",
        "subnetIds",
    ),
    checks=(
        fits("nodeGroupName", r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}", "1 to 63 letters, digits, - and _"),
        size_failures,
        option_failures,
        label_failures,
        template_failures,
    ),
    admissions=(
        ref.exists("clusterName", ref.CLUSTER),
        ref.exists("subnetIds", ref.SUBNET),
        role_exists("nodeRoleArn", "InvalidParameterException: The role with name {} cannot be found."),
        refuse_taken_name,
        refuse_bad_template,
        refuse_other_architecture,
        refuse_foreign_subnets,
    ),
    computed=_computed,
    made=start,
    changed=scale,
    gone=stop,
    seconds=30.0,
    patience=3600.0,
)
