"""The patterns by which days are found in a text; `days.py` says what each match means. Pure."""

import re
from typing import Final

from reveries.knowledge.facts.vocabulary import VOCABULARY, alternation

_GAP = r"(?:[^\S\n]+|[^\S\n]*\n[^\S\n]*(?:>[^\S\n]*)?)"
"""A blank, or the end of a line that a writer broke."""
_DAY = r"(?:3[01]|[12]\d|0?[1-9])(?:(?:st|nd|rd|th|er|ste|de|e|º|ª)\b|°|\.(?!\d))?"
_WEEKDAY = alternation(VOCABULARY.weekdays)
_LONG_WEEKDAY = alternation(word for word in VOCABULARY.weekdays if len(word) > 2)
_FULL_WEEKDAY = alternation(word for word in VOCABULARY.weekdays if len(word) > 4)
_MONTH = alternation(VOCABULARY.months)
_ENGLISH_MONTH = alternation(word for words in VOCABULARY.languages["en"]["months"] for word in words)
_YEAR = r"(?:19|20)\d\d(?![\d.,:]\d|\d)"
_OF = alternation(VOCABULARY.words("of"))
_RANGE = alternation(VOCABULARY.words("range"))
_RANGE_OR_DASH = rf"(?:{_GAP}{_RANGE}{_GAP}|\s*[-–—]\s*)"
_AND = rf"(?:{_GAP}{alternation(VOCABULARY.words('and'))}{_GAP}|,\s*)"
_BEFORE_DAY = alternation(VOCABULARY.words("before_day"))
_NEXT_WEEK = alternation(VOCABULARY.words("next_week"))
_ORDINAL = alternation(VOCABULARY.ordinals)
_ARTICLE = r"(?:the|der|den|die|das|le|la|el|il|lo|de|het|den)"
_NOT_A_DAY = r"(?!\d|[.,:]\d|\s*(?:%|€|£|\$|[ap]\.?m\b|uhr|uur|h\b))"
_MONTH_END = r"(?![^\W\d_])\.?"


def _compile(*parts: str) -> re.Pattern[str]:
    return re.compile("".join(parts), re.IGNORECASE)


ISO: Final = _compile(
    r"(?<![\d-])(?P<y>(?:19|20)\d\d)[-/](?P<m>0[1-9]|1[0-2])[-/](?P<d>0[1-9]|[12]\d|3[01])(?!\d|-\d)",
)
NUMERIC: Final = _compile(
    r"(?<![\d./-])(?P<a>\d{1,2})(?P<s>[./-])\s?(?P<b>\d{1,2})(?P=s)\s?(?P<y>(?:19|20)\d\d|\d\d)(?![\d/-]|\.\d)",
)
NTH_WEEKDAY: Final = _compile(
    rf"\b(?P<nth>{_ORDINAL}){_GAP}(?P<weekday>{_LONG_WEEKDAY}){_GAP}(?:{_OF}{_GAP}|(?:d['’]))?",
    rf"(?P<month>{_MONTH}){_MONTH_END}(?:{_GAP}(?:{_OF}{_GAP})?(?P<year>{_YEAR}))?",
)
DAYS_AND_MONTH: Final = _compile(
    rf"(?<![\d.,:/-])(?:\b(?P<weekday>{_WEEKDAY})\.?,?{_GAP}(?:(?:the|den|der|le|el|il|de|dem){_GAP})?)?(?<![\w.,])",
    rf"(?P<days>{_DAY}(?:(?:{_RANGE_OR_DASH}|{_AND})(?:{_ARTICLE}{_GAP})?(?:{_WEEKDAY}\.?,?{_GAP})?{_DAY}){{0,4}})",
    rf"(?:{_GAP}|(?<=\.))(?:(?:{_OF}){_GAP}?)?(?P<month>{_MONTH}){_MONTH_END}",
    rf"(?:,?{_GAP}?(?:(?:{_OF}){_GAP})?(?P<year>{_YEAR}))?",
)
MONTH_AND_DAY: Final = _compile(
    rf"(?:\b(?P<weekday>{_WEEKDAY})\.?,?{_GAP})?\b(?P<month>{_ENGLISH_MONTH})\.?{_GAP}(?P<d>{_DAY}){_NOT_A_DAY}",
    rf"(?:\s*[-–]\s*(?P<e>\d{{1,2}})(?!\d))?(?:,?{_GAP}(?P<year>{_YEAR}))?",
)
MONTH_DAY_YEAR: Final = _compile(rf"\b{_ENGLISH_MONTH}\.?\s+\d{{1,2}}(?:st|nd|rd|th)?,\s+(?:19|20)\d\d\b")
DOTTED: Final = _compile(
    rf"(?<![\w.,])(?:(?P<weekday>{_WEEKDAY})\.?,?\s+)?",
    r"(?P<a>0?[1-9]|[12]\d|3[01])\.\s?(?P<b>0?[1-9]|1[0-2])\.(?!\d)",
)
SLASHED: Final = _compile(
    rf"(?:\b(?P<weekday>{_LONG_WEEKDAY})\.?,?\s+|\b(?:on|by|until|il|el|le|den|op|før)\s+)",
    r"(?P<a>\d{1,2})/(?P<b>\d{1,2})(?![\d/])",
)
WEEKDAY_AND_DAY: Final = _compile(
    rf"\b(?P<weekday>{_LONG_WEEKDAY})\.?,?\s+(?:(?:the|den|le|el|il|de)\s+)?(?P<d>{_DAY}){_NOT_A_DAY}",
)
HEADED_DAY: Final = re.compile(
    rf"^\W*(?:(?P<weekday>{_WEEKDAY})\.?,?\s+(?P<d>{_DAY})|(?P<d_first>{_DAY})\s+(?P<weekday_behind>{_WEEKDAY})\b)"
    rf"{_NOT_A_DAY}",
    re.IGNORECASE | re.MULTILINE,
)
"""Mi 9.; 9 Wed: below the name of a month."""
MONTH_ALONE: Final = _compile(rf"\W*(?P<month>{_MONTH})\.?(?:{_GAP}(?:{_OF}{_GAP})?(?P<year>{_YEAR}))?\W*")
MONTH_AND_YEAR: Final = _compile(rf"\b(?P<month>{_MONTH})\.?{_GAP}(?:{_OF}{_GAP})?(?P<year>{_YEAR})")
HOURS_FOLLOW: Final = _compile(r"\s*(?:-|–|to|a|à|bis|tot|til|alle|e|und)\s*(?:las\s+)?\d{1,2}[:.h]\d\d")
MORNING: Final = _compile(
    r"(?:guten?|am|jeden|gestern|heute|vor|goede|de|la|esta|elke|diesen|der|den|dieser|eines|cada|",
    rf"{_FULL_WEEKDAY})\s+$",
)
"""Before a word that means tomorrow, and behind such a word the morning."""
BARE_DAY: Final = _compile(
    rf"\b{_BEFORE_DAY}\s+(?P<d>{_DAY})(?:\s+{_RANGE}\s+(?:{_ARTICLE}\s+)?(?P<e>{_DAY}))?{_NOT_A_DAY}",
)
RELATIVE_DAY: Final = _compile(rf"(?<!\w){alternation(VOCABULARY.relative_days)}(?!\w)")
RELATIVE_WEEKDAY: Final = _compile(
    rf"\b(?:(?P<next>{alternation(VOCABULARY.words('next'))})|(?P<last>{alternation(VOCABULARY.words('last'))})",
    rf"|{alternation(VOCABULARY.words('this'))})\s+(?:{_ARTICLE}\s+)?(?P<weekday>{_FULL_WEEKDAY})",
    rf"(?:\s+(?P<week>week)|\s+{alternation(VOCABULARY.words('next_after'))}",
    rf"|\s+(?P<last_after>{alternation(VOCABULARY.words('last_after'))}))?",
    r"(?!\w|\s+(?:de|of|in|van|der|des|di)\s)",
)
WEEKDAY_NEXT_WEEK: Final = _compile(
    rf"\b(?:{_NEXT_WEEK}\s+(?:on\s+|am\s+|op\s+|el\s+)?(?P<weekday>{_FULL_WEEKDAY})",
    rf"|(?P<weekday_first>{_FULL_WEEKDAY})\s+(?:of\s+|der\s+|de\s+|della\s+)?{_NEXT_WEEK})(?!\w)",
)
WEEKDAY_AND_TIME: Final = _compile(
    rf"\b(?P<weekday>{_FULL_WEEKDAY})(?=,?\s+(?:at|um|om|kl\.?|a las|alle|à|ab)\s+\d)",
)
"""Tuesday at 11: said of one day; on its own a weekday may be any."""
EVERY: Final = _compile(rf"\b{alternation(VOCABULARY.words('every'))}\W*$")

