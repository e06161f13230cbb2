"""Drawings: sheets whose text is schedules, notes, labels of a plan, titles of views and a title block."""

import re
from dataclasses import dataclass
from typing import Final

from reveries.knowledge.reading.blocks import Block, flatten
from reveries.knowledge.reading.content import Line, PageContent, Rectangle, bounds_of, is_within
from reveries.knowledge.reading.layout import PageKind, PointerKind
from reveries.knowledge.reading.pictures import find_pictures
from reveries.knowledge.reading.tables import middle_size

_SHORTEST_LONG_SIDE: Final = 1000.0
_LARGEST_TYPE_SHARE: Final = 1 / 130
_FEWEST_DRAWINGS: Final = 60
_LABEL: Final = re.compile(r"[A-Z]{1,3}-?\d{1,3}(?:\.\d{1,2})?[A-Z]?")
_SHEET_OF: Final = re.compile(r"\bsheet\s*:?\s*(\d{1,3})\s+of\s+\d{1,3}\b", re.IGNORECASE)
_VIEW: Final = re.compile(
    r"\b(?:PLAN|ELEVATION|SECTION|DETAIL|DIAGRAM|VIEW|LAYOUT|SCHEMATIC|ISOMETRIC|RISER)S?\b", re.IGNORECASE
)
_SCALE: Final = re.compile(r"(?:scale|[\d/]+\"\s*=|\bNTS\b|\bN\.T\.S\b|\b1\s?:\s?\d{1,4}\b)", re.IGNORECASE)
_NOTES: Final = re.compile(r"\b(?:NOTES?|LEGEND|ABBREVIATIONS|SYMBOLS|KEYNOTES?)\b", re.IGNORECASE)
_MARGIN_SHARE: Final = 0.16
_BORDER_SHARE: Final = 0.038
_FRAMED_WORDS: Final = 12
_NOTE_WORDS: Final = 20
_LARGEST_FRAME_SHARE: Final = 0.12
_LARGER: Final = 1.25
_SPEAKING: Final = re.compile(r"[^\W\d_]{4}")
_NEAR: Final = 4.0
_DISCIPLINES: Final = {
    "A": "Architectural", "B": "Geotechnical", "C": "Civil", "D": "Process", "E": "Electrical", "F": "Fire protection",
    "G": "General", "H": "Hazardous materials", "I": "Interiors", "L": "Landscape", "M": "Mechanical",
    "O": "Operations", "P": "Plumbing", "Q": "Equipment", "R": "Resource", "S": "Structural", "T": "Telecommunications",
    "V": "Survey", "W": "Distributed energy",
}  # fmt: skip
"""First letters of sheet numbers (US National CAD Standard, discipline designators)."""


@dataclass(slots=True)
class SheetReading:
    """A drawing, cut: its number, what it mostly is, and its blocks."""

    label: str
    kind: PageKind
    blocks: list[Block]


def is_sheet(page: PageContent, lines: list[Line]) -> bool:
    """A large page of small type with many drawn lines."""
    longest = max(page.width, page.height)
    if longest < _SHORTEST_LONG_SIDE or len(page.drawings) < _FEWEST_DRAWINGS or not lines:
        return False
    return middle_size(lines) <= _LARGEST_TYPE_SHARE * longest


def discipline_of(label: str) -> str:
    """The discipline that a sheet's number names; empty where it names none."""
    return _DISCIPLINES.get(label[0], "") if _LABEL.fullmatch(label) else ""


def read_sheet(page: PageContent, lines: list[Line], tables: list[Block], frames: list[Rectangle]) -> SheetReading:
    """Cut what is not in a ruled table: `lines` are the others, `frames` are drawn around some of them."""
    body = middle_size(lines)
    number = _find_number(page, lines)
    lines = [line for line in lines if not _is_in_border(line, page)]
    title_block = _cut_title_block(page, lines, number)
    taken = {id(line) for line in title_block.lines} if title_block else set()
    framed = _cut_frames(page, [line for line in lines if id(line) not in taken], frames)
    taken |= {id(line) for block in framed for line in block.lines}
    clusters = _cluster([line for line in lines if id(line) not in taken], body)
    notes, labels = _sort_clusters(clusters, body)
    notes = [*framed, *notes]
    views = _cut_views(page, labels, body)
    blocks = [*tables, *notes, *views, *labels]
    for block in tables:
        block.kind = PointerKind.SCHEDULE
    label = number.text if number else _find_count(lines)
    return SheetReading(label, _kind_of(tables, views), [*blocks, *([title_block] if title_block else [])])


