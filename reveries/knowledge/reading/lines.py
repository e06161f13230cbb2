"""From words to lines: pieces of text on one base line, divided where the gap is wider than a space.

Text that is turned is turned upright first and its lines are turned back, so that it is read right as well.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Final

from reveries.knowledge.reading.content import Line, PageContent, Rectangle, Word, bounds_of
from reveries.knowledge.reading.rules import Rules

SPACE_LIMIT: Final = 1.0
"""A wider gap, as a share of the font's height, divides two cells or columns. A space is a quarter to a third of it;
in text set to both margins it is rarely twice as much."""
_NUMBERING: Final = re.compile(r"\(?(?:\d{1,3}(?:\.\d{1,3}){0,4}|[a-zA-Z]|[ivxIVX]{1,4})[.):]?|[•●▪■◦‣∙·–—-]")
_NUMBERING_LIMIT: Final = 3.2
_OVERLAP: Final = 0.5
_RIGHT_TO_LEFT: Final = (("\u0590", "\u08ff"), ("\ufb1d", "\ufdff"), ("\ufe70", "\ufeff"))


def form_lines(page: PageContent, rules: Rules) -> list[Line]:
    """Lines of a page, those of each reading direction from its top to its bottom; drawn lines divide them too."""
    by_angle: dict[int, list[Word]] = defaultdict(list)
    for word in page.words:
        by_angle[word.angle].append(word)
    lines: list[Line] = []
    for angle, words in sorted(by_angle.items()):
        pairs = [(_place_upright(word, angle, page), word) for word in words]
        upright = {id(place): word for place, word in pairs}
        for row in _group_rows([place for place, _ in pairs]):
            lines.extend(_divide_row(row, upright, angle, rules))
    return lines


def turn_upright(place: Rectangle, angle: int, page: PageContent) -> Rectangle:
    """The place of turned text on a page that is turned so that the text runs from left to right."""
    if angle == 90:
        return Rectangle(place.top, page.width - place.right, place.bottom, page.width - place.left)
    if angle == 180:
        return Rectangle(
            page.width - place.right, page.height - place.bottom, page.width - place.left, page.height - place.top
        )
    if angle == 270:
        return Rectangle(page.height - place.bottom, place.left, page.height - place.top, place.right)
    return place


def _place_upright(word: Word, angle: int, page: PageContent) -> Rectangle:
    """A place of its own for each word: places are told apart by what they are, not by where."""
    place = turn_upright(word, angle, page)
    return Rectangle(place.left, place.top, place.right, place.bottom) if place is word else place


def reads_right_to_left(text: str) -> bool:
    """Whether most of its letters are of a script that is written from right to left."""
    letters = [char for char in text if char.isalpha()]
    turned = sum(any(low <= char <= high for low, high in _RIGHT_TO_LEFT) for char in letters)
    return 2 * turned > len(letters) > 0


def _group_rows(places: Sequence[Rectangle]) -> Iterable[list[Rectangle]]:
    """Words that share a base line, top row first; a row holds all columns."""
    rows: list[list[Rectangle]] = []
    spans: list[tuple[float, float]] = []
    for place in sorted(places, key=lambda place: (place.top + place.bottom) / 2):
        for at in range(len(rows) - 1, max(-1, len(rows) - 8), -1):
            top, bottom = spans[at]
            shared = min(bottom, place.bottom) - max(top, place.top)
            if shared > _OVERLAP * max(1e-6, min(bottom - top, place.height)) and (
                place.height < 2.2 * (bottom - top) and bottom - top < 2.2 * place.height
            ):
                rows[at].append(place)
                break
        else:
            rows.append([place])
            spans.append((place.top, place.bottom))
    return rows


def _divide_row(row: list[Rectangle], words: dict[int, Word], angle: int, rules: Rules) -> Iterable[Line]:
    """Divide a row at wide gaps, and where a line is drawn between two words."""
    row.sort(key=lambda place: place.left)
    piece: list[Rectangle] = []
    right = 0.0
    for place in row:
        size = words[id(place)].size
        gap = place.left - right
        before = words[id(piece[-1])] if piece else None
        if before is not None and (
            gap > _space_limit(before, words[id(place)], is_first=len(piece) == 1) * min(size, before.size)
            or (angle == 0 and gap > 0 and rules.divides(right, place.left, (place.top + place.bottom) / 2))
        ):
            yield _make_line(piece, words, angle)
            piece = []
        right = max(right, place.right) if piece else place.right
        piece.append(place)
    if piece:
        yield _make_line(piece, words, angle)


def _space_limit(word: Word, following: Word, *, is_first: bool) -> float:
    """The number of a heading and the mark of a list stand further from their words than words from each other."""
    if is_first and _NUMBERING.fullmatch(word.text) and any(char.isalpha() for char in following.text):
        return _NUMBERING_LIMIT
    return SPACE_LIMIT


def _make_line(places: list[Rectangle], words: dict[int, Word], angle: int) -> Line:
    ordered = [words[id(place)] for place in places]
    if reads_right_to_left("".join(word.text for word in ordered)):
        ordered.reverse()
    around = bounds_of(ordered)
    letters = sum(len(word.text) for word in ordered)
    bold = sum(len(word.text) for word in ordered if word.is_bold)
    size = median(word.size for word in ordered)
    return Line(around.left, around.top, around.right, around.bottom, ordered, size, 2 * bold > letters, angle)
