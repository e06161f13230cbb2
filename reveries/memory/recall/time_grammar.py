"""The grammar of times: which sequences of tags (`time_words`) name a time, and which. One grammar for all languages;
they differ in their words and in where they put "last" and "ago". Pure."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import partial

from reveries.memory.recall import calendar_days
from reveries.memory.recall.calendar_days import DAY, Yearly
from reveries.memory.recall.time_tokens import TaggedText, TimeToken

Span = tuple[datetime, datetime]

_NIGHT_ENDS = timedelta(hours=5)
_MONTHS_THAT_ARE_WORDS = ("3", "5")
"""March and May: in lower letters they are mostly other words."""
_SHORT_YEAR_DIGITS = 2
_APOSTROPHES = "'\u2019"
_LOOK_AHEAD = 8
"""So many tags after a time are looked at: a text may be long."""


@dataclass(frozen=True, slots=True)
class NamedTime:
    """A time that a text names, or a condition on it, such as a weekday; several that belong together are combined."""

    first: int
    """Its first token."""
    end: int
    """The token after it."""
    fixed: Span | None = None
    yearly: Yearly | None = None
    year: int | None = None
    which: str = ""
    """L T X: the last, this, the next of `yearly`."""
    weekday: int | None = None
    day: int | None = None
    """Of the month."""
    middle: datetime | None = None
    """The day itself of "two weeks ago"."""
    with_night: bool = False

    @property
    def is_condition(self) -> bool:
        """Whether it names only a weekday or a day of the month."""
        return self.fixed is None and self.yearly is None


@dataclass(frozen=True, slots=True)
class PhraseMatch:
    """A match of a rule."""

    first: int
    end: int
    tokens: Sequence[TimeToken]
    now: datetime
    is_day_first: bool
    following: str
    """The tags after it."""
    language: str

    def token(self, tags: str, place: int = 0) -> TimeToken | None:
        """Return the first (or a later) token that has one of `tags`."""
        matches = [token for token in self.tokens if token.tag in tags]
        return matches[place] if len(matches) > place else None

    def number(self, tags: str, place: int = 0) -> int:
        """Return the number of such a token; 0 if there is none."""
        token = self.token(tags, place)
        return int(token.value.rstrip("*")) if token else 0

    @property
    def which(self) -> str:
        token = self.token("LTX")
        return token.tag if token else ""

    @property
    def year(self) -> int | None:
        return self.number("y") or None

    def time(self, **chosen: object) -> NamedTime:
        return NamedTime(self.first, self.end, **chosen)  # type: ignore[arg-type]


def midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def at_midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day)


def day_span(moment: datetime) -> Span:
    return midnight(moment), midnight(moment) + DAY


def add_months(moment: datetime, months: int) -> datetime:
    """Add months, keeping the day or using the last day of a shorter month."""
    year, month = calendar_days.divmod_month(moment.year, moment.month + months)
    last = calendar_days.first_of_next_month(year, month) - DAY
    return moment.replace(year=year, month=month, day=min(moment.day, last.day))


# --- what the rules make ---------------------------------------------------------------------------------------------


def _day_of_month(phrase: PhraseMatch) -> NamedTime | None:
    day, month = phrase.number("do"), phrase.number("Mm")
    return phrase.time(yearly=partial(_one_day, month=month, day=day), year=phrase.year)


def _day_and_short_year(phrase: PhraseMatch) -> NamedTime | None:
    """Resolve "9 Nov 24" and "May 5th '24"."""
    year, mark = phrase.tokens[-1].text, phrase.token("?")
    time = _day_of_month(phrase)
    if time is None or len(year) != _SHORT_YEAR_DIGITS or (mark is not None and mark.text not in _APOSTROPHES):
        return None
    return replace(time, year=2000 + int(year))


def _one_day(year: int, month: int, day: int) -> calendar_days.DateSpan:
    return calendar_days.one_day(date(year, month, day))


def _month_day(phrase: PhraseMatch) -> NamedTime | None:
    month = phrase.token("Mm")
    is_word = month is not None and month.value in _MONTHS_THAT_ARE_WORDS and not month.is_capital
    is_sure = phrase.token("o") or phrase.year or not is_word
    return _day_of_month(phrase) if is_sure and not (phrase.following[:1] == "x" and not phrase.token("oy")) else None


def _days_of_month(phrase: PhraseMatch) -> NamedTime | None:
    first, last, month = phrase.number("do"), phrase.number("do", 1), phrase.number("Mm")

    def span(year: int) -> calendar_days.DateSpan:
        return date(year, month, first), date(year, month, last) + DAY

    return phrase.time(yearly=span, year=phrase.year) if first < last else None


def _month(phrase: PhraseMatch) -> NamedTime | None:
    month = phrase.number("Mm")
    return phrase.time(yearly=partial(calendar_days.month_span, month=month), year=phrase.year, which=phrase.which)


def _part_of_month(phrase: PhraseMatch) -> NamedTime | None:
    part = phrase.token("EFZ")
    month = phrase.number("Mm")
    yearly = partial(calendar_days.part_of_month, month=month, part=part.tag if part else "E")
    return phrase.time(yearly=yearly, year=phrase.year)


def _week_of_month(phrase: PhraseMatch) -> NamedTime | None:
    number, month, unit = phrase.number("o"), phrase.number("Mm"), phrase.token("UKW")
    if unit is None or (number > 5 and unit.value != "d 1"):
        return None
    if unit.tag == "W":
        weekday = int(unit.value.rstrip("*"))
        yearly: Yearly = partial(calendar_days.weekday_of_month, month=month, weekday=weekday, number=number)
    elif unit.tag == "K":
        yearly = partial(calendar_days.weekend_of_month, month=month, number=number)
    elif unit.value == "d 1":
        yearly = partial(calendar_days.day_of_month, month=month, number=number)
    elif unit.value == "w 1":
        yearly = partial(calendar_days.week_of_month, month=month, number=number)
    else:
        return None
    return phrase.time(yearly=yearly, year=phrase.year)


def _season(phrase: PhraseMatch) -> NamedTime | None:
    yearly = partial(calendar_days.season_span, month=phrase.number("S"))
    return phrase.time(yearly=yearly, year=phrase.year, which=phrase.which)


def _feast(phrase: PhraseMatch) -> NamedTime | None:
    token = phrase.token("H")
    is_object = phrase.following[:1] == "x" and (phrase.token("t") or not phrase.token("iLTXy"))
    if token is None or is_object:
        return None
    return phrase.time(yearly=calendar_days.FEASTS[token.value], year=phrase.year, which=phrase.which)


def _relative_day(phrase: PhraseMatch) -> NamedTime | None:
    token = phrase.token("RN")
    start, end = day_span(phrase.now + phrase.number("RN") * DAY)
    is_night = token is not None and token.tag == "N"
    return phrase.time(fixed=(start, end + _NIGHT_ENDS if is_night else end))


def _this_part(phrase: PhraseMatch) -> NamedTime | None:
    back = DAY if phrase.which == "L" else 0 * DAY
    return phrase.time(fixed=day_span(phrase.now - back))


def _count(phrase: PhraseMatch) -> int:
    return phrase.number("dca") or 1


def _unit(phrase: PhraseMatch) -> tuple[str, int]:
    token = phrase.token("UK")
    if token is None or token.tag == "K":
        return "w", 1
    unit, _, many = token.value.partition(" ")
    return unit, int(many)


def _subtract(now: datetime, unit: str, count: int) -> datetime:
    match unit:
        case "m" | "y":
            return add_months(now, -count * (12 if unit == "y" else 1))
        case _:
            return now - timedelta(**{{"d": "days", "w": "weeks", "h": "hours", "min": "minutes"}[unit]: count})


def _ago(phrase: PhraseMatch) -> NamedTime | None:
    """Resolve "two weeks ago" to the day, week, month or year centred on that time."""
    unit, many = _unit(phrase)
    if phrase.token("dca") is None and many == 1 and not _is_english_singular(phrase):
        return None  # "Years ago" and "vor Wochen" are vague.
    count = _count(phrase) * many
    middle = _subtract(phrase.now, unit, count)
    if unit in ("h", "min"):
        half = (phrase.now - middle) / 2
        return phrase.time(fixed=(middle - half, middle + half))
    if unit == "d" or phrase.token("R"):
        return phrase.time(fixed=day_span(middle + phrase.number("R") * DAY))
    half = {"w": 3, "m": 15, "y": 182}[unit] * DAY
    middle = midnight(middle)
    return phrase.time(fixed=(middle - half, middle + half + DAY), middle=middle)


def _is_english_singular(phrase: PhraseMatch) -> bool:
    """Whether the unit stands for one without an article, as in "week ago"."""
    unit = phrase.token("UK")
    return phrase.language == "en" and unit is not None and not unit.text.casefold().endswith("s")


def _ago_in_two_units(phrase: PhraseMatch) -> NamedTime | None:
    """Resolve "two weeks and three days ago" to that day."""
    middle = phrase.now
    for place in range(2):
        unit = phrase.token("U", place)
        kind, _, many = unit.value.partition(" ") if unit else ("d", "", "1")
        middle = _subtract(middle, kind, phrase.number("dca", place) * int(many))
    return phrase.time(fixed=day_span(middle))


def _this_time(phrase: PhraseMatch) -> NamedTime | None:
    """Resolve "this time last year"."""
    middle = midnight(_subtract(phrase.now, _unit(phrase)[0], 1))
    return phrase.time(fixed=(middle - 3 * DAY, middle + 4 * DAY), middle=middle)


def _weekdays_ago(phrase: PhraseMatch) -> NamedTime | None:
    last = _latest_weekday(phrase.now, phrase.number("W"))
    return phrase.time(fixed=day_span(last - 7 * (_count(phrase) - 1) * DAY))


def _rolling(phrase: PhraseMatch) -> NamedTime | None:
    """Resolve "in the past two weeks"."""
    unit, many = _unit(phrase)
    return phrase.time(fixed=(_subtract(phrase.now, unit, _count(phrase) * many), phrase.now))


def _which_unit(phrase: PhraseMatch) -> NamedTime | None:
    """Resolve last, this or next week, month, year or weekend; "the week before last"."""
    which = phrase.token("LTXB")
    unit, many = _unit(phrase)
    if which is None or unit in ("d", "h", "min") or many > 1:
        return None
    step = {"B": -2, "L": -1, "T": 0, "X": 1}[which.tag]
    if which.value == "past" and not phrase.token("K"):
        return _rolling(phrase)
    monday = midnight(phrase.now) - phrase.now.weekday() * DAY + 7 * step * DAY
    if phrase.token("K"):
        # On a Sunday evening "last weekend" is the one before.
        return phrase.time(fixed=(monday + 5 * DAY, monday + 7 * DAY))
    if unit == "w":
        return phrase.time(fixed=(monday, monday + 7 * DAY))
    if unit == "m":
        first = add_months(midnight(phrase.now).replace(day=1), step)
        return phrase.time(fixed=(first, add_months(first, 1)))
    return phrase.time(fixed=(datetime(phrase.now.year + step, 1, 1), datetime(phrase.now.year + step + 1, 1, 1)))


def _in_past_unit(phrase: PhraseMatch) -> NamedTime | None:
    """Resolve "in the last week", which English says of the days up to now."""
    return _rolling(phrase) if phrase.language == "en" and not phrase.token("K") else _which_unit(phrase)


def _weekend(phrase: PhraseMatch) -> NamedTime | None:
    monday = midnight(phrase.now) - phrase.now.weekday() * DAY
    first = monday + 5 * DAY if phrase.now.weekday() >= 5 else monday - 2 * DAY
    return phrase.time(fixed=(first, first + 2 * DAY))


def _latest_weekday(now: datetime, weekday: int) -> datetime:
    return midnight(now) - ((now.weekday() - weekday) % 7 or 7) * DAY


def _weekday(phrase: PhraseMatch) -> NamedTime | None:
    token, which = phrase.token("Ww"), phrase.token("LTXB")
    if token is None or token.value.endswith("*"):
        return None
    weekday = int(token.value)
    if which is None or which.tag == "L":
        return phrase.time(weekday=weekday, which="L" if which else "")
    monday = midnight(phrase.now) - phrase.now.weekday() * DAY
    days = {
        "B": _latest_weekday(phrase.now, weekday) - 7 * DAY,
        "T": monday + weekday * DAY,
        "X": midnight(phrase.now) + ((weekday - phrase.now.weekday()) % 7 or 7) * DAY,
    }
    return phrase.time(fixed=day_span(days[which.tag]))


def _weekday_and_number(phrase: PhraseMatch) -> NamedTime | None:
    """Resolve "Saturday the 14th"."""
    is_sure = phrase.token("o") or phrase.language != "en" or phrase.token("t")
    weekday = phrase.token("Ww")
    if weekday is None or weekday.value.endswith("*") or (not is_sure and phrase.following[:1] == "x"):
        return None
    day = phrase.number("do")
    return phrase.time(weekday=int(weekday.value), day=day) if 1 <= day <= 31 else None


def _numbered_day(phrase: PhraseMatch) -> NamedTime | None:
    """Resolve "on the 14th", but not "on the 14th floor"."""
    token = phrase.token("do")
    if token is None or not 1 <= int(token.value) <= 31:
        return None
    if token.text.isalpha() and not phrase.token("isub"):
        return None
    if phrase.language == "en" and token.tag == "d":
        return None
    is_followed = (
        not phrase.following or phrase.following[0] in "?.,viPhse-:" or re.match(r"qt?[LTXM]|[LTX]U", phrase.following)
    )
    return phrase.time(day=int(token.value)) if is_followed else None


def _year(phrase: PhraseMatch) -> NamedTime | None:
    year = phrase.number("y")
    return phrase.time(fixed=(datetime(year, 1, 1), datetime(year + 1, 1, 1)))


def _figures(phrase: PhraseMatch) -> NamedTime | None:
    """Resolve a date in figures. If only one order of day and month is possible, it is that one."""
    token = phrase.token("DzY")
    numbers = [int(part) for part in re.findall(r"\d+", token.text)] if token else []
    weekday = phrase.token("Ww")
    if token is None or (weekday is not None and weekday.value.endswith("*")):
        return None
    if token.tag == "Y":
        year, month = numbers
        return phrase.time(yearly=partial(calendar_days.month_span, month=month), year=year)
    if len(re.match(r"\d+", token.text).group()) == 4:  # type: ignore[union-attr]
        return phrase.time(yearly=partial(_one_day, month=numbers[1], day=numbers[2]), year=numbers[0])
    first, second, *rest = numbers
    year_given = (rest[0] if rest[0] > 99 else 2000 + rest[0]) if rest else None
    is_month_first = "\u6708" in token.text or (not phrase.is_day_first and "." not in token.text)
    day, month = (second, first) if is_month_first else (first, second)
    if month > 12 >= day:
        day, month = month, day
    own = int(weekday.value) if weekday else None
    return phrase.time(yearly=partial(_one_day, month=month, day=day), year=year_given, weekday=own)


def _nothing(_: PhraseMatch) -> NamedTime | None:
    return None


_Make = Callable[[PhraseMatch], NamedTime | None]
RULES: tuple[tuple[re.Pattern[str], _Make], ...] = tuple(
    (re.compile(pattern), make)
    for pattern, make in (
        (r"D|(?<=[isuet])z|(?<=zh)z|^z$|[Ww],?t?[zD]", _figures),
        (r"Y", _figures),
        (r"t?[do][h-]t?[do]q?t?[Mm](?:,?q?y)?", _days_of_month),
        (r"[Mm]t?[do][h-]t?[do](?:,?y)?", _days_of_month),
        (r"t?U?[do],?q?t?[Mm](?:,?q?t?y)?", _day_of_month),
        (r"t?[do]q?t?[Mm]\.?,?\??d(?=$|[?.,])|[Mm]\.?t?[do],?\?d(?=$|[?.,])", _day_and_short_year),
        (r"[Mm]\.?t?[do](?![MmU])(?:,?y)?", _month_day),
        (r"[Mm][.,]?q?t?y", _month),
        (r"[LTX]t?[Mm]|M[LTX]|M|(?<=[isue])m|(?<=it)m|(?<=Uq)m|m(?=q?t?[LTX]U)", _month),
        (r"[EFZ][qt]{0,3}[Mm](?:q?y)?", _part_of_month),
        (r"t?(?:o[UKW][qit]{1,3}|L[UKW][qi]{1,2}t?)[Mm](?!\.?t?[do])(?:q?y)?", _week_of_month),
        (r"[LTXi]?t?S(?:q?t?y|L|X)|[LTXi]t?S|(?<=[sh])t?S", _season),
        (r"[iLTXt]{0,3}H(?:[qt]{0,3}y|L|X)?", _feast),
        (r"[RN]", _relative_day),
        (r"[LT]P", _this_part),
        (r"i?[dca][UK]A[RP]?|i?R?G[dca]?[UK]|[dca]?[UK]A", _ago),
        (r"[dca]Uh[dca]UA|G[dca]Uh[dca]U", _ago_in_two_units),
        (r"i?[dca]WA|G[dca]W", _weekdays_ago),
        (r"(?:[it]{0,3}L[dc]U|[it]{0,3}t[dc]LU|[it]{0,3}[dc]LU)(?![qi]{1,2}t?[Mm])", _rolling),
        (r"it?LU(?![qi]{1,2}t?[Mm])", _in_past_unit),
        (r"[LTXB][UK]|[it]{0,3}[UK][LTXB]", _which_unit),
        (r"QLU", _this_time),
        (r"(?:[it]{1,3}|(?<=v))K(?!(?:q|[bf]q?)t?[dDHmMoWw])", _weekend),
        (r"t?W[LTXB]|[LTXB]?t?W|(?<=[iLT])w|(?<=it)w|w(?=[,.]?t?[do][.,]?q?t?[Mm])", _weekday),
        (r"t?[Ww],?t?[do](?!q?t?[MmU/])", _weekday_and_number),
        (r"[isub]?tU?[do](?![MmUKW])|[iu][o](?![MmUKW])", _numbered_day),
        (r"(?<=[isuehq])t?U?y|^y$", _year),
        (r"Uy", _year),
        (r"n[UWK]", _nothing),
    )
)


def find_times(text: TaggedText, now: datetime, *, is_day_first: bool) -> list[NamedTime]:
    """Return the times that `text` names, said at `now` (local), before they are combined: the longest at each place,
    and of two equally long ones the first of the rules."""
    tags, times, place = text.tags, list[NamedTime](), 0
    while place < len(tags):
        best: NamedTime | None = None
        skipped = 1
        for pattern, make in RULES:
            match = pattern.match(tags, place)
            if match is None or (best is not None and match.end() <= best.end):
                continue
            phrase = PhraseMatch(
                place,
                match.end(),
                text.tokens[place : match.end()],
                now,
                is_day_first,
                tags[match.end() : match.end() + _LOOK_AHEAD],
                text.language.code,
            )
            if make is _nothing:
                skipped = match.end() - place
                continue
            try:
                best = make(phrase) or best
            except (ValueError, OverflowError):
                continue
        if best is not None and skipped == 1:
            night = re.match(r"[itq]*P", tags[best.end : best.end + _LOOK_AHEAD])
            if night and text.tokens[best.end + night.end() - 1].value == "1":
                best = replace(best, with_night=True)
            times.append(best)
            place = best.end
        else:
            place += skipped
    return times
