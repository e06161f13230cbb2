"""The lines of a document, each with the day on which it was written: relative days are counted from there. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import PurePosixPath
from typing import Final

from reveries.knowledge.facts.days import DateOrder, DayMention, find_days

CHAT_STAMP: Final = re.compile(
    r"^\W{0,3}(?P<day>\d{1,4}[./-]\d{1,2}[./-]\d{1,4}|(?<=\[)[^\]\n]{3,30}?\d{4}),?[\s\u202f]+(?:\w{2}[\s\u202f]+)?\d{1,2}[:.]\d\d(?:[:.]\d\d)?"
    r"(?:[\s\u202f]*[ap]\.?[\s\u202f]?m\.?)?\]?[\s:]*(?:[-–][\s]*)?(?P<speaker>[^:\n]{1,40}:)?",
    re.IGNORECASE,
)
"""A message of an exported chat: its date, its time, and mostly a speaker."""
_HEADER: Final = re.compile(
    r"^\W*(?:date|datum|fecha|data|dato|sent|gesendet|envoyé|enviado|inviato|verzonden|sendt)\W*:\s*", re.IGNORECASE
)
"""The line of a letter, or of a document's first lines, that says when it was written."""
_FILE_DAY: Final = re.compile(r"(?<!\d)(?P<year>(?:19|20)\d\d)[-_.]?(?P<month>[01]\d)[-_.]?(?P<day>[0-3]\d)(?!\d)")
_TITLE_LINES: Final = 3
"""A date that ends or begins one of the first lines with text dates the document."""
_LIST_MARK: Final = re.compile(r"^\s*(?:>\s*)*(?:[-*+•]\s+|\d{1,3}[.)]\s+|#{1,6}\s+)?(?:\[[ xX✓]?\]\s*)?")
_MOST_EDGE_CHARS: Final = 3
"""Marks around the date of a heading: `**`, `(`, `:`."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a document."""

    number: int
    """From 1."""
    raw: str
    written_on: date
    stamp_end: int = 0
    """Where the words begin, behind the stamp of a chat message or the name of a header."""
    stamped_at: str = ""
    """The stamp of a chat message; messages of one conversation follow each other."""
    is_date_line: bool = False
    """Whether it only says when the rest was written."""

    @property
    def text(self) -> str:
        """The line without the mark of a list or a heading, and without the box of a task."""
        return self.raw[_LIST_MARK.match(self.raw).end() :].strip()  # type: ignore[union-attr]  # matches the empty line


def read_lines(document: str, text: str, default_day: date) -> Sequence[Line]:
    """Return the lines of `text`. `default_day`: when it was written if nothing in it says so."""
    order = DateOrder.of(text)
    raws = text.splitlines()
    day = _document_day(document, raws, default_day, order) or default_day
    lines: list[Line] = []
    for number, raw in enumerate(raws, 1):
        line = _read_line(number, raw, day, order)
        if line.stamped_at or line.is_date_line or line.text.startswith(("*", "_")):
            day = line.written_on
        lines.append(line)
    return lines


def _read_line(number: int, raw: str, day: date, order: DateOrder) -> Line:
    line = Line(number, raw, day)
    if stamp := CHAT_STAMP.match(raw):
        if mention := _only_day(stamp["day"], day, order):
            return replace(line, written_on=mention.first, stamp_end=stamp.end(), stamped_at=stamp.group())
    elif header := _HEADER.match(raw):
        if mentions := find_days(raw[header.end() :], day, order):
            return replace(line, written_on=mentions[0].first, is_date_line=True)
    elif mention := _leading_day(line.text, day, order):
        if mention.first <= day and _speaks_from_day(line.text, mention, order):
            return replace(line, written_on=mention.first)
        is_alone = len(line.text.strip("*_:.# ")) <= mention.end + _MOST_EDGE_CHARS
        if is_alone or line.text.startswith(("*", "_")):
            return replace(line, written_on=mention.first, is_date_line=is_alone)
    return line


def _leading_day(text: str, day: date, order: DateOrder) -> DayMention | None:
    """Return the day with which a heading or an entry of a diary begins; a span or a day ahead is no such heading."""
    mentions = find_days(text[:60], day, order)
    if not mentions or re.search(r"\w", text[: mentions[0].start]) or not mentions[0].is_written_out:
        return None
    return mentions[0] if mentions[0].first == mentions[0].last else None


def _speaks_from_day(text: str, entry: DayMention, order: DateOrder) -> bool:
    """Whether a line that begins with its day counts others from there: "24 Nov: the van is back tomorrow"."""
    return any(not mention.is_written_out for mention in find_days(text[entry.end :], entry.first, order))


def _only_day(text: str, day: date, order: DateOrder) -> DayMention | None:
    return next(iter(find_days(text, day, order)), None)


def _document_day(document: str, raws: Sequence[str], default_day: date, order: DateOrder) -> date | None:
    """Return the day that a document's header, title or file name gives it."""
    titles = [raw for raw in raws if raw.strip()][:_TITLE_LINES]
    header = next((raw for raw in raws[:12] if _HEADER.match(raw)), None)
    if header is not None and (mentions := find_days(header, default_day, order)):
        return mentions[0].first
    if named := _file_day(document, default_day, order):
        return named
    return next((day for raw in titles for day in _title_days(raw, default_day, order)), None)


def _title_days(raw: str, default_day: date, order: DateOrder) -> Iterator[date]:
    for mention in find_days(raw, default_day, order):
        is_edge = len(raw.rstrip()) - mention.end <= _MOST_EDGE_CHARS or mention.start <= _MOST_EDGE_CHARS
        is_one_day = mention.first == mention.last
        if is_edge and is_one_day and mention.is_dated and mention.first <= default_day:
            yield mention.first


def _file_day(document: str, default_day: date, order: DateOrder) -> date | None:
    """Return the day in the name of a file: 2026-10-06, or "meeting 6 October"."""
    if match := _FILE_DAY.search(document):
        try:
            return date(int(match["year"]), int(match["month"]), int(match["day"]))
        except ValueError:
            return None
    mentions = find_days(PurePosixPath(document).stem, default_day, order)
    return mentions[0].first if mentions and mentions[0].is_written_out else None
