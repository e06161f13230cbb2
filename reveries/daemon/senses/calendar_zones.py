"""Time zones of calendars that the parser does not know: offsets and names of cities are read; others are counted.

The parser knows the zones that a file describes, those of the system, and the names that Windows gives them.
"""

import re
from datetime import datetime, timedelta, timezone, tzinfo
from functools import cache
from typing import Any, Final
from zoneinfo import ZoneInfo, available_timezones

_DATES: Final = ("DTSTART", "DTEND", "RECURRENCE-ID")
_LISTS: Final = ("EXDATE", "RDATE")
_OFFSET = re.compile(r"(?:UTC|GMT|Z)\s*([+-])\s*(\d{1,2})(?::?(\d{2}))?", re.IGNORECASE)
_UTC_NAMES: Final = frozenset({"utc", "gmt", "z", "zulu", "tzone://microsoft/utc", "coordinated universal time"})


def set_missing_zones(calendar: Any) -> bool:
    """Set the zones of dates that name one and were read without it, and return whether some are unknown: their dates
    stay without a zone."""
    is_complete = True
    for event in calendar.subcomponents:
        if event.name == "VEVENT":
            for dates, named in _dates_of(event):
                is_complete &= _set_zone(dates, named)
    return not is_complete


def find_zone(name: str) -> tzinfo | None:
    """Return the zone of a name as "GMT+0200", "Berlin" or "(UTC+01:00) Amsterdam, Berlin, Rome". Pure."""
    name = name.strip().strip('"')
    if name.casefold() in _UTC_NAMES:
        return timezone(timedelta(0))
    if (offset := _OFFSET.fullmatch(name)) is not None:
        sign, hours, minutes = offset.groups()
        away = timedelta(hours=int(hours), minutes=int(minutes or 0))
        return timezone(-away if sign == "-" else away) if away < timedelta(hours=24) else None
    cities = re.sub(r"^\(.*?\)", "", name).split(",")
    zones = [zone for city in cities if (zone := _zones_by_city().get(_city_key(city)))]
    return ZoneInfo(zones[0]) if zones else None


def _dates_of(event: Any) -> list[tuple[list[Any], str]]:
    """Return the dates of an event with the zone that they name, if they name one."""
    dated = [([value], value) for name in _DATES if hasattr(value := event.get(name), "params")]
    for name in _LISTS:
        lists = event.get(name, [])
        listed = lists if isinstance(lists, list) else [lists]
        dated += [(list(value.dts), value) for value in listed if hasattr(value, "dts")]
    return [(dates, str(value.params["TZID"])) for dates, value in dated if value.params.get("TZID")]


def _set_zone(dates: list[Any], named: str) -> bool:
    """Return whether the dates have their zone now."""
    bare = [
        dated for dated in dates if isinstance(moment := getattr(dated, "dt", None), datetime) and moment.tzinfo is None
    ]
    if not bare:
        return True
    if (zone := find_zone(named)) is None:
        return False
    for undated in bare:
        undated.dt = undated.dt.replace(tzinfo=zone)
    return True


@cache
def _zones_by_city() -> dict[str, str]:
    return {_city_key(zone.rpartition("/")[2]): zone for zone in sorted(available_timezones()) if "/" in zone}


def _city_key(name: str) -> str:
    return name.strip().replace("_", " ").casefold()
