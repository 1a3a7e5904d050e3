"""The load as a picture: time to the first token and tokens a second over the requests at once, one SVG file."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from xml.sax.saxutils import escape

_WIDTH: Final = 360
_HEIGHT: Final = 240
_LEFT: Final = 56
_TOP: Final = 40
_BOTTOM: Final = 44
_RIGHT: Final = 16
_STYLE: Final = (
    "text{font:12px sans-serif;fill:#444}.h{font-weight:bold}path{fill:none;stroke:#2563c9;stroke-width:2}"
    ".axis{stroke:#999;stroke-width:1}circle{fill:#2563c9}"
    "@media(prefers-color-scheme:dark){text{fill:#ccc}path,circle{stroke:#7fb0ff}circle{fill:#7fb0ff}}"
)

Point = tuple[str, float]
"""Requests at once, as text, and the value."""


def svg(levels: Sequence[Mapping[str, Any]]) -> str:
    """Return the levels of a load as an SVG document with two panels."""
    panels = {
        "first token, seconds (p50)": _points(levels, lambda level: level["firstToken"]["p50"]),
        "tokens a second, all together": _points(levels, lambda level: level["tokensPerSecondAll"]),
    }
    drawn = [_panel(title, points, index * _WIDTH) for index, (title, points) in enumerate(panels.items())]
    size = f'width="{_WIDTH * len(panels)}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH * len(panels)} {_HEIGHT}"'
    return "\n".join(
        [f'<svg xmlns="http://www.w3.org/2000/svg" {size}>', f"<style>{_STYLE}</style>", *drawn, "</svg>", ""]
    )


def _points(levels: Sequence[Mapping[str, Any]], value: Callable[[Mapping[str, Any]], float | None]) -> list[Point]:
    found = [(str(level["atOnce"]), value(level)) for level in levels]
    return [(name, number) for name, number in found if number is not None]


def _panel(title: str, points: Sequence[Point], x: int) -> str:
    floor, width = _HEIGHT - _BOTTOM, _WIDTH - _LEFT - _RIGHT
    highest = max((value for _, value in points), default=1.0) or 1.0
    step = width / max(1, len(points) - 1)
    places = [
        (x + _LEFT + index * step, floor - (floor - _TOP) * value / highest) for index, (_, value) in enumerate(points)
    ]
    line = " ".join(f"{'ML'[index > 0]}{left:.1f} {top:.1f}" for index, (left, top) in enumerate(places))
    parts = [
        _text(x + _LEFT, 20, title, kind="h"),
        f'<path class="axis" d="M{x + _LEFT} {_TOP} V{floor} H{x + _LEFT + width}"/>',
        _text(x + _LEFT - 6, _TOP + 4, f"{highest:.3g}", anchor="end"),
        _text(x + _LEFT - 6, floor + 4, "0", anchor="end"),
        f'<path d="{line}"/>' if line else "",
        _text(x + _LEFT + width / 2, _HEIGHT - 8, "requests at once", anchor="middle"),
    ]
    parts += [f'<circle cx="{left:.1f}" cy="{top:.1f}" r="3"/>' for left, top in places]
    parts += [
        _text(left, floor + 16, name, anchor="middle") for (left, _), (name, _) in zip(places, points, strict=True)
    ]
    return "\n".join(part for part in parts if part)


def _text(x: float, y: float, text: str, *, kind: str = "", anchor: str = "start") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{named}>{escape(text)}</text>'
