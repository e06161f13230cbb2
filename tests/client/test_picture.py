"""The picture of the memory: labels apart, the same for the same graph, safe against every text."""

import math
import stat
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reveries.client.picture import draw_picture, write_svg
from reveries.client.picture_labels import COLUMNS, LINES, count_columns, wrap_label
from reveries.client.picture_layout import Bond, LabelBox, arrange_boxes, has_overlaps, spanning_bonds
from reveries.errors import InputFileError
from reveries.protocol import GraphNode, GraphTie, Neighbourhood
from tests.client.test_tui import HOSTILE
from tests.fakes.daemon import NOW

_SVG = "{http://www.w3.org/2000/svg}"
_KINDS = ("thematic", "temporal", "emotional", "causal")


def node(name: str, text: str = "a walk", **chosen: object) -> GraphNode:
    """A node called `name`."""
    plain: dict[str, object] = {
        "episode_id": name,
        "label": text,
        "summary": text,
        "happened_at": NOW,
        "salience": 0.5,
        "accessibility": 1.0,
        "valence": 0.0,
        "origin": "owner",
        "distance": 1,
        "energy": 0.0,
    }
    return GraphNode(**(plain | chosen))  # type: ignore[arg-type]


def shown(nodes: list[GraphNode], ties: list[GraphTie], title: str = "What tea brings to mind") -> Neighbourhood:
    return Neighbourhood(1, title, nodes, ties, 3)


_boxes = st.lists(st.builds(LabelBox, st.floats(20, 90), st.floats(10, 35), st.floats(20, 70)), min_size=1, max_size=24)


@settings(deadline=None, max_examples=40)
@given(boxes=_boxes, data=st.data())
def test_no_two_boxes_overlap_and_none_sticks_out(boxes: list[LabelBox], data: st.DataObject) -> None:
    places = st.integers(0, len(boxes) - 1)
    bonds = data.draw(st.lists(st.builds(Bond, places, places, st.floats(0, 1)), max_size=50))
    bonds = [bond for bond in bonds if bond.first != bond.second]
    laid = arrange_boxes(boxes, bonds, 600.0, 400.0)
    assert not has_overlaps(laid.points, boxes)
    for (x, y), box in zip(laid.points, boxes, strict=True):
        assert box.half_width - 0.1 <= x <= laid.width - box.half_width + 0.1
        assert box.above - 0.1 <= y <= laid.height - box.below + 0.1
    assert arrange_boxes(boxes, bonds, 600.0, 400.0) == laid


def test_what_hangs_together_lies_nearer_than_what_does_not() -> None:
    boxes = [LabelBox(20, 10, 20)] * 6
    bonds = [Bond(0, 1, 1.0), Bond(1, 2, 1.0), Bond(0, 2, 1.0), Bond(3, 4, 1.0), Bond(4, 5, 1.0), Bond(3, 5, 1.0)]
    points = arrange_boxes(boxes, bonds, 900.0, 600.0).points
    within = [math.dist(points[bond.first], points[bond.second]) for bond in bonds]
    between = [math.dist(points[a], points[b]) for a in range(3) for b in range(3, 6)]
    assert sum(within) / len(within) < 0.7 * sum(between) / len(between)


def test_the_strongest_bonds_hold_everything_together() -> None:
    bonds = [Bond(0, 1, 0.2), Bond(0, 1, 0.9), Bond(1, 2, 0.5), Bond(0, 2, 0.4), Bond(3, 4, 0.1)]
    assert sorted(spanning_bonds(5, bonds)) == [1, 2, 4]


@given(text=st.text(max_size=300))
def test_a_label_fits_into_its_lines_whatever_it_says(text: str) -> None:
    rows = wrap_label(" ".join(text.split()))
    assert len(rows) <= LINES
    assert all(count_columns(row) <= COLUMNS for row in rows)


_texts = st.text(max_size=80) | st.sampled_from(
    [HOSTILE, "<script>&\"'", "]]>", "\ufffe\x00\x1b[31m", "日本語の長い文章" * 5]
)


