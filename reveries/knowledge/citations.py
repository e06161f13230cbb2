"""What a reply rests on in documents, resolved and checked by code, never by the model's word. Pure.

A prompt offers places with short ids; a capable model cites the ids. Each is looked up among what was offered. A quoted
span must stand in the verbatim text of the place's pages, whatever its spaces, hyphens, ligatures and case; and so must
each number of the sentence that it is cited for. What does not check is no link. A small model does not cite: for it
the place is chosen whose words answer the question best, and quoted by code.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from reveries.index.terms import terms_of
from reveries.knowledge.reading.layout import PlacedBox
from reveries.knowledge.reading.quotes import fold_quote

SHORT_ID: Final = re.compile(r"(?<![\w.])d\d{1,6}\.p\d{1,7}\.b\d{1,5}(?![\w]|\.\d)")
QUOTE_CHARS: Final = 240
LEAST_SHARE: Final = 0.34
"""The share of the question's words that a quote of code must have."""
_LEAST_QUOTED: Final = 4
"""Letters and digits; less stands anywhere."""
_QUOTED: Final = re.compile(r"[“\"„«]([^“”\"„«»\n]{2,400})[”\"“»]")
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+(?=[^a-z])|\n+")
_NUMBER: Final = re.compile(r"\d+(?:[.,]\d+)*")
_FEW_DIGITS: Final = 2
"""Numbers with fewer digits are as often list numbers and small counts: they are not looked up."""


class CitationState(StrEnum):
    ON_PAGE = "on_page"
    NOT_ON_PAGE = "not_on_page"
    """The quote, or a number of the sentence, does not stand on its pages."""
    NOT_OFFERED = "not_offered"
    """The model was not shown a place of this id."""
    NOT_IN_DOCUMENTS = "not_in_documents"
    """Nothing in the documents fits what was asked: `document` names those that were looked at."""


class CitationMaker(StrEnum):
    MODEL = "model"
    RULES = "rules"


@dataclass(frozen=True, slots=True)
class OfferedPlace:
    """A place that a prompt offered."""

    short_id: str
    pointer_id: str
    document: str
    page_number: int
    page_label: str
    title: str
    text: str
    boxes: tuple[PlacedBox, ...]
    page_text: str
    """The verbatim text of its pages."""
    is_tainted: bool


@dataclass(frozen=True, slots=True)
class Citation:
    """A place that a reply cites, as it is shown and stored."""

    short_id: str
    state: CitationState
    made_by: CitationMaker
    pointer_id: str | None = None
    """None unless it was offered."""
    document: str = ""
    page_number: int = 0
    page_label: str = ""
    quote: str = ""
    """What is said to stand there; verbatim where it does."""
    boxes: tuple[PlacedBox, ...] = ()

    @property
    def is_link(self) -> bool:
        """Whether it may be opened as a proof."""
        return self.state is CitationState.ON_PAGE


def resolve_citations(reply: str, offered: Mapping[str, OfferedPlace]) -> list[Citation]:
    """Return what a reply cites, in the order in which it does, each place once in each state."""
    citations: dict[tuple[str, CitationState], Citation] = {}
    for sentence in split_sentences(reply):
        for short_id in dict.fromkeys(SHORT_ID.findall(sentence)):
            citation = _check(short_id, sentence, offered.get(short_id))
            citations.setdefault((short_id, citation.state), citation)
    return list(citations.values())


def split_sentences(text: str) -> list[str]:
    """Split a reply into sentences; an id in brackets after the full stop belongs to the sentence before it."""
    sentences: list[str] = []
    for part in _SENTENCE.split(text):
        left = SHORT_ID.sub("", part)
        is_only_ids = part.strip() and not any(char.isalnum() for char in left)
        if is_only_ids and sentences:
            sentences[-1] += f" {part}"
        elif (head := re.match(r"[\[(]\s*" + SHORT_ID.pattern + r"[^\])]*[\])]\s*", part)) and sentences:
            sentences[-1] += f" {head.group()}"
            sentences.append(part[head.end() :])
        else:
            sentences.append(part)
    return [sentence for sentence in sentences if sentence.strip()]


