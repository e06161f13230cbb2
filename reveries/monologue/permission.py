"""Reasons that hold thinking: the owner's pause, the quiet hours, battery power, a full disk. Pure.

Quiet hours are in local time ("22:30-07:00"). When the clocks change, an hour is skipped or repeated; the quiet hours
then end when the clock shows their end for the last time.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo
from typing import Final

_SPAN: Final = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)")
_FOREVER_SECONDS = 10 * 365 * 86400.0
_BATTERY_CHECK_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class ThinkingHold:
    """Why thinking waits, in a sentence, and for how long at most."""

    why: str
    seconds: float
    is_absolute: bool = False
    """Thoughts that the owner asked for wait too."""


@dataclass(frozen=True, slots=True)
class QuietSpan:
    """A daily time span. If its end is not after its beginning, it spans midnight."""

    begins: time
    ends: time

    def __str__(self) -> str:
        return f"{self.begins:%H:%M}-{self.ends:%H:%M}"


def parse_quiet_span(text: str) -> QuietSpan | None:
    """Parse "22:30-07:00"; None if it is invalid or empty."""
    match = _SPAN.fullmatch(text)
    if match is None:
        return None
    first, second = time(int(match[1]), int(match[2])), time(int(match[3]), int(match[4]))
    return QuietSpan(first, second) if first != second else None


def find_quiet_end(spans: Sequence[QuietSpan], now: float, zone: tzinfo | None) -> float | None:
    """Return when the quiet hours end (unix seconds); None if it is not quiet at `now`. `zone` None: the machine's."""
    today = datetime.fromtimestamp(now, zone).date()
    ends: list[float] = []
    for span in spans:
        for days_back in (1, 0):
            day = today - timedelta(days=days_back)
            last = day if span.ends > span.begins else day + timedelta(days=1)
            # A repeated hour: begin with the first occurrence, end with the second. A skipped hour: begin early and end
            # late. So it never thinks while the clock shows a quiet time.
            begins = min(_moments_showing(day, span.begins, zone))
            end = max(_moments_showing(last, span.ends, zone))
            if begins <= now < end:
                ends.append(end)
    return max(ends, default=None)


def _moments_showing(day: date, clock: time, zone: tzinfo | None) -> list[float]:
    """Return the two moments (fold 0 and 1) at which the clock shows a time; equal unless the clocks change."""
    return [datetime.combine(day, clock.replace(fold=fold), zone).timestamp() for fold in (0, 1)]


def find_hold(
    *,
    is_paused: bool,
    spans: Sequence[QuietSpan],
    is_on_battery: bool,
    now: float,
    zone: tzinfo | None,
    no_room: str = "",
) -> ThinkingHold | None:
    """Return what holds thinking at `now`, the strongest reason first; None if nothing does. `no_room` is the message
    of a full disk."""
    if no_room:
        return ThinkingHold(no_room, _FOREVER_SECONDS, is_absolute=True)
    if is_paused:
        return ThinkingHold("You paused it. To continue: reveries monologue resume", _FOREVER_SECONDS)
    if (end := find_quiet_end(spans, now, zone)) is not None:
        return ThinkingHold(f"Quiet hours, until {datetime.fromtimestamp(end, zone):%H:%M}.", end - now)
    if is_on_battery:
        return ThinkingHold(
            "The machine runs on battery power. To allow thinking then: monologue.on_battery", _BATTERY_CHECK_SECONDS
        )
    return None
