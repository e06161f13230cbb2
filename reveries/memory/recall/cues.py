"""What a cue asks for, read from its words alone: whom it names, what time it speaks of, what kind of answer it wants.
English; a cue in another language simply asks for nothing in particular. Pure."""

import re
from dataclasses import dataclass

from reveries.memory.recall.time_expressions import TimeSpan, time_spans

_TIME = re.compile(
    r"\b(?:when|how long|since when|what (?:time|date|day|month|year|season)"
    r"|which (?:date|day|week|month|year|season))\b",
    re.I,
)
_NUMBER = re.compile(
    r"\b(?:how (?:many|much|often|old|long|far|tall|big)|number of|total"
    r"|what (?:number|percentage|price|amount|age))\b",
    re.I,
)
_PERSON = re.compile(r"\b(?:who|whom|whose)\b", re.I)
_PLACE = re.compile(
    r"\b(?:where|which (?:city|country|place|state|town)|what (?:city|country|place|state|town))\b", re.I
)
_VALUE_NOW = re.compile(
    r"^\W*(?:what(?:'s| is| are)|what (?:\w+ ){1,4}?(?:do|does|did|have|has|is|are|am|should|will)"
    r"|how (?:many|much|long|old|often|far)|when (?:is|does|do|am|are)|where (?:is|do|does|am)|who is"
    r"|which (?:\w+ ){1,3}?(?:do|does|have|is|are|am))\b",
    re.I,
)
_COMPARES = re.compile(
    r"\b(?:between|order|differ\w*|compare\w*|before|after|across|ever|summary|both|passed|reduce\w*|mention\w*"
    r"|over time|each|did i say|would you)\b",
    re.I,
)
_RECOMMEND = re.compile(
    r"\b(?:recommend|suggest|advice|can you|could you|help me|would you|show me|explain|walk me)\b", re.I
)
_TO_THE_MIND = re.compile(
    r"\b(?:(?:did|had|were|was) you|have you (?!any\b|an?\b|got\b)"
    r"|you (?:\w+ly |also |once |had |have )?(?!need)(?:\w{2,}ed|said|told|gave|thought|came|wrote|meant|had|made|found"
    r"|put|brought|spoke|chose|taught|saw|took|went)"
    r"|your|yours"
    # The same in other languages: "hast du", "du hast", "as-tu", "tu m'as", "avez-vous", "hai", "heb je", "has".
    r"|hast du|du hast|hattest|dein\w*|as-tu|tu (?:m['\u2019])?(?:as|avais)|avez-vous|vous (?:m['\u2019])?avez"
    r"|(?:mi |me lo )?hai|heb je|had je|me has|me hab\u00edas|\w{2,}[ai]ste)\b",
    re.I,
)
_FROM_THE_OWNER = re.compile(r"\b(?:(?:did|have|had) I|I (?:told|said|asked|mentioned))\b", re.I)


@dataclass(frozen=True, slots=True)
class Cue:
    """A cue as it was read."""

    text: str
    spans: tuple[TimeSpan, ...]
    """What times it speaks of."""
    asks: bool
    wants_time: bool
    wants_number: bool
    wants_person: bool
    wants_place: bool
    wants_value_now: bool
    """It asks what holds now, so that a newer answer beats an older one."""
    wants_help: bool
    """It asks for advice or work rather than for something remembered."""
    asks_mind: bool
    """It asks for what the mind itself said: "what did you suggest", "your idea"."""


def read_cue(text: str, now: float) -> Cue:
    """Read `text`, asked at `now` (unix seconds)."""
    asks = "?" in text or bool(re.match(r"\W*(?:what|when|where|who|whom|whose|why|how|which)\b", text, re.I))
    return Cue(
        text=text,
        spans=time_spans(text, now),
        asks=asks,
        wants_time=bool(_TIME.search(text)),
        wants_number=bool(_NUMBER.search(text)),
        wants_person=bool(_PERSON.search(text)),
        wants_place=bool(_PLACE.search(text)),
        wants_value_now=asks and bool(_VALUE_NOW.search(text)) and not _COMPARES.search(text),
        wants_help=bool(_RECOMMEND.search(text)),
        asks_mind=bool(_TO_THE_MIND.search(text)) and not _FROM_THE_OWNER.search(text),
    )
