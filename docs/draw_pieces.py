"""Draws docs/pieces.svg, the picture of the README: `python docs/draw_pieces.py`.

Places are figures and nothing is measured, so the same file comes out everywhere; a test compares it with the committed
one. Text is placed for DejaVu Sans, the widest of the fonts that a reader is likely to have.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Final

FILE: Final = Path(__file__).with_name("pieces.svg")
WIDTH: Final = 900
HEIGHT: Final = 722

_FONTS: Final = "Helvetica, Arial, 'DejaVu Sans', sans-serif"
_INK: Final = "#1f2937"
_FAINT: Final = "#5b6675"
_LINE: Final = 17
"""Pixels from one line of text to the next."""


@dataclass(frozen=True)
class Look:
    """Colours of a kind of box."""

    fill: str
    edge: str
    ink: str = _INK
    faint: str = _FAINT


DATA: Final = Look("#e8f1fc", "#3b78bd")
CLOUD: Final = Look("#e7f6ee", "#2f8f5f")
SERVING: Final = Look("#f2ecfb", "#7a55b8")
REHEARSAL: Final = Look("#fdf3df", "#b97f16")
ENGINE: Final = Look("#eef1f4", "#66717f")
CONTRACT: Final = Look("#334155", "#334155", ink="#ffffff", faint="#d7dee8")


@dataclass(frozen=True)
class Box:
    """A rectangle with a title and lines below it, in pixels of the picture."""

    x: float
    y: float
    width: float
    height: float
    look: Look
    title: str
    lines: tuple[str, ...] = ()
    holds: bool = False
    """Whether it is a frame around other boxes: its text is at its top."""

    @property
    def right(self) -> float:
        """X of the right edge."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """Y of the lower edge."""
        return self.y + self.height

    @property
    def middle(self) -> tuple[float, float]:
        """The centre."""
        return self.x + self.width / 2, self.y + self.height / 2


Point = tuple[float, float]


def row(x: float, y: float, width: float, height: float, gap: float, look: Look, titles: Sequence[str]) -> list[Box]:
    """Return boxes of one size side by side."""
    return [Box(x + n * (width + gap), y, width, height, look, title) for n, title in enumerate(titles)]


def column(x: float, y: float, width: float, height: float, gap: float, look: Look, titles: Sequence[str]) -> list[Box]:
    """Return boxes of one size below each other."""
    return [Box(x, y + n * (height + gap), width, height, look, title) for n, title in enumerate(titles)]


def inside(look: Look) -> Look:
    """Return the colours of a box in a frame of these colours."""
    return replace(look, fill="#ffffff")


# The way of the data, from the top.
STACK_FILE: Final = Box(24, 24, 192, 66, DATA, "Pulumi.<stack>.yaml", ("the stack file",))
SETTINGS: Final = Box(248, 24, 192, 66, DATA, "Settings", ("every fault at once",))
PLAN: Final = Box(472, 24, 192, 66, DATA, "Plan", ("layout, fit and cost",))
PREVIEW: Final = Box(708, 24, 168, 66, ENGINE, "pulumi preview", ("prints plan and cost",))

EXISTING: Final = Box(24, 134, 148, 180, CLOUD, "existing", ("a cluster you have",), holds=True)
HERE: Final = column(36, 190, 124, 32, 7, inside(CLOUD), ("Provider", "Namespace", "WeightBucket"))
_SAME: Final = "the same pieces on each"
CLOUDS: Final = Box(188, 134, 476, 180, CLOUD, "aws, azure, gcp, alicloud", (_SAME,), holds=True)
FIRST: Final = row(200, 200, 138, 36, 19, inside(CLOUD), ("CapacityReservation", "Network", "Cluster"))
DEAREST_LAST: Final = row(200, 258, 138, 36, 19, inside(CLOUD), ("WeightBucket", "SyncJob", "GpuNodePool"))

_HANDED_OVER: Final = "the one contract: provider, weights, placement, what a pod needs"
CLUSTER: Final = Box(24, 346, 640, 58, CONTRACT, "InferenceCluster", (_HANDED_OVER,))

VLLM: Final = Box(24, 436, 640, 186, SERVING, "VllmServing", ("the same on every cloud",), holds=True)
BEFORE: Final = column(36, 498, 168, 32, 6, inside(SERVING), ("API key", "NetworkPolicies", "LWS controller"))
GROUP: Final = Box(240, 498, 230, 108, inside(SERVING), "LeaderWorkerSet", ("one group a replica",), holds=True)
LEADER, WORKERS = row(252, 558, 96, 36, 14, SERVING, ("leader", "workers"))
SERVICE: Final = Box(506, 522, 146, 60, inside(SERVING), "Service", ("leaders only",))
ENDPOINT: Final = Box(494, 650, 170, 52, DATA, "endpoint", ("OpenAI-compatible, /v1",))

# What the program's resources become.
REAL: Final = Box(708, 134, 168, 180, CLOUD, "cloud or cluster", ("yours, and it bills",), holds=True)
PROVIDERS, NODES = column(720, 200, 144, 36, 22, inside(CLOUD), ("real providers", "GPU nodes"))
PULUMI: Final = Box(708, 346, 168, 58, ENGINE, "Pulumi engine", ("the same in both",))
STAND_IN: Final = Box(708, 436, 168, 186, REHEARSAL, "rehearsal", ("no account, no GPU",), holds=True)
FAKES: Final = Box(720, 498, 144, 50, inside(REHEARSAL), "light", ("stand-in providers",))
CONTROL_PLANE: Final = Box(720, 558, 144, 50, inside(REHEARSAL), "full", ("real control plane",))


def draw() -> str:
    """Return the picture as SVG."""
    frames = [EXISTING, CLOUDS, CLUSTER, VLLM, GROUP, REAL, STAND_IN]
    boxes = [STACK_FILE, SETTINGS, PLAN, PREVIEW, *HERE, *FIRST, *DEAREST_LAST]
    boxes += [*BEFORE, LEADER, WORKERS, SERVICE, ENDPOINT, PROVIDERS, NODES, PULUMI, FAKES, CONTROL_PLANE]
    parts = [_box(box) for box in [*frames, *boxes]] + [_arrow(way) for way in arrows()]
    return "\n".join([*_head(), *parts, *_words(), "</svg>", ""])


def arrows() -> list[tuple[Point, ...]]:
    """Return the arrows, each from where it begins to its tip."""
    x, _ = PLAN.middle
    chosen = (PLAN.bottom + CLOUDS.y) / 2
    collected = (CLOUDS.right + PULUMI.x) / 2
    engine = PULUMI.middle[1]
    return [
        *chain(STACK_FILE, SETTINGS, PLAN, PREVIEW),
        ((x, PLAN.bottom), (x, CLOUDS.y)),
        ((x, chosen), (EXISTING.middle[0], chosen), (EXISTING.middle[0], EXISTING.y)),
        *chain(*DEAREST_LAST),
        down(EXISTING, CLUSTER),
        down(CLOUDS, CLUSTER),
        down(CLUSTER, VLLM),
        ((BEFORE[1].right, BEFORE[1].middle[1]), (GROUP.x, BEFORE[1].middle[1])),
        *chain(GROUP, SERVICE),
        down(SERVICE, ENDPOINT),
        ((VLLM.right, VLLM.middle[1]), (collected, VLLM.middle[1]), (collected, engine), (PULUMI.x, engine)),
        ((CLOUDS.right, CLOUDS.middle[1]), (collected, CLOUDS.middle[1]), (collected, engine), (PULUMI.x, engine)),
        ((PULUMI.middle[0], PULUMI.y), (PULUMI.middle[0], REAL.bottom)),
        down(PULUMI, STAND_IN),
    ]


def chain(*boxes: Box) -> list[tuple[Point, ...]]:
    """Return an arrow from each box to the one at its right."""
    return [((a.right, a.middle[1]), (b.x, a.middle[1])) for a, b in pairwise(boxes)]


def down(upper: Box, lower: Box) -> tuple[Point, ...]:
    """Return the arrow from the middle of a box's lower edge to the box below it."""
    x, _ = upper.middle
    return (x, upper.bottom), (x, lower.y)


