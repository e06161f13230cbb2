"""Dates and times as chat programs write them in the languages of the world, at the beginning of a line. The order of
day, month and year is decided from all lines of a file. Pure."""

import datetime as dt
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from reveries.client.past.parsed import DayOrder, local_time, read_words

MARKS: Final = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")
"""Marks of writing direction, which WhatsApp sets around names, numbers and its own words."""
_HEAD_CHARS: Final = 90
_AM: Final = read_words(
    "am|ص|上午|午前|오전|凌晨|清晨|早上|ก่อนเที่ยง|sa|de|πμ|पूर्वाह्न|मपू|قظ|öö|dop|dopoledne|fm|pg|"
    "προμεσημβρίας|vorm|прпл|пробед|முற்பகல்|ಪೂರ್ವಾಹ್ನ|ጥዋት|ap|paradite|eparadites|pd"
)
_PM: Final = read_words(
    "pm|م|下午|午後|오후|晚上|หลังเที่ยง|ch|du|μμ|अपराह्न|मउ|بظ|ös|odp|odpoledne|em|ptg|nachm|слоб|слпл|"
    "பிற்பகல்|ಅಪರಾಹ್ನ|ከሰዓት|ip|pasdite|epasdites|md"
)
"""Words for the half of the day, without points and spaces: those of the Unicode Common Locale Data Repository."""
_NOON: Final = "中午"
_FIRST_SHORT_YEAR: Final = 2009
"""WhatsApp began in 2009: an earlier year of two digits is no year."""


def _half_pattern() -> str:
    words = sorted((_AM | _PM) - {_NOON}, key=len, reverse=True)
    # Shorter words are also written with points and spaces: "p. m.", "μ.μ."
    spaced = [r"\.?\s?".join(map(re.escape, word)) + r"\.?" if len(word) <= 4 else re.escape(word) for word in words]
    return rf"(?:{'|'.join(spaced)})(?!\w)"


_NUMBERS: Final = r"(?P<a>\d{1,4})\s?(?P<mark>[./\-년年])\s?(?P<b>\d{1,2})\s?[./\-월月]\s?(?P<c>\d{1,4})(?:日|일|\.)?"
_DATE: Final = _NUMBERS + r"(?P<between>[^\d\n:\[\]]{1,14})"
_CLOCK: Final = (
    r"(?P<hour>\d{1,2})[:.h](?P<minute>\d{2})(?!\d)(?:[:.](?P<second>\d{2})(?:[.,]\d{1,6})?)?"
    r"(?P<zone>Z|[+-]\d{2}:\d{2})?"
)
_ANY_HALF: Final = r"(?P<half>[^\d\n:\[\]–-]{1,16}?)?"
_KNOWN_HALF: Final = rf"\s?(?P<half>{_half_pattern()})?"


class StampStyle(Enum):
    """What stands around the time."""

    BRACKETS = "[time]"
    DASH = "time -"
    COLON = "time:"
    BARE = "time"


@dataclass(frozen=True, slots=True)
class Stamp:
    """A written time: its numbers as they stand there, and the place in the line where it ends."""

    style: StampStyle
    numbers: tuple[str, str, str] | None
    mark: str
    hour: int
    minute: int
    second: int
    half: str
    zone: str
    end: int

    @property
    def shape(self) -> tuple[StampStyle, bool]:
        """What all lines of a file share."""
        return self.style, self.numbers is not None

    @property
    def key(self) -> str:
        """The time as it is written, whatever its order is taken for."""
        date = "/".join(self.numbers) if self.numbers else ""
        return f"{date} {self.hour}:{self.minute}:{self.second} {self.half} {self.zone}".strip()


@dataclass(frozen=True, slots=True)
class DecidedOrder:
    """The order of the dates of a file, and whether no other one is possible."""

    order: DayOrder
    is_certain: bool