@settings(deadline=None, max_examples=40)
@given(texts=st.lists(_texts, min_size=1, max_size=6), title=_texts, kind=st.sampled_from([*_KINDS, "else"]))
def test_the_picture_is_valid_and_holds_no_markup_of_a_memory(texts: list[str], title: str, kind: str) -> None:
    nodes = [node(f"e{place}", text, happened_at=NOW - place, distance=place) for place, text in enumerate(texts)]
    ties = [GraphTie("e0", one.episode_id, kind, 0.7, kind == "causal") for one in nodes[1:]]
    drawn = draw_picture(shown(nodes, ties, title))
    root = ET.fromstring(drawn)
    allowed = {"svg", "title", "desc", "defs", "radialGradient", "linearGradient", "stop", "marker", "path", "rect"}
    allowed |= {"g", "circle", "text"}
    assert {element.tag.removeprefix(_SVG) for element in root.iter()} <= allowed
    assert not any("href" in name or name.startswith("on") for element in root.iter() for name in element.attrib)
    assert not any(char in drawn for char in "\x1b\x00\x07\ufffe")
    assert drawn == draw_picture(shown(nodes, ties, title))


def test_a_picture_goes_where_a_link_of_ones_own_leads_and_nobody_else_may_read_it(tmp_path: Path) -> None:
    there = tmp_path / "there.svg"
    there.touch(0o644)
    (tmp_path / "link.svg").symlink_to(there)
    write_svg(shown([node("a")], []), tmp_path / "link.svg", "day")
    assert there.read_text().startswith("<svg")
    assert stat.S_IMODE(there.stat().st_mode) == 0o600


def test_each_type_of_link_has_its_own_colour_and_its_own_dash() -> None:
    nodes = [node(f"e{place}") for place in range(5)]
    ties = [GraphTie("e0", f"e{place}", kind, 0.9, kind == "causal") for place, kind in enumerate(_KINDS, 1)]
    paths = [p for p in ET.fromstring(draw_picture(shown(nodes, ties))).iter(f"{_SVG}path") if " Q" in p.attrib["d"]]
    assert len({path.attrib["stroke"] for path in paths}) == 4
    assert len({path.attrib.get("stroke-dasharray", "") for path in paths}) == 4
    assert sum("marker-end" in path.attrib for path in paths) == 1


def test_what_matters_more_is_larger_and_a_stronger_link_is_wider() -> None:
    nodes = [node("e0", salience=0.9), node("e1", salience=0.1), node("e2")]
    ties = [GraphTie("e0", "e1", "thematic", 0.9, False), GraphTie("e1", "e2", "thematic", 0.1, False)]
    root = ET.fromstring(draw_picture(shown(nodes, ties)))
    groups = [group for group in root.iter(f"{_SVG}g") if group.find(f"{_SVG}title") is not None]
    radii = [max(float(circle.attrib["r"]) for circle in group.iter(f"{_SVG}circle")) for group in groups]
    assert radii[0] > radii[1]
    widths = [float(p.attrib["stroke-width"]) for p in root.iter(f"{_SVG}path") if " Q" in p.attrib["d"]]
    assert widths == sorted(widths)


def test_too_many_links_are_thinned_and_the_title_says_so() -> None:
    nodes = [node(f"e{place}") for place in range(10)]
    ties = [GraphTie(f"e{a}", f"e{b}", "thematic", 0.5 + a / 100, False) for a in range(10) for b in range(a + 1, 10)]
    drawn = draw_picture(shown(nodes, ties))
    assert "28 weaker ones not drawn" in drawn
    assert "3 more neighbours not shown" in drawn


def test_the_light_theme_is_another_picture() -> None:
    assert draw_picture(shown([node("e0")], []), "day") != draw_picture(shown([node("e0")], []), "dusk")


def test_a_picture_is_written_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "memory.svg"
    write_svg(shown([node("e0")], []), file, "dusk")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    ET.fromstring(file.read_text(encoding="utf-8"))


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match="cannot be written"):
        write_svg(shown([node("e0")], []), tmp_path / "no" / "memory.svg", "dusk")
