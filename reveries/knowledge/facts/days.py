"""Days that a text names, in seven languages, counted from the day on which it was written. Pure.

General parsers were tried on notes of the kind that people keep and were too ready to see a day: dateparser 1.5 reads
"2.5 kg" as 5 February, "may" as a month and "24 and 31 December" as 2031 (28 Nov 2026, docs/benchmarks/projects.md).
Here a number is a day only beside the name of a month, a weekday that fits it, or a word that says so.
"""

import calendar
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from enum import StrEnum
from operator import itemgetter
from typing import Final

from reveries.knowledge.facts.day_patterns import (
    BARE_DAY,
    COUNTED_AHEAD,
    COUNTED_BACK,
    DATE_OPENS,
    DAYS_AND_MONTH,
    DEADLINE,
    DOTTED,
    EVERY,
    HEADED_DAY,
    HOURS_FOLLOW,
    ISO,
    MONTH_AND_DAY,
    MONTH_DAY_YEAR,
    MORNING,
    MOVED_TO,
    NTH_WEEKDAY,
    NUMERIC,
    OF,
    OTHER_SIDE,
    RANGE,
    RELATIVE_DAY,
    RELATIVE_WEEKDAY,
    SLASHED,
    SPAN_WORD,
    START,
    WEEKDAY_AND_DAY,
    WEEKDAY_AND_TIME,
    WEEKDAY_NEXT_WEEK,
)
from reveries.knowledge.facts.numbers import read_number_words
from reveries.knowledge.facts.vocabulary import VOCABULARY

_AMBIGUOUS_MONTHS: Final = frozenset(
    {"may", "mar", "march", "ago", "gen", "mag", "sept", "man", "jan", "des", "mai", "maja"}
)
"""Also other words, or names: they need more than a number before them."""
_AHEAD_DAYS: Final = 92
_BACK_DAYS: Final = 31
"""How far a day of the month that names no month may lie from the day of writing."""
_BESIDE_DAYS: Final = 45
"""A day without a year that lies so near to one with its year belongs to the same event."""

_LINE_CHARS: Final = 600
"""Of a line without an end, so much is read before a day."""
_YEAR_FIRST: Final = re.compile(r"\W*((?:19|20)\d\d)\b(?![-./]\d)")
_OF_YEAR: Final = re.compile(r"\b(?:de|in|im|en|of|from|von|van|del|i) ((?:19|20)\d\d)\b")


class DateOrder(StrEnum):
    """Which number comes first where a date is written in numbers alone."""

    DAY_FIRST = "day_first"
    MONTH_FIRST = "month_first"

    @classmethod
    def of(cls, text: str) -> "DateOrder":
        """Return the order that the numbers of `text` show; day first if none shows it, as most countries write."""
        pairs = re.findall(r"(?<!\d)(\d{1,2})[./-](\d{1,2})[./-](?:\d{4}|\d{2})(?!\d)", text)
        is_month_first = any(int(second) > 12 >= int(first) for first, second in pairs)
        is_day_first = any(int(first) > 12 >= int(second) for first, second in pairs)
        # Who writes "Nov 30, 2026" writes 11/30/2026.
        is_month_first = is_month_first or MONTH_DAY_YEAR.search(text) is not None
        return cls.MONTH_FIRST if is_month_first and not is_day_first else cls.DAY_FIRST


@dataclass(frozen=True, slots=True)
class DayMention:
    """A day, or a span of days, at its place in a text."""

    start: int
    end: int
    first: date
    last: date
    is_dated: bool = False
    """Whether the year stands there, or a weekday that decides it."""
    is_written_out: bool = True
    """Whether a day and a month stand there; else it was counted from the day of writing."""


@dataclass(frozen=True, slots=True)
class DayContext:
    """The days that a document names elsewhere, for a number without a month: "the 14th"."""

    named: frozenset[date] = frozenset()
    """All that it writes out."""
    recent: date | None = None
    """The last one before, if it lay ahead when it was written."""
    dated: frozenset[date] = frozenset()
    """Days ahead whose year stands there; others near them are of that year, too."""
    months: Sequence[date] = ()
    """The first of each month that the heading may mean: one if it names the year."""