def _is_in_border(line: Line, page: PageContent) -> bool:
    """Marks of the border: letters and numbers of its fields, scale bars, the name of the file."""
    x, y = (line.left + line.right) / 2 / page.width, (line.top + line.bottom) / 2 / page.height
    return not (_BORDER_SHARE < x < 1 - _BORDER_SHARE and _BORDER_SHARE < y < 1 - _BORDER_SHARE)


def _cut_frames(page: PageContent, lines: list[Line], frames: list[Rectangle]) -> list[Block]:
    """Text in a frame of its own: notes and legends. What is framed within is part of it."""
    blocks: list[Block] = []
    taken: set[int] = set()
    for frame in sorted(frames, key=lambda frame: -frame.area):
        if frame.area > _LARGEST_FRAME_SHARE * page.width * page.height:
            continue
        inside = [line for line in lines if id(line) not in taken and line.angle == 0 and is_within(line, frame)]
        if sum(len(line.words) for line in inside) < _FRAMED_WORDS:
            continue
        taken |= set(map(id, inside))
        ordered = sorted(inside, key=lambda line: (round(line.top + line.bottom), line.left))
        largest = max(line.size for line in ordered[:4])
        title = " ".join(line.text for line in ordered[:4] if line.size > 0.9 * largest)
        blocks.append(Block(PointerKind.NOTES, frame, ordered, title=flatten(title)))
    return blocks


def _find_number(page: PageContent, lines: list[Line]) -> Line | None:
    """The number of the sheet: the largest of its form in the right or the lower margin."""
    right, low = (1 - 1.5 * _MARGIN_SHARE) * page.width, (1 - _MARGIN_SHARE) * page.height
    in_margin = [
        line
        for line in lines
        if (line.left > right or line.top > low) and line.angle == 0 and _LABEL.fullmatch(line.text.strip())
    ]
    return max(in_margin, key=lambda line: (round(line.size), line.left + line.top), default=None)


def _find_count(lines: list[Line]) -> str:
    matches = (_SHEET_OF.search(line.text) for line in lines)
    return next((match.group(1) for match in matches if match), "")


def _cut_title_block(page: PageContent, lines: list[Line], number: Line | None) -> Block | None:
    if number is None:
        return None
    low = number.top > (1 - _MARGIN_SHARE) * page.height
    near = [
        line
        for line in lines
        if (line.top > (1 - _MARGIN_SHARE) * page.height and abs(line.left - number.left) < 0.2 * page.width)
        or (not low and line.left > (1 - _MARGIN_SHARE) * page.width and line.top > 0.5 * page.height)
    ]
    block = Block(PointerKind.TITLE_BLOCK, bounds_of(near), sorted(near, key=lambda line: (line.top, line.left)))
    block.title = f"Title block {number.text.strip()}"
    return block


def _cluster(lines: list[Line], body: float) -> list[list[Line]]:
    """Lines of one direction that stand close to each other, read as they would be one below the other."""
    parents = list(range(len(lines)))

    def root(at: int) -> int:
        while parents[at] != at:
            parents[at] = parents[parents[at]]
            at = parents[at]
        return at

    order = sorted(range(len(lines)), key=lambda at: lines[at].top)
    for place, at in enumerate(order):
        line = lines[at]
        for other_at in order[place + 1 :]:
            other = lines[other_at]
            if other.top - line.bottom > body:
                break
            if line.angle == other.angle and _is_near(line, other):
                parents[root(at)] = root(other_at)
    groups: dict[int, list[Line]] = {}
    for at in order:
        groups.setdefault(root(at), []).append(lines[at])
    return list(groups.values())


def _is_near(line: Line, other: Line) -> bool:
    size = min(line.size, other.size)
    if max(line.size, other.size) > 1.6 * size:
        return False
    across = max(line.left, other.left) - min(line.right, other.right)
    down = max(line.top, other.top) - min(line.bottom, other.bottom)
    if line.angle in (90, 270):
        across, down = down, across
    return (down < 0.45 * size and across < 0.3 * size) or (down < -0.5 * size and across < 2.2 * size)


