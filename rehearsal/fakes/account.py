"""What exists in the rehearsed account: things, a journal of what happened, faults that wait to happen.

One JSON file with a lock beside it, because the engine starts a provider process for each package and each
command, and all of them belong to one account. Secrets are never written: a marker stands in their place.
"""

import fcntl
import fnmatch
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from rehearsal.fakes.clock import Clock
from rehearsal.fakes.values import Properties, Secret, mapping, sequence, transform

ACCOUNT_VARIABLE: Final = "REHEARSAL_ACCOUNT"
"""Environment variable with the path of the account file."""

Verb = Literal["create", "update", "delete", "refuse"]

_MARKER: Final[Properties] = {"$secret": "hidden"}


@dataclass(frozen=True)
class Rate:
    """What a thing costs, in USD: by the hour while it exists, and once when it is made."""

    usd_per_hour: float = 0.0
    usd_once: float = 0.0
    gpus: int = 0
    """GPUs that this pays for."""


@dataclass
class Thing:
    """One thing in the account; `id` is unique within its `type`, `since` is virtual seconds."""

    type: str
    id: str
    name: str
    inputs: Properties
    outputs: Properties
    since: float = 0.0
    left_because: str = ""
    """Why the real tool leaves this thing behind when the stack is destroyed; empty for what it deletes."""
    rate: Rate = field(default_factory=Rate)


@dataclass(frozen=True)
class Event:
    """Something that happened at a virtual time; `name` is the resource's name in the program."""

    at: float
    verb: Verb
    type: str
    id: str
    name: str
    text: str = ""
    rate: Rate = field(default_factory=Rate)


@dataclass
class Fault:
    """Something that goes wrong with the next `times` operations on a matching type (0: until lifted)."""

    type: str
    verb: Verb = "create"
    text: str = ""
    seconds: float = 0.0
    """How long the operation takes; longer than the resource's timeout makes it fail."""
    times: int = 1


@dataclass
class Ledger:
    """The account's contents, while it is open."""

    clock: Clock = field(default_factory=Clock)
    settings: Properties = field(default_factory=dict)
    things: list[Thing] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)

    def find(self, kind: str, identity: str) -> Thing | None:
        """The thing of this type and id, if it exists."""
        return next((t for t in self.things if (t.type, t.id) == (kind, identity)), None)

    def of_type(self, pattern: str) -> list[Thing]:
        """The things whose type matches a shell pattern, oldest first."""
        return [thing for thing in self.things if fnmatch.fnmatchcase(thing.type, pattern)]

    def add(self, thing: Thing) -> Thing:
        """Put a new thing into the account, and note when."""
        thing.since = self.clock.now
        self.things.append(thing)
        self.note("create", thing)
        return thing

    def remove(self, thing: Thing, text: str = "") -> None:
        """Take a thing out of the account; `text` says what else made it go."""
        self.things.remove(thing)
        self.note("delete", thing, text)

    def note(self, verb: Verb, thing: Thing, text: str = "") -> None:
        """Write an event into the journal."""
        self.events.append(Event(self.clock.now, verb, thing.type, thing.id, thing.name, text, thing.rate))

    def take_fault(self, kind: str, verb: Verb) -> Fault | None:
        """The fault that strikes this operation, if any; a fault with a count is used up by it."""
        for fault in self.faults:
            if fault.verb == verb and fnmatch.fnmatchcase(kind, fault.type):
                fault.times -= 1
                if fault.times == 0:
                    self.faults.remove(fault)
                return fault
        return None


class Account:
    """The account in a file, shared by the processes of one rehearsal.

    Args:
        path: The JSON file; it and its folder are made when they are missing.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def open(self) -> Iterator[Ledger]:
        """Hold the account alone, and write it back at the end, also when an operation was refused."""
        with self._locked():
            ledger = self._load()
            try:
                yield ledger
            finally:
                self._save(ledger)

    def ledger(self) -> Ledger:
        """A copy of the contents; changes to it go nowhere."""
        with self._locked():
            return self._load()

    def configure(self, **settings: object) -> None:
        """Change settings that rules read, such as `kubernetes_version`."""
        with self.open() as ledger:
            ledger.settings.update(settings)

    def fail_next(self, kind: str, text: str, verb: Verb = "create", times: int = 1) -> None:
        """Let the next operations on a type (a shell pattern) fail with this text."""
        self._plant(Fault(kind, verb, text, times=times))

    def no_capacity(self, kind: str, text: str) -> None:
        """Let every creation of a type fail with this text until `lift_faults` is called."""
        self._plant(Fault(kind, "create", text, times=0))

    def slow(self, kind: str, seconds: float, verb: Verb = "create") -> None:
        """Let the next operation on a type take this long; past the resource's timeout it fails."""
        self._plant(Fault(kind, verb, seconds=seconds))

    def lift_faults(self) -> None:
        """Forget all faults that still wait."""
        with self.open() as ledger:
            ledger.faults.clear()

    def _plant(self, fault: Fault) -> None:
        with self.open() as ledger:
            ledger.faults.append(fault)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _load(self) -> Ledger:
        if not self.path.exists():
            return Ledger()
        stored = json.loads(self.path.read_text())
        return Ledger(
            clock=Clock(**stored["clock"]),
            settings=stored["settings"],
            things=[Thing(**_with_rate(thing)) for thing in stored["things"]],
            events=[Event(**_with_rate(event)) for event in stored["events"]],
            faults=[Fault(**fault) for fault in stored["faults"]],
        )

    def _save(self, ledger: Ledger) -> None:
        for thing in ledger.things:
            thing.inputs, thing.outputs = mapping(hidden(thing.inputs)), mapping(hidden(thing.outputs))
        draft = self.path.with_suffix(".new")
        draft.write_text(json.dumps(asdict(ledger), indent=1))
        draft.replace(self.path)


def hidden(value: object) -> object:
    """The value as the account may store it: a marker in place of each secret."""
    return transform(value, secret=lambda _: dict(_MARKER))


def revealed(stored: object, known: object) -> object:
    """What was stored, with the secrets that the engine still knows from its own state put back in place."""
    if stored == _MARKER:
        return known if isinstance(known, Secret) else Secret(None)
    if isinstance(stored, dict):
        before = mapping(known)
        return {key: revealed(item, before.get(key)) for key, item in mapping(stored).items()}
    if isinstance(stored, list):
        earlier = [*sequence(known), *[None] * len(stored)]
        return [revealed(item, old) for item, old in zip(sequence(stored), earlier, strict=False)]
    return stored


def _with_rate(stored: dict[str, Any]) -> dict[str, Any]:
    return {**stored, "rate": Rate(**stored["rate"])}


def from_environment() -> Account:
    """The account that the environment names.

    Raises:
        SystemExit: It names none: a stand-in without a rehearsal around it.
    """
    path = os.environ.get(ACCOUNT_VARIABLE)
    if not path:
        raise SystemExit(f"{ACCOUNT_VARIABLE} names no account: stand-ins run in a rehearsal only")
    return Account(Path(path))