@dataclass(frozen=True, slots=True)
class _Reading:
    """What a rule needs to know beside its match."""

    text: str
    written_on: date
    order: DateOrder
    context: "DayContext"

    def year_of_line(self, at: int) -> int | None:
        """Return the year that the line names before `at`: "2018 Aarhus, 9 to 13 May", "the tour of 2024, 3 May"."""
        begin = self.text.rfind("\n", 0, at) + 1
        named = _YEAR_FIRST.match(self.text, begin, at) or _OF_YEAR.search(self.text, max(begin, at - _LINE_CHARS), at)
        return int(named[1]) if named else None


_Rule = Callable[[re.Match[str], _Reading], Iterator[DayMention]]


def find_days(
    text: str, written_on: date, order: DateOrder = DateOrder.DAY_FIRST, context: DayContext | None = None
) -> list[DayMention]:
    """Return the days that `text` names, in the order of the text. Two of them with a word for a span between them are
    one mention."""
    context = context or DayContext()
    taken: list[DayMention] = []
    written_out: list[tuple[int, date]] = []
    is_taken = bytearray(len(text))
    for pattern, rule in _RULES:
        for match in pattern.finditer(text):
            if any(is_taken[match.start() : match.end()]):
                continue
            place = bisect_right(written_out, match.start(), key=itemgetter(0))
            recent = written_out[place - 1][1] if place else context.recent
            reading = _Reading(text, written_on, order, replace(context, recent=recent))
            try:
                mentions = list(rule(match, reading))
            except (ValueError, OverflowError):
                continue
            taken += mentions
            for mention in mentions:
                is_taken[mention.start : mention.end] = b"\1" * (mention.end - mention.start)
                if mention.is_written_out:
                    place = bisect_left(written_out, mention.end, key=itemgetter(0))
                    written_out.insert(place, (mention.end, mention.last))
    return _join_spans(text, sorted(taken, key=lambda mention: (mention.start, mention.first)))


def _join_spans(text: str, mentions: list[DayMention]) -> list[DayMention]:
    """Join "21 December" and "3 January" in "from 21 December to 3 January"."""
    joined: list[DayMention] = []
    for mention in mentions:
        before = joined[-1] if joined else None
        if (
            before is not None
            and before.first == before.last
            and mention.first == mention.last
            and SPAN_WORD.fullmatch(text, before.end, mention.start)
        ):
            last = mention.last
            if last < before.first and not mention.is_dated:
                last = last.replace(year=last.year + 1)
            if last > before.first:
                joined[-1] = replace(before, end=mention.end, last=last, is_dated=before.is_dated or mention.is_dated)
                continue
        joined.append(mention)
    return joined


# --- rules, the surest first ------------------------------------------------------------------------------------------


def _iso(match: re.Match[str], reading: _Reading) -> Iterator[DayMention]:
    day = date(int(match["y"]), int(match["m"]), int(match["d"]))
    yield DayMention(match.start(), match.end(), day, day, is_dated=True)


def _numeric(match: re.Match[str], reading: _Reading) -> Iterator[DayMention]:
    first, second, year = int(match["a"]), int(match["b"]), int(match["y"])
    is_month_first = (reading.order is DateOrder.MONTH_FIRST and first <= 12) or second > 12
    month, day_number = (first, second) if is_month_first else (second, first)
    day = date(year + 2000 if year < 100 else year, month, day_number)
    yield DayMention(match.start(), match.end(), day, day, is_dated=True)


def _short_numeric(match: re.Match[str], reading: _Reading) -> Iterator[DayMention]:
    """5.12. or, behind a weekday or a preposition, 5/12."""
    first, second = int(match["a"]), int(match["b"])
    is_month_first = reading.order is DateOrder.MONTH_FIRST and first <= 12 and "/" in match.group()
    month, day_number = (first, second) if is_month_first else (second, first)
    day = _nearest(month, day_number, _weekday_of(match), reading, match.start())
    yield DayMention(match.start(), match.end(), day, day)