def _check(short_id: str, sentence: str, place: OfferedPlace | None) -> Citation:
    quotes = [quote for quote in _QUOTED.findall(sentence) if len(fold_quote(quote)) >= _LEAST_QUOTED]
    said = quotes[0] if quotes else ""
    if place is None:
        return Citation(short_id, CitationState.NOT_OFFERED, CitationMaker.MODEL, quote=said)
    page = fold_quote(place.page_text)
    missing = next((quote for quote in quotes if fold_quote(quote) not in page), "")
    bare = SHORT_ID.sub(" ", sentence)
    wrong = next((number for number in numbers_in(bare) if not has_number(place.page_text, number)), "")
    is_there = not missing and not wrong
    state = CitationState.ON_PAGE if is_there else CitationState.NOT_ON_PAGE
    quote = (said or best_quote(bare, place.text)) if is_there else (missing or wrong)
    return _citation(place, state, CitationMaker.MODEL, quote)


def choose_citation(question: str, reply: str, places: Sequence[OfferedPlace]) -> Citation | None:
    """For a model that does not cite: the place whose sentence has most of the question's words, and of the reply's
    numbers; None if none has enough of them."""
    wanted = frozenset(terms_of(question))
    numbers = set(numbers_in(reply))
    best: tuple[float, Citation] | None = None
    for rank, place in enumerate(places):
        quote = best_quote(f"{question} {reply}", place.text)
        around = frozenset(terms_of(f"{place.document} {place.title} {place.text}"))
        share = len(wanted & around) / len(wanted) if wanted else 0.0
        agrees = sum(has_number(quote, number) for number in numbers)
        score = share + 0.5 * agrees - 0.05 * rank
        if share >= LEAST_SHARE and quote and (best is None or score > best[0]):
            best = score, _citation(place, CitationState.ON_PAGE, CitationMaker.RULES, quote)
    return best[1] if best is not None else None


def best_quote(words: str, text: str) -> str:
    """Return the sentence or line of a place that has most of the words, verbatim and at most QUOTE_CHARS long."""
    wanted = frozenset(terms_of(words)) | frozenset(numbers_in(words))
    parts = [part.strip() for part in _SENTENCE.split(text) if part.strip()]
    if not parts:
        return ""
    best = max(parts, key=lambda part: len(wanted & (frozenset(terms_of(part)) | frozenset(numbers_in(part)))))
    return best if len(best) <= QUOTE_CHARS else best[:QUOTE_CHARS].rpartition(" ")[0]


def is_quote_on_page(quote: str, page_text: str) -> bool:
    """Whether a quote stands on a page as one piece; never for one that is too short to tell."""
    folded = fold_quote(quote)
    return len(folded) >= _LEAST_QUOTED and folded in fold_quote(page_text)


def numbers_in(text: str) -> list[str]:
    """Return the numbers of two or more digits, without the signs that divide thousands."""
    found = (_plain_number(number) for number in _NUMBER.findall(text))
    return list(dict.fromkeys(number for number in found if sum(map(str.isdigit, number)) >= _FEW_DIGITS))


def has_number(text: str, number: str) -> bool:
    """Whether a text has a number of `numbers_in`, however its thousands are divided."""
    return any(_plain_number(other) == number for other in _NUMBER.findall(text))


def _plain_number(number: str) -> str:
    """Return a number without the commas or points between groups of three digits: 1,250.5 and 1.250,5 as 1250.5."""
    *groups, last = re.split(r"[.,]", number)
    if not groups:
        return last
    is_grouped = len(last) == 3 and all(len(group) == 3 for group in groups[1:]) and 1 <= len(groups[0]) <= 3
    return "".join((*groups, last)) if is_grouped and groups[0] != "0" else f"{''.join(groups)}.{last}"


def _citation(place: OfferedPlace, state: CitationState, maker: CitationMaker, quote: str) -> Citation:
    return Citation(
        place.short_id, state, maker, place.pointer_id, place.document, place.page_number, place.page_label, quote,
        place.boxes,
    )  # fmt: skip