def _sort_clusters(clusters: list[list[Line]], body: float) -> tuple[list[Block], list[Block]]:
    """Notes and legends, and the labels of drawings."""
    notes, labels = [], []
    titles = [lines for lines in clusters if len(lines) <= 2 and _NOTES.search(_text_of(lines))]
    for lines in clusters:
        text = _text_of(lines)
        if lines in titles or not any(char.isalpha() for char in text):
            continue
        block = Block(PointerKind.DETAIL, bounds_of(lines), lines, title=flatten(text))
        if len(text.split()) < _NOTE_WORDS:
            labels.append(block)
            continue
        block.kind, block.title = PointerKind.NOTES, text.split("\n")[0]
        title = next((title for title in titles if _stands_above(bounds_of(title), block.place, 4 * body)), None)
        if title:
            titles.remove(title)
            block.title = flatten(_text_of(title))
            block.lines, block.place = [*title, *lines], bounds_of([*title, *lines])
        notes.append(block)
    labels += [Block(PointerKind.DETAIL, bounds_of(lines), lines, title=flatten(_text_of(lines))) for lines in titles]
    return _join_notes(notes), _attach_codes(labels)


def _join_notes(notes: list[Block]) -> list[Block]:
    """Notes below each other under one title are one."""
    joined: list[Block] = []
    for block in sorted(notes, key=lambda block: (round(block.place.left / 40), block.place.top)):
        last = joined[-1] if joined else None
        if last and _stands_above(last.place, block.place, 3 * block.size) and not _NOTES.search(block.title):
            last.lines += block.lines
            last.place = bounds_of([last.place, block.place])
        else:
            joined.append(block)
    return joined


def _attach_codes(labels: list[Block]) -> list[Block]:
    """A code by itself (`P-1`) says nothing: it goes to the label beside it, if one is near."""
    named = [block for block in labels if _SPEAKING.search(block.title)]
    places = [block.place for block in named]
    for code in labels:
        if not named or _SPEAKING.search(code.title):
            continue
        at = min(range(len(named)), key=lambda at: _distance(code.place, places[at]))
        if _distance(code.place, places[at]) <= _NEAR * code.size:
            named[at].lines = [*named[at].lines, *code.lines]
            named[at].place = bounds_of([named[at].place, code.place])
    return named


def _distance(place: Rectangle, other: Rectangle) -> float:
    """Between the edges of two rectangles; 0 where they touch."""
    across = max(0.0, max(place.left, other.left) - min(place.right, other.right))
    down = max(0.0, max(place.top, other.top) - min(place.bottom, other.bottom))
    return float(max(across, down))


def _stands_above(upper: Rectangle, lower: Rectangle, most: float) -> bool:
    shared = min(upper.right, lower.right) - max(upper.left, lower.left)
    return -2 <= lower.top - upper.bottom <= most and shared > 0.3 * min(upper.width, lower.width)


def _cut_views(page: PageContent, labels: list[Block], body: float) -> list[Block]:
    """Views (plans, elevations, details): a title in larger type or with a scale below it, and what is drawn above."""
    titles = [
        block
        for block in labels
        if len(block.lines) <= 4
        and _VIEW.search(block.title)
        and (block.lines[0].size > _LARGER * body or _SCALE.search(block.text) or _has_scale_below(block, labels))
    ]
    drawn = find_pictures(page)
    views = []
    for title in titles:
        own = [place for place in drawn if _nearest_title(place, titles) is title]
        if not own:
            continue
        place = bounds_of([*own, title.place])
        within = [line for block in labels for line in block.lines if place.holds(line.left, line.top)]
        views.append(Block(PointerKind.DETAIL, place, [*title.lines, *within], title=flatten(title.text)))
    return views


def _has_scale_below(title: Block, labels: list[Block]) -> bool:
    return any(
        _SCALE.search(block.text) and _stands_above(title.place, block.place, 2 * title.size) for block in labels
    )


def _nearest_title(place: Rectangle, titles: list[Block]) -> Block | None:
    """A view stands above its title; a title to its side is another's."""
    below = [
        title
        for title in titles
        if title.place.top > place.top + 0.5 * place.height
        and min(place.right, title.place.right) > max(place.left, title.place.left)
    ]
    return min(below, key=lambda title: abs(title.place.top - place.bottom), default=None)


def _text_of(lines: list[Line]) -> str:
    return "\n".join(line.text for line in lines)


def _kind_of(tables: list[Block], views: list[Block]) -> PageKind:
    if any("PLAN" in view.title.upper() for view in views):
        return PageKind.PLAN
    if views:
        return PageKind.DETAILS
    return PageKind.SCHEDULE if tables else PageKind.DETAILS