def _days_and_month(match: re.Match[str], reading: _Reading) -> Iterator[DayMention]:
    """12 May; 13 to 16 May; 24 and 31 December; 12.-16. Mai 2027."""
    word = match["month"].casefold()
    has_year = match["year"] is not None
    if word in _AMBIGUOUS_MONTHS and not (has_year or _is_clearly_a_date(match, reading.text)):
        return
    month, year = VOCABULARY.months[word], int(match["year"]) if has_year else reading.year_of_line(match.start())
    numbers = [int(number) for number in re.findall(r"\d+", match["days"])]
    weekday = _weekday_of(match)
    is_dated = year is not None or weekday is not None

    # A weekday stands beside the first of them.
    year = year or _nearest(month, numbers[0], weekday, reading, match.start()).year

    def resolve(number: int) -> date:
        return date(year, month, number)

    if len(numbers) == 2 and RANGE.search(match["days"]):
        last = resolve(numbers[1])
        yield DayMention(match.start(), match.end(), last.replace(day=numbers[0]), last, is_dated)
        return
    for number in numbers:
        day = resolve(number)
        yield DayMention(match.start(), match.end(), day, day, is_dated)


def _month_and_day(match: re.Match[str], reading: _Reading) -> Iterator[DayMention]:
    """November 10, 2026; Nov 10-12."""
    month, number = VOCABULARY.months[match["month"].casefold()], _number_of(match["d"])
    weekday = _weekday_of(match)
    year = int(match["year"]) if match["year"] else reading.year_of_line(match.start())
    day = date(year, month, number) if year else _nearest(month, number, weekday, reading, match.start())
    last = day.replace(day=int(match["e"])) if match["e"] else day
    yield DayMention(match.start(), match.end(), day, max(day, last), year is not None or weekday is not None)


def _nth_weekday(match: re.Match[str], reading: _Reading) -> Iterator[DayMention]:
    """The third Thursday of October."""
    place, weekday = VOCABULARY.ordinals[match["nth"].casefold()], VOCABULARY.weekdays[match["weekday"].casefold()]
    month = VOCABULARY.months[match["month"].casefold()]
    years = [int(match["year"])] if match["year"] else [reading.written_on.year + step for step in (-1, 0, 1)]
    days = [_nth_of_month(year, month, weekday, place) for year in years]
    day = min(days, key=lambda day: abs((day - reading.written_on).days))
    yield DayMention(match.start(), match.end(), day, day, is_dated=True)


def _weekday_and_day(match: re.Match[str], reading: _Reading) -> Iterator[DayMention]:
    """Sat 28; mon 30th: the month is the one in which they fit."""
    weekday, number = VOCABULARY.weekdays[match["weekday"].casefold()], _number_of(match["d"])
    if (headed := _below_heading(weekday, number, reading)) is not None:
        yield DayMention(match.start(), match.end(), headed, headed)
        return
    days = [
        reading.written_on + timedelta(days=step)
        for step in range(-_BACK_DAYS, _AHEAD_DAYS)
        if (reading.written_on + timedelta(days=step)).day == number
    ]
    fitting = [day for day in days if day.isoweekday() == weekday]
    if fitting:
        day = min(fitting, key=lambda day: (abs((day - reading.written_on).days), day))
        yield DayMention(match.start(), match.end(), day, day, is_written_out=False)


def _headed_day(match: re.Match[str], reading: _Reading) -> Iterator[DayMention]:
    """Mi 9.; 9 Wed: below a heading that names the month."""
    weekday = VOCABULARY.weekdays[(match["weekday"] or match["weekday_behind"]).casefold()]
    day = _below_heading(weekday, _number_of(match["d"] or match["d_first"]), reading)
    if day is not None:
        start = match.start("weekday") if match["weekday"] else match.start("d_first")
        yield DayMention(start, match.end(), day, day)


def _below_heading(weekday: int, number: int, reading: _Reading) -> date | None:
    """Return the day of the month of the heading on which the weekday fits, the nearest; None without such a month."""
    days = [
        month.replace(day=number)
        for month in reading.context.months
        if number <= calendar.monthrange(month.year, month.month)[1]
    ]
    fitting = [day for day in days if day.isoweekday() == weekday]
    return min(fitting, key=lambda day: abs((day - reading.written_on).days), default=None)


def _bare_day(match: re.Match[str], reading: _Reading) -> Iterator[DayMention]:
    """The 14th; el 2; am 17.; del 28 al 29."""
    rest = reading.text[match.end() :]
    is_ordinal = match["d"].endswith(".") and re.match(r"\s+[a-zäöü]", rest) is not None
    if OTHER_SIDE.search(reading.text[: match.start()]) or HOURS_FOLLOW.match(rest):
        return
    if not (is_ordinal or _ends_mention(rest)):
        return
    first = _in_month_of_context(_number_of(match["d"]), reading)
    last = _in_month_of_context(_number_of(match["e"]), reading) if match["e"] else first
    if last >= first:
        yield DayMention(match.start("d"), match.end(), first, last, is_written_out=False)


