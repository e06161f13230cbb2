"""Denials ("I have never done that") and the sentences that affirm what they deny, found by the words that the two
share. Pure."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from reveries.index.terms import stem, strip_code, terms_of, words_of
from reveries.memory.model import Turn
from reveries.memory.text.extracts import sentences_of

LEAST_SHARE = 0.7
"""Of what is denied, by weight, the other sentence must hold so much. On 28 long chats with 56 contradictions that are
known, 0.75 finds 12 of them with 60 pairs in all, 0.6 finds 14 with 87."""
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
    """What a sentence says its speaker never did."""

    sentence: str
    verb: str
    terms: frozenset[str]


def denial_in(text: str) -> Denial | None:
    """The first denial in `text` that says enough to be compared."""
    for sentence in sentences_of(strip_code(text)):
        for match in _DENIAL.finditer(sentence):
            terms = frozenset(terms_of(match["what"])) - _EMPTY
            if len(terms) >= _LEAST_SHARED:
                return Denial(sentence, _base(words_of(match["what"])[0]), terms)
    return None


def affirmation_in(text: str, denial: Denial, weight: Callable[[str], float]) -> str:
    """The sentence of `text` that says the contrary of `denial`; empty when none does. `weight` says how much a term
    tells."""
    best, found = LEAST_SHARE, ""
    whole = sum(map(weight, denial.terms)) or 1.0
    for sentence in sentences_of(strip_code(text)):
        shared = denial.terms & frozenset(terms_of(sentence))
        if len(shared) < _LEAST_SHARED or _DENIES.search(sentence) or not _tells_of(sentence, denial.verb):
            continue
        share = sum(map(weight, shared)) / whole
        if share >= best:
            best, found = share, sentence
    return found


def is_worth_reading(turn: Turn, denials: Iterable[Denial]) -> list[Denial]:
    """Those of `denials` of which `turn` holds words enough: a quick look before the sentences are read."""
    terms = frozenset(terms_of(turn.text))
    return [denial for denial in denials if len(denial.terms & terms) >= _LEAST_SHARED]


def _tells_of(sentence: str, verb: str) -> bool:
    """Whether a clause of it says, of the speaker, that it was done: not that it is asked, wished or feared."""
    return any(
        _FIRST_PERSON.search(clause) and not _NO_DEED.search(clause) and verb in {_base(w) for w in words_of(clause)}
        for clause in re.split(r"[,;]", sentence)
    )


def _base(word: str) -> str:
    return _BASE.get(word, stem(word))
