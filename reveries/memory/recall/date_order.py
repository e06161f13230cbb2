"""Whether a date in figures has the day or the month first. Pure."""

from collections.abc import Mapping

_MONTH_FIRST = frozenset({"US", "AS", "FM", "GU", "MH", "MP", "PH", "PR", "PW", "UM", "VI"})
"""Countries that write the month before the day (CLDR 48, short dates of English and Filipino)."""


def is_day_first(order: str, environment: Mapping[str, str]) -> bool:
    """Return whether "10/11" is the tenth of November: by the setting `recall.date_order`, or, if that is auto, by the
    country of the locale in `environment`."""
    if order != "auto":
        return order == "day-month"
    locale = next((value for name in ("LC_ALL", "LC_TIME", "LANG") if (value := environment.get(name))), "")
    return locale.partition(".")[0].rpartition("_")[2] not in _MONTH_FIRST