def _relative_day(match: re.Match[str], reading: _Reading) -> Iterator[DayMention]:
    if match.group().casefold() in ("morgen", "mañana") and _is_morning(match, reading.text):
        return
    day = reading.written_on + timedelta(days=VOCABULARY.relative_days[re.sub(r"\s+", " ", match.group().casefold())])
    yield DayMention(match.start(), match.end(), day, day, is_written_out=False)


def _is_morning(match: re.Match[str], text: str) -> bool:
    """Whether a word that may mean tomorrow means the morning: behind an article, or as a German noun."""
    before = text[max(0, match.start() - 20) : match.start()]
    is_noun = match.group()[0].isupper() and re.search(r"[^\W\d_],?\s+$", before) is not None
    return is_noun or MORNING.search(before) is not None


def _relative_weekday(match: re.Match[str], reading: _Reading) -> Iterator[DayMention]:
    """Next Monday; Monday week; by Tuesday; lunes que viene; last Friday."""
    before = reading.text[: match.start()]
    if EVERY.search(before):
        return
    ahead = (VOCABULARY.weekdays[match["weekday"].casefold()] - reading.written_on.isoweekday()) % 7 or 7
    if match["last"] or match["last_after"]:
        ahead -= 7
    elif match["week"]:
        ahead += 7
    day = reading.written_on + timedelta(days=ahead)
    yield DayMention(match.start(), match.end(), day, day, is_written_out=False)


def _weekday_next_week(match: re.Match[str], reading: _Reading) -> Iterator[DayMention]:
    """Next week Wednesday: in the week that begins with the next Monday."""
    weekday = VOCABULARY.weekdays[(match["weekday"] or match["weekday_first"]).casefold()]
    day = reading.written_on + timedelta(days=7 - reading.written_on.isoweekday() + weekday)
    yield DayMention(match.start(), match.end(), day, day, is_written_out=False)


def _weekday_and_time(match: re.Match[str], reading: _Reading) -> Iterator[DayMention]:
    """Tuesday at 11."""
    if not EVERY.search(reading.text[: match.start()]):
        ahead = (VOCABULARY.weekdays[match["weekday"].casefold()] - reading.written_on.isoweekday()) % 7
        day = reading.written_on + timedelta(days=ahead)
        yield DayMention(match.start(), match.end(), day, day, is_written_out=False)


def _counted(match: re.Match[str], reading: _Reading) -> Iterator[DayMention]:
    """In three weeks; vor zwei Tagen. Months are too vague for a day."""
    unit, count = VOCABULARY.duration_units[match["unit"].casefold()], _small_number(match["n"])
    if count is None or unit == "month":
        return
    sign = -1 if match.re in COUNTED_BACK else 1
    day = reading.written_on + timedelta(days=sign * count * (7 if unit == "week" else 1))
    yield DayMention(match.start(), match.end(), day, day, is_written_out=False)


# --- what the rules share ---------------------------------------------------------------------------------------------


def _nearest(month: int, number: int, weekday: int | None, reading: _Reading, at: int) -> date:
    """Return the day in the year that fits: the weekday that stands beside it, a deadline that lies ahead, else the
    nearest. Raises ValueError for a day that no month has."""
    base, days = reading.written_on, []
    for year in range(base.year - 2, base.year + 3):
        try:
            days.append(date(year, month, number))
        except ValueError:
            if (month, number) != (2, 29):
                raise
    near = [day for day in days if abs((day - base).days) <= 366]
    fitting = [day for day in near if weekday is not None and day.isoweekday() == weekday]
    if fitting:
        return min(fitting, key=lambda day: abs((day - base).days))
    beside = [day for day in days if any(abs((day - other).days) <= _BESIDE_DAYS for other in reading.context.dated)]
    if beside:
        return min(beside, key=lambda day: abs((day - base).days))
    if is_deadline(reading.text, at):
        return min((day for day in days if day >= base - timedelta(days=_BACK_DAYS)), default=days[-1])
    return min(days, key=lambda day: (abs((day - base).days), -day.toordinal()))