_PATTERNS: Final = (
    (StampStyle.BRACKETS, re.compile(rf"\s*\[\s*(?:{_DATE})?{_CLOCK}{_ANY_HALF}\s*\]:?\s*")),
    # Copied from a window of WhatsApp: the time first.
    (StampStyle.BRACKETS, re.compile(rf"\s*\[\s*{_CLOCK}{_KNOWN_HALF},?\s+{_NUMBERS}\s*\](?P<between>):?\s*")),
    (StampStyle.DASH, re.compile(rf"\s*(?:{_DATE})?{_CLOCK}{_ANY_HALF}\s+[-–]\s+")),
    (StampStyle.COLON, re.compile(rf"\s*{_DATE}{_CLOCK}{_KNOWN_HALF}:\s+", re.IGNORECASE)),
    (StampStyle.BARE, re.compile(rf"\s*(?:{_DATE})?{_CLOCK}{_KNOWN_HALF},?\s+", re.IGNORECASE)),
)


def read_stamp(line: str) -> Stamp | None:
    """Read the time at the beginning of `line`; None if there is none."""
    head = line[:_HEAD_CHARS]
    plain = head if head.isascii() else head.translate(_PLAIN)
    if not plain.lstrip(" \t[")[:1].isdecimal():
        return None
    for style, pattern in _PATTERNS:
        if (match := pattern.match(plain)) is not None and int(match["hour"]) <= 24 and int(match["minute"]) < 60:
            return _stamp_of(style, match, _place_in(head, match.end()))
    return None


class _PlainChars(dict[int, str | None]):
    """Digits of any script as ASCII digits, any space as a plain one, marks of direction as nothing."""

    def __missing__(self, code: int) -> str | None:
        char = chr(code)
        if char in MARKS:
            self[code] = None
        elif char.isdecimal():
            self[code] = str(unicodedata.decimal(char))
        else:
            self[code] = " " if char.isspace() else char
        return self[code]


_PLAIN: Final = _PlainChars()


def _place_in(head: str, plain_chars: int) -> int:
    """Return where in `head` so many characters that are no marks end."""
    if head.isascii():
        return plain_chars
    places = [place for place, char in enumerate(head) if char not in MARKS]
    return places[plain_chars - 1] + 1


def _stamp_of(style: StampStyle, match: re.Match[str], end: int) -> Stamp:
    numbers = (match["a"], match["b"], match["c"]) if match["a"] else None
    half = _half_word(match["half"] or "")
    if not half and (before := _half_word(match["between"] or "")) in _AM | _PM | {_NOON}:
        half = before
    clock = int(match["hour"]), int(match["minute"]), int(match["second"] or 0)
    return Stamp(style, numbers, match["mark"] or "", *clock, half, match["zone"] or "", end)


def _half_word(text: str) -> str:
    return re.sub(r"[\s.,،]", "", text).casefold()


def has_readable_half(stamp: Stamp) -> bool:
    """Whether the half of the day is a word that is known, or not written."""
    return stamp.half in ("", _NOON) or stamp.half in _AM or stamp.half in _PM


def read_moment(stamp: Stamp, order: DayOrder, day: dt.date | None = None) -> float:
    """Return unix seconds; `day` stands for a date that is not written. Raises ValueError for no valid time."""
    if not has_readable_half(stamp):
        raise ValueError(f"the time of day {stamp.half!r} is not known")
    date = read_date(stamp.numbers, order) if stamp.numbers else day
    if date is None:
        raise ValueError("it has no valid date")
    clock = dt.time(_hour_of_day(stamp), stamp.minute, stamp.second)
    moment = dt.datetime.combine(date, clock)
    if stamp.zone:
        moment = dt.datetime.fromisoformat(f"{moment.isoformat()}{stamp.zone}")
    return local_time(moment)


def _hour_of_day(stamp: Stamp) -> int:
    if stamp.half in _AM:
        return stamp.hour % 12
    if stamp.half in _PM or (stamp.half == _NOON and stamp.hour < 11):
        return stamp.hour % 12 + 12
    return stamp.hour


