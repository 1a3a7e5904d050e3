"""Rules of a cloud's provider, made of a table of resource kinds: what all providers of the Terraform bridge share.

Names are generated and kept, inputs are compared with the SDK's own types, a type of the SDK that the table doesn't
have is made all the same, and one that the SDK doesn't have is refused.
"""

import importlib.metadata
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Final

from rehearsal.fakes import schema
from rehearsal.fakes.account import Ledger, Rate, Thing
from rehearsal.fakes.construction import Component
from rehearsal.fakes.made_up_outputs import made_up_outputs
from rehearsal.fakes.property_diff import touches
from rehearsal.fakes.resource_kind import ResourceKind, digest, generated
from rehearsal.fakes.rules import Failure, RefusedError, Resource
from rehearsal.fakes.values import Properties, sequence

Lookup = Callable[[Properties, Ledger], Properties]
"""Answers a function of the provider from what exists; raises `RefusedError`."""

_DEFAULTS: Final = "__defaults"
"""The bridge's note of the inputs that it filled in itself."""
_RANDOM_DIGITS: Final = 7
_ENGINES_OWN: Final = ("version", "pluginDownloadURL")
"""Arguments of a provider that choose its plugin."""


class CloudRules:
    """Rules over a table; a cloud's own class says which.

    Args:
        kinds: The types of which something is known, by token.
        lookups: The functions that can be called, by token.
    """

    package: str
    sdk: str
    """The Python package, such as `pulumi_aws`."""
    open_enums: Collection[str] = ()
    """Enumerations of the SDK that lag behind the cloud."""
    components: Mapping[str, Component] = MappingProxyType({})

    def __init__(self, kinds: Mapping[str, ResourceKind], lookups: Mapping[str, Lookup]) -> None:
        self.version = importlib.metadata.version(self.sdk)
        self._kinds = kinds
        self._lookups = lookups

    def check_config(self, config: Properties) -> list[Failure]:
        """Compare the provider's arguments with the SDK's types."""
        given = {key: value for key, value in config.items() if key not in _ENGINES_OWN}
        return schema.input_failures(schema.args_class(self.sdk, f"pulumi:providers:{self.package}"), given)

    def configure(self, config: Properties) -> None:
        """Need nothing of the provider's arguments."""

    def moves_account(self, old: Properties, new: Properties) -> list[str]:
        """Replace nothing: clouds have their own keys for that."""
        del old, new
        return []

    def completed(self, resource: Resource, old: Properties | None) -> Properties:
        """Generate the name where the program gives none; one that was generated before is kept."""
        kind = self.kind(resource.type)
        inputs = {key: value for key, value in resource.inputs.items() if key != _DEFAULTS}
        if not kind.name or inputs.get(kind.name) is not None or inputs.get(f"{kind.name}Prefix") is not None:
            return {**inputs, _DEFAULTS: []}
        earlier = old.get(kind.name) if old and kind.name in sequence(old.get(_DEFAULTS)) else None
        return {**inputs, kind.name: earlier or generated_name(resource), _DEFAULTS: [kind.name]}

    def check(self, resource: Resource, settings: Properties) -> list[Failure]:
        """Compare inputs with the SDK's types, then by the kind's own checks."""
        del settings
        try:
            args = schema.args_class(self.sdk, resource.type)
        except schema.NoSuchTypeError as error:
            return [Failure("", str(error))]
        failures = schema.input_failures(args, resource.inputs, self.open_enums)
        return failures or [failure for check in self.kind(resource.type).checks for failure in check(resource.inputs)]

    def replaces(self, resource: Resource, path: str) -> bool:
        """Whether a change means a new thing."""
        kind = self.kind(resource.type)
        return touches(path, [*kind.replaced_by, *([kind.name] if kind.name else [])])

    def deletes_first(self, resource: Resource, old: Properties) -> bool:
        """Whether the program chose the name and didn't change it, as the bridge asks."""
        kind = self.kind(resource.type)
        chosen = kind.name not in sequence(resource.inputs.get(_DEFAULTS))
        return bool(kind.name) and chosen and resource.inputs.get(kind.name) == old.get(kind.name)

    def planned(self, resource: Resource) -> Properties:
        """The inputs; what the cloud computes isn't known yet."""
        return {key: value for key, value in resource.inputs.items() if not key.startswith("__")}

    def identity(self, resource: Resource, ledger: Ledger) -> str:
        """The id as the kind has it."""
        return self.kind(resource.type).identity(resource, ledger)

    def rate(self, resource: Resource) -> Rate:
        """What the kind costs."""
        return self.kind(resource.type).rate(resource.inputs)

    def seconds(self, resource: Resource) -> float:
        """How long the kind takes."""
        return self.kind(resource.type).seconds

    def patience(self, resource: Resource) -> float:
        """How long the provider waits for the kind."""
        return self.kind(resource.type).patience

    def admit(self, resource: Resource, ledger: Ledger) -> None:
        """Look at what exists, by the kind's own admissions."""
        for admission in self.kind(resource.type).admissions:
            admission(resource, ledger)

    def outputs(self, resource: Resource, identity: str, ledger: Ledger) -> Properties:
        """What is planned, and what the kind computes."""
        kind = self.kind(resource.type)
        made_up = made_up_outputs(self.sdk, resource.type, identity) if kind.fills else {}
        return {**made_up, **self.planned(resource), **kind.computed(resource, identity, ledger)}

    def made(self, thing: Thing, ledger: Ledger) -> None:
        """What else the kind brings."""
        self.kind(thing.type).made(thing, ledger)

    def changed(self, thing: Thing, ledger: Ledger) -> None:
        """What else the kind changes."""
        self.kind(thing.type).changed(thing, ledger)

    def gone(self, thing: Thing, ledger: Ledger) -> None:
        """What else goes with the kind, or why it can't go yet."""
        self.kind(thing.type).gone(thing, ledger)

    def catch_up(self, ledger: Ledger) -> None:
        """Let nothing happen by itself."""

    def invoke(self, token: str, arguments: Properties, ledger: Ledger) -> Properties:
        """Answer a function from what exists."""
        lookup = self._lookups.get(token)
        if lookup is None:
            raise RefusedError(f"the stand-in for {self.package} doesn't play the function {token}")
        return lookup(arguments, ledger)

    def kind(self, token: str) -> ResourceKind:
        """What is known of a type."""
        return self._kinds.get(token) or self.other_kind(token)

    def other_kind(self, token: str) -> ResourceKind:
        """Of any other type, that it gets an id and the outputs that the SDK promises."""
        return ResourceKind(type=token, identity=generated(short_name(token)), fills=True)


def generated_name(resource: Resource) -> str:
    """The logical name and 7 hexadecimal digits, as `resource.NewUniqueName` of the SDK makes them."""
    return f"{resource.name}-{digest(resource.seed.hex(), resource.urn, length=_RANDOM_DIGITS)}"


def short_name(token: str) -> str:
    """The last word of a type token, in lower case: `vpc` of `aws:ec2/vpc:Vpc`."""
    return token.rsplit(":", 1)[-1].lower()
