"""The README's picture: drawn by its script, and no text or arrow astray."""

from xml.etree import ElementTree

import pytest

from docs import draw_pieces
from docs.draw_pieces import Box, Point

BOXES = [value for value in vars(draw_pieces).values() if isinstance(value, Box)]
BOXES += [box for value in vars(draw_pieces).values() if isinstance(value, list) for box in value]


def test_the_committed_picture_is_what_the_script_draws() -> None:
    assert draw_pieces.FILE.read_text() == draw_pieces.draw(), "run: python docs/draw_pieces.py"


def test_the_picture_is_well_formed_and_has_every_box() -> None:
    root = ElementTree.fromstring(draw_pieces.draw())  # noqa: S314 - our own text
    texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert len(BOXES) > 25
    assert [box.title for box in BOXES if box.title not in texts] == []


def on_an_edge(point: Point, box: Box) -> bool:
    x, y = point
    within = box.x <= x <= box.right and box.y <= y <= box.bottom
    return within and (x in (box.x, box.right) or y in (box.y, box.bottom))


@pytest.mark.parametrize("arrow", draw_pieces.arrows(), ids=str)
def test_an_arrow_ends_at_a_box(arrow: tuple[Point, ...]) -> None:
    assert any(on_an_edge(arrow[-1], box) for box in BOXES)


def test_no_box_leaves_the_card() -> None:
    assert [box.title for box in BOXES if box.right > draw_pieces.WIDTH or box.bottom > draw_pieces.HEIGHT] == []
