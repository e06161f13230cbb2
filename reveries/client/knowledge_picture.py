"""Draw the knowledge of a project as SVG: chunks, and the relations between them. Pure, message to text.

Every text is made plain and escaped: untrusted text cannot become markup.
"""

from collections.abc import Sequence
from html import escape
from typing import Final

from reveries.client.picture_labels import count_columns, wrap_label
from reveries.client.picture_layout import Bond, LabelBox, Layout, arrange_boxes
from reveries.client.wording import plural
from reveries.protocol import RelationEntry
from reveries.safe_text import one_line

_WIDTH: Final = 1200.0
_MARGIN: Final = 40.0
_HEAD: Final = 70.0
_LABEL_PIXELS: Final = 12.5
_LINE_HEIGHT: Final = 15.0
_CHAR_SHARE: Final = 0.57
_RADIUS: Final = 7.0
_COLOURS: Final = {"contradicts": "#d9605a", "replaces": "#e0a860", "supersedes": "#e0a860", "supports": "#6fae7b"}
_OTHER: Final = "#7fa6d6"
_GROUND, _INK, _QUIET = "#171b25", "#dfe2ea", "#8b93a7"


def draw_knowledge_svg(title: str, relations: Sequence[RelationEntry]) -> str:
    """Return the SVG: each chunk that has a relation, and a labelled line for each relation."""
    names = {relation.from_id: relation.from_text for relation in relations} | {
        relation.to_id: relation.to_text for relation in relations
    }
    place = {name: number for number, name in enumerate(names)}
    bonds = [Bond(place[relation.from_id], place[relation.to_id], relation.weight) for relation in relations]
    labels = [wrap_label(one_line(text, 120)) for text in names.values()]
    layout = arrange_boxes(
        [_chunk_box(label) for label in labels], bonds, _WIDTH - 2 * _MARGIN, max(300.0, 110.0 * len(names) ** 0.5)
    )
    width, height = layout.width + 2 * _MARGIN, layout.height + _HEAD + 2 * _MARGIN
    counts = f"{plural(len(names), 'piece')} of knowledge, {plural(len(relations), 'relation')}"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}">',
            '<g font-family="Inter, sans-serif">',
            f"<title>{escape(one_line(title, 200))}</title>",
            f'<rect width="100%" height="100%" fill="{_GROUND}"/>',
            f'<text x="{_MARGIN:.0f}" y="36" fill="{_INK}" font-size="18">{escape(one_line(title, 100))}</text>',
            f'<text x="{_MARGIN:.0f}" y="56" fill="{_QUIET}" font-size="12">{counts}</text>',
            f'<g transform="translate({_MARGIN:.0f} {_HEAD:.0f})">',
            *(_draw_relation(relation, layout, place) for relation in relations),
            *(_draw_chunk(label, layout.points[number]) for number, label in enumerate(labels)),
            "</g></g>",
            "</svg>\n",
        ]
    )


def _chunk_box(label: Sequence[str]) -> LabelBox:
    widest = max((count_columns(row) for row in label), default=0) * _LABEL_PIXELS * _CHAR_SHARE
    return LabelBox(max(40.0, widest / 2 + 8.0), _RADIUS + 8.0, _RADIUS + 14.0 + len(label) * _LINE_HEIGHT)


def _draw_relation(relation: RelationEntry, layout: Layout, place: dict[str, int]) -> str:
    (x, y), (to_x, to_y) = layout.points[place[relation.from_id]], layout.points[place[relation.to_id]]
    colour, dash = _COLOURS.get(relation.type, _OTHER), ' stroke-dasharray="4 4"' if relation.is_implicit else ""
    middle_x, middle_y = (x + 2 * to_x) / 3, (y + 2 * to_y) / 3
    return (
        f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}" stroke="{colour}" '
        f'stroke-width="{0.8 + 2 * relation.weight:.1f}"{dash}/>'
        f'<text x="{middle_x:.1f}" y="{middle_y - 4:.1f}" fill="{colour}" font-size="10" text-anchor="middle">'
        f"{escape(relation.type.replace('_', ' '))}</text>"
    )


def _draw_chunk(label: Sequence[str], at: tuple[float, float]) -> str:
    x, y = at
    rows = "".join(f'<tspan x="{x:.1f}" dy="{_LINE_HEIGHT:.0f}">{escape(row)}</tspan>' for row in label)
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{_RADIUS:.0f}" fill="#f0cd92"/>'
        f'<text y="{y + _RADIUS + 2:.1f}" fill="{_INK}" font-size="{_LABEL_PIXELS}" text-anchor="middle">{rows}</text>'
    )