_COUNT = rf"(?P<n>\d{{1,2}}|[^\W\d_]+)\s+(?P<unit>{alternation(VOCABULARY.duration_units)})"


def _counted(key: str) -> tuple[re.Pattern[str], ...]:
    phrases = (re.escape(phrase).replace(re.escape("{n} {unit}"), _COUNT) for phrase in VOCABULARY.words(key))
    return tuple(_compile(rf"\b{phrase}(?!\w)") for phrase in phrases)


COUNTED_AHEAD: Final = _counted("in_units")
COUNTED_BACK: Final = _counted("ago_units")

SPAN_WORD: Final = _compile(rf"(?:{_GAP}{_RANGE}(?:{_GAP}{_ARTICLE})?{_GAP}|\s*[-–—]\s*)")
"""What stands between the two days of a span."""
RANGE: Final = _compile(_RANGE_OR_DASH)
OF: Final = _compile(_OF)
DEADLINE: Final = _compile(
    rf"\b{alternation(VOCABULARY.words('deadline'))}",
    rf"(?:{_GAP}(?:on|am|le|el|il|zum|den|dem|the|del?|spätestens|op))?{_GAP}(?:{_WEEKDAY}[,.]?{_GAP})?$",
)
START: Final = _compile(rf"\b{alternation(VOCABULARY.words('start'))}{_GAP}(?:{_WEEKDAY}[,.]?{_GAP})?$")
OTHER_SIDE: Final = _compile(r"\b(?:tra|fra|entre|between|zwischen|tussen|mellom)\s+$")
"""Before two hours, of which the first looks like a day: "tra le 14 e le 16"."""
_NOW = (
    r"(?:neu(?:er termin)?|jetzt|nun|stattdessen|now|instead|new date|maintenant|désormais|nouvelle date|ahora|"
    r"nueva fecha|adesso|nuova data|nieuwe datum|ny dato)"
)
MOVED_TO: Final = _compile(
    rf"\b(?:to|al?|auf|zum|au|naar|til|moves? to|pasa al|{_NOW}[,:]?(?:{_GAP}(?:am|on|le|el|il|op|på))?){_GAP}"
    rf"(?:{_ARTICLE}{_GAP})?(?:{_WEEKDAY}[,.]?{_GAP})?$"
)
"""What stands before the new day of something that was put off."""
DATE_OPENS: Final = _compile(r"(?:^|[\n(|–-]\s*|\b(?:on|by|am|le|el|il|den|de|bis|until|from|to|since|the|del|al)\s+)$")
"""What stands before a number that, with a word of two meanings, is a date."""
