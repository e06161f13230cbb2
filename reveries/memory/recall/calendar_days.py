"""Feasts, seasons and other times that come back every year, as spans of days. Pure."""

from collections.abc import Callable
from datetime import date, timedelta
from functools import partial

DateSpan = tuple[date, date]
"""The first day, and the first day after."""
Yearly = Callable[[int], DateSpan]
"""The span of a time that comes every year, by its year. Raises ValueError where that year has none."""

DAY = timedelta(days=1)


def one_day(day: date) -> DateSpan:
    return day, day + DAY


def month_span(year: int, month: int) -> DateSpan:
    return date(year, month, 1), first_of_next_month(year, month)


def first_of_next_month(year: int, month: int) -> date:
    return date(year + month // 12, month % 12 + 1, 1)


def season_span(year: int, month: int) -> DateSpan:
    """Return the three months from `month` on."""
    return date(year, month, 1), first_of_next_month(*divmod_month(year, month + 2))


def divmod_month(year: int, month: int) -> tuple[int, int]:
    """Return year and month for a month number that may be past December."""
    return year + (month - 1) // 12, (month - 1) % 12 + 1


def part_of_month(year: int, month: int, part: str) -> DateSpan:
    """Return the beginning (E), the middle (F) or the end (Z) of a month, each about ten days."""
    start, end = month_span(year, month)
    first, second = start + 10 * DAY, start + 20 * DAY
    return {"E": (start, first), "F": (first, second), "Z": (second, end)}[part]


def week_of_month(year: int, month: int, number: int) -> DateSpan:
    """Return the days 1 to 7, 8 to 14 and so on of a month; 0 is its last seven days."""
    start, end = month_span(year, month)
    if not number:
        return end - 7 * DAY, end
    first = start + 7 * (number - 1) * DAY
    if first >= end:
        raise ValueError(number)
    return first, min(end, first + 7 * DAY)


def day_of_month(year: int, month: int, number: int) -> DateSpan:
    """Return the first, second and so on day of a month; 0 is the last."""
    start, end = month_span(year, month)
    return one_day(start + (number - 1) * DAY if number else end - DAY)


def weekday_of_month(year: int, month: int, weekday: int, number: int) -> DateSpan:
    """Return the first, second and so on weekday of a month; 0 is the last."""
    start, end = month_span(year, month)
    if not number:
        return one_day(end - ((end.weekday() - 1 - weekday) % 7 + 1) * DAY)
    day = start + ((weekday - start.weekday()) % 7 + 7 * (number - 1)) * DAY
    if day >= end:
        raise ValueError(number)
    return one_day(day)


def weekend_of_month(year: int, month: int, number: int) -> DateSpan:
    """Return the first, second and so on weekend of a month; 0 is the last."""
    saturday, _ = weekday_of_month(year, month, 5, number)
    return saturday, saturday + 2 * DAY


def easter_sunday(year: int) -> date:
    """Return Easter of the Gregorian calendar (Meeus, Jones, Butcher)."""
    century, place = divmod(year, 100)
    golden = year % 19
    epact = (19 * golden + century - century // 4 - (century - (century + 8) // 25 + 1) // 3 + 15) % 30
    weekday = (32 + 2 * (century % 4) + 2 * (place // 4) - epact - place % 4) % 7
    late = (golden + 11 * epact + 22 * weekday) // 451
    month, day = divmod(epact + weekday - 7 * late + 114, 31)
    return date(year, month, day + 1)


def _fixed(month: int, day: int, year: int) -> DateSpan:
    return one_day(date(year, month, day))


def _christmas(year: int) -> DateSpan:
    return date(year, 12, 24), date(year, 12, 27)


def _easter(year: int) -> DateSpan:
    sunday = easter_sunday(year)
    return sunday - 2 * DAY, sunday + 2 * DAY


def _around_easter(days: int, year: int) -> DateSpan:
    return one_day(easter_sunday(year) + days * DAY)


def _black_friday(year: int) -> DateSpan:
    return one_day(weekday_of_month(year, 11, 3, 4)[0] + DAY)


FEASTS: dict[str, Yearly] = {
    "christmas": _christmas,
    "easter": _easter,
    "black_friday": _black_friday,
    "thanksgiving": lambda year: weekday_of_month(year, 11, 3, 4),
    **{
        name: partial(_fixed, month, day)
        for name, month, day in (
            ("new_year", 1, 1),
            ("epiphany", 1, 6),
            ("valentine", 2, 14),
            ("st_patrick", 3, 17),
            ("kings_day", 4, 27),
            ("labour_day", 5, 1),
            ("independence", 7, 4),
            ("bastille", 7, 14),
            ("ferragosto", 8, 15),
            ("halloween", 10, 31),
            ("all_saints", 11, 1),
            ("day_of_dead", 11, 2),
            ("st_nicholas_eve", 12, 5),
            ("st_nicholas", 12, 6),
            ("christmas_eve", 12, 24),
            ("christmas_day", 12, 25),
            ("boxing_day", 12, 26),
            ("new_years_eve", 12, 31),
        )
    },
    **{
        name: partial(_around_easter, days)
        for name, days in (
            ("ash_wednesday", -46),
            ("palm_sunday", -7),
            ("good_friday", -2),
            ("easter_sunday", 0),
            ("easter_monday", 1),
            ("ascension", 39),
            ("whit_sunday", 49),
            ("whit_monday", 50),
        )
    },
}
