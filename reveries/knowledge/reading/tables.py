"""Tables: from a ruled grid, or from lines whose cells stand below each other."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Final

from reveries.knowledge.reading.content import Line, Rectangle, bounds_of
from reveries.knowledge.reading.rules import Grid

CELL_DIVIDER: Final = " | "
_ALIGNED: Final = 4.0
_FEWEST_ROWS: Final = 3
_FEWEST_CELLS: Final = 4
_FILLED_SHARE: Final = 0.25
_WIDEST_GAP: Final = 2.2
"""Between two rows of a table, in heights of its type."""
_SHORT_CELL_WORDS: Final = 4.0
_NUMERIC_SHARE: Final = 0.35
_NUMBER: Final = re.compile(r"[\s$€£¥(+\-–—]*[\d.,’']*\d[\d.,’']*\s*[%)xX]?|[—–-]+|N/?A|n/?a")


@dataclass(slots=True)
class Table:
    """Rows of cells; `columns` are the left edges of its columns."""

    place: Rectangle
    rows: list[list[str]]
    columns: list[float]
    lines: list[Line] = field(default_factory=list)
    """The lines that it is made of."""

    @property
    def text(self) -> str:
        return "\n".join(_row_text(row) for row in self.rows)


def read_grid(grid: Grid, lines: Sequence[Line]) -> Table | None:
    """Sort the lines in a ruled table into its cells; None where it holds too little to be one."""
    cells: dict[tuple[int, int], list[Line]] = {}
    for line in lines:
        row = bisect_right(grid.rows, (line.top + line.bottom) / 2) - 1
        column = bisect_right(grid.columns, line.left + min(line.width / 2, line.size)) - 1
        cells.setdefault((max(0, row), max(0, column)), []).append(line)
    used_rows = sorted({row for row, _ in cells})
    used_columns = sorted({column for _, column in cells})
    if len(used_rows) < 2 or len(used_columns) < 2 or len(cells) < _FEWEST_CELLS:
        return None
    if len(cells) < _FILLED_SHARE * len(used_rows) * len(used_columns):
        return None  # Lines of a drawing, not of a table.
    rows = [_fill_row([_cell_text(cells.get((row, column), [])) for column in used_columns]) for row in used_rows]
    return Table(grid.place, rows, [grid.columns[min(at, len(grid.columns) - 1)] for at in used_columns], list(lines))


def find_tables(lines: list[Line]) -> list[Table]:
    """Tables among the lines of one column of a page, by alignment alone."""
    rows = group_lines(lines)
    tables, at = [], 0
    while at < len(rows):
        end = _end_of_run(rows, at)
        run = rows[at:end]
        if _is_table(run):
            tables.append(_make_table(run))
            at = end
        else:
            at += 1
    return tables


def group_lines(lines: list[Line]) -> list[list[Line]]:
    """Lines that share a base line, each row from left to right, from the top."""
    rows: list[list[Line]] = []
    for line in sorted(lines, key=lambda line: line.top + line.bottom):
        middle = (line.top + line.bottom) / 2
        if rows and any(other.top <= middle <= other.bottom for other in rows[-1]):
            rows[-1].append(line)
        else:
            rows.append([line])
    for row in rows:
        row.sort(key=lambda line: line.left)
    return rows


def is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None


def _cell_text(lines: list[Line]) -> str:
    return " ".join(line.text for row in group_lines(lines) for line in row)


def _row_text(row: list[str]) -> str:
    """A row that is one cell (a title, the head of a group) is that cell alone."""
    filled = [cell for cell in row if cell]
    return filled[0] if len(filled) == 1 else CELL_DIVIDER.join(row).strip()


def _fill_row(cells: list[str]) -> list[str]:
    """Empty cells between full ones are kept, so that each stands under its head; those at the end are not."""
    while cells and not cells[-1]:
        cells = cells[:-1]
    return cells


def _end_of_run(rows: list[list[Line]], start: int) -> int:
    """The end (exclusive) of the longest run from `start` on whose rows could be of one table."""
    if len(rows[start]) < 2:
        return start
    recent, end, at = [rows[start]], start + 1, start + 1
    while at < len(rows):
        row, above = rows[at], rows[at - 1]
        if min(line.top for line in row) - max(line.bottom for line in above) > _WIDEST_GAP * row[0].size:
            break
        if len(row) >= 2:
            if not any(_share_columns(row, other) for other in recent[-3:]):
                break
            recent.append(row)
            end = at + 1
        elif at - end >= 2 or len(row[0].text) > 90:
            break
        at += 1
    return end


def _share_columns(row: list[Line], other: list[Line]) -> bool:
    """Whether a cell that is not the first stands below one of another row."""
    return any(
        abs(cell.right - above.right) < _ALIGNED
        or abs(cell.left - above.left) < _ALIGNED
        or abs(cell.left + cell.right - above.left - above.right) < 2 * _ALIGNED
        for cell in row[1:]
        for above in other[1:]
    )


def _is_table(run: list[list[Line]]) -> bool:
    rows = [row for row in run if len(row) >= 2]
    if len(rows) < _FEWEST_ROWS:
        return False
    cells = [line.text for row in rows for line in row[1:]]
    numeric = sum(is_number(cell) for cell in cells) / len(cells)
    words = sum(len(cell.split()) for cell in cells) / len(cells)
    return numeric >= _NUMERIC_SHARE or words <= _SHORT_CELL_WORDS


def _make_table(run: list[list[Line]]) -> Table:
    lines = [line for row in run for line in row]
    widest = max(run, key=len)
    return Table(
        bounds_of(lines),
        [_join_signs([line.text for line in row]) for row in run],
        [line.left for line in widest],
        lines,
    )


def _join_signs(cells: list[str]) -> list[str]:
    """A currency sign, a closing bracket or a percent sign that stands in a column of its own belongs to its number."""
    joined: list[str] = []
    for cell in cells:
        if joined and (cell in (")", "%", ")%") or joined[-1] in ("$", "€", "£", "¥")):
            joined[-1] += cell
        else:
            joined.append(cell)
    return joined


def middle_size(lines: Sequence[Line]) -> float:
    """The size of type in the middle of all letters; 0 for none."""
    sizes = [line.size for line in lines for _ in range(1 + len(line.words))]
    return median(sizes) if sizes else 0.0
