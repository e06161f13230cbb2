"""What a model found to be claimed, checked against the words: the sentence must stand there and say that something is
different now, and the value must be in it. What passes is a claim like those that patterns find. Pure."""

from collections.abc import Iterable, Sequence

from reveries.memory.model import Origin, Turn
from reveries.memory.recall.stemming import words_of
from reveries.memory.recall.words import terms_of
from reveries.memory.sleep.claiming import ClaimMatch, claim_of, cut_value, read_sentence, says_change
from reveries.memory.sleep.claims import Claim, key_of
from reveries.memory.sleep.questions import FactAnswer, tidy

_FIRST_PERSON = frozenset({"i", "i'm", "i've", "my", "me", "we", "our"})


def stated_claims(facts: Iterable[FactAnswer], turns: Sequence[Turn]) -> list[Claim]:
    """Those of `facts` that a person states in `turns`, as claims. What a pattern finds too is left to it."""
    found: list[Claim] = []
    for place, fact in enumerate(facts):
        turn = _source(fact.quote.strip(), turns)
        if turn is None:
            continue
        sentence, value = fact.quote.strip(), cut_value(tidy(fact.value, 60))
        if not says_change(sentence) or any(read_sentence(sentence, turn.speaker)) or not _stands_in(value, sentence):
            continue
        subject = _subject(fact.about, sentence, turn.speaker)
        relation = key_of(fact.what)
        if subject and relation:
            found.append(claim_of(turn, place, sentence, ClaimMatch(subject, relation, value, is_change=True), "model"))
    return found


def _source(quote: str, turns: Sequence[Turn]) -> Turn | None:
    said = [turn for turn in turns if turn.origin not in (Origin.SELF, Origin.SYSTEM)]
    return next((turn for turn in said if quote and quote in turn.fresh), None)


def _stands_in(value: str, sentence: str) -> bool:
    terms = set(terms_of(value))
    return bool(terms) and terms <= set(terms_of(sentence))


def _subject(about: str, sentence: str, speaker: str) -> str:
    """Who or what it is about: something that is named in the sentence, or the speaker who says "I"."""
    named = set(terms_of(about))
    if named and named <= set(terms_of(sentence)):
        return tidy(about, 40)
    return speaker if _FIRST_PERSON & set(words_of(sentence)) else ""