def is_deadline(text: str, at: int) -> bool:
    """Whether the words before `at` make what follows a latest day."""
    return DEADLINE.search(text[max(0, at - 40) : at]) is not None


def is_start(text: str, at: int) -> bool:
    """Whether the words before `at` make what follows a first day."""
    return START.search(text[max(0, at - 40) : at]) is not None


def _number_of(day: str) -> int:
    """Return the number of "30th" or "17."."""
    return int("".join(sign for sign in day if sign.isdecimal()))


def is_moved_to(text: str, at: int) -> bool:
    """Whether the words before `at` make what follows the new day of something that was put off."""
    return MOVED_TO.search(text[max(0, at - 40) : at]) is not None


def _weekday_of(match: re.Match[str]) -> int | None:
    """Return the weekday beside a date. A form of two letters is as often another word ("so", "do", "mi")."""
    word = match.groupdict().get("weekday")
    return VOCABULARY.weekdays[word.casefold()] if word and len(word) > 2 else None


def _is_clearly_a_date(match: re.Match[str], text: str) -> bool:
    """Whether something beside a number and a word that may mean something else shows that they are a date."""
    before = text[max(0, match.start() - 14) : match.start()]
    return bool(
        match["weekday"]
        or re.search(r"\d(?:st|nd|rd|th|er|\.)", match["days"])
        or match["month"][0].isupper()
        or DATE_OPENS.search(before)
        or re.match(r"\s*(?:$|[\n.,;:)!?|–-])", text[match.end() :])
    )


def _ends_mention(rest: str) -> bool:
    """Whether what follows a bare number leaves it a day: the end, a mark, or a small word that is none of a date."""
    if re.match(r"\s*(?:$|[\n.;:!?)])|,(?!\d)", rest):
        return True
    word = re.match(r"\s+([^\W\d_]+)", rest)
    if word is None:
        return False
    is_of = OF.fullmatch(word[1]) is not None
    return word[1].casefold() in VOCABULARY.stop_words and not is_of


def _in_month_of_context(number: int, reading: _Reading) -> date:
    """Return the day `number` that the document names elsewhere, or of the month that it just spoke of, else the next
    such day. Raises ValueError."""
    named = [day for day in reading.context.named if day.day == number and day >= reading.written_on]
    if named:
        return min(named)
    recent = reading.context.recent
    if recent is not None and recent >= reading.written_on:
        return recent.replace(day=number)
    for step in range(_AHEAD_DAYS):
        day = reading.written_on + timedelta(days=step)
        if day.day == number:
            return day
    raise ValueError("no month near has that day")


def _nth_of_month(year: int, month: int, weekday: int, place: int) -> date:
    first = date(year, month, 1)
    day = first + timedelta(days=(weekday - first.isoweekday()) % 7)
    if place < 5:
        return day + timedelta(weeks=place - 1)
    while (day + timedelta(weeks=1)).month == month:
        day += timedelta(weeks=1)
    return day


def _small_number(text: str) -> int | None:
    if text.isdecimal():
        return int(text)
    if text.casefold() in {"a", "an", "one", "einer", "einem", "ein", "une", "un", "una", "een", "en", "ei"}:
        return 1
    words = read_number_words(text)
    return int(words[0]) if words else None


_RULES: Final[tuple[tuple[re.Pattern[str], _Rule], ...]] = (
    (ISO, _iso),
    (NUMERIC, _numeric),
    (NTH_WEEKDAY, _nth_weekday),
    (DAYS_AND_MONTH, _days_and_month),
    (MONTH_AND_DAY, _month_and_day),
    (DOTTED, _short_numeric),
    (SLASHED, _short_numeric),
    (WEEKDAY_AND_DAY, _weekday_and_day),
    (HEADED_DAY, _headed_day),
    (BARE_DAY, _bare_day),
    (WEEKDAY_NEXT_WEEK, _weekday_next_week),
    (RELATIVE_DAY, _relative_day),
    (RELATIVE_WEEKDAY, _relative_weekday),
    (WEEKDAY_AND_TIME, _weekday_and_time),
    *((pattern, _counted) for pattern in (*COUNTED_AHEAD, *COUNTED_BACK)),
)
