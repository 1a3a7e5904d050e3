"""What a rehearsal prints: every line says that it is one, so that no copy of it is taken for the real thing."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TextIO

from rehearsal.bill import Bill
from rehearsal.remains import Remains

_MARK = "rehearsal | "


class Report:
    """Writes marked lines to a stream.

    Args:
        stream: Where to.
        depth: Name of the depth, for the headings.
        touches: What was not touched, for the headings.
    """

    def __init__(self, stream: TextIO, depth: str, touches: str) -> None:
        self._stream = stream
        self._title = f"REHEARSAL ({depth}): {touches}"

    def heading(self, text: str) -> None:
        """Begin a section."""
        self.line("")
        self.line(f"== {text} == {self._title}")

    def line(self, text: str) -> None:
        """Write one line."""
        self._stream.write(f"{_MARK}{text}".rstrip() + "\n")
        self._stream.flush()

    def lines(self, text: str) -> None:
        """Write a text of several lines."""
        for line in text.splitlines():
            self.line(line)

    def existing(self, things: Sequence[Remains]) -> None:
        """Write a table of things that exist."""
        rows = [(thing.kind, thing.namespace or "-", thing.name) for thing in things]
        self.lines("\n".join(table(("KIND", "NAMESPACE", "NAME"), rows)))

    def bill(self, bill: Bill) -> None:
        """Write what billed, and whether the GPUs waited for the weights."""
        if not bill.rows:
            self.line("nothing here billed: what the stack ran on isn't this account's")
            return
        total = ("all of it", "", f"{bill.gpu_hours:.2f}", f"{bill.usd:,.2f}")
        self.lines("\n".join(table(("THING", "HOURS", "GPU HOURS", "USD"), [*bill.rows, total])))
        if bill.waited is not None:
            self.line(f"no GPU billed before the weights were complete: {'yes' if bill.waited else 'NO'}")

    def values(self, values: Mapping[str, object]) -> None:
        """Write outputs, one a line or indented below their name."""
        for name, value in values.items():
            shown = list(rendered(value))
            if len(shown) == 1:
                self.line(f"{name}: {shown[0]}")
                continue
            self.line(f"{name}:")
            self.lines("\n".join(f"  {line}" for line in shown))


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns of equal width, the heading first."""
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in [head, *rows]]


def rendered(value: object) -> Iterable[str]:
    """The lines that show an output: texts as they are, mappings and lists as an outline."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _labelled(str(key), list(rendered(item)))
    elif isinstance(value, list):
        for item in value:
            yield from _labelled("-", list(rendered(item)))
    else:
        yield from str(value).splitlines() or [""]


def _labelled(label: str, lines: list[str]) -> Iterable[str]:
    colon = "" if label == "-" else ":"
    if len(lines) == 1:
        yield f"{label}{colon} {lines[0]}"
        return
    yield f"{label}{colon}"
    yield from (f"  {line}" for line in lines)
