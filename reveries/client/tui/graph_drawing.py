"""A part of the memory graph drawn with characters: labelled nodes, links as lines of braille dots. Pure.

Positions come from picture_layout.py and are scaled down to fit the canvas of cells.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from textual.content import Content

from reveries.client.picture_layout import Bond, Box, arrange_boxes
from reveries.protocol import GraphNode, GraphTie, Neighbourhood
from reveries.safe_text import one_line

TIE_STYLES: Final = {
    "causal": "$error",
    "thematic": "$accent",
    "temporal": "$foreground 40%",
    "emotional": "$secondary",
}
"""Style by link type; the stronger the link, the denser its dots."""
_OTHER_TIE: Final = "$foreground 60%"
_ROW_UNITS: Final = 2.0
"""Cell height in cell widths, about 2 in most terminals."""
_LABEL_CHARS: Final = 18
_LEAST_COLUMNS: Final = 90
_LEAST_ROWS: Final = 20
_WEAK, _STRONG = 0.35, 0.7
_DOTS: Final = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""The bits of a braille character: four rows of two dots."""

Cell = tuple[int, int]
"""Column and row."""


@dataclass(frozen=True, slots=True)
class GraphLayout:
    """The position of each node in a canvas of columns and rows."""

    columns: int
    rows: int
    positions: tuple[Cell, ...]


def lay_out_graph(shown: Neighbourhood, columns: int, rows: int) -> GraphLayout:
    """Lay out the nodes on a canvas."""
    labels = [_node_label(node) for node in shown.nodes]
    boxes = [Box(len(label) / 2 + 1, 1.5, 3.0) for label in labels]
    index = {node.episode_id: place for place, node in enumerate(shown.nodes)}
    bonds = [Bond(index[tie.first_id], index[tie.second_id], tie.strength) for tie in _shown_ties(shown, index)]
    # The layout would grow a smaller canvas to this size anyway, step by step.
    layout = arrange_boxes(boxes, bonds, float(max(columns, _LEAST_COLUMNS)), max(rows, _LEAST_ROWS) * _ROW_UNITS)
    across, down = min(1.0, columns / layout.width), min(1.0, rows * _ROW_UNITS / layout.height)
    positions: list[Cell] = []
    for x, y in layout.points:
        column, row = int(x * across), int(y * down / _ROW_UNITS)
        positions.append(
            _find_free_cell((min(max(column, 0), columns - 1), min(max(row, 0), max(0, rows - 2))), positions, columns)
        )
    return GraphLayout(columns, rows, tuple(positions))


def draw_graph(shown: Neighbourhood, plan: GraphLayout, chosen: int) -> list[Content]:
    """Draw the picture's rows; the node at index `chosen` and its links are highlighted."""
    canvas = _Canvas(plan.columns, plan.rows)
    index = {node.episode_id: place for place, node in enumerate(shown.nodes)}
    ties = sorted(_shown_ties(shown, index), key=lambda tie: chosen in (index[tie.first_id], index[tie.second_id]))
    for tie in ties:
        first, second = index[tie.first_id], index[tie.second_id]
        style = TIE_STYLES.get(tie.type, _OTHER_TIE)
        canvas.line(plan.positions[first], plan.positions[second], style, tie.strength, chosen in (first, second))
    order = sorted(range(len(shown.nodes)), key=lambda place: (place != chosen, -shown.nodes[place].salience, place))
    for place in order:
        canvas.reserve(plan.positions[place])
    for place in order:
        canvas.node(plan.positions[place], shown.nodes[place], is_chosen=place == chosen)
    return canvas.contents()


def nearest_node(plan: GraphLayout, chosen: int, across: int, down: int) -> int:
    """Return the index of the nearest node in a direction; `chosen` itself if there is none."""
    column, row = plan.positions[chosen]
    best, shortest = chosen, float("inf")
    for place, (other_column, other_row) in enumerate(plan.positions):
        x, y = other_column - column, (other_row - row) * _ROW_UNITS
        ahead, aside = (x * across, abs(y)) if across else (y * down, abs(x))
        # A node further to the side than that belongs to another direction.
        if ahead > 0 and aside <= 2.0 * ahead and ahead + 2.0 * aside < shortest:
            best, shortest = place, ahead + 2.0 * aside
    return best


