"""An AWS account: what a person has before the program comes, and the command that a kubeconfig of EKS runs."""

from collections.abc import Mapping, Sequence
from typing import Final

from components.aws.settings import AwsSettings
from components.plan.planner import Plan
from rehearsal.clouds.cloud import Scene, loaded
from rehearsal.clouds.own_cluster import OwnCluster, exec_credential
from rehearsal.fakes.account import Ledger
from rehearsal.fakes.aws import belongings
from rehearsal.fakes.aws.references import CLUSTER
from rehearsal.stack_file import Contents, as_contents, merged

_CAPACITY: Final = "kimi-k3:capacity"
_COMPUTE_DOMAINS: Final = "computedomains.resource.nvidia.com"
_PARTS: Final = (
    "aws:ec2/capacityBlockReservation:*",
    "aws:ec2/instance:*",
    "aws:s3/bucket?*:*",
    "rehearsal:weights:Objects",
)
"""Types that are mere parts: of a block, of a node group, of a bucket."""
_SCRIPT: Final = """\
#!/bin/sh
# A stand-in of the AWS CLI for rehearsals: it knows no account.
case "$*" in
  --version) echo "aws-cli/2.99.0 (a rehearsal's stand-in)" ;;
  *"eks get-token"*) cat <<'END'
{credential}
END
  ;;
  *) echo "this is a rehearsal: no account answers 'aws $*'" >&2; exit 1 ;;
esac
"""


class Aws(OwnCluster):
    """One account with one region; its GPUs are reserved as the stack file says."""

    packages: Sequence[str] = ("aws", "eks")
    cluster_module = "aws.kubernetes"
    cluster = CLUSTER
    parts: Sequence[str] = _PARTS

    def furnish(self, scene: Scene) -> None:
        """Put the reservation, the network and the bucket that the stack file names into the account."""
        match loaded(merged(scene.config, self.overrides(scene))):
            case (AwsSettings() as settings, plan):
                with scene.account.open() as ledger:
                    _furnish(ledger, settings, plan)
            case _:
                pass

    def overrides(self, scene: Scene) -> Contents:
        """The word for a purchase, which nothing is bought with here."""
        capacity = as_contents(scene.config.get(_CAPACITY))
        return {_CAPACITY: {"acceptNonRefundable": True}} if capacity.get("mode") == "purchase" else {}

    def commands(self, scene: Scene) -> Mapping[str, str]:
        """`aws`, which the EKS component looks for and the kubeconfig runs."""
        return {"aws": _SCRIPT.format(credential=exec_credential(scene.server))}

    def served(self, config: Contents) -> Sequence[str]:
        """NVIDIA's DRA driver, which the program doesn't install yet."""
        del config
        return [_COMPUTE_DOMAINS]


def _furnish(ledger: Ledger, settings: AwsSettings, plan: Plan) -> None:
    capacity, network = settings.capacity, settings.network
    ledger.settings["region"] = settings.region
    zone = capacity.zone or f"{settings.region}b"
    ledger.settings["gpu_zones"] = [zone]
    if capacity.id is not None:
        reserve = belongings.block if capacity.kind == "block" else belongings.on_demand
        reserve(
            ledger, capacity.id, machine=plan.machine.name, instances=plan.layout.nodes * settings.replicas, zone=zone
        )
    if capacity.offering_id is not None:
        ledger.settings["offering"] = {"id": capacity.offering_id, "availabilityZone": zone}
    if network.vpc_id is not None:
        belongings.network(ledger, network.vpc_id, network.private_subnet_ids, network.public_subnet_ids, zone)
    if settings.weights.bucket is not None:
        belongings.bucket(ledger, settings.weights.bucket)
