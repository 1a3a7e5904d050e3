"""The rules of the `aws` provider: its table of kinds, its tags, and what the account does by itself."""

import json
from collections.abc import Mapping
from typing import Final

from rehearsal.fakes.account import Ledger
from rehearsal.fakes.aws import (
    access,
    addon,
    bucket,
    capacity_block,
    cluster,
    endpoint,
    gateway,
    identity,
    launch_template,
    lookups,
    node_group,
    reservation,
    route_table,
    schedule,
    security_group,
    subnet,
    vpc,
)
from rehearsal.fakes.aws.references import BUCKET
from rehearsal.fakes.cloud import CloudRules
from rehearsal.fakes.resource_kind import ResourceKind
from rehearsal.fakes.rules import Failure, Resource
from rehearsal.fakes.schema import args_class, property_names
from rehearsal.fakes.values import Properties, mapping
from rehearsal.fakes.weights import fill_from_control_plane

BUCKET_SCHEME: Final = "s3://"
KINDS: Final[Mapping[str, ResourceKind]] = {
    kind.type: kind
    for kind in (
        access.ENTRY,
        access.POD_IDENTITY,
        access.POLICY,
        addon.KIND,
        bucket.KIND,
        *bucket.PARTS,
        capacity_block.KIND,
        cluster.KIND,
        endpoint.KIND,
        gateway.ADDRESS,
        gateway.INTERNET,
        gateway.NAT,
        identity.ATTACHMENT,
        identity.INLINE_POLICY,
        identity.POLICY,
        identity.ROLE,
        launch_template.KIND,
        node_group.KIND,
        reservation.KIND,
        route_table.ASSOCIATION,
        route_table.ROUTE,
        route_table.TABLE,
        schedule.KIND,
        security_group.KIND,
        subnet.KIND,
        vpc.KIND,
    )
}


class AwsRules(CloudRules):
    """What the provider and the account know."""

    package = "aws"
    sdk = "pulumi_aws"

    def __init__(self) -> None:
        super().__init__(KINDS, lookups.LOOKUPS)
        self._default_tags: Properties = {}

    def check_config(self, config: Properties) -> list[Failure]:
        """Compare the arguments with the SDK's types, and ask for a region (pulumi-aws, resources.go)."""
        failures = super().check_config({key: _parsed(value) for key, value in config.items()})
        if config.get("region") is None:
            failures.append(Failure("region", "missing region information: `pulumi config set aws:region us-west-2`"))
        return failures

    def configure(self, config: Properties) -> None:
        """Remember the tags of everything."""
        self._default_tags = mapping(mapping(_parsed(config.get("defaultTags"))).get("tags"))

    def planned(self, resource: Resource) -> Properties:
        """The inputs, and the tags with those of the provider."""
        planned = super().planned(resource)
        if "tags" not in property_names(args_class(self.sdk, resource.type)):
            return planned
        return {**planned, "tagsAll": {**self._default_tags, **mapping(resource.inputs.get("tags"))}}

    def catch_up(self, ledger: Ledger) -> None:
        """Run what is scheduled, take nodes away before their block ends, see what was copied into buckets."""
        schedule.run_due(ledger)
        node_group.scale_down_before_end(ledger)
        fill_from_control_plane(BUCKET_SCHEME, BUCKET, ledger)


def _parsed(value: object) -> object:
    """Nested arguments of a provider travel as JSON (Pulumi's schema, `config` values)."""
    if not isinstance(value, str) or value[:1] not in ("{", "[", "t", "f"):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value