def list_ties(shown: Neighbourhood, episode_id: str) -> list[tuple[GraphTie, GraphNode]]:
    """List the links of a node with their other ends, strongest first."""
    by_id = {node.episode_id: node for node in shown.nodes}
    links = [
        (tie, by_id[other])
        for tie in shown.ties
        if episode_id in (tie.first_id, tie.second_id)
        and (other := tie.second_id if tie.first_id == episode_id else tie.first_id) in by_id
    ]
    return sorted(links, key=lambda pair: (-pair[0].strength, pair[1].episode_id, pair[0].type))


def _shown_ties(shown: Neighbourhood, index: dict[str, int]) -> list[GraphTie]:
    return [tie for tie in shown.ties if tie.first_id in index and tie.second_id in index]


def _node_label(node: GraphNode) -> str:
    return one_line(node.label, _LABEL_CHARS)


def _find_free_cell(wanted: Cell, taken: Sequence[Cell], columns: int) -> Cell:
    """Return `wanted`, or the next free cell of its row, so that nodes do not cover each other."""
    column, row = wanted
    cells = (((column + step) % columns, row) for step in range(columns))
    return next((cell for cell in cells if cell not in taken), wanted)


class _Canvas:
    """A grid of cells with braille dots, and characters over them."""

    def __init__(self, columns: int, rows: int) -> None:
        self._columns = columns
        self._rows = rows
        self._dots: dict[Cell, tuple[int, str]] = {}
        self._text: dict[Cell, tuple[str, str]] = {}
        self._reserved: set[Cell] = set()

    def reserve(self, cell: Cell) -> None:
        """Reserve a cell: no label may cover it."""
        self._reserved.add(cell)

    def line(self, first: Cell, second: Cell, style: str, strength: float, is_near: bool) -> None:
        """Draw a line between the middles of two cells, denser for a stronger link."""
        x0, y0 = first[0] * 2 + 1, first[1] * 4 + 1
        x1, y1 = second[0] * 2 + 1, second[1] * 4 + 1
        steps = max(abs(x1 - x0), abs(y1 - y0), 1)
        every = 1 if strength >= _STRONG else 2 if strength >= _WEAK else 3
        for step in range(0, steps + 1, every):
            x, y = round(x0 + (x1 - x0) * step / steps), round(y0 + (y1 - y0) * step / steps)
            cell = x // 2, y // 4
            bits, _ = self._dots.get(cell, (0, ""))
            self._dots[cell] = bits | _DOTS[y % 4][x % 2], f"bold {style}" if is_near else style

    def node(self, cell: Cell, node: GraphNode, *, is_chosen: bool) -> None:
        """Draw a node's mark, sized by salience, and its label below or above if there is space."""
        mark = "◉" if node.salience >= 0.6 else "●" if node.salience >= 0.35 else "•"
        colour = "$primary" if node.energy >= 0.5 else "$accent" if node.energy > 0.0 else "$foreground"
        self._text[cell] = mark, "reverse bold $primary" if is_chosen else f"bold {colour}"
        label = one_line(_node_label(node), max(1, self._columns))
        column = min(max(0, cell[0] - len(label) // 2), max(0, self._columns - len(label)))
        style = "bold $foreground" if is_chosen else "$foreground 70%" if node.distance < 2 else "$foreground 50%"
        for row in (cell[1] + 1, cell[1] - 1):
            cells = [(column + place, row) for place in range(len(label))]
            if 0 <= row < self._rows and not any(one in self._text or one in self._reserved for one in cells):
                self._text |= {one: (char, style) for one, char in zip(cells, label, strict=True)}
                return

    def contents(self) -> list[Content]:
        return [self._row(row) for row in range(self._rows)]

    def _row(self, row: int) -> Content:
        parts: list[tuple[str, str]] = []
        for column in range(self._columns):
            cell = column, row
            if cell in self._text:
                parts.append(self._text[cell])
            elif cell in self._dots:
                bits, style = self._dots[cell]
                parts.append((chr(0x2800 + bits), style))
            else:
                parts.append((" ", ""))
        return Content.assemble(*((char, style) if style else char for char, style in parts))