def _head() -> list[str]:
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    tip = 'viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto"'
    # A card of its own, so that the picture reads on a dark page too.
    card = f'x="0.5" y="0.5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="12" fill="#ffffff" stroke="#d0d7de"'
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="{_FONTS}">',
        "<title>The pieces, from the stack file to the endpoint</title>",
        f'<defs><marker id="tip" {tip}><path d="M0 0.5 L10 5 L0 9.5 z" fill="{_FAINT}"/></marker></defs>',
        f"<rect {card}/>",
    ]


def _words() -> list[str]:
    x, _ = PULUMI.middle
    notes = (
        "Made from the top down and removed in reverse:",
        "Service and groups end first, then the GPU nodes, then the rest.",
    )
    return [
        _text(326, 106, 12, "normal", _FAINT, "the cloud that the stack file names"),
        _text(x + 24, 335, 12, "normal", _FAINT, "either"),
        _text(x + 14, 425, 12, "normal", _FAINT, "or"),
        *(_text(STACK_FILE.x, 672 + _LINE * n, 12, "normal", _FAINT, note, "start") for n, note in enumerate(notes)),
    ]


def _box(box: Box) -> str:
    shape = (
        f'<rect x="{box.x:g}" y="{box.y:g}" width="{box.width:g}" height="{box.height:g}" rx="7"'
        f' fill="{box.look.fill}" stroke="{box.look.edge}" stroke-width="1.3"/>'
    )
    x, y = box.middle
    first = box.y + 23 if box.holds else y + 4.5 - _LINE * len(box.lines) / 2
    size, weight = (14, "bold") if box.holds or box.lines else (12.5, "normal")
    texts = [_text(x, first, size, weight, box.look.ink, box.title)]
    texts += [_text(x, first + _LINE * n, 12, "normal", box.look.faint, line) for n, line in enumerate(box.lines, 1)]
    return "\n".join([shape, *texts])


def _text(x: float, y: float, size: float, weight: str, ink: str, text: str, anchor: str = "middle") -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" font-weight="{weight}" fill="{ink}" text-anchor="{anchor}">'
        f"{escape(text)}</text>"
    )


def _arrow(points: Sequence[Point]) -> str:
    way = " L".join(f"{x:g} {y:g}" for x, y in points)
    return f'<path d="M{way}" fill="none" stroke="{_FAINT}" stroke-width="1.5" marker-end="url(#tip)"/>'


if __name__ == "__main__":
    FILE.write_text(draw())
