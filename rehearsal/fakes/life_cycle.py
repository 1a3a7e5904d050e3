"""What happens to a resource between the engine and the account, the same for every stand-in.

Checks come from the rules, contents from the account; faults, virtual clock and journal are served here.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from rehearsal.fakes.account import Account, Fault, Ledger, Thing, Verb, revealed
from rehearsal.fakes.property_diff import Change, changes
from rehearsal.fakes.rules import Failure, RefusedError, Resource, Rules, UnreadyError
from rehearsal.fakes.values import Properties, contains_unknown, mapping, plain

_DEFAULT_SECONDS = 1.0
# A provider that was handed the text of an Output formats it into its inputs: pulumi/output.py `__str__`.
_FORMATTED_OUTPUT = "Calling __str__ on an Output"


@dataclass(frozen=True)
class Difference:
    """What an update would do: the changed properties, and those among them that mean a new thing."""

    changed: list[Change] = field(default_factory=list)
    replaces: list[str] = field(default_factory=list)
    deletes_first: bool = False


class LifeCycle:
    """The operations that the engine asks a provider for.

    Args:
        rules: What the cloud refuses and computes.
        account: What exists there.
    """

    def __init__(self, rules: Rules, account: Account) -> None:
        self.rules = rules
        self._account = account

    def check(self, resource: Resource, old: Properties | None) -> tuple[Properties, list[Failure]]:
        """The completed inputs, and what is wrong with them."""
        inputs = self.rules.completed(resource, old)
        resource = replace(resource, inputs=inputs)
        broken = list(formatted_outputs(inputs))
        return inputs, broken or self.rules.check(resource, self._account.ledger().settings)

    def diff(self, resource: Resource, old: Properties) -> Difference:
        """How the new inputs differ from the old ones."""
        # The bridge's own notes, such as `__defaults`, are no properties.
        changed = [change for change in changes(old, resource.inputs) if not change.path.startswith("__")]
        replaces = [change.path for change in changed if self.rules.replaces(resource, change.path)]
        return Difference(changed, replaces, bool(replaces) and self.rules.deletes_first(resource, old))

    def preview(self, resource: Resource) -> Properties:
        """The outputs that are known before the thing exists."""
        return self.rules.planned(resource)

    def create(self, resource: Resource, timeout: float) -> Thing:
        """Make the thing.

        Args:
            resource: What is asked for.
            timeout: Seconds that the program allows; 0 for the provider's own patience.

        Raises:
            RefusedError: The cloud says no; nothing was made.
            UnreadyError: It was made, but not ready in time.
        """
        if contains_unknown(resource.inputs):
            raise RefusedError(f"{resource.name}: inputs are still unknown when it is to be created")
        with self._opened() as ledger:
            identity = self.rules.identity(resource, ledger)
            thing = Thing(resource.type, identity, resource.name, resource.inputs, {}, rate=self.rules.rate(resource))
            with _journal(ledger, thing):
                return self._made(resource, thing, timeout, ledger)

    def read(self, kind: str, identity: str, known: tuple[Properties, Properties]) -> Thing | None:
        """The thing as it is now, or None; `known` are inputs and outputs in the engine's state."""
        ledger = self._account.ledger()
        self.rules.catch_up(ledger)
        thing = ledger.find(kind, identity)
        if thing is None:
            return None
        inputs, outputs = known
        thing.inputs = mapping(revealed(thing.inputs, inputs))
        thing.outputs = mapping(revealed(thing.outputs, outputs))
        return thing

    def update(self, resource: Resource, identity: str) -> Properties:
        """Change a thing in place, and return its new outputs.

        Raises:
            RefusedError: It doesn't exist, or the cloud says no.
        """
        with self._opened() as ledger:
            thing = ledger.find(resource.type, identity)
            if thing is None:
                raise RefusedError(f'{resource.type} "{identity}" not found')
            with _journal(ledger, thing):
                _struck(ledger, thing, "update")
                ledger.clock.advance(_DEFAULT_SECONDS)
                computed = self.rules.outputs(resource, identity, ledger)
                thing.inputs, thing.outputs = resource.inputs, _kept(thing.outputs, computed)
                ledger.note("update", thing)
                self.rules.changed(thing, ledger)
                return thing.outputs

    def delete(self, kind: str, identity: str) -> None:
        """Take a thing away; one that is gone already is fine.

        Raises:
            RefusedError: The cloud says no.
        """
        with self._opened() as ledger:
            thing = ledger.find(kind, identity)
            if thing is None:
                return
            with _journal(ledger, thing):
                _struck(ledger, thing, "delete")
                self.rules.gone(thing, ledger)
                ledger.clock.advance(_DEFAULT_SECONDS)
                ledger.remove(thing)

    def invoke(self, token: str, arguments: Properties) -> Properties:
        """Answer a look-up from what exists; the account remembers what was offered by it.

        Raises:
            RefusedError: There is nothing of that kind.
        """
        with self._opened() as ledger:
            return self.rules.invoke(token, arguments, ledger)

    @contextmanager
    def _opened(self) -> Iterator[Ledger]:
        with self._account.open() as ledger:
            self.rules.catch_up(ledger)
            yield ledger

    def _made(self, resource: Resource, thing: Thing, timeout: float, ledger: Ledger) -> Thing:
        fault = _struck(ledger, thing, "create")
        self.rules.admit(resource, ledger)
        limit = timeout or self.rules.patience(resource)
        seconds = fault.seconds if fault and fault.seconds else self.rules.seconds(resource)
        ledger.clock.advance(min(seconds, limit))
        thing.outputs = self.rules.outputs(resource, thing.id, ledger)
        ledger.add(thing)
        self.rules.made(thing, ledger)
        if seconds > limit:
            raise UnreadyError(f"timed out after {limit:.0f} s while waiting for it to become ready", replace(thing))
        return replace(thing)


def formatted_outputs(value: object, path: str = "") -> Iterator[Failure]:
    """Refuse text into which an Output was formatted instead of its value.

    The text is what `pulumi.Output.__str__` returns; the cloud would take it for a name or a command.
    """
    value = plain(value)
    if isinstance(value, str) and _FORMATTED_OUTPUT in value:
        yield Failure(path, "holds the text of an Output instead of its value; use pulumi.Output.format or apply")
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from formatted_outputs(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from formatted_outputs(item, f"{path}[{index}]")


@contextmanager
def _journal(ledger: Ledger, thing: Thing) -> Iterator[None]:
    try:
        yield
    except RefusedError as refusal:
        ledger.note("refuse", thing, str(refusal))
        raise


def _struck(ledger: Ledger, thing: Thing, verb: Verb) -> Fault | None:
    fault = ledger.take_fault(thing.type, verb)
    if fault and fault.text:
        raise RefusedError(fault.text)
    return fault


def _kept(old: Properties, computed: Properties) -> Properties:
    """New outputs in which what identifies the thing (uid, time of creation) stays as it was."""
    before, after = mapping(old.get("metadata")), mapping(computed.get("metadata"))
    same = {key: before[key] for key in ("uid", "creationTimestamp") if key in before}
    return {**computed, "metadata": {**after, **same}} if same else computed
