"""What a cue asks for, read from its words alone: the time it refers to and the kind of answer it wants. The kind is
read in English only; for cues in other languages most flags stay False. Pure."""

import re
from dataclasses import dataclass

from reveries.index.terms import terms_of
from reveries.memory.recall.time_expressions import TimeSpan, read_times

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
_PRESENT = re.compile(r"\b(?:is|are|am|can|should|will|now|current\w*|still|these days)\b|['\u2019]s\b", re.I)
_PRESENT_HELPER = re.compile(r"\b(?:do|does|has|have)\b", re.I)
_PAST_HELPER = re.compile(r"\b(?:did|was|were|had)\b", re.I)
_PAST_OR_COMPARED = re.compile(
    r"\b(?:before|earlier|first|ago|once|ever|used to|history|order|between|both|differ\w*|compar\w*|over time)\b", re.I
)
_TO_THE_MIND = re.compile(
    r"\b(?:(?:did|had|were|was) you|have you (?!any\b|an?\b|got\b)"
    r"|you (?:\w+ly |also |once |had |have )?(?!need)(?:\w{2,}ed|said|told|gave|thought|came|wrote|meant|had|made|found"
    r"|put|brought|spoke|chose|taught|saw|took|went)"
    r"|your|yours"
    # The same in other languages: "hast du", "du hast", "as-tu", "tu m'as", "avez-vous", "hai", "heb je", "has".
    r"|hast du|du hast|hattest|dein\w*|as-tu|tu (?:m['\u2019])?(?:as|avais)|avez-vous|vous (?:m['\u2019])?avez"
    r"|(?:mi |me lo )?hai|heb je|had je|me has|me hab\u00edas"
    r"|me (?:l[oa]s? )?\w{2,}[ai]ste|(?:dij|recomend|propus|escrib|hic)[ai]?ste)\b",
    re.I,
)
_MOST_TIMES = 16
"""More times are no question about a time."""
_READ_CHARS = 2000
"""Of a pasted text so much is read for times, at its beginning and at its end: a question about one stands there."""
_FROM_THE_OWNER = re.compile(r"\b(?:(?:did|have|had) I|I (?:told|said|asked|mentioned))\b", re.I)


@dataclass(frozen=True, slots=True)
class Cue:
    """A parsed cue."""

    text: str
    spans: tuple[TimeSpan, ...]
    """The times it refers to."""
    has_subject: bool
    """Whether it names anything else than times: "What did I do yesterday?" does not."""
    asks: bool
    wants_time: bool
    wants_number: bool
    wants_person: bool
    wants_place: bool
    wants_value_now: bool
    """It asks for the current value, so a newer answer beats an older one: it is in the present tense, and asks neither
    about the past nor for a comparison."""
    asks_mind: bool
    """It asks what the mind itself said: "what did you suggest", "your idea"."""


def read_cue(text: str, now: float, *, is_day_first: bool = True) -> Cue:
    """Parse `text`, asked at `now` (unix seconds). `is_day_first`: whether "10/11" is the tenth of November."""
    ends = text if len(text) <= 2 * _READ_CHARS else f"{text[:_READ_CHARS]}\n{text[-_READ_CHARS:]}"
    times = read_times(ends, now, is_day_first=is_day_first)
    asks = "?" in text or bool(re.match(r"\W*(?:what|when|where|who|whom|whose|why|how|which)\b", text, re.I))
    return Cue(
        text=text,
        spans=times.spans[:_MOST_TIMES],
        has_subject=times.has_subject,
        asks=asks,
        wants_time=bool(_TIME.search(text)),
        wants_number=bool(_NUMBER.search(text)),
        wants_person=bool(_PERSON.search(text)),
        wants_place=bool(_PLACE.search(text)),
        wants_value_now=asks and _is_present_tense(text) and not _PAST_OR_COMPARED.search(text),
        asks_mind=bool(_TO_THE_MIND.search(text)) and not _FROM_THE_OWNER.search(text),
    )


def _is_present_tense(text: str) -> bool:
    """Whether a cue asks about the present: "What did I say my rent is?" does, "How many cats did we have?" does
    not."""
    return bool(_PRESENT.search(text) or (_PRESENT_HELPER.search(text) and not _PAST_HELPER.search(text)))


_ASKING = frozenset(
    [
        "ask",
        "bring",
        "brought",
        "chat",
        "conversation",
        "discuss",
        "discussion",
        "list",
        "mention",
        "order",
        "recal",
        "recall",
        "remember",
        "summari",
        "summariz",
        "talk",
        "tell",
        "told",
    ]
)
"""Stems."""


def cue_terms(text: str) -> list[str]:
    """Return the `terms_of` a cue without the words that only address the memory ("what did I mention in our
    conversations, in order"), because they name no subject; all terms if no others are left."""
    terms = terms_of(text)
    return [term for term in terms if term not in _ASKING] or terms
