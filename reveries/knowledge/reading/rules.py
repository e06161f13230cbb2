"""Ruling lines: where a page draws the borders of tables, and the grids that they form."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from reveries.knowledge.reading.content import PageContent, Rectangle

_THICKEST: Final = 3.0
_SHORTEST: Final = 6.0
_SHORTEST_SHARE: Final = 0.004
_REACH: Final = 2.5
"""Lines that end this close to each other touch, in points."""
_LARGEST_SHARE: Final = 0.8
"""A line as long as this share of the page is its border or a divider, and joins nothing."""
_MOST_RULES: Final = 4_000
_HIGHEST_CELL: Final = 120.0
_NARROW_PAGE: Final = 900.0
"""A page of a book or a letter: a table may fill it."""
_ROW_SHARE: Final = 0.5
_COLUMN_SHARE: Final = 0.25
_FEWEST_EDGES: Final = 3


@dataclass(slots=True)
class Rules:
    """Drawn lines of a page: `(position, start, end)`, sorted by position."""

    horizontal: list[tuple[float, float, float]]
    vertical: list[tuple[float, float, float]]

    def divides(self, left: float, right: float, y: float) -> bool:
        """Whether a vertical line passes between two words of a row."""
        at = bisect_left(self.vertical, (left - 0.5,))
        while at < len(self.vertical) and self.vertical[at][0] <= right + 0.5:
            _, top, bottom = self.vertical[at]
            if top <= y <= bottom:
                return True
            at += 1
        return False


@dataclass(slots=True)
class Grid:
    """A ruled table: where its rows and columns are divided. One row or column: a frame around text."""

    place: Rectangle
    rows: list[float]
    columns: list[float]

    @property
    def is_table(self) -> bool:
        return len(self.rows) >= _FEWEST_EDGES and len(self.columns) >= _FEWEST_EDGES


def find_rules(page: PageContent) -> Rules:
    """Thin shapes, and the edges of boxes that are of the size of a cell."""
    horizontal: list[tuple[float, float, float]] = []
    vertical: list[tuple[float, float, float]] = []
    shortest = max(_SHORTEST, _SHORTEST_SHARE * max(page.width, page.height))
    for shape in page.drawings:
        wide, high = shape.width, shape.height
        if high <= _THICKEST and wide >= shortest:
            horizontal.append(((shape.top + shape.bottom) / 2, shape.left, shape.right))
        elif wide <= _THICKEST and high >= shortest:
            vertical.append(((shape.left + shape.right) / 2, shape.top, shape.bottom))
        elif shortest < high <= _HIGHEST_CELL and wide > 2 * shortest:
            horizontal += [(y, shape.left, shape.right) for y in (shape.top, shape.bottom)]
            vertical += [(x, shape.top, shape.bottom) for x in (shape.left, shape.right)]
    return Rules(_longest(horizontal), _longest(vertical))


def find_grids(page: PageContent, rules: Rules) -> list[Grid]:
    """Tables and frames that drawn lines form; none is larger than half of the page, but for tables on small pages."""
    across = [rule for rule in rules.horizontal if rule[2] - rule[1] < _LARGEST_SHARE * max(page.width, _NARROW_PAGE)]
    down = [rule for rule in rules.vertical if rule[2] - rule[1] < _LARGEST_SHARE * max(page.height, _NARROW_PAGE)]
    most = 0.5 * page.width * page.height if max(page.width, page.height) > _NARROW_PAGE else float("inf")
    grids = []
    for rows, columns in _connect(across, down):
        if len(rows) < 2 or len(columns) < 2:
            continue
        place = Rectangle(
            min(start for _, start, _ in rows), min(start for _, start, _ in columns),
            max(end for _, _, end in rows), max(end for _, _, end in columns),
        )  # fmt: skip
        ys, xs = _edges(rows, _ROW_SHARE * place.width), _edges(columns, _COLUMN_SHARE * place.height)
        if len(xs) >= 2 and len(ys) >= 2 and place.area <= most:
            grids.append(Grid(Rectangle(xs[0], ys[0], xs[-1], ys[-1]), ys, xs))
    return grids


def _longest(rules: list[tuple[float, float, float]]) -> list[tuple[float, float, float]]:
    if len(rules) > _MOST_RULES:
        rules = sorted(rules, key=lambda rule: rule[1] - rule[2])[:_MOST_RULES]
    return sorted(rules)


def _edges(rules: list[tuple[float, float, float]], shortest: float) -> list[float]:
    """Positions at which lines are drawn over most of a grid: shorter ones divide single cells, or are of a drawing."""
    lengths: dict[float, float] = defaultdict(float)
    positions = _distinct([position for position, _, _ in rules])
    for position, start, end in rules:
        lengths[positions[max(0, bisect_right(positions, position + 0.01) - 1)]] += end - start
    return [position for position in positions if lengths[position] >= shortest]


def _distinct(positions: Sequence[float]) -> list[float]:
    distinct: list[float] = []
    for position in sorted(positions):
        if not distinct or position - distinct[-1] > _THICKEST:
            distinct.append(position)
    return distinct


_Rule = tuple[float, float, float]


def _connect(across: list[_Rule], down: list[_Rule]) -> list[tuple[list[_Rule], list[_Rule]]]:
    """Horizontal and vertical lines that touch, directly or by others."""
    parents = list(range(len(across) + len(down)))

    def root(at: int) -> int:
        while parents[at] != at:
            parents[at] = parents[parents[at]]
            at = parents[at]
        return at

    heights = [y for y, _, _ in across]
    for number, (x, top, bottom) in enumerate(down, len(across)):
        for at in range(bisect_left(heights, top - _REACH), bisect_right(heights, bottom + _REACH)):
            _, start, end = across[at]
            if start - _REACH <= x <= end + _REACH:
                parents[root(at)] = root(number)
    groups: dict[int, tuple[list[_Rule], list[_Rule]]] = defaultdict(lambda: ([], []))
    for at, rule in enumerate(across):
        groups[root(at)][0].append(rule)
    for at, rule in enumerate(down, len(across)):
        groups[root(at)][1].append(rule)
    return list(groups.values())
