"""Lines that stand on page after page (headers, footers, page numbers): part of the page, but no pointer."""

import re
from collections.abc import Sequence
from typing import Final

from reveries.knowledge.reading.content import Line, PageContent

_MARGIN_SHARE: Final = 0.12
_SAME_PLACE_SHARE: Final = 0.012
_YEARS: Final = (1900, 2100)
_NUMBERS: Final = re.compile(r"\d+|\b[ivxlc]{1,6}\b", re.IGNORECASE)
_ONLY_A_NUMBER: Final = re.compile(
    r"(?:page|seite|p\.|s\.)?\s*[-–—|]?\s*(\d{1,4}|[ivxlc]{1,6})\s*[-–—|]?", re.IGNORECASE
)
_PAGE_OF: Final = re.compile(
    r"\bpage\s+(\d{1,4}|[ivxlc]{1,6})(?:\s+of\s+\d+)?\b|\b(\d{1,4})\s*$|^(\d{1,4})\b", re.IGNORECASE
)


def find_running_lines(
    page: PageContent, lines: Sequence[Line], neighbours: Sequence[tuple[PageContent, Sequence[Line]]]
) -> list[Line]:
    """Lines in the margins of a page that a neighbour has as well, at the same height and but for numbers."""
    marks = [mark for other, other_lines in neighbours for mark in _margin_marks(other, other_lines)]
    lowest = max((line.bottom for line in lines), default=0.0)
    running = []
    for line in lines:
        mark = _mark(page, line)
        if mark is None:
            if line.bottom >= lowest - 1 and _is_page_number(line) and not _has_company(line, lines):
                running.append(line)  # The number of a page whose lower part is empty.
            continue
        text, height = mark
        if _is_page_number(line) or any(
            text == other and abs(height - place) < _SAME_PLACE_SHARE for other, place in marks
        ):
            running.append(line)
    return running


def _is_page_number(line: Line) -> bool:
    """A number by itself, but no year: that is the head of a column."""
    match = _ONLY_A_NUMBER.fullmatch(line.text)
    return match is not None and not (match.group(1).isdigit() and _YEARS[0] <= int(match.group(1)) <= _YEARS[1])


def _has_company(line: Line, lines: Sequence[Line]) -> bool:
    return any(other is not line and other.bottom > line.top for other in lines)


def find_printed_number(running: Sequence[Line], number: int) -> str:
    """The page's number as its header or footer prints it; empty where none does."""
    for line in running:
        match = _ONLY_A_NUMBER.fullmatch(line.text)
        if match and _is_page_number(line):
            return match.group(1)
    for line in running:
        match = _PAGE_OF.search(line.text)
        if match:
            printed = next(group for group in match.groups() if group)
            if not printed.isdigit() or abs(int(printed) - number) <= 60:
                return printed
    return ""


def _margin_marks(page: PageContent, lines: Sequence[Line]) -> list[tuple[str, float]]:
    return [mark for line in lines if (mark := _mark(page, line)) is not None]


def _mark(page: PageContent, line: Line) -> tuple[str, float] | None:
    """What two running lines share: the text but for numbers, and the height as a share of the page."""
    middle = (line.top + line.bottom) / 2 / page.height
    if _MARGIN_SHARE < middle < 1 - _MARGIN_SHARE or len(line.text) > 160:
        return None
    return _NUMBERS.sub("#", line.text.casefold()), middle
