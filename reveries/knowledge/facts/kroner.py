"""Which country's kroner a text means by "kr": three write them so, and only its words tell them apart. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from reveries.knowledge.facts.model import Fact
from reveries.knowledge.facts.vocabulary import KRONER, VOCABULARY, alternation, language_of

_LEAST_OF_LINE: Final = 2
"""So many words of one language decide for a line within a text of another."""
_SHOWS: Final = {
    code: re.compile(rf"(?<!\w)(?:{alternation(shows['words'])}|{'|'.join(shows['forms'])})(?!\w)", re.IGNORECASE)
    for code, shows in VOCABULARY.kroner_words.items()
}
_NAMED: Final = {
    code: re.compile(
        rf"(?<!\w){alternation(word for word, named in VOCABULARY.currencies.items() if named == code)}(?!\w)",
        re.IGNORECASE,
    )
    for code in _SHOWS
}


def name_kroner(facts: Sequence[Fact], text: str, currency: str) -> Iterator[Fact]:
    """Yield `facts` of the document `text`, with the currency of each sum in "kr": of the language of its line, else of
    the document, else the one that the document names elsewhere, else `currency` of the project if it is one of
    kroner. Where nothing tells, it stays "kr"."""
    of_text = ""
    for fact in facts:
        if fact.quantity is None or fact.quantity.unit != KRONER:
            yield fact
            continue
        of_text = of_text or kroner_of(text) or (currency if currency in _SHOWS else KRONER)
        code = _by_words(fact.text, _LEAST_OF_LINE) or of_text
        yield replace(fact, quantity=replace(fact.quantity, unit=code))


def kroner_of(text: str) -> str:
    """Return the code of the kroner of `text`, by its language, else by those that it names; empty if neither tells."""
    return _by_words(text) or _most({code: _count(pattern, text) for code, pattern in _NAMED.items()})


def _by_words(text: str, least: int = 1) -> str:
    # Norwegian stands for all three: their small words are mostly the same.
    if language_of(text, at_least="nb") != "nb":
        return ""
    return _most({code: _count(pattern, text) for code, pattern in _SHOWS.items()}, least)


def _count(pattern: re.Pattern[str], text: str) -> int:
    return sum(1 for _ in pattern.finditer(text))


def _most(counts: dict[str, int], least: int = 1) -> str:
    """Return the key that leads; empty if two do, or none comes to `least`."""
    first, second = sorted(counts.values(), reverse=True)[:2]
    return max(counts, key=lambda code: counts[code]) if first > second and first >= least else ""
