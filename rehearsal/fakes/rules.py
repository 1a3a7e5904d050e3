"""The contract between the life cycle that all stand-ins share and the rules of one cloud.

Rules know nothing of protobuf, and the wire knows nothing of any cloud: what a provider refuses, computes or
takes along when something goes is said here, with plain values and the opened account.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from rehearsal.fakes.account import Ledger, Rate, Thing
from rehearsal.fakes.construction import Component
from rehearsal.fakes.values import Properties


@dataclass(frozen=True)
class Failure:
    """Why inputs are refused before anything is made; `property` is the path of the input at fault."""

    property: str
    reason: str


class RefusedError(Exception):
    """The cloud refuses the operation with this text; nothing was changed."""


class UnreadyError(Exception):
    """The thing was made but did not become ready in time, so it exists and must be deleted later."""

    def __init__(self, text: str, thing: Thing) -> None:
        super().__init__(text)
        self.thing = thing


@dataclass(frozen=True, kw_only=True)
class Resource:
    """What the program asks for."""

    urn: str
    type: str
    name: str
    """The logical name in the program."""
    inputs: Properties
    seed: bytes = b""
    """Random bytes from the engine, the same for the preview and the deployment of one resource."""


class Rules(Protocol):
    """What one provider knows of its cloud."""

    package: str
    """Name of the package, such as `kubernetes`."""
    version: str
    """Version of the Python SDK that it stands in for; the engine compares them."""
    components: Mapping[str, Component]
    """What makes the components that live in the provider, by type."""

    def check_config(self, config: Properties) -> list[Failure]:
        """What is wrong with the arguments of the explicit provider."""
        ...

    def configure(self, config: Properties) -> None:
        """Take the arguments of the explicit provider, which were checked before."""
        ...

    def moves_account(self, old: Properties, new: Properties) -> list[str]:
        """Provider arguments whose change means another account, so that everything is replaced."""
        ...

    def completed(self, resource: Resource, old: Properties | None) -> Properties:
        """The inputs with generated names and defaults; `old` are the inputs of the last deployment."""
        ...

    def check(self, resource: Resource, settings: Properties) -> list[Failure]:
        """What is wrong with completed inputs; values that aren't known yet are never wrong."""
        ...

    def replaces(self, resource: Resource, path: str) -> bool:
        """Whether a change at this path means a new thing."""
        ...

    def deletes_first(self, resource: Resource, old: Properties) -> bool:
        """Whether old and new can't exist at the same time, so that a replacement deletes first."""
        ...

    def planned(self, resource: Resource) -> Properties:
        """The outputs that the real provider knows in a preview; what is left out stays unknown."""
        ...

    def identity(self, resource: Resource, ledger: Ledger) -> str:
        """The id under which the cloud will know the thing; another one each time where the cloud makes it up."""
        ...

    def rate(self, resource: Resource) -> Rate:
        """What the thing itself costs."""
        ...

    def seconds(self, resource: Resource) -> float:
        """How long making it takes on the virtual clock."""
        ...

    def patience(self, resource: Resource) -> float:
        """How many seconds the provider waits if the program sets no timeout."""
        ...

    def admit(self, resource: Resource, ledger: Ledger) -> None:
        """Look at what exists before creating.

        Raises:
            RefusedError: With the cloud's own text.
        """
        ...

    def outputs(self, resource: Resource, identity: str, ledger: Ledger) -> Properties:
        """Everything that the cloud says of the thing once it exists; before an update the ledger has the old one."""
        ...

    def made(self, thing: Thing, ledger: Ledger) -> None:
        """What else comes into being with it.

        Raises:
            UnreadyError: It exists, and doesn't become ready.
        """
        ...

    def changed(self, thing: Thing, ledger: Ledger) -> None:
        """What else changes when it was updated."""
        ...

    def gone(self, thing: Thing, ledger: Ledger) -> None:
        """What else goes with it.

        Raises:
            RefusedError: It can't be deleted yet.
        """
        ...

    def catch_up(self, ledger: Ledger) -> None:
        """What the cloud does by itself as time passes; called before every operation."""
        ...

    def invoke(self, token: str, arguments: Properties, ledger: Ledger) -> Properties:
        """Answer a look-up.

        Raises:
            RefusedError: There is nothing of that kind.
        """
        ...
