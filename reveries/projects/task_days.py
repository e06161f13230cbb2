"""The days of tasks: reads a due day and a repetition in words, in seven languages, and finds the next day. Pure."""

import re
from calendar import monthrange
from datetime import MAXYEAR, UTC, date, datetime, time, timedelta
from typing import Final

from apscheduler.triggers.cron import CronTrigger

from reveries.errors import UsageError
from reveries.knowledge.facts.clock_times import find_times
from reveries.knowledge.facts.days import DayMention, find_days
from reveries.knowledge.facts.numbers import read_number_words
from reveries.knowledge.facts.vocabulary import VOCABULARY, alternation
from reveries.projects.steering_words import STEERING_WORDS

_DEADLINE: Final = "by "
"""Before a day: makes it one that lies ahead, and lets a weekday stand alone."""
_CRON_WEEKDAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_EVERY: Final = re.compile(
    rf"{alternation([*VOCABULARY.words('every'), *STEERING_WORDS.words('every')])}\s+", re.IGNORECASE
)
_UNITS: Final[dict[str, str]] = {
    **VOCABULARY.duration_units,
    **dict.fromkeys(STEERING_WORDS.words("years"), "year"),
    **STEERING_WORDS.often,
}
_NEAR_DAY: Final = re.compile(rf"(?<!\w)({alternation(STEERING_WORDS.days)})(?!\w)", re.IGNORECASE)
_COUNTED: Final = re.compile(r"(?:(?P<n>[^\W_]+)\s+)?(?P<unit>[^\W\d_]+)")
_INTERVAL: Final = re.compile(r"(?P<n>\d{1,3}) (?P<unit>day|week|month|year)s?")
_MOST_INTERVALS: Final = 366
_DUE_ADVICE: Final = "For example: --due 2026-12-09, --due '9 December', --due 'next Friday at 14:00'"
_REPEAT_ADVICE: Final = "For example: --every Monday, --every month, --every '2 weeks', --every '0 0 1 * *' (cron)"


def today(now: float) -> date:
    """Return the owner's day at `now` (unix seconds)."""
    return datetime.fromtimestamp(now).date()


def days_ahead(text: str, today: date) -> list[DayMention]:
    """Return the days that `text` names, each at or after `today` unless its year stands there."""
    shift = len(_DEADLINE)
    return [
        DayMention(
            max(0, item.start - shift),
            item.end - shift,
            _ahead(item, today),
            _ahead(item, today),
            item.is_dated,
            item.is_written_out,
        )
        for item in find_days(_DEADLINE + text, today)
    ]


def _ahead(mention: DayMention, today: date) -> date:
    if mention.is_dated or not mention.is_written_out or mention.first >= today:
        return mention.first
    year = mention.first.year + 1
    while mention.first.day > monthrange(year, mention.first.month)[1]:  # The 29th of February.
        year += 1
    return mention.first.replace(year=year)


def read_due(text: str, today: date) -> str:
    """Return the one day that `text` names, with a time of day if one stands there: 2026-12-08T14:00; empty for an
    empty text. Raises UsageError."""
    words = " ".join(text.split())
    if not words:
        return ""
    mentions = days_ahead(words, today)
    days = {item.first for item in mentions}
    if not days and (word := _NEAR_DAY.search(words)):
        days = {today + timedelta(days=STEERING_WORDS.days[word[1].casefold()])}
    if len(days) != 1:
        many = "More than one day is" if days else "No day is"
        raise UsageError(f"{many} named by {words[:80]!r}.", advice=_DUE_ADVICE)
    # "in two weeks" is no time of day in any language, though "om to" alone may be.
    times = [
        item
        for item in find_times(words)
        if not any(item.start < mention.end and mention.start < item.end for mention in mentions)
    ]
    clock = re.search(r"(?<![\d:])([01]?\d|2[0-3]):([0-5]\d)(?![\d:])", words)
    at = times[0].time if times else f"{int(clock[1]):02d}:{clock[2]}" if clock else ""
    return f"{days.pop().isoformat()}T{at}" if at else days.pop().isoformat()


