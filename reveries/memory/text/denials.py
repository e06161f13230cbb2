"""Finds denials ("I have never done that") and sentences that affirm what they deny, by shared words. Pure."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from reveries.index.terms import stem, strip_code, terms_of, words_of
from reveries.memory.model import Turn
from reveries.memory.text.extracts import sentences_of

LEAST_SHARE = 0.7
"""Share of the denied terms, by weight, that the other sentence must contain. On 28 long chats with 56 known
contradictions, 0.75 finds 12 of them with 60 pairs in all, 0.6 finds 14 with 87."""
_LEAST_SHARED = 2

_DENIAL = re.compile(
    r"\bI(?:['\u2019]ve| have)? never(?: actually| really| even| yet)? (?P<what>[a-z]+(?: [^,.;!?]*)?)", re.IGNORECASE
)
_DENIES = re.compile(r"\b(?:never|not|no)\b|n['\u2019]t\b", re.IGNORECASE)
_FIRST_PERSON = re.compile(r"\bI\b|\b(?:my|we)\b", re.IGNORECASE)
_NO_DEED = re.compile(
    r"\b(?:if|would|could|might|maybe|should|how|what|thinking (?:of|about)|trying to|want to|plan(?:ning)? to|"
    r"going to|without|worried|can (?:you|i)|need to|goal|considering|wish|hope)\b",
    re.IGNORECASE,
)
_EMPTY: Final = frozenset(terms_of("project before any ever actually all first time using use used work worked"))
_BASE: Final = {
    "wrote": "writ", "written": "writ", "ate": "eat", "eaten": "eat", "went": "go", "gone": "go", "met": "meet",
    "ran": "run", "drove": "driv", "driven": "driv", "flew": "fly", "flown": "fly", "swam": "swim", "swum": "swim",
    "took": "tak", "taken": "tak", "bought": "buy", "broke": "break", "broken": "break", "sent": "send",
    "made": "mak", "built": "build", "taught": "teach", "spoke": "speak", "spoken": "speak", "gave": "giv",
    "given": "giv", "saw": "see", "seen": "see", "did": "do", "done": "do", "began": "begin", "begun": "begin",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Denial:
    """A sentence in which the speaker says that they never did something."""

    sentence: str
    verb: str
    terms: frozenset[str]


def find_denial(text: str) -> Denial | None:
    """Find the first denial in `text` with enough terms to compare."""
    for sentence in sentences_of(strip_code(text)):
        for match in _DENIAL.finditer(sentence):
            terms = frozenset(terms_of(match["what"])) - _EMPTY
            if len(terms) >= _LEAST_SHARED:
                return Denial(sentence, _base_form(words_of(match["what"])[0]), terms)
    return None


def find_affirmation(text: str, denial: Denial, weight: Callable[[str], float]) -> str:
    """Find the sentence of `text` that contradicts `denial`; empty if there is none. `weight` returns the weight of a
    term."""
    best_share, best_sentence = LEAST_SHARE, ""
    total = sum(map(weight, denial.terms)) or 1.0
    for sentence in sentences_of(strip_code(text)):
        shared = denial.terms & frozenset(terms_of(sentence))
        if len(shared) < _LEAST_SHARED or _DENIES.search(sentence) or not _affirms(sentence, denial.verb):
            continue
        share = sum(map(weight, shared)) / total
        if share >= best_share:
            best_share, best_sentence = share, sentence
    return best_sentence


def filter_denials(turn: Turn, denials: Iterable[Denial]) -> list[Denial]:
    """Return the denials that share enough terms with `turn`: a cheap filter before its sentences are read."""
    terms = frozenset(terms_of(turn.text))
    return [denial for denial in denials if len(denial.terms & terms) >= _LEAST_SHARED]


def _affirms(sentence: str, verb: str) -> bool:
    """Whether a clause says that the speaker did it, rather than asking, wishing or fearing."""
    return any(
        _FIRST_PERSON.search(clause)
        and not _NO_DEED.search(clause)
        and verb in {_base_form(w) for w in words_of(clause)}
        for clause in re.split(r"[,;]", sentence)
    )


def _base_form(word: str) -> str:
    return _BASE.get(word, stem(word))
