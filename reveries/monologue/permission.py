"""What holds thinking back though it could go on: the owner's pause, the quiet hours, the battery. Pure.

Quiet hours are told as people tell them, "22:30-07:00" on the clock on the wall: where that clock is set, an hour is
skipped or comes twice, and the quiet ends when the clock shows its end for the last time.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo
from typing import Final

_SPAN: Final = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)")
_FOR_EVER_SECONDS = 10 * 365 * 86400.0
_BATTERY_LOOK_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class HeldBack:
    """Why thinking waits, in a sentence, and for how long at the most."""

    why: str
    seconds: float
    is_absolute: bool = False
    """What the owner asked for waits too."""


@dataclass(frozen=True, slots=True)
class QuietSpan:
    """A part of every day. One whose end is not after its beginning goes on over midnight."""

    begins: time
    ends: time

    def __str__(self) -> str:
        return f"{self.begins:%H:%M}-{self.ends:%H:%M}"


def quiet_span(text: str) -> QuietSpan | None:
    """ "22:30-07:00"; None for what is none, or has no length."""
    found = _SPAN.fullmatch(text)
    if found is None:
        return None
    first, second = time(int(found[1]), int(found[2])), time(int(found[3]), int(found[4]))
    return QuietSpan(first, second) if first != second else None


def quiet_until(spans: Sequence[QuietSpan], now: float, zone: tzinfo | None) -> float | None:
    """When the quiet ends (unix seconds), or None when it is not quiet at `now`. `zone` None: the machine's."""
    today = datetime.fromtimestamp(now, zone).date()
    ends: list[float] = []
    for span in spans:
        for days_back in (1, 0):
            day = today - timedelta(days=days_back)
            last = day if span.ends > span.begins else day + timedelta(days=1)
            # Of an hour that comes twice the quiet begins with the first and ends with the second. Of one that is
            # skipped it begins early and ends late: at neither side does the clock show a quiet time and it thinks.
            begins = min(_readings(day, span.begins, zone))
            end = max(_readings(last, span.ends, zone))
            if begins <= now < end:
                ends.append(end)
    return max(ends, default=None)


def _readings(day: date, clock: time, zone: tzinfo | None) -> list[float]:
    """The moments at which the clock shows, or would have shown, a time: two where it is set, else one twice."""
    return [datetime.combine(day, clock.replace(fold=fold), zone).timestamp() for fold in (0, 1)]


def held_back(
    *,
    is_paused: bool,
    spans: Sequence[QuietSpan],
    is_on_battery: bool,
    now: float,
    zone: tzinfo | None,
    no_room: str = "",
) -> HeldBack | None:
    """What holds thinking back at `now`, the strongest reason first; None when nothing does. `no_room`: what the disk
    has none for."""
    if no_room:
        return HeldBack(no_room, _FOR_EVER_SECONDS, is_absolute=True)
    if is_paused:
        return HeldBack("You paused it. It goes on with: reveries monologue resume", _FOR_EVER_SECONDS)
    if (end := quiet_until(spans, now, zone)) is not None:
        return HeldBack(f"Quiet hours, until {datetime.fromtimestamp(end, zone):%H:%M}.", end - now)
    if is_on_battery:
        return HeldBack(
            "The machine runs on its battery. To think all the same: monologue.on_battery", _BATTERY_LOOK_SECONDS
        )
    return None
