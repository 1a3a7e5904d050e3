"""Rules of a made-up cloud with one type, for tests of what all stand-ins share."""

from collections.abc import Mapping

from rehearsal.fakes.account import Ledger, Rate, Thing
from rehearsal.fakes.construction import Component
from rehearsal.fakes.rules import Failure, RefusedError, Resource
from rehearsal.fakes.values import Properties

NODE = "made:up:Node"


class MadeUpRules:
    """A cloud of nodes: `size` can change, `zone` can't, and a node has to have a size."""

    package = "made"
    version = "1.2.3"
    components: Mapping[str, Component] = {}

    def configure(self, config: Properties) -> None:
        self.config = config

    def check_config(self, config: Properties) -> list[Failure]:
        return [] if config.get("region") else [Failure("region", "which one?")]

    def moves_account(self, old: Properties, new: Properties) -> list[str]:
        return ["region"] if old.get("region") != new.get("region") else []

    def completed(self, resource: Resource, old: Properties | None) -> Properties:
        earlier = (old or {}).get("name")
        return {"name": earlier or f"{resource.name}-{resource.seed.hex()}", **resource.inputs}

    def check(self, resource: Resource, settings: Properties) -> list[Failure]:
        return [] if "size" in resource.inputs else [Failure("size", "missing")]

    def replaces(self, resource: Resource, path: str) -> bool:
        return path == "zone"

    def deletes_first(self, resource: Resource, old: Properties) -> bool:
        return resource.inputs.get("name") == old.get("name")

    def planned(self, resource: Resource) -> Properties:
        return resource.inputs

    def identity(self, resource: Resource, ledger: Ledger) -> str:
        return str(resource.inputs["name"])

    def rate(self, resource: Resource) -> Rate:
        return Rate(usd_per_hour=60)

    def seconds(self, resource: Resource) -> float:
        return 60

    def patience(self, resource: Resource) -> float:
        return 600

    def admit(self, resource: Resource, ledger: Ledger) -> None:
        if ledger.find(NODE, str(resource.inputs["name"])):
            raise RefusedError("NameInUse")

    def outputs(self, resource: Resource, identity: str, ledger: Ledger) -> Properties:
        return {**resource.inputs, "address": "192.0.2.1"}

    def made(self, thing: Thing, ledger: Ledger) -> None:
        ledger.settings["made"] = thing.id

    def changed(self, thing: Thing, ledger: Ledger) -> None:
        ledger.settings["changed"] = thing.id

    def catch_up(self, ledger: Ledger) -> None:
        ledger.settings["seen"] = ledger.clock.now

    def gone(self, thing: Thing, ledger: Ledger) -> None:
        if thing.inputs.get("locked"):
            raise RefusedError("Locked")

    def invoke(self, token: str, arguments: Properties, ledger: Ledger) -> Properties:
        return {"count": len(ledger.things)}


def node(name: str = "a", **inputs: object) -> Resource:
    """A node as a program asks for it."""
    urn = f"urn:pulumi:dev::project::{NODE}::{name}"
    return Resource(urn=urn, type=NODE, name=name, inputs={"name": name, "size": 8, **inputs})
