"""Extractive summaries without a model: sentences, the most informative ones, quotes that anchor an episode (R-71).

Every sentence returned is a verbatim part of its source text.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reveries.index.terms import terms_of, words_of
from reveries.memory.model import Exemplar, Turn
from reveries.memory.text.appraisal import valence_of
from reveries.memory.text.entities import WEEKDAYS, entities_of

SUMMARY_CHARS = 200
_CONTEXT_CHARS = 300
_MAX_EXEMPLARS = 3
_LEAST_SHARE = 0.35
_NO_TITLE = "".join(rf"(?<!\b{title}\.)" for title in ("Dr", "Mr", "Ms", "Mrs", "Prof"))
_NO_DAY = "".join(
    rf"(?<!\b{before}\s{digits}\.)"
    for before in ("am", "vom", "zum", "zur", "bis", "den", "dem", "der", "des", "ab", "seit")
    for digits in (r"\d", r"\d\d")
)
"""A point behind a number is no end where a day follows ("am 3. Mai") or a line of a list begins with it."""
_NO_LIST = r"(?<!(?m:^)\d\.)(?<!(?m:^)\d\d\.)"
_END = re.compile(
    rf"(?<=[.!?\u2026]){_NO_TITLE}{_NO_DAY}{_NO_LIST}[\"'\u2019\u201d)\]]*\s+|(?<=[\u3002\uff01\uff1f])|\n+"
)
_BLANK_IN_JAPANESE = re.compile(r"(?<=[\u3002\uff01\uff1f]) ")
_FIRST_PERSON = frozenset({"i", "i'm", "i've", "i'd", "my", "we", "our"})


@dataclass(frozen=True, slots=True)
class Sentence:
    """A verbatim sentence of one turn, with its informativeness."""

    text: str
    turn: Turn
    informativeness: float


def sentences_of(text: str) -> list[str]:
    """Split `text` into sentences, each verbatim, without surrounding white space."""
    pieces: list[str] = []
    start = 0
    for match in _END.finditer(text):
        pieces.append(text[start : match.end()].strip())
        start = match.end()
    pieces.append(text[start:].strip())
    return [piece for piece in pieces if piece]


def join_sentences(sentences: Iterable[str]) -> str:
    """Return the sentences as one text, without a blank where the script has none."""
    return _BLANK_IN_JAPANESE.sub("", " ".join(sentences))


def informativeness(sentence: str) -> float:
    """Score how informative a sentence is, by its content words, names, numbers and feeling. Questions score low."""
    terms = set(terms_of(sentence))
    if not terms:
        return 0.0
    score = min(12.0, float(len(terms))) + 2.0 * min(3, len(entities_of(sentence))) + 2.0 * abs(valence_of(sentence))
    words = set(words_of(sentence))
    is_particular = any(char.isdigit() for char in sentence) or not WEEKDAYS.isdisjoint(words)
    score += 1.5 * is_particular + 1.0 * bool(_FIRST_PERSON & words)
    if sentence.rstrip().endswith("?"):
        score *= 0.4
    return score


def most_informative(turns: Iterable[Turn], limit: int) -> list[Sentence]:
    """Return the `limit` most informative sentences of `turns`, best first; ties go to the earlier one. Sentences far
    less informative than the best are left out."""
    sentences = [Sentence(text, turn, informativeness(text)) for turn in turns for text in sentences_of(turn.own_text)]
    least = _LEAST_SHARE * max((sentence.informativeness for sentence in sentences), default=0.0)
    kept = [sentence for sentence in sentences if sentence.informativeness > 0.0 and sentence.informativeness >= least]
    return sorted(kept, key=lambda sentence: -sentence.informativeness)[:limit]


def summary_of(turns: Sequence[Turn]) -> str:
    """Summarize by the most informative sentences in their order, with speakers; about 200 characters."""
    chosen: list[Sentence] = []
    length = 0
    for sentence in most_informative(turns, limit=8):
        cost = len(sentence.turn.speaker) + 2 + min(len(sentence.text), SUMMARY_CHARS)
        if not chosen or length + cost <= SUMMARY_CHARS:
            chosen.append(sentence)
            length += cost
    if not chosen:
        return (
            _cut_to_chars(_with_speaker(turns[0].speaker, " ".join(turns[0].text.split())), SUMMARY_CHARS)
            if turns
            else ""
        )
    order = {turn.id: place for place, turn in enumerate(turns)}
    chosen.sort(key=lambda sentence: (order[sentence.turn.id], sentence.turn.text.find(sentence.text)))
    parts: list[str] = []
    last_turn = ""
    for sentence in chosen:
        words = _cut_to_chars(" ".join(sentence.text.split()), SUMMARY_CHARS)
        parts.append(words if sentence.turn.id == last_turn else _with_speaker(sentence.turn.speaker, words))
        last_turn = sentence.turn.id
    return " ".join(parts)


def _with_speaker(speaker: str, words: str) -> str:
    """Prefix the speaker, if any: text from outside a conversation has none."""
    return f"{speaker}: {words}" if speaker else words


def exemplars_of(turns: Sequence[Turn], limit: int = _MAX_EXEMPLARS) -> tuple[Exemplar, ...]:
    """Return up to `limit` verbatim quotes with their context (R-71), most informative first."""
    return tuple(make_exemplar(sentence.text, sentence.turn) for sentence in most_informative(turns, limit))


def make_exemplar(quote: str, turn: Turn, significance: str = "") -> Exemplar:
    """Build an exemplar from a quote of `turn`, with its context there."""
    return Exemplar(
        quote=quote,
        context=quote_context(turn.text, quote),
        said_at=turn.said_at,
        turn_id=turn.id,
        experience_id=turn.experience_id or "",
        significance=significance,
    )


def quote_context(text: str, quote: str) -> str:
    """Return about 300 characters of `text` around `quote`."""
    if len(text) <= _CONTEXT_CHARS:
        return text
    at = max(0, text.find(quote))
    start = max(0, min(at - (_CONTEXT_CHARS - len(quote)) // 2, len(text) - _CONTEXT_CHARS))
    return text[start : max(start + _CONTEXT_CHARS, at + len(quote))]


def _cut_to_chars(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "\u2026"