def read_date(numbers: tuple[str, str, str], order: DayOrder) -> dt.date | None:
    """Read a date in this order; None if it is not valid in it."""
    first, second, third = numbers
    match order:
        case DayOrder.DAY_FIRST:
            year, month, day = third, second, first
        case DayOrder.MONTH_FIRST:
            year, month, day = third, first, second
        case DayOrder.YEAR_FIRST:
            year, month, day = first, second, third
    if len(year) not in (2, 4) or len(month) > 2 or len(day) > 2:
        return None
    number = int(year) + (2000 if len(year) == 2 else 0)
    if len(year) == 2 and number < _FIRST_SHORT_YEAR:
        return None
    # The Buddhist era of Thailand is 543 years ahead.
    number -= 543 if number > 2400 else 0
    try:
        return dt.date(number, int(month), int(day)) if number >= 1970 else None
    except ValueError:
        return None


def decide_order(dates: Iterable[tuple[str, str, str]], mark: str, latest: dt.date) -> DecidedOrder | None:
    """Decide the order from all dates of a file, in the order of the file; None if none is possible for most of them.

    An order is possible if it makes each date valid, none later than `latest`, and none earlier than the one before.
    """
    written = _without_repetition(dates)
    readings = {order: [read_date(numbers, order) for numbers in written] for order in DayOrder}
    # Of a few damaged lines no order makes sense: they must not decide.
    sane = [place for place in range(len(written)) if any(readings[order][place] for order in DayOrder)]
    if not sane or len(sane) * 2 < len(written):
        return None
    faults = {order: _count_faults([readings[order][place] for place in sane], latest) for order in DayOrder}
    least = min(faults.values())
    possible = [order for order in DayOrder if faults[order] == least]
    if len(possible) == 1:
        return DecidedOrder(possible[0], is_certain=least == 0)
    return _decide_by_likelihood(possible, {order: readings[order] for order in possible}, mark)


def _without_repetition(dates: Iterable[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    written: list[tuple[str, str, str]] = []
    for numbers in dates:
        if not written or written[-1] != numbers:
            written.append(numbers)
    return written


def _count_faults(dates: Sequence[dt.date | None], latest: dt.date) -> int:
    """Count the dates that are not valid, too late, or more than a day before the one before them."""
    faults, before = 0, dt.date.min
    for date in dates:
        if date is None or date > latest:
            faults += 1
            continue
        # Phones that were set wrong, and messages that came late, step back a little in a right order too.
        faults += date < before - dt.timedelta(days=1) if before > dt.date.min else 0
        before = date
    return faults


def _decide_by_likelihood(
    possible: list[DayOrder], readings: dict[DayOrder, list[dt.date | None]], mark: str
) -> DecidedOrder:
    spans = {order: _span_days(dates) for order, dates in readings.items()}
    # The wrong order scatters the days of a month over the years.
    shortest = min(possible, key=lambda order: spans[order])
    if DayOrder.YEAR_FIRST in possible and len(possible) > 1:
        if shortest is DayOrder.YEAR_FIRST and spans[shortest] * 10 < min(spans[order] for order in possible[:-1]):
            return DecidedOrder(shortest, is_certain=False)
        # Years of two digits in front are rare: only Basque and Nepali write them.
        possible = [order for order in possible if order is not DayOrder.YEAR_FIRST]
    if len({tuple(readings[order]) for order in possible}) == 1:
        return DecidedOrder(possible[0], is_certain=True)
    if mark in (".", "-") and DayOrder.DAY_FIRST in possible:
        # No language writes the month first with points; with hyphens hardly any.
        return DecidedOrder(DayOrder.DAY_FIRST, is_certain=mark == ".")
    return DecidedOrder(min(possible, key=lambda order: spans[order]), is_certain=False)


def _span_days(dates: Sequence[dt.date | None]) -> int:
    valid = [date for date in dates if date is not None]
    return (max(valid) - min(valid)).days if valid else 0
