"""The errors of a JSON schema, said in one short line each, without what is unknown or secret."""

import difflib
from typing import Final

from jsonschema.exceptions import ValidationError, best_match
from jsonschema.validators import Draft202012Validator

from rehearsal.fakes.rules import Failure
from rehearsal.fakes.values import contains_unknown, mapping

_LONGEST: Final = 160
# These look at an object's keys, so an unknown value somewhere below doesn't excuse the error.
_ABOUT_KEYS: Final = frozenset({"additionalProperties", "required"})


def schema_failures(validator: Draft202012Validator, manifest: object, path: str = "") -> list[Failure]:
    """What in a manifest doesn't fit the schema, by path.

    Args:
        validator: The schema of the manifest's kind.
        manifest: A masked manifest; values that aren't known yet may be in it and are never wrong.
        path: Where the manifest itself lies in the resource's inputs.
    """
    failures: list[Failure] = []
    # The stub asks for a closed type of JSON values; `object` leaves can't be shown to be of it.
    for error in validator.iter_errors(manifest):  # pyright: ignore[reportArgumentType, reportCallIssue]
        if contains_unknown(error.instance) and error.validator not in _ABOUT_KEYS:
            continue
        deepest = best_match([error]) or error
        failures.append(Failure(_path(path, deepest), _reason(deepest)))
    return failures


def _path(prefix: str, error: ValidationError) -> str:
    path = prefix
    for step in error.absolute_path:
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else step
    return path


def _reason(error: ValidationError) -> str:
    if error.validator == "additionalProperties":
        # The API server's own words (strict field validation): unknown field "spec.replicaz".
        known = sorted(mapping(mapping(error.schema).get("properties")))
        return "; ".join(_unknown(key, known) for key in sorted(mapping(error.instance).keys() - known))
    return _shortened(error.message)


def _unknown(key: str, known: list[str]) -> str:
    near = difflib.get_close_matches(key, known, n=1)
    hint = f"did you mean '{near[0]}'?" if near else f"known: {_shortened(', '.join(known))}"
    return f"unknown field '{key}': {hint}"


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