def read_repeat(text: str) -> str:
    """Return how often a task comes back, in the form that `next_due` reads: "2 week", or the five fields of cron.
    Empty for an empty text. Raises UsageError."""
    words = _EVERY.sub("", " ".join(text.split()).casefold(), count=1)
    if not words:
        return ""
    if (weekday := VOCABULARY.weekdays.get(words) or VOCABULARY.weekdays.get(words.removesuffix("s"))) is not None:
        return f"0 0 * * {_CRON_WEEKDAYS[weekday - 1]}"
    if len(words.split()) == 5 and _is_cron(words):
        return words
    counted = _COUNTED.fullmatch(words)
    unit = _UNITS.get(counted["unit"]) if counted else None
    count = _count(counted["n"]) if counted and unit else None
    if unit is None or count is None or not 1 <= count <= _MOST_INTERVALS:
        raise UsageError(f"{text[:80]!r} does not say how often.", advice=_REPEAT_ADVICE)
    return f"{count} {unit}"


def _count(word: str | None) -> int | None:
    if word is None:
        return 1
    if word.isdecimal():
        return int(word)
    read = read_number_words(word)
    return int(read[0]) if read is not None else None


def _is_cron(text: str) -> bool:
    try:
        CronTrigger.from_crontab(text, timezone=UTC)
    except ValueError:
        return False
    return True


def first_due(repeats: str, today: date) -> str:
    """Return the first day of a repetition for which no day was given: one of its own, or a whole interval from now."""
    if _INTERVAL.fullmatch(repeats):
        return next_due(repeats, today.isoformat(), today)
    minute, hour = repeats.split()[:2]
    at = f"T{int(hour):02d}:{int(minute):02d}" if minute.isdecimal() and hour.isdecimal() and hour != "0" else ""
    return _next_of_cron(repeats, today).isoformat() + at


def next_due(repeats: str, due: str, today: date) -> str:
    """Return the day after `due` and after `today` on which a task that repeats is due, at the same time of day. Empty
    if there is none."""
    last = date.fromisoformat(due[:10]) if due else today
    earliest = max(last, today) + timedelta(days=1)
    if interval := _INTERVAL.fullmatch(repeats):
        day = _next_of_interval(int(interval["n"]), interval["unit"], last, earliest)
    else:
        day = _next_of_cron(repeats, earliest)
    return day.isoformat() + due[10:]


def _next_of_interval(count: int, unit: str, begin: date, earliest: date) -> date:
    """Return the first day from `earliest` on that is whole intervals after `begin`."""
    if unit in ("day", "week"):
        days = count * (7 if unit == "week" else 1)
        return begin + timedelta(days=days * max(0, -((begin - earliest).days // days)))
    months = count * (12 if unit == "year" else 1)
    away = max(0, (earliest.year - begin.year) * 12 + earliest.month - begin.month)
    passed = away // months * months
    is_last = unit == "month" and begin.day == monthrange(begin.year, begin.month)[1]
    day = _months_after(begin, passed, is_last=is_last)
    return day if day >= earliest else _months_after(begin, passed + months, is_last=is_last)


def _months_after(begin: date, months: int, *, is_last: bool) -> date:
    """Return the day so many months later: the last of its month for the last of one, and where there is no such
    day. Raises UsageError if there is no such year."""
    year, place = divmod(begin.year * 12 + begin.month - 1 + months, 12)
    if year > MAXYEAR:
        raise UsageError("That never comes.", advice=_REPEAT_ADVICE)
    last = monthrange(year, place + 1)[1]
    return date(year, place + 1, last if is_last else min(begin.day, last))


def _next_of_cron(repeats: str, earliest: date) -> date:
    """Return the first day of a cron expression from `earliest` on. Raises UsageError if there is none."""
    fires_at = CronTrigger.from_crontab(repeats, timezone=UTC).get_next_fire_time(
        None, datetime.combine(earliest, time(), UTC)
    )
    if fires_at is None:
        raise UsageError("That never comes.", advice=_REPEAT_ADVICE)
    return date(fires_at.year, fires_at.month, fires_at.day)


def comes_later(repeats: str, due: str, today: date) -> bool:
    """Whether a task that repeats is not to be begun before its day."""
    return bool(repeats and due) and date.fromisoformat(due[:10]) > today


def say_repeat(repeats: str) -> str:
    """Return a repetition in words: "every 2 weeks"; empty for none."""
    if interval := _INTERVAL.fullmatch(repeats):
        return f"every {interval['unit']}" if interval["n"] == "1" else f"every {interval['n']} {interval['unit']}s"
    fields = repeats.split()
    if fields[:4] == ["0", "0", "*", "*"] and fields[4] in _CRON_WEEKDAYS:
        return f"every {datetime(2026, 11, 23 + _CRON_WEEKDAYS.index(fields[4])):%A}"
    return f"repeats {repeats}" if repeats else ""
