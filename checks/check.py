"""A named check, what it finds, and the run of several: each fails by itself, with a hint."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from checks.endpoint import CallError, Endpoint
from checks.expectation import Expectation

Status = Literal["passed", "failed", "skipped"]

_UNREACHABLE: Final = "the endpoint can't be reached"


class FailedError(Exception):
    """What a check didn't find, and what to do about it."""

    def __init__(self, what: str, hint: str, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(what)
        self.hint = hint
        self.data = data or {}


class SkippedError(Exception):
    """Why a check has nothing to look at here."""


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What is looked at, and how closely."""

    endpoint: Endpoint
    model: str
    """Its name in requests."""
    expectation: Expectation
    public: bool = False
    """Whether the endpoint is reached by an address of the internet."""
    context: int | None = 32_768
    """Tokens of the long prompt; None: as many as the engine takes."""
    depth: float = 0.5
    """Where in the long prompt the needle is: 0 its beginning, 1 its end."""
    levels: Sequence[int] = (1, 4, 16)
    """Requests at once, level by level."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What a check saw when all was well."""

    detail: str
    data: Mapping[str, Any] = field(default_factory=dict)
    """The same as plain values."""


@dataclass(frozen=True, kw_only=True)
class Check:
    """One question to a served model."""

    name: str
    run: Callable[[Subject], Finding]
    """Raises FailedError, SkippedError or CallError."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """The answer."""

    name: str
    status: Status
    detail: str
    hint: str = ""
    """What to do; only of a failed check."""
    seconds: float = 0.0
    data: Mapping[str, Any] = field(default_factory=dict)


def run(checks: Sequence[Check], subject: Subject, clock: Callable[[], float] = time.monotonic) -> Iterator[Result]:
    """Yield each check's result as it comes; what can't be reached isn't asked again."""
    reached = True
    for check in checks:
        if not reached:
            yield Result(name=check.name, status="skipped", detail=_UNREACHABLE)
            continue
        started = clock()
        status, detail, hint, data, reached = _result(check, subject)
        seconds = clock() - started
        yield Result(name=check.name, status=status, detail=detail, hint=hint, seconds=seconds, data=data)


def _result(check: Check, subject: Subject) -> tuple[Status, str, str, Mapping[str, Any], bool]:
    try:
        found = check.run(subject)
    except SkippedError as why:
        return "skipped", str(why), "", {}, True
    except FailedError as error:
        return "failed", str(error), error.hint, error.data, True
    except CallError as error:
        return "failed", str(error), error.hint, {}, error.reach != "unreachable"
    return "passed", found.detail, "", found.data, True
