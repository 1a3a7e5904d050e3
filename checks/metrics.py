"""What the engine counts: /metrics, in Prometheus' text form."""

import re
from dataclasses import dataclass
from typing import Final

from checks.endpoint import CallError, Endpoint

_LINE: Final = re.compile(r"^(?P<name>[\w:]+)(?:\{(?P<labels>.*)\})?\s+(?P<value>\S+)")


@dataclass(frozen=True)
class Metrics:
    """One look."""

    text: str

    def total(self, name: str) -> float:
        """Return a gauge or counter over all engines and labels; 0 when there is none."""
        return sum(float(found["value"]) for found in self._found(name))

    def has(self, name: str) -> bool:
        """Whether the engine knows it."""
        return next(iter(self._found(name)), None) is not None

    def label(self, name: str, label: str) -> str | None:
        """Return a label of the first sample."""
        for found in self._found(name):
            value = re.search(rf'\b{label}="([^"]*)"', found["labels"] or "")
            return value[1] if value else None
        return None

    def _found(self, name: str) -> list[re.Match[str]]:
        found = [_LINE.match(line) for line in self.text.splitlines() if line.startswith(name)]
        return [each for each in found if each is not None and each["name"] == name]


def read(endpoint: Endpoint) -> Metrics | None:
    """Return what the engine counts, or None where the way in forwards no /metrics."""
    try:
        answer = endpoint.get("/metrics")
    except CallError:
        return None
    return Metrics(answer.text) if answer.status == 200 and "vllm:" in answer.text else None
