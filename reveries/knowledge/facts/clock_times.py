"""Times of day that a text names, in seven languages. Pure."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from reveries.knowledge.facts.numbers import read_number_words
from reveries.knowledge.facts.vocabulary import VOCABULARY, alternation

_AT = alternation(VOCABULARY.words("clock_at"))
_HOUR_WORD = alternation(VOCABULARY.words("hour_words"))
_PM = r"(?:pm|p\.m\.)"
_AM = r"(?:am|a\.m\.)"
_HOUR = r"(?:2[0-4]|1\d|0?\d)"
_MINUTE = r"[0-5]\d"
_AFTERNOON = alternation(VOCABULARY.words("afternoon"))
_MORNING = alternation(VOCABULARY.words("morning"))
_WORD = r"[^\W\d_]+"
_AT_WORD = r"(?:a las|desde las|alle|dalle|sobre las|verso le|um|ab|om|kl\.?|at|around|start at)"
_AT_HOUR = r"(?:(?:a|entre|desde|hasta|sobre)?\s?las|d?alle|at)"
_AT_FULL_HOUR = r"(?:ore|kl\.?|klokken|klokka|om|um|ab|tra le)"
_SPANISH_HALVES = alternation(VOCABULARY.languages["es"]["afternoon"] + VOCABULARY.languages["es"]["morning"])
"""They need no word before the hour: "cinco de la mañana"."""
_HOUR_END = r"(?=\s*(?:$|[\n,.;:)!?])|\s+(?:alle|a las|y las|e le|to|bis|til|tot|à|og|und|en)\b)(?![:.,]\d)"
"""Said of an hour, and seldom of anything else before a number or a word for one."""
_SPAN_TO_PM = rf"\s*(?:to|until|-|–|bis)\s*\d{{1,2}}(?:\.\d\d)?\s*(?:{_PM}|{_AM})"
_SPAN_MARK = r"(?:\s*[-–—]\s*|\s+(?:to|until|till|bis|à|a|alle|tot|til)\s+)(?:las\s+|um\s+|kl\.?\s+)?"
_SPAN_WORD = re.compile(_SPAN_MARK, re.IGNORECASE)
_SPAN_BEGIN = re.compile(
    rf"(?<![\w.,:/])(?P<h>{_HOUR}|{_WORD})(?:[.:h](?P<m>{_MINUTE}))?\s?(?:h|uhr|uur)?{_SPAN_MARK}$", re.IGNORECASE
)
"""The first hour of a span of which only the second says that it is one."""
_ROUND_MINUTE = r"[0-5][05]"
_NO_CLOCK = r"\s*(?:€|£|%|EUR|GBP|[mc]m\b|m\b|kg\b|l\b)"
_APPOINTMENT = (
    r"\b(?:rendez-vous|rdv|réunion|cita|reunión|appuntamento|riunione|termin|treffen|afspraak|vergadering|avtale|møte|"
    r"appointment|meeting)\b[^\n.;\d]{0,30}\s"
)
"""Behind it a number of hours is one of the day."""
_OF_A_WAY = (
    r"\s*(?:min\b|(?:de|di)\s+(?:route|trajet|train|marche|vol|viaje|camino|trabajo|travail|viaggio|treno|strada)\b)"
)
_SPAN_END = rf"(?=\s?[-–]\s?{_HOUR}\.{_ROUND_MINUTE}(?![\d.,]|{_NO_CLOCK}))"
_LAST_MORNING_HOUR: Final = 7
"""An hour up to this one, said without more, is in the afternoon: people meet at three and at half past seven."""


@dataclass(frozen=True, slots=True)
class TimeMention:
    """A time of day at its place in a text; of a span its beginning."""

    start: int
    end: int
    time: str
    """HH:MM."""


@dataclass(frozen=True, slots=True)
class _Clock:
    hour: int
    minute: int
    is_vague: bool = False
    """Whether it may be twelve hours later: said in words, or on a dial of twelve."""


def find_times(text: str) -> list[TimeMention]:
    """Return the times of day that `text` names, in its order."""
    taken: list[TimeMention] = []
    is_taken = bytearray(len(text))
    for pattern, read in _RULES:
        for match in pattern.finditer(text):
            if any(is_taken[match.start() : match.end()]):
                continue
            if (clock := read(match)) is not None and (time := _say(clock, text, match)):
                start, end = match.span("t")
                taken.append(TimeMention(start, end, time))
                is_taken[start:end] = b"\1" * (end - start)
    return _join_spans(text, sorted(taken, key=lambda mention: mention.start))


def _join_spans(text: str, mentions: Sequence[TimeMention]) -> list[TimeMention]:
    """Join the two hours of a span: "9 bis 11.30 Uhr", "de 9h à 11h30" begin at nine."""
    joined: list[TimeMention] = []
    for mention in mentions:
        before = joined[-1] if joined else None
        if before is not None and before.time < mention.time and _SPAN_WORD.fullmatch(text, before.end, mention.start):
            joined[-1] = TimeMention(before.start, mention.end, before.time)
            continue
        begin = _SPAN_BEGIN.search(text, before.end if before is not None else 0, mention.start)
        joined.append(_begun_at(begin, mention, text) if begin is not None else mention)
    return joined


def _begun_at(begin: re.Match[str], end: TimeMention, text: str) -> TimeMention:
    """Return the span that begins with the number or the word before `end`; `end` if that is no earlier hour."""
    hour = _hour_of(begin["h"])
    if hour is None:
        return end
    last = int(end.time[:2])
    figures = re.search(r"\d+", text[end.start : end.end])
    is_on_dial = last > 12 and (figures is None or int(figures.group()) <= 12)
    hour += 12 if is_on_dial and hour + 12 <= last else 0
    time = f"{hour:02}:{int(begin['m'] or 0):02}"
    return TimeMention(begin.start("h"), end.end, time) if time < end.time else end


def _say(clock: _Clock, text: str, match: re.Match[str]) -> str:
    hour, rest = clock.hour, text[match.end("t") : match.end("t") + 24]
    said_after = re.match(
        rf"\W{{0,3}}(?:{_RANGE_TAIL})?\W{{0,2}}(?:(?P<pm>{_PM}|{_AFTERNOON})|(?P<am>{_AM}|{_MORNING}))(?!\w)",
        rest,
        re.IGNORECASE,
    )
    if said_after and said_after["pm"]:
        hour += 12 if hour < 12 else 0
    elif said_after and said_after["am"]:
        hour = 0 if hour == 12 else hour
    elif clock.is_vague and 1 <= hour <= _LAST_MORNING_HOUR:
        hour += 12
    return f"{hour:02}:{clock.minute:02}" if hour < 24 and clock.minute < 60 else ""


_RANGE_TAIL = r"(?:to|until|-|–|bis|a|à)\s*\d{1,2}(?:[.:]\d\d)?"
"""In "2 to 5 pm" the pm holds for both."""


def _read_figures(match: re.Match[str]) -> _Clock | None:
    minute = match.groupdict().get("m")
    return _Clock(int(match["h"]), int(minute or 0))


def _read_late(match: re.Match[str]) -> _Clock | None:
    """Read an hour at which people meet; fewer are mostly a length of time."""
    return _read_figures(match) if int(match["h"]) >= _LAST_MORNING_HOUR else None


def _read_words(match: re.Match[str]) -> _Clock | None:
    hour = _hour_of(match["w"])
    return _Clock(hour, 0, is_vague=True) if hour is not None else None


def _read_offset(minutes: int) -> Callable[[re.Match[str]], _Clock | None]:
    def read(match: re.Match[str]) -> _Clock | None:
        hour = _hour_of(match["w"])
        if hour is None:
            return None
        total = hour * 60 + minutes
        return _Clock(total // 60, total % 60, is_vague=True)

    return read


def _hour_of(word: str) -> int | None:
    if word.isdecimal():
        return int(word) if int(word) <= 24 else None
    number = read_number_words(word)
    return int(number[0]) if number is not None and 1 <= number[0] <= 12 else None


def _fixed(hour: int) -> Callable[[re.Match[str]], _Clock | None]:
    return lambda match: _Clock(hour, 0)


def _offset_rules(
    before: Sequence[tuple[str, int]], after: Sequence[tuple[str, int]]
) -> list[tuple[str, Callable[[re.Match[str]], _Clock | None]]]:
    number = rf"(?P<w>\d{{1,2}}|{_WORD})"
    rules: list[tuple[str, Callable[[re.Match[str]], _Clock | None]]] = []
    for key, minutes in before:
        if words := VOCABULARY.clock_words(key):
            rules.append((rf"\b(?P<t>{alternation(words)}\s+{number})(?!\w)", _read_offset(minutes)))
    for key, minutes in after:
        if words := VOCABULARY.clock_words(key):
            rules.append(
                (rf"\b(?:{_AT})\s+(?P<t>{number}\s+(?:heures?\s+)?{alternation(words)})(?!\w)", _read_offset(minutes))
            )
    return rules


_RULES: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), read)
    for pattern, read in (
        (rf"(?<![\d:.,])(?P<t>(?P<h>{_HOUR}):(?P<m>{_MINUTE}))(?![\d:])", _read_figures),
        (
            rf"(?<![\d:.,])(?P<t>(?P<h>{_HOUR})\.(?P<m>{_MINUTE})(?=\s*(?:{_PM}|{_AM}|{_HOUR_WORD})(?!\w)|{_SPAN_TO_PM}))",
            _read_figures,
        ),
        (rf"(?<![\d:.,])(?P<t>(?P<h>{_HOUR})\.(?P<m>{_ROUND_MINUTE})){_SPAN_END}", _read_figures),
        (rf"(?<![\d:.,])(?P<t>(?P<h>{_HOUR})\s?h\s?(?P<m>{_MINUTE}))(?!\w|{_OF_A_WAY})", _read_figures),
        (rf"(?<![\d:.,])(?P<t>(?P<h>{_HOUR})\s?h)(?=(?:\s*[-–]\s*|\s+(?:à|a)\s+){_HOUR}\s?h)", _read_figures),
        (rf"[h:]\s?{_MINUTE}(?:\s*[-–]\s*|\s+(?:à|a)\s+)(?P<t>(?P<h>{_HOUR})\s?h)(?!\w)", _read_figures),
        (
            rf"(?:\x00[\s,:–-]{{0,3}}|{_APPOINTMENT})(?P<t>(?P<h>{_HOUR})\s?(?:h|uhr|uur|heures|horas))(?!\w)",
            _read_late,
        ),
        (rf"\b{_AT_FULL_HOUR}\s*(?P<t>(?P<h>{_HOUR}))(?=\s?[-–]\s?{_HOUR}[.:]{_MINUTE}(?!\d))", _read_figures),
        (rf"(?<=,\s)(?P<t>(?P<h>{_HOUR})\.(?P<m>{_MINUTE}))(?=\.?\s*(?:$|\n))", _read_figures),
        (
            rf"(?<![\w.,])(?:{_AT})\s+(?P<t>(?P<h>{_HOUR})\.(?P<m>{_MINUTE}))(?![\d%]|[.,]\d|{_NO_CLOCK})",
            _read_figures,
        ),
        (rf"(?<![\d:.,])(?P<t>(?P<h>{_HOUR})(?=\s*(?:{_RANGE_TAIL})?\s*(?:{_PM}|{_AM})(?!\w)))", _read_figures),
        (rf"(?<![\d:.,])(?P<t>(?P<h>{_HOUR})\s*(?:uhr|uur|o['’]clock))(?!\w)", _read_figures),
        (rf"(?<![\w.,])(?!de\s){_AT}\s+(?P<t>(?P<h>{_HOUR})\s*(?:{_HOUR_WORD}))(?!\w)", _read_figures),
        (rf"(?<![\w.,])de\s+(?P<t>(?P<h>{_HOUR})\s*(?:{_HOUR_WORD}))(?!\w)", _read_late),
        (rf"(?<=,\s)(?P<t>(?P<h>{_HOUR})h)(?!\w)", _read_figures),
        *_offset_rules(
            (("half_past", 30), ("quarter_past", 15), ("quarter_to", -15), ("half_to", -30), ("three_quarters", -15)),
            (("half_after", 30), ("quarter_after", 15), ("quarter_less", -15)),
        ),
        (rf"\b(?P<t>{alternation(VOCABULARY.clock_words('noon'))})(?!\w)", _fixed(12)),
        (
            rf"\b(?:{_AT}|à|a|om|bis|until|till)\s+(?P<t>{alternation(VOCABULARY.clock_words('midnight'))})(?!\w)",
            _fixed(0),
        ),
        (rf"\b(?P<t>(?P<w>{_WORD})\s+(?:o['’]clock|uhr|uur))(?!\w)", _read_words),
        (rf"\b{_AT_WORD}\s+(?P<t>(?P<w>{_WORD}))(?!\w|\s+(?:pounds|euros?|percent))", _read_words),
        (rf"\b{_AT_HOUR}\s+(?P<t>(?P<w>{_HOUR})){_HOUR_END}", _read_words),
        (rf"\b{_AT_FULL_HOUR}\s+(?P<t>(?P<h>{_HOUR})){_HOUR_END}", _read_figures),
        (rf"\b(?P<t>(?P<w>{_WORD})(?=\s+{_SPANISH_HALVES}))", _read_words),
    )
)
